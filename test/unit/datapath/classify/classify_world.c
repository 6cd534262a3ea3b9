/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify_world.h"

#include <arpa/inet.h>

#include <rte_eal.h>

#include "base/prng.h"

static struct prefix make_prefix(const char *text)
{
	struct prefix prefix = {0};
	char addr[64];
	const char *slash;

	if (text == NULL)
		return prefix;
	slash = strchr(text, '/');
	assert_non_null(slash);
	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - text), text);
	prefix.family = strchr(addr, ':') != NULL ? 6 : 4;
	prefix.length = atoi(slash + 1);
	assert_int_equal(inet_pton(prefix.family == 6 ? AF_INET6 : AF_INET, addr, prefix.addr), 1);
	return prefix;
}

struct policy make_policy(const struct row *row)
{
	return (struct policy){
		.match =
			{
				.wire = row->wire - 1,
				.vlan = row->vlan - 1,
				.dscp = row->dscp - 1,
				.direction = row->direction,
				.dst = make_prefix(row->dst),
				.src = make_prefix(row->src),
				.proto = row->proto,
				.src_port = row->sport,
				.dst_port = row->dport,
			},
	};
}

unsigned join_rows(struct policy *rows, const bool *joins, unsigned n, struct match *matches,
	struct policy *joined, uint32_t *of)
{
	unsigned n_joined = 0;

	for (unsigned i = 0; i < n; i++) {
		matches[i] = rows[i].match;
		if (i == 0 || !joins[i]) {
			joined[n_joined] = rows[i];
			joined[n_joined++].more = &matches[i + 1];
		} else {
			rows[i] = joined[n_joined - 1];
			rows[i].match = matches[i];
			rows[i].n_more = 0;
			joined[n_joined - 1].n_more++;
		}
		of[i] = n_joined - 1;
	}
	return n_joined;
}

static uint8_t put_address(const char *text, uint8_t *out)
{
	const uint8_t family = strchr(text, ':') != NULL ? 6 : 4;

	assert_int_equal(inet_pton(family == 6 ? AF_INET6 : AF_INET, text, out), 1);
	return family;
}

static struct prng prng;

void classify_world_seed(uint64_t seed)
{
	prng_seed(&prng, seed);
}

uint64_t random_next(void)
{
	return prng_next(&prng);
}

bool one_in(unsigned n)
{
	return random_next() % n == 0;
}

static void put_frame_bytes(struct frame *frame, const void *bytes, unsigned n)
{
	assert_true(frame->len + n <= sizeof(frame->bytes));
	memcpy(frame->bytes + frame->len, bytes, n);
	frame->len += n;
}

static void put_frame_u8(struct frame *frame, unsigned byte)
{
	put_frame_bytes(frame, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_frame_u16(struct frame *frame, unsigned word)
{
	put_frame_u8(frame, word >> 8);
	put_frame_u8(frame, word);
}

static void put_random(struct frame *frame, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_frame_u8(frame, random_next());
}

static void put_ethernet(struct frame *frame)
{
	static const uint16_t tags[] = {0x8100, 0x8100, 0x88a8, 0x9100};

	put_random(frame, 12);
	if (frame->vlan != CONFIG_ANY) {
		put_frame_u16(frame, tags[random_next() % COUNT(tags)]);
		put_frame_u16(frame, (random_next() & 0xf) << 12 | (unsigned)frame->vlan);
	}
	if (frame->vlan != CONFIG_ANY && frame->form == SECOND_TAG) {
		put_frame_u16(frame, 0x8100);
		put_frame_u16(frame, random_next());
	}
	put_frame_u16(frame, frame->family == 4 ? 0x0800 : frame->family == 6 ? 0x86dd : 0x0806);
	frame->l2_len = frame->len;
}

static void put_ipv4(struct frame *frame, unsigned payload)
{
	const bool options = frame->form == OPTIONS;

	put_frame_u8(frame, options ? 0x46 : 0x45);
	put_frame_u8(frame, frame->dscp << 2 | (random_next() & 3));
	put_frame_u16(frame, frame->form == SHORT ? 19 : (options ? 24 : 20) + payload);
	put_frame_u16(frame, random_next());
	put_frame_u16(frame, frame->form == FRAGMENT ? 0x2000 : one_in(2) << 14);
	put_frame_u8(frame, random_next());
	put_frame_u8(frame, frame->proto);
	put_random(frame, 2);
	put_frame_bytes(frame, frame->src, 4);
	put_frame_bytes(frame, frame->dst, 4);
	put_random(frame, options ? 4 : 0);
}

static void put_ipv6(struct frame *frame, unsigned payload)
{
	const bool more = frame->form == OPTIONS || frame->form == FRAGMENT;

	put_frame_u16(frame, 6u << 12 | frame->dscp << 6 | (random_next() & 0x3f));
	put_random(frame, 2);
	put_frame_u16(frame, payload + (more ? 8 : 0));
	put_frame_u8(frame, frame->form == FRAGMENT ? 44 : more ? 60 : frame->proto);
	put_frame_u8(frame, random_next());
	put_frame_bytes(frame, frame->src, 16);
	put_frame_bytes(frame, frame->dst, 16);
	if (!more)
		return;
	put_frame_u8(frame, frame->proto);
	put_frame_u8(frame, 0);
	put_frame_u16(frame, frame->form == FRAGMENT);
	put_random(frame, 4);
}

static bool has_ports(uint8_t proto)
{
	return proto == 6 || proto == 17 || proto == 33 || proto == 132 || proto == 136;
}

void put_frame(struct frame *frame)
{
	const unsigned payload = frame->form == EMPTY ? random_next() % 4 : 20;

	frame->len = 0;
	put_ethernet(frame);
	if (frame->family == 4)
		put_ipv4(frame, payload);
	else if (frame->family == 6)
		put_ipv6(frame, payload);
	if (frame->form == NO_TAG) {
		frame->bytes[13] = 0x06;
		frame->l2_len = 14;
		frame->vlan = CONFIG_ANY;
	}
	if (frame->form != CUT) {
		put_frame_u16(frame, frame->sport);
		put_frame_u16(frame, frame->dport);
		put_random(frame, 16 + random_next() % 20);
	} else if (frame->family != 0) {
		frame->len = frame->l2_len + random_next() % 20;
	}
	if (frame->form == CUT || frame->form == NO_TAG ||
		(frame->form == SHORT && frame->family == 4))
		frame->family = 0;
	if (frame->family == 0)
		frame->proto = 0;
	if (!has_ports(frame->proto) || frame->form == FRAGMENT || frame->form == EMPTY) {
		frame->sport = 0;
		frame->dport = 0;
	}
}

void make_frame(const struct row *row, enum form form, struct frame *frame)
{
	*frame = (struct frame){.form = form, .vlan = row->vlan - 1, .proto = row->proto};
	frame->dscp = row->dscp != 0 ? row->dscp - 1 : 0;
	frame->sport = row->sport.first;
	frame->dport = row->dport.first;
	if (row->dst != NULL)
		frame->family = put_address(row->dst, frame->dst);
	if (row->src != NULL)
		put_address(row->src, frame->src);
	put_frame(frame);
}

void copy_frames(const struct frame *from, unsigned n, struct frames *to)
{
	memset(to, 0xa5, sizeof(*to));
	to->tunnels = NULL;
	to->fragments = NULL;
	to->lines = NULL;
	to->wide = false;
	for (unsigned i = 0; i < n; i++) {
		uint8_t *copy = malloc(from[i].len);

		assert_non_null(copy);
		memcpy(copy, from[i].bytes, from[i].len);
		to->data[i] = copy;
		to->len[i] = from[i].len;
	}
}

void free_frames(struct frames *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free((void *)(uintptr_t)frames->data[i]);
}

/* Checks the policies, and the L2 lengths if there are any. */
static void check_policies(const char *name, const struct frame *sent, unsigned n,
	const struct frames *frames, const uint32_t *expect)
{
	for (unsigned i = 0; i < n; i++) {
		if (frames->policy[i] != expect[i])
			fail_msg("%s: frame %u of %u, form %d: policy %d, not %d", name, i, n,
				sent[i].form, (int)frames->policy[i], (int)expect[i]);
		if (frames->l2_len[i] != 0 && frames->l2_len[i] != sent[i].l2_len)
			fail_msg("%s: frame %u of %u, form %d: L2 length %u, not %u", name, i, n,
				sent[i].form, frames->l2_len[i], sent[i].l2_len);
	}
}

/* Reads a source address. This must not parse a plain frame. */
static void check_source(struct frames *frames, unsigned i, const struct packet *packet)
{
	const bool plain = frames->plain >> i & 1, parsed = frames->parsed >> i & 1;
	const uint8_t *src;

	assert_int_equal(frames_source(frames, i, &src), packet->family);
	if (packet->family != PACKET_OTHER)
		assert_ptr_equal(src, frames->data[i] + packet->src_off);
	assert_int_equal(frames->parsed >> i & 1, parsed || !plain);
}

void classify_both(const char *name, const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct frame *sent, unsigned n, const uint32_t *expect)
{
	struct packet packets[BURST];
	struct frames frames;

	copy_frames(sent, n, &frames);
	if (classify_has_wide()) {
		frames.wide = true;
		classify_frames(classifier, wire, direction, &frames, n);
		check_policies(name, sent, n, &frames, expect);
		frames.wide = false;
	}
	classify_frames(classifier, wire, direction, &frames, n);
	check_policies(name, sent, n, &frames, expect);
	for (unsigned i = 0; i < n; i++) {
		packet_parse(frames.data[i], frames.len[i], &packets[i]);
		check_source(&frames, i, &packets[i]);
		frames.l2_len[i] = packets[i].l2_len;
	}
	memset(frames.policy, 0xa5, sizeof(frames.policy));
	classify_burst(classifier, wire, direction, packets, frames.data, n, frames.policy);
	check_policies(name, sent, n, &frames, expect);
	if (n < BURST)
		assert_int_equal(frames.policy[n], 0xa5a5a5a5);
	free_frames(&frames, n);
}

void check_packet(const struct classifier *classifier, const struct row *row, const char *name,
	enum form form)
{
	struct frame sent[BURST];
	uint32_t expect[BURST];

	for (unsigned i = 0; i < BURST; i++) {
		make_frame(row, form, &sent[i]);
		expect[i] = row->expect == NOTHING ? CLASSIFY_NONE : (uint32_t)row->expect;
	}
	for (unsigned n = 0; n <= BURST; n = n * 2 + 1)
		classify_both(name, classifier, row->wire != 0 ? row->wire - 1 : 0, row->direction,
			sent, n, expect);
}

int start_eal(void **state)
{
	char *args[] = {(char[]){"classify"}, (char[]){"--no-huge"}, (char[]){"-m"},
		(char[]){"512"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--no-shconf"}, (char[]){"--log-level=1"}, (char[]){"-l"}, (char[]){"0"}};

	return rte_eal_init(COUNT(args), args) < 0 ? -1 : 0;
}

int stop_eal(void **state)
{
	return rte_eal_cleanup();
}
