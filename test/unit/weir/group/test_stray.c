/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter that was removed and returns: a real socket on one side, gossip and a set of members on
 * the other. Some of the datagrams are lost, by a seed.
 */
#include "check.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/gossip.h"
#include "gossip_socket.h"
#include "group_task.h"
#include "members/exchange.h"
#include "policy/value.h"
#include "secret/group_keys.h"

#define STEP_NS (SECOND_NS / 100)

/* Both ends. Limiter 0, "here", is the member; "gone" has been removed, and its set is old. */
struct pair {
	struct peer_config peers[2];
	struct gossip_config config;
	struct gossip_socket *socket;
	struct members *ours, *theirs;
	struct stray *stray;
	struct gossip_stray datagram;
	int fd; /* the socket of "gone" */
	struct gossip *gossip;
	struct exchange *exchange;
	struct roster *roster;
	unsigned sent; /* datagrams that have reached "gone" */
	uint64_t now;
};

static void put_member(struct members *m, const char *name)
{
	struct member_address address = {.family = 4, .bytes = {127, 0, 0, 9}, .port = 9};

	assert_int_equal(members_seed(m, name, &address, NULL), 0);
}

static void open_far_end(struct pair *p)
{
	const uint64_t policy = 7;
	const struct gossip_params gossip = {.roster = p->roster,
		.self = 1,
		.n_policies = 1,
		.policies = &policy,
		.epoch = 77,
		.branching = 1,
		.tick_ns = STEP_NS,
		.timeout_ns = SECOND_NS,
		.datagram_max = 1200};
	const struct exchange_params exchange = {.n = 2, .self = 1, .members = p->theirs};

	assert_int_equal(gossip_create(&gossip, p->now, &p->gossip), 0);
	assert_int_equal(exchange_create(&exchange, &p->exchange), 0);
}

static void open_pair(struct pair *p)
{
	struct peer_config *here = &p->peers[0], *gone = &p->peers[1];
	socklen_t len = sizeof(gone->address);

	*p = (struct pair){.now = SECOND_NS};
	strcpy(here->name, "here");
	strcpy(gone->name, "gone");
	assert_int_equal(address_parse("127.0.0.8:1", &here->address, &here->address_len), 0);
	assert_int_equal(address_parse("127.0.0.9:1", &gone->address, &gone->address_len), 0);
	((struct sockaddr_in *)&here->address)->sin_port = 0;
	((struct sockaddr_in *)&gone->address)->sin_port = 0;
	p->config = (struct gossip_config){.roster = p->peers,
		.n_roster = 2,
		.datagram_max = 1200,
		.sources = SOURCES_ANY,
		.listen = here->address,
		.listen_len = here->address_len};
	p->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->fd, (struct sockaddr *)&gone->address, gone->address_len), 0);
	assert_int_equal(getsockname(p->fd, (struct sockaddr *)&gone->address, &len), 0);
	assert_int_equal(members_create(&p->ours), 0);
	assert_int_equal(members_create(&p->theirs), 0);
	put_member(p->ours, "here");
	put_member(p->ours, "gone");
	put_member(p->ours, "new");
	assert_int_equal(members_remove(p->ours, "gone", true), 0);
	put_member(p->theirs, "here");
	put_member(p->theirs, "gone");
	assert_int_equal(group_keys_roster(&p->config, &p->roster), 0);
	assert_int_equal(gossip_socket_open(&p->config, p->ours, &p->socket), 0);
	open_far_end(p);
	p->datagram.from = gone->address;
	p->datagram.from_len = gone->address_len;
	assert_int_equal(
		stray_create(&p->config, NULL, p->ours, &p->datagram, p->now, &p->stray), 0);
}

static void close_pair(struct pair *p)
{
	stray_destroy(p->stray);
	gossip_socket_close(p->socket);
	gossip_destroy(p->gossip);
	exchange_destroy(p->exchange);
	members_destroy(p->ours);
	members_destroy(p->theirs);
	roster_destroy(p->roster);
	close(p->fd);
}

static void to_member(struct pair *p, const uint8_t *buf, size_t len)
{
	memcpy(p->datagram.bytes, buf, len);
	p->datagram.len = len;
	stray_receive(p->stray, &p->datagram, p->now);
}

/* A tick of a limiter: its gossip, answers and members. */
static void run_far_end(struct pair *p, struct prng *lossy)
{
	uint8_t buf[DATAGRAM_MAX];
	ssize_t got;
	size_t len;
	unsigned to;

	while ((got = recv(p->fd, buf, sizeof(buf), 0)) > 0) {
		struct gossip_message message;

		p->sent++;
		if (lossy && prng_below(lossy, 3) == 0)
			continue;
		if (gossip_receive(p->gossip, p->now, buf, (size_t)got) != GOSSIP_MESSAGE)
			continue;
		message = gossip_message(p->gossip, buf, (size_t)got);
		if (message.len > 0)
			exchange_receive(p->exchange, 0, message.at, message.len);
	}
	gossip_tick(p->gossip, p->now);
	exchange_tick(p->exchange);
	while ((len = gossip_send(p->gossip, buf, &to)) > 0)
		if (!lossy || prng_below(lossy, 3))
			to_member(p, buf, len);
	while ((len = gossip_answer(p->gossip, buf, &to)) > 0)
		if (!lossy || prng_below(lossy, 3))
			to_member(p, buf, len);
	while ((len = exchange_send(p->exchange, p->now, gossip_message_at(buf),
			gossip_message_room(p->gossip), &to)) > 0) {
		len = gossip_seal_message(p->gossip, buf, len, to);
		if (!lossy || prng_below(lossy, 3))
			to_member(p, buf, len);
	}
}

static void step(struct pair *p, struct prng *lossy)
{
	p->now += STEP_NS;
	stray_run(p->stray, p->socket, p->now);
	run_far_end(p, lossy);
}

/* With any loss, the limiter finds that it was removed, and our set stays as it is. */
TEST(test_finds_its_removal)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		struct prng lossy;
		struct pair p;
		uint64_t digest;
		bool differed = false;

		prng_seed(&lossy, seed);
		open_pair(&p);
		digest = members_digest(p.ours);
		while (!stray_is_over(p.stray, p.now)) {
			step(&p, seed > 0 ? &lossy : NULL);
			differed |= stray_differs(p.stray, p.now);
		}
		assert_true(differed);
		assert_null(members_find(p.theirs, "gone"));
		assert_non_null(members_find(p.theirs, "new"));
		assert_true(members_digest(p.ours) == digest);
		assert_true(seed > 0 || p.now < 2 * SECOND_NS); /* a second */
		close_pair(&p);
	}
}

/* A limiter that was removed cannot add another one, and is left alone after some seconds. */
TEST(test_adds_no_member)
{
	struct pair p;
	uint64_t digest;

	open_pair(&p);
	put_member(p.theirs, "intruder");
	exchange_watch(p.exchange, 0, true); /* also sends without a request */
	digest = members_digest(p.ours);
	while (!stray_is_over(p.stray, p.now))
		step(&p, NULL);
	assert_true(members_digest(p.ours) == digest);
	assert_null(members_find(p.theirs, "gone"));
	assert_true(stray_differs(p.stray, p.now));
	assert_true(p.now >= 10 * SECOND_NS && p.now < 13 * SECOND_NS);
	close_pair(&p);
}

/* Nothing is sent to an address whose datagrams do not open. */
TEST(test_not_authentic)
{
	static const uint8_t garbage[200] = {DATAGRAM_VERSION};
	uint8_t buf[DATAGRAM_MAX];
	struct pair p;

	open_pair(&p);
	while (!stray_is_over(p.stray, p.now)) {
		p.now += STEP_NS;
		to_member(&p, garbage, sizeof(garbage));
		stray_run(p.stray, p.socket, p.now);
		assert_true(recv(p.fd, buf, sizeof(buf), 0) < 0);
		assert_false(stray_differs(p.stray, p.now));
	}
	close_pair(&p);
}
