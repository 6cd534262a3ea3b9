/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel's socket filter: random rosters in an interpreter of the instructions that it uses,
 * compared with a list; and in the kernel, on sockets of this machine.
 */
#include "check.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/prng.h"
#include "gossip_socket.h"

#define MOST  400
#define ENDED (SOURCE_FILTER_ENDED + 4)

static uint32_t load_net(const uint8_t *packet, uint32_t k, unsigned bytes)
{
	uint32_t value = 0;

	k -= (uint32_t)SKF_NET_OFF;
	assert_true(k + bytes <= 40);
	while (bytes--)
		value = value << 8 | packet[k++];
	return value;
}

/* Runs the filter on a packet that begins with its IP header, and returns its result. */
static uint32_t run_filter(const struct sock_filter *code, unsigned n, const uint8_t *packet)
{
	uint32_t a = 0;

	for (unsigned pc = 0; pc < n; pc++) {
		const struct sock_filter *i = &code[pc];

		switch (i->code) {
		case BPF_LD | BPF_B | BPF_ABS:
			a = load_net(packet, i->k, 1);
			break;
		case BPF_LD | BPF_W | BPF_ABS:
			a = load_net(packet, i->k, 4);
			break;
		case BPF_ALU | BPF_RSH | BPF_K:
			a >>= i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %u: %x", pc, i->code);
		}
	}
	fail_msg("it runs off its end");
	return 0;
}

static void put_address(struct sockaddr_storage *out, bool v6, const uint8_t *bytes)
{
	memset(out, 0, sizeof(*out));
	out->ss_family = v6 ? AF_INET6 : AF_INET;
	if (v6)
		memcpy(&((struct sockaddr_in6 *)out)->sin6_addr, bytes, 16);
	else
		memcpy(&((struct sockaddr_in *)out)->sin_addr, bytes, 4);
}

static void packet_from(uint8_t packet[40], bool v6, const uint8_t *source)
{
	memset(packet, 0xee, 40);
	packet[0] = v6 ? 0x60 : 0x45;
	memcpy(packet + (v6 ? 8 : 12), source, v6 ? 16 : 4);
}

/* Draws few values per byte, so that addresses share words and strangers have similar ones. */
static void draw_address(struct prng *prng, uint8_t bytes[16], unsigned values)
{
	for (unsigned i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(prng_below(prng, values) * 0x55 + 1);
}

/* Draws an address whose words, some or all, are any words of `of`. */
static void draw_near(struct prng *prng, uint8_t bytes[16], const uint8_t of[16])
{
	unsigned all = prng_below(prng, 4);

	memcpy(bytes, of, 16);
	for (unsigned w = 0; w < 4; w++)
		if (!all || prng_below(prng, 4) == 0)
			memcpy(bytes + 4 * w, of + 4 * prng_below(prng, 4), 4);
}

/* Makes a set with members that have left, the last of which the filter accepts, too. */
static struct members *draw_ended(
	struct prng *prng, bool v6, unsigned values, uint8_t bytes[ENDED][16])
{
	struct member_address address = {.family = v6 ? 6 : 4, .port = 1};
	struct members *m;
	char name[16];

	assert_int_equal(members_create(&m), 0);
	for (unsigned i = 0; i < ENDED; i++) {
		draw_address(prng, bytes[i], values);
		memcpy(address.bytes, bytes[i], v6 ? 16 : 4);
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(members_add(m, name, &address, NULL, 1), 0);
	}
	for (unsigned i = 0; i < ENDED; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		assert_int_equal(members_remove(m, name, true), 0);
	}
	return m;
}

static void check_roster(struct prng *prng, bool v6, unsigned n, unsigned values)
{
	uint8_t ended[ENDED][16];
	struct members *members = n > 40 ? NULL : draw_ended(prng, v6, values, ended);
	static struct peer_config roster[MOST];
	static uint8_t bytes[MOST][16];
	static struct sock_filter code[SOURCE_FILTER_MOST];
	struct gossip_config gossip = {
		.roster = roster, .n_roster = n, .self = prng_below(prng, n)};
	size_t size = v6 ? 16 : 4;
	uint8_t packet[40];
	int len;

	gossip.listen.ss_family = v6 ? AF_INET6 : AF_INET;
	for (unsigned i = 0; i < n; i++) {
		draw_address(prng, bytes[i], values);
		put_address(&roster[i].address, v6, bytes[i]);
	}
	len = source_filter_build(&gossip, members, code);
	assert_true(len > 0);
	for (unsigned i = 0; i < 2000; i++) {
		uint8_t source[16];
		bool known = false;

		draw_address(prng, source, values + 1);
		if (i < n)
			memcpy(source, bytes[i], 16);
		else if (i % 2)
			draw_near(prng, source, bytes[prng_below(prng, n)]);
		for (unsigned k = 0; k < n; k++)
			known |= k != gossip.self && memcmp(bytes[k], source, size) == 0;
		for (unsigned k = ENDED - SOURCE_FILTER_ENDED; members && k < ENDED; k++)
			known |= memcmp(ended[k], source, size) == 0;
		packet_from(packet, v6, source);
		assert_int_equal(run_filter(code, (unsigned)len, packet), known ? UINT32_MAX : 0);
		packet_from(packet, v6, source);
		packet[0] = v6 ? 0x45 : 0x60;
		assert_int_equal(run_filter(code, (unsigned)len, packet), 0);
	}
	members_destroy(members);
}

TEST(test_random_rosters)
{
	static const unsigned sizes4[] = {2, 3, 5, 9, 40, 300}, sizes6[] = {2, 3, 5, 9, 40, 90};
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned values = 2; values < 4; values++)
		for (unsigned i = 0; i < 6; i++) {
			check_roster(&prng, false, sizes4[i], values);
			check_roster(&prng, true, sizes6[i], values);
		}
}

TEST(test_refused_rosters)
{
	static struct peer_config roster[1000];
	static struct sock_filter code[SOURCE_FILTER_MOST];
	struct gossip_config gossip = {.roster = roster, .n_roster = 1000};

	gossip.listen.ss_family = AF_INET;
	for (uint32_t i = 0; i < 1000; i++)
		put_address(&roster[i].address, false, (const uint8_t *)&i);
	assert_int_equal(source_filter_build(&gossip, NULL, code), -E2BIG);
	gossip.n_roster = 2;
	gossip.listen.ss_family = AF_INET6;
	roster[1].address.ss_family = AF_INET6;
	inet_pton(AF_INET6, "::ffff:10.0.0.1",
		&((struct sockaddr_in6 *)&roster[1].address)->sin6_addr);
	assert_int_equal(source_filter_build(&gossip, NULL, code), -EAFNOSUPPORT);
}

static int socket_at(const char *text, struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){.sin_family = AF_INET};
	inet_pton(AF_INET, text, &at->sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

/* The kernel runs the filter: all addresses of 127.0.0.0/8 are this machine's. */
TEST(test_in_the_kernel)
{
	static struct peer_config roster[100];
	static struct sock_filter code[SOURCE_FILTER_MOST];
	struct gossip_config gossip = {.roster = roster, .n_roster = 100};
	struct sock_fprog program = {.filter = code};
	struct sockaddr_in own, other;
	char text[32], buf[8];
	int fd = socket_at("127.0.0.1", &own);

	gossip.listen.ss_family = AF_INET;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "127.0.1.%u", 2 * i + 1);
		roster[i].address.ss_family = AF_INET;
		inet_pton(AF_INET, text, &((struct sockaddr_in *)&roster[i].address)->sin_addr);
	}
	program.len = (unsigned short)source_filter_build(&gossip, NULL, code);
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
	for (unsigned i = 0; i < 200; i++) {
		bool known = i % 2 && i != 1; /* 1 is this limiter's own */
		int from;

		snprintf(text, sizeof(text), "127.0.1.%u", i);
		if (i == 0)
			continue;
		from = socket_at(text, &other);
		assert_int_equal(sendto(from, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)), 1);
		assert_int_equal(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), known ? 1 : -1);
		close(from);
	}
	close(fd);
}
