/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include <sodium.h>

#include "base/hash.h"
#include "base/prng.h"
#include "base/wire.h"
#include "gossip/gossip.h"
#include "one_key.h"

#define TICK    (50 * MS)
#define TIMEOUT (1000 * MS)
#define N_MAX   16

static const uint8_t key[DATAGRAM_KEY] = "an example key of thirty-two by";
static const uint8_t other_key[DATAGRAM_KEY] = "another key that is of no use he";

/* A group of n limiters on one clock. */
struct group {
	struct gossip *g[N_MAX];
	uint32_t ids[N_MAX];
	struct roster *roster;
	uint64_t policies[64];
	unsigned n, n_policies, branching;
	uint64_t now;
};

static struct gossip *make_gossip_member(const struct group *group, unsigned self, uint64_t epoch,
	const uint8_t (*with_key)[DATAGRAM_KEY])
{
	struct gossip_params params = {
		.roster = group->roster,
		.self = self,
		.n_policies = group->n_policies,
		.policies = group->policies,
		.keyring = one_key(group->roster, self, with_key),
		.epoch = epoch,
		.seed = 1000 + self,
		.branching = group->branching,
		.tick_ns = TICK,
		.timeout_ns = TIMEOUT,
		.datagram_max = 1200,
	};
	struct gossip *gossip = NULL;

	assert_int_equal(gossip_create(&params, group->now, &gossip), 0);
	return gossip;
}

static void group_start(struct group *group, unsigned n, unsigned n_policies)
{
	char name[32];

	*group = (struct group){.n = n, .n_policies = n_policies, .branching = 3, .now = 5000 * MS};
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "l%u", i + 1);
		group->ids[i] = name_hash(name);
	}
	assert_int_equal(roster_create(group->ids, n, &group->roster), 0);
	for (unsigned i = 0; i < n_policies; i++) {
		snprintf(name, sizeof(name), "policy%u", i);
		group->policies[i] = name_hash(name);
	}
	for (unsigned i = 0; i < n; i++)
		group->g[i] = make_gossip_member(group, i, 100 + i, &key);
}

/* Starts a group without keys, so that a test can read its datagrams. */
static void start_plain_group(struct group *group, unsigned n, unsigned n_policies)
{
	group_start(group, n, n_policies);
	for (unsigned i = 0; i < n; i++) {
		end_gossip_and_keys(group->g[i]);
		group->g[i] = make_gossip_member(group, i, 100 + i, NULL);
	}
}

static void group_stop(struct group *group)
{
	for (unsigned i = 0; i < group->n; i++)
		end_gossip_and_keys(group->g[i]);
	roster_destroy(group->roster);
}

/* Returns true if a datagram from one limiter to the other arrives. */
typedef bool (*path)(void *context, unsigned from, unsigned to);

static bool always_arrives(void *context, unsigned from, unsigned to)
{
	return from != to;
}

static void tick_gossip_group(struct group *group, path arrives, void *context)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	group->now += TICK;
	for (unsigned i = 0; i < group->n; i++) {
		if (!group->g[i])
			continue;
		gossip_tick(group->g[i], group->now);
		while ((len = gossip_send(group->g[i], buf, &to)) > 0)
			if (group->g[to] && arrives(context, i, to))
				gossip_receive(group->g[to], group->now + 1, buf, len);
	}
}

static void tick_gossip_times(struct group *group, unsigned n, path arrives, void *context)
{
	for (unsigned i = 0; i < n; i++)
		tick_gossip_group(group, arrives, context);
}

static uint64_t count_verdicts(const struct gossip *g, enum gossip_verdict verdict)
{
	return gossip_counters(g)->verdict[verdict];
}

TEST(test_codec_vector)
{
	/* Written out by hand from the format in datagram.h. */
	static const uint8_t want[] = {
		0x03, 0x00, 0x00, 0x00, 0x11, 0x22, 0x33, 0x44, /* header: formats, sender */
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* epoch */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, /* counter */
		0xca, 0xfe, 0xf0, 0x0d, 0x01, 0x02, 0x03, 0x04, /* random bits, key */
		0xaa, 0xbb, 0xcc, 0xdd,                         /* body: receiver */
		0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, /* echoed epoch */
		0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x09, /* its tick, tick */
		0x00, 0x01,                                     /* records */
		0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, /* record: policy */
		0x00, 0x00, 0x00, 0x08,                         /* version */
		0x49, 0x98, 0x96, 0x80, 0x40, 0x60, 0x00, 0x00, /* demand, weight */
		0x01, 0x01, 0x01, 0x01,                         /* section: origin */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, /* epoch */
		0x00, 0x00, 0x01, 0x00, 0x00, 0x00,             /* tick, records */
	};
	struct datagram_header header = {
		3, 0, 0, 0, 0x11223344, 0x0102030405060708, 42, 0xcafef00d, 0x01020304};
	struct datagram_body body = {0xaabbccdd, 0x1020304050607080, 7, 9, 1, 3};
	struct datagram_record record = {0xfeedfacedeadbeef, 8, 1250000.0f, 3.5f};
	struct datagram_section section = {0x01010101, 5, 256, 0};
	uint8_t buf[sizeof(want)];
	struct cursor cursor = {buf, buf + sizeof(buf), false};

	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	datagram_write_record(&cursor, &record);
	datagram_write_section(&cursor, &section);
	assert_false(cursor.failed);
	assert_int_equal(cursor_left(&cursor), 0);
	assert_memory_equal(buf, want, sizeof(want));
	datagram_write_record(&cursor, &record);
	assert_true(cursor.failed);

	cursor = (struct cursor){buf, buf + sizeof(buf), false};
	datagram_read_header(&cursor, &header);
	datagram_read_body(&cursor, &body);
	datagram_read_record(&cursor, &record);
	datagram_read_section(&cursor, &section);
	assert_false(cursor.failed);
	assert_true(header.sender == 0x11223344 && header.counter == 42);
	assert_true(body.echo_epoch == 0x1020304050607080 && body.tick == 9);
	assert_true(record.demand == 1250000.0f && record.weight == 3.5f);
	assert_true(section.epoch == 5 && section.tick == 256);
}

/*
 * The golden datagram of format 3, sealed by limiter l1 to l2 in a roster of three. It was made
 * once with libsodium alone, from datagram.h and keyring.c. Any change of it breaks every peer.
 */
TEST(test_pair_vector)
{
	static const uint8_t header_want[DATAGRAM_HEADER] = {
		0x03, 0x01, 0x03, 0x03,                         /* format, flags, newest, oldest */
		0, 0, 0, 0,                                     /* sender: filled in */
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* epoch */
		0, 0, 0, 0, 0, 0, 0, 42,                        /* counter */
		0xca, 0xfe, 0xf0, 0x0d,                         /* random bits */
		0, 0, 0, 0,                                     /* key: filled in */
	};
	uint8_t buf[DATAGRAM_MIN + DATAGRAM_TAG], copy[sizeof(buf)], want[DATAGRAM_HEADER];
	struct datagram_header header = {.version = 3,
		.flags = DATAGRAM_SEALED,
		.newest = 3,
		.oldest = 3,
		.epoch = 0x0102030405060708,
		.counter = 42,
		.random = 0xcafef00d};
	struct cursor cursor = {buf, buf + DATAGRAM_MIN, false};
	struct datagram_body body = {0, 0x1020304050607080, 7, 9, 0, 3};
	struct keyring *ring;
	struct group group;
	char hex[2 * sizeof(buf) + 1];

	group_start(&group, 3, 1);
	ring = one_key(group.roster, 0, &key);
	header.sender = group.ids[0];
	header.key = keyring_name(ring, false);
	body.receiver = group.ids[1];
	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	assert_false(cursor.failed);
	memcpy(want, header_want, sizeof(want));
	wire_put32(want + 4, group.ids[0]);
	wire_put32(want + 28, header.key);
	assert_memory_equal(buf, want, sizeof(want));
	assert_int_equal(
		datagram_seal(buf, DATAGRAM_MIN, keyring_find(ring, 1, header.key)), sizeof(buf));
	sodium_bin2hex(hex, sizeof(hex), buf, sizeof(buf));
	assert_string_equal(hex,
		"0301030318317e4e0102030405060708000000000000002acafef00d65d80db7adb461"
		"0aa8793ef782020e42002f4d7ac4e0b17c75387c752b0b1331bfbbec9cf7abb2d55e32");
	keyring_destroy(ring);

	ring = one_key(group.roster, 1, &key);
	for (size_t i = 0; i < sizeof(buf); i++) {
		memcpy(copy, buf, sizeof(buf));
		copy[i] ^= 0x10;
		assert_int_equal(
			datagram_open(copy, sizeof(copy), keyring_find(ring, 0, header.key)),
			-EBADMSG);
	}
	memcpy(copy, buf, sizeof(buf));
	assert_int_equal(datagram_open(copy, sizeof(copy), key), -EBADMSG);
	memcpy(copy, buf, sizeof(buf));
	assert_int_equal(
		datagram_open(copy, sizeof(copy), keyring_find(ring, 0, header.key)), DATAGRAM_MIN);
	cursor = (struct cursor){copy, copy + DATAGRAM_MIN, false};
	datagram_read_header(&cursor, &header);
	assert_true(header.version == 3 && header.random == 0xcafef00d && header.counter == 42);
	keyring_destroy(ring);
	group_stop(&group);
}

/* Random small changes also arrive eventually, with the refresh. */
TEST(test_small_changes_arrive)
{
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 2, 40);
	for (unsigned p = 0; p < 40; p++)
		gossip_set(group.g[0], p, 1000, 1);
	tick_gossip_times(&group, 20, always_arrives, NULL);
	for (unsigned p = 0; p < 40; p++)
		gossip_set(group.g[0], p, 1001, 1);
	tick_gossip_times(&group, 40 / 8 + 1, always_arrives, NULL);
	for (unsigned p = 0; p < 40; p++)
		assert_near(gossip_sum(group.g[1], p).demand, 1001, 1e-3);
}

/* Contents of a datagram: the sender's own records, then sections and records by origin. */
struct content {
	unsigned own, sections;
	unsigned origin[N_MAX], records[N_MAX];
};

static struct content read_content(const struct group *group, uint8_t *buf, size_t len)
{
	struct cursor cursor = {buf, buf + len, false};
	struct content content = {0};
	struct datagram_section section;
	struct datagram_header header;
	struct datagram_record record;
	struct datagram_body body;

	datagram_read_header(&cursor, &header);
	datagram_read_body(&cursor, &body);
	content.own = body.n_records;
	for (unsigned i = 0; i < content.own; i++)
		datagram_read_record(&cursor, &record);
	while (cursor_left(&cursor) > 0) {
		datagram_read_section(&cursor, &section);
		assert_true(content.sections < N_MAX);
		content.origin[content.sections] = roster_find(group->roster, section.origin);
		content.records[content.sections++] = section.n_records;
		for (unsigned i = 0; i < section.n_records; i++)
			datagram_read_record(&cursor, &record);
	}
	assert_false(cursor.failed);
	return content;
}

/* The next origin whose state `from` relays to `to`. */
static unsigned origin_after(const struct group *group, unsigned at, unsigned from, unsigned to)
{
	do
		at = (at + 1) % group->n;
	while (at == from || at == to);
	return at;
}

/* If nothing changes, a datagram carries the refreshed records and the ticks of two other peers. */
TEST(test_nothing_changes)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to, at = N_MAX;
	ENDED_BY(group_stop) struct group group;
	size_t len;

	start_plain_group(&group, 6, 2);
	for (unsigned i = 0; i < 6; i++)
		for (unsigned p = 0; p < 2; p++)
			gossip_set(group.g[i], p, 1, 1);
	tick_gossip_times(&group, 60, always_arrives, NULL);
	for (unsigned t = 0; t < 4; t++) {
		group.now += TICK;
		gossip_tick(group.g[0], group.now);
		while ((len = gossip_send(group.g[0], buf, &to)) > 0) {
			struct content content = read_content(&group, buf, len);

			assert_int_equal(content.own, 2);
			assert_int_equal(content.sections, 2);
			for (unsigned i = 0; i < 2; i++) {
				if (at < N_MAX)
					assert_int_equal(
						content.origin[i], origin_after(&group, at, 0, to));
				assert_int_equal(content.records[i], 0);
				at = content.origin[i];
			}
		}
	}
}

/*
 * News of a peer is relayed for the three rounds in which a rumour reaches six peers, then stops.
 */
TEST(test_news_is_relayed)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to, relayed = 0;
	ENDED_BY(group_stop) struct group group;
	size_t len;

	start_plain_group(&group, 6, 1);
	for (unsigned i = 0; i < 6; i++)
		gossip_set(group.g[i], 0, 1, 1);
	tick_gossip_times(&group, 60, always_arrives, NULL);
	gossip_set(group.g[1], 0, 1, 5);
	for (unsigned t = 0; t < 30; t++) {
		group.now += TICK;
		for (unsigned i = 0; i < 6; i++) {
			gossip_tick(group.g[i], group.now);
			while ((len = gossip_send(group.g[i], buf, &to)) > 0) {
				struct content content = read_content(&group, buf, len);

				for (unsigned k = 0; i == 0 && k < content.sections; k++)
					relayed += content.records[k];
				gossip_receive(group.g[to], group.now, buf, len);
			}
		}
	}
	assert_int_equal(relayed, 3 * group.branching);
	assert_near(gossip_sum(group.g[0], 0).weight, 9, 1e-6);
}

TEST(test_never_above_the_mtu)
{
	ENDED_BY(group_stop) struct group group;
	uint8_t buf[DATAGRAM_MAX];
	unsigned to, records = 0;
	size_t len;

	group_start(&group, 8, 64);
	for (int t = 0; t < 60; t++) {
		for (unsigned i = 0; i < 8; i++)
			for (unsigned p = 0; p < 64; p++)
				gossip_set(group.g[i], p, 1000 * (t + 1), t + 1);
		group.now += TICK;
		for (unsigned i = 0; i < 8; i++) {
			gossip_tick(group.g[i], group.now);
			while ((len = gossip_send(group.g[i], buf, &to)) > 0) {
				assert_true(len <= 1200);
				records += len > 1100;
				gossip_receive(group.g[to], group.now, buf, len);
			}
		}
	}
	assert_true(records > 0); /* datagrams were filled up */
	for (int t = 0; t < 40; t++)
		tick_gossip_group(&group, always_arrives, NULL);
	for (unsigned p = 0; p < 64; p++)
		assert_near(gossip_sum(group.g[3], p).weight, 7 * 60, 1e-3);
}

/* A round visits each other peer once, in a newly drawn order; it ends with a tick. */
TEST(test_rounds)
{
	static const unsigned sizes[] = {8, 15, N_MAX};

	for (unsigned s = 0; s < COUNT(sizes); s++) {
		unsigned order[2][N_MAX] = {{0}}, peers = sizes[s] - 1, to;
		uint8_t buf[DATAGRAM_MAX];
		struct group group;

		group_start(&group, sizes[s], 1);
		for (unsigned round = 0; round < 2; round++) {
			unsigned n = 0, told = 0;

			for (unsigned t = 0; n < peers; t++) {
				group.now += TICK;
				gossip_tick(group.g[4], group.now);
				for (; gossip_send(group.g[4], buf, &to) > 0; n++) {
					order[round][n] = to;
					told |= 1U << to;
				}
				assert_int_equal(n, 3 * (t + 1) < peers ? 3 * (t + 1) : peers);
			}
			assert_int_equal(told, ((1U << sizes[s]) - 1) & ~(1U << 4));
		}
		assert_memory_not_equal(order[0], order[1], sizeof(order[0]));
		group_stop(&group);
	}
}

static bool one_way(void *context, unsigned from, unsigned to)
{
	return from != 0;
}

static bool never_arrives(void *context, unsigned from, unsigned to)
{
	return false;
}

TEST(test_silence_both_ways)
{
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 2, 1);
	gossip_set(group.g[0], 0, 1, 3);
	gossip_set(group.g[1], 0, 1, 7);
	tick_gossip_times(&group, 10, always_arrives, NULL);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 0);
	tick_gossip_times(&group, TIMEOUT / TICK - 2, never_arrives, NULL); /* just before */
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 0);
	tick_gossip_times(&group, 3, never_arrives, NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(gossip_sum(group.g[i], 0).lost, 1);
		assert_true(gossip_sum(group.g[i], 0).weight == 0);
	}
	tick_gossip_times(&group, 4, always_arrives, NULL);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 0);
	assert_near(gossip_sum(group.g[0], 0).weight, 7, 1e-6);
}

/* A limiter that still receives must detect that its own datagrams do not arrive. */
TEST(test_silence_one_way)
{
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 2, 1);
	gossip_set(group.g[0], 0, 1, 3);
	gossip_set(group.g[1], 0, 1, 7);
	tick_gossip_times(&group, 10, always_arrives, NULL);
	tick_gossip_times(&group, TIMEOUT / TICK + 2, one_way, NULL);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 1);
	assert_int_equal(gossip_sum(group.g[1], 0).lost, 1);
	tick_gossip_times(&group, 4, always_arrives, NULL);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 0);
	assert_int_equal(gossip_sum(group.g[1], 0).lost, 0);
}

static bool all_but_one_path(void *context, unsigned from, unsigned to)
{
	return from != 0 || to != 1;
}

/* In a larger group, peers relay the ticks of a limiter whose own datagrams do not arrive. */
TEST(test_hearsay_of_one_cut_off)
{
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 10, 1);
	for (unsigned i = 0; i < 10; i++)
		gossip_set(group.g[i], 0, 1, 1);
	tick_gossip_times(&group, 20, always_arrives, NULL);
	tick_gossip_times(
		&group, 2 * 3 * (TIMEOUT / TICK), all_but_one_path, NULL); /* nothing changes */
	/* Limiter 0 learns indirectly that its datagrams arrive; limiter 1 never does. */
	assert_true(gossip_peer(group.g[0], 1)->alive);
	assert_false(gossip_peer(group.g[1], 0)->alive);
}

TEST(test_restart)
{
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 3, 1);
	for (unsigned i = 0; i < 3; i++)
		gossip_set(group.g[i], 0, 1, i + 1);
	tick_gossip_times(&group, 10, always_arrives, NULL);
	assert_near(gossip_sum(group.g[0], 0).weight, 5, 1e-6);
	end_gossip_and_keys(group.g[2]);
	group.g[2] = make_gossip_member(&group, 2, 999, &key);
	tick_gossip_times(&group, 4, always_arrives, NULL);
	/*
	 * Limiter 2 is back without a record of the policy: it does not count, and the old value is
	 * gone.
	 */
	assert_true(gossip_peer(group.g[0], 2)->alive);
	assert_int_equal(gossip_peer(group.g[0], 2)->restarts, 1);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 1);
	assert_near(gossip_sum(group.g[0], 0).weight, 2, 1e-6);
	gossip_set(group.g[2], 0, 1, 30);
	tick_gossip_times(&group, 4, always_arrives, NULL);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 0);
	assert_near(gossip_sum(group.g[0], 0).weight, 32, 1e-6);
}

/* Returns the length of the next datagram between two limiters, which is not delivered. */
static size_t capture_datagram(struct group *group, unsigned from, unsigned to, uint8_t *buf)
{
	for (int t = 0; t < 20; t++) {
		unsigned peer;
		size_t len;

		group->now += TICK;
		gossip_tick(group->g[from], group->now);
		while ((len = gossip_send(group->g[from], buf, &peer)) > 0)
			if (peer == to)
				return len;
	}
	fail_msg("limiter %u never spoke to %u", from, to);
	return 0;
}

TEST(test_each_verdict)
{
	uint8_t good[DATAGRAM_MAX], buf[DATAGRAM_MAX];
	ENDED_BY(group_stop) struct group group;
	struct gossip *g;
	size_t len;

	group_start(&group, 3, 1);
	for (unsigned i = 0; i < 3; i++)
		gossip_set(group.g[i], 0, 1, i + 1);
	tick_gossip_times(&group, 6, always_arrives, NULL);
	g = group.g[1];
	len = capture_datagram(&group, 0, 1, good);
#define SEND(length) (memcpy(buf, good, sizeof(buf)), gossip_receive(g, group.now, buf, (length)))
#define SEND_WITH(at, value) \
	(memcpy(buf, good, sizeof(buf)), buf[at] = (value), gossip_receive(g, group.now, buf, len))
	assert_int_equal(SEND(0), GOSSIP_TRUNCATED);
	assert_int_equal(SEND(DATAGRAM_NAMED - 1), GOSSIP_TRUNCATED);
	assert_int_equal(SEND(DATAGRAM_HEADER - 1), GOSSIP_TRUNCATED);
	assert_int_equal(SEND(DATAGRAM_MIN + DATAGRAM_TAG - 1), GOSSIP_TRUNCATED);
	assert_int_equal(SEND(len - 1), GOSSIP_FORGED);
	assert_int_equal(SEND_WITH(0, 0), GOSSIP_VERSION);
	assert_int_equal(gossip_peer(g, 0)->unreadable, 0);
	for (uint8_t other = 1; other <= DATAGRAM_VERSION + 1; other++) {
		if (other >= DATAGRAM_OLDEST && other <= DATAGRAM_VERSION)
			continue;
		assert_int_equal(SEND_WITH(0, other), GOSSIP_VERSION);
		assert_int_equal(gossip_peer(g, 0)->unreadable, other);
	}
	assert_int_equal(SEND_WITH(1, 0x81), GOSSIP_VERSION);
	assert_int_equal(SEND_WITH(1, 0x21), GOSSIP_VERSION);
	assert_int_equal(SEND_WITH(1, 0x07), GOSSIP_VERSION);
	assert_int_equal(SEND_WITH(1, 0x03), GOSSIP_ESTIMATOR);
	assert_int_equal(SEND_WITH(1, 0x05), GOSSIP_ESTIMATOR);
	assert_int_equal(SEND_WITH(1, 0), GOSSIP_UNSEALED);
	assert_int_equal(SEND_WITH(1, 0x11), GOSSIP_FORGED);
	assert_int_equal(SEND_WITH(2, 1), GOSSIP_FORGED);
	assert_int_equal(SEND_WITH(3, 2), GOSSIP_FORGED);
	assert_int_equal(SEND_WITH(24, good[24] ^ 1), GOSSIP_FORGED);
	assert_int_equal(SEND_WITH(28, good[28] ^ 1), GOSSIP_NO_KEY);
	assert_int_equal(SEND_WITH(5, good[5] ^ 1), GOSSIP_STRANGER);
	assert_int_equal(SEND_WITH(15, good[15] ^ 1), GOSSIP_FORGED);
	assert_int_equal(SEND_WITH(len - 1, good[len - 1] ^ 1), GOSSIP_FORGED);
	/* Each pair has its own key, so a limiter cannot open a datagram for another. */
	memcpy(buf, good, len);
	assert_int_equal(gossip_receive(group.g[2], group.now, buf, len), GOSSIP_FORGED);
	memcpy(buf, good, len);
	assert_int_equal(gossip_receive(group.g[0], group.now, buf, len), GOSSIP_SELF);
	assert_int_equal(gossip_peer(g, 0)->unreadable, DATAGRAM_VERSION + 1);
	assert_int_equal(SEND(len), GOSSIP_ACCEPTED);
	assert_int_equal(gossip_peer(g, 0)->unreadable, 0);
	assert_int_equal(SEND(len), GOSSIP_REPLAY);
	for (int v = 0; v < GOSSIP_VERDICTS; v++)
		assert_string_not_equal(gossip_verdict_name(v), "");
	assert_int_equal(count_verdicts(g, GOSSIP_TRUNCATED), 4);
	assert_int_equal(count_verdicts(g, GOSSIP_VERSION), 7);
	assert_int_equal(count_verdicts(g, GOSSIP_UNSEALED), 1);
	assert_int_equal(count_verdicts(g, GOSSIP_ESTIMATOR), 2);
	assert_int_equal(count_verdicts(g, GOSSIP_STRANGER), 1);
	assert_int_equal(count_verdicts(g, GOSSIP_REPLAY), 1);
	assert_int_equal(count_verdicts(g, GOSSIP_FORGED), 7);
	assert_int_equal(count_verdicts(g, GOSSIP_NO_KEY), 1);
	assert_int_equal(count_verdicts(group.g[2], GOSSIP_FORGED), 1);
	assert_int_equal(count_verdicts(group.g[0], GOSSIP_SELF), 1);
}

/* Datagrams to a peer that reads newer formats use our format. */
TEST(test_newer_formats)
{
	uint8_t buf[DATAGRAM_MAX];
	ENDED_BY(group_stop) struct group group;
	size_t len;

	start_plain_group(&group, 2, 1);
	tick_gossip_times(&group, 4, always_arrives, NULL);
	len = capture_datagram(&group, 0, 1, buf);
	buf[2] = DATAGRAM_VERSION + 7;
	assert_int_equal(gossip_receive(group.g[1], group.now, buf, len), GOSSIP_ACCEPTED);
	assert_int_equal(gossip_peer(group.g[1], 0)->speaks.version, DATAGRAM_VERSION);
	capture_datagram(&group, 1, 0, buf);
	assert_int_equal(buf[0], DATAGRAM_VERSION);
}

/* Delivers a datagram of limiter 0 in `epoch`, which echoes that tick of limiter 1. */
static enum gossip_verdict send_echo(
	struct group *group, uint64_t epoch, uint64_t counter, uint32_t echo_tick)
{
	uint8_t buf[200];
	struct cursor cursor = {buf, buf + sizeof(buf), false};
	struct datagram_header header = {.version = DATAGRAM_VERSION,
		.sender = group->ids[0],
		.epoch = epoch,
		.counter = counter};
	struct datagram_body body = {group->ids[1], 101, echo_tick, 1, 0, 3};

	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	return gossip_receive(group->g[1], group->now, buf, (size_t)(cursor.at - buf));
}

/* An incarnation is proven by an echo within the timeout, of a tick that no earlier one echoed. */
TEST(test_proof)
{
	ENDED_BY(group_stop) struct group group;

	start_plain_group(&group, 2, 1);
	for (unsigned t = 0; t < 30; t++)
		gossip_tick(group.g[1], group.now);
	assert_int_equal(send_echo(&group, 0, 1, 29), GOSSIP_REPLAY);
	assert_int_equal(send_echo(&group, 7, 0, 29), GOSSIP_REPLAY);
	assert_int_equal(send_echo(&group, 7, 1, 31), GOSSIP_UNPROVEN);
	assert_int_equal(send_echo(&group, 7, 1, 30 - TIMEOUT / TICK), GOSSIP_UNPROVEN);
	assert_int_equal(send_echo(&group, 7, 1, 31 - TIMEOUT / TICK), GOSSIP_ACCEPTED);
	assert_int_equal(send_echo(&group, 8, 1, 31 - TIMEOUT / TICK), GOSSIP_UNPROVEN);
	assert_int_equal(send_echo(&group, 8, 1, 32 - TIMEOUT / TICK), GOSSIP_ACCEPTED);
	assert_int_equal(send_echo(&group, 7, 2, 30), GOSSIP_REPLAY); /* a replaced incarnation */
}

/* Each limiter proves its epoch to the other, by messages alone. */
static void prove_epochs(struct group *group, struct gossip *a, unsigned at_a, struct gossip *b)
{
	uint8_t buf[1200];
	unsigned to;
	size_t len = gossip_seal_message(a, buf, 0, 0);

	assert_int_equal(gossip_receive(b, group->now, buf, len), GOSSIP_UNPROVEN);
	len = gossip_answer(b, buf, &to);
	assert_int_equal(to, at_a);
	assert_int_equal(gossip_receive(a, group->now, buf, len), GOSSIP_MESSAGE);
	len = gossip_answer(a, buf, &to);
	assert_int_equal(gossip_receive(b, group->now, buf, len), GOSSIP_MESSAGE);
}

/* Messages arrive unchanged, with the right sender, only at their receiver, sealed or not. */
TEST(test_messages)
{
	uint8_t buf[1200], sent[1200];
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 3, 1);
	for (int sealed = 0; sealed < 2; sealed++) {
		struct gossip *from = make_gossip_member(&group, 2, 9, sealed ? &key : NULL);
		struct gossip *to = make_gossip_member(&group, 0, 8, sealed ? &key : NULL);
		size_t room = gossip_message_room(from), len;
		struct gossip_message message;

		gossip_tick(from, group.now);
		gossip_tick(to, group.now);
		prove_epochs(&group, from, 2, to);
		for (size_t i = 0; i < room; i++)
			gossip_message_at(buf)[i] = (uint8_t)(i * 7);
		len = gossip_seal_message(from, buf, room, 0);
		assert_int_equal(len, 1200);
		memcpy(sent, buf, len);
		assert_int_equal(gossip_receive(to, group.now, buf, len), GOSSIP_MESSAGE);
		message = gossip_message(to, buf, len);
		assert_int_equal(message.from, 2);
		assert_int_equal(message.len, room);
		for (size_t i = 0; i < room; i++)
			assert_int_equal(message.at[i], (uint8_t)(i * 7));
		memcpy(buf, sent, len);
		assert_int_equal(gossip_receive(group.g[1], group.now, buf, len),
			sealed ? GOSSIP_FORGED : GOSSIP_UNSEALED);
		memcpy(buf, sent, len);
		buf[1] ^= DATAGRAM_MESSAGE; /* must not be accepted as gossip */
		assert_int_not_equal(gossip_receive(to, group.now, buf, len), GOSSIP_ACCEPTED);
		len = gossip_seal_message(from, buf, 0, 0);
		assert_int_equal(gossip_receive(to, group.now, buf, len - 1), GOSSIP_TRUNCATED);
		len = gossip_seal_message(from, buf, 0, 0);
		assert_int_equal(gossip_receive(to, group.now, buf, len), GOSSIP_MESSAGE);
		assert_int_equal(gossip_message(to, buf, len).len, 0);
		end_gossip_and_keys(from);
		end_gossip_and_keys(to);
	}
}

/* A malformed body is rejected as a whole, also if a float is not a valid rate. */
TEST(test_malformed)
{
	static const struct {
		float demand, weight;
		unsigned records, written;
		enum gossip_verdict want;
	} cases[] = {
		{1, 1, 1, 1, GOSSIP_UNPROVEN}, /* well formed, but its epoch is new */
		{1, 1, 2, 1, GOSSIP_MALFORMED},
		{1, 1, 0, 1, GOSSIP_MALFORMED}, /* the record is read as a section */
		{-1, 1, 1, 1, GOSSIP_MALFORMED},
		{1, -0.5f, 1, 1, GOSSIP_MALFORMED},
		{INFINITY, 1, 1, 1, GOSSIP_MALFORMED},
		{1, NAN, 1, 1, GOSSIP_MALFORMED},
	};
	const struct keyring *ring;
	struct group group;

	group_start(&group, 2, 1);
	ring = gossip_keyring(group.g[1]);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t buf[200];
		struct cursor cursor = {buf, buf + sizeof(buf), false};
		struct datagram_header header = {.version = DATAGRAM_VERSION,
			.flags = 1,
			.sender = group.ids[0],
			.epoch = 77,
			.counter = 1,
			.key = keyring_name(ring, false)};
		struct datagram_body body = {group.ids[1], 0, 0, 1, (uint16_t)cases[i].records, 3};
		struct datagram_record record = {
			group.policies[0], 1, cases[i].demand, cases[i].weight};
		size_t len;

		datagram_write_header(&cursor, &header);
		datagram_write_body(&cursor, &body);
		for (unsigned r = 0; r < cases[i].written; r++)
			datagram_write_record(&cursor, &record);
		len = datagram_seal(
			buf, (size_t)(cursor.at - buf), keyring_find(ring, 0, header.key));
		assert_int_equal(gossip_receive(group.g[1], group.now, buf, len), cases[i].want);
	}
	group_stop(&group);
}

TEST(test_wrong_key_and_no_key)
{
	uint8_t buf[DATAGRAM_MAX];
	ENDED_BY(group_stop) struct group group;
	size_t len;

	group_start(&group, 2, 1);
	end_gossip_and_keys(group.g[1]);
	group.g[1] = make_gossip_member(&group, 1, 55, &other_key);
	tick_gossip_times(&group, 30, always_arrives, NULL);
	assert_int_equal(gossip_alive(group.g[0]), 0);
	assert_int_equal(count_verdicts(group.g[0], GOSSIP_NO_KEY), 30);
	end_gossip_and_keys(group.g[1]);
	group.g[1] = make_gossip_member(&group, 1, 56, NULL);
	tick_gossip_times(&group, 30, always_arrives, NULL);
	assert_int_equal(gossip_alive(group.g[0]), 0);
	assert_int_equal(gossip_alive(group.g[1]), 0);
	assert_int_equal(count_verdicts(group.g[0], GOSSIP_UNSEALED), 30);
	assert_int_equal(count_verdicts(group.g[1], GOSSIP_UNSEALED), 30);
	end_gossip_and_keys(group.g[0]);
	group.g[0] = make_gossip_member(&group, 0, 57, NULL);
	tick_gossip_times(&group, 4, always_arrives, NULL);
	assert_int_equal(gossip_alive(group.g[0]), 1); /* both without keys: they agree */
	group_stop(&group);

	start_plain_group(&group, 3, 1);
	len = capture_datagram(&group, 0, 1, buf);
	assert_int_equal(gossip_receive(group.g[2], group.now, buf, len), GOSSIP_MISSENT);
	len = gossip_seal_message(group.g[0], buf, 0, 1);
	assert_int_equal(gossip_receive(group.g[2], group.now, buf, len), GOSSIP_MISSENT);
}

/*
 * Datagrams recorded earlier: before the receiver's restart, before the sender's restart, and the
 * whole conversation again after the sender is dead.
 */
TEST(test_recorded_datagrams)
{
	enum { RECORDED = 40 };
	static uint8_t tape[RECORDED][DATAGRAM_MAX];
	size_t len[RECORDED];
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 2, 1);
	gossip_set(group.g[0], 0, 1, 5);
	gossip_set(group.g[1], 0, 1, 5);
	tick_gossip_times(&group, 5, always_arrives, NULL);
	for (int i = 0; i < RECORDED; i++) {
		uint8_t buf[DATAGRAM_MAX];

		len[i] = capture_datagram(&group, 0, 1, tape[i]);
		memcpy(buf, tape[i], len[i]);
		assert_int_equal(
			gossip_receive(group.g[1], group.now, buf, len[i]), GOSSIP_ACCEPTED);
		len[i] = capture_datagram(&group, 0, 1, tape[i]);
		tick_gossip_times(&group, 1, always_arrives, NULL);
	}
	/*
	 * The receiver restarts and the sender stays dead: the tape does not make it alive again.
	 */
	end_gossip_and_keys(group.g[1]);
	group.g[1] = make_gossip_member(&group, 1, 4242, &key);
	for (int i = 0; i < RECORDED; i++) {
		uint8_t buf[DATAGRAM_MAX];

		group.now += TICK;
		gossip_tick(group.g[1], group.now);
		memcpy(buf, tape[i], len[i]);
		assert_int_equal(
			gossip_receive(group.g[1], group.now, buf, len[i]), GOSSIP_UNPROVEN);
	}
	assert_int_equal(gossip_alive(group.g[1]), 0);
	/* The real sender returns in a new epoch while the tape plays on: it stays accepted. */
	end_gossip_and_keys(group.g[0]);
	group.g[0] = make_gossip_member(&group, 0, 4343, &key);
	gossip_set(group.g[0], 0, 1, 9);
	for (int i = 0; i < RECORDED; i++) {
		uint8_t buf[DATAGRAM_MAX];

		memcpy(buf, tape[i], len[i]);
		gossip_receive(group.g[1], group.now, buf, len[i]);
		tick_gossip_group(&group, always_arrives, NULL);
	}
	assert_near(gossip_sum(group.g[1], 0).weight, 9, 1e-6);
	assert_int_equal(gossip_sum(group.g[1], 0).lost, 0);
}

static bool not_from_0_to_1(void *context, unsigned from, unsigned to)
{
	return from != to && !(from == 0 && to == 1);
}

/*
 * A tape recorded for an earlier incarnation of the receiver, by a sender that has not restarted.
 * It stays a replay after news of the sender from others, and after the sender's own first
 * datagram.
 */
TEST(test_recorded_for_an_earlier_start)
{
	enum { RECORDED = 30 };
	static uint8_t tape[RECORDED][DATAGRAM_MAX];
	size_t len[RECORDED];
	ENDED_BY(group_stop) struct group group;
	uint8_t buf[DATAGRAM_MAX];

	group_start(&group, 8, 1);
	for (unsigned i = 0; i < 8; i++)
		gossip_set(group.g[i], 0, 1, 5);
	tick_gossip_times(&group, 10, always_arrives, NULL);
	for (unsigned i = 0; i < RECORDED; i++)
		len[i] = capture_datagram(&group, 0, 1, tape[i]);
	end_gossip_and_keys(group.g[1]);
	group.g[1] = make_gossip_member(&group, 1, 4242, &key);
	for (unsigned i = 0; i < 10; i++) {
		gossip_set(group.g[0], 0, 1, 6 + i); /* the others relay it */
		tick_gossip_group(&group, not_from_0_to_1, NULL);
	}
	assert_true(gossip_peer(group.g[1], 0)->known);
	for (unsigned i = 0; i < RECORDED; i++) {
		memcpy(buf, tape[i], len[i]);
		assert_int_equal(
			gossip_receive(group.g[1], group.now, buf, len[i]), GOSSIP_UNPROVEN);
	}
	do
		tick_gossip_group(&group, always_arrives, NULL);
	while (gossip_alive(group.g[1]) < 7);
	for (unsigned i = 0; i < RECORDED; i++) {
		memcpy(buf, tape[i], len[i]);
		assert_int_equal(gossip_receive(group.g[1], group.now, buf, len[i]), GOSSIP_REPLAY);
	}
}

/* A list of counters, and whether a window of REPLAY_WINDOW accepts each as fresh. */
TEST(test_replay_window)
{
	static const struct {
		uint64_t counter;
		bool fresh;
	} cases[] = {{0, false}, {1, true}, {1, false}, {9, true}, {8, true}, {7, true}, {7, false},
		{6, true}, {5, true}, {4, true}, {4, false}, {3, true}, {2, true}, {2, false},
		{1, false}, {73, true}, {72, true}, {9, false}, {10, true}, {10, false},
		{136, true}, {72, false}, {73, false}, {74, true}, {1000, true}, {136, false},
		{937, true}, {936, false}, {UINT64_MAX, true}, {UINT64_MAX, false},
		{UINT64_MAX - 63, true}, {UINT64_MAX - 64, false}, {1000, false}, {1, false}};
	struct peer peer = {0};

	for (size_t i = 0; i < COUNT(cases); i++)
		if (peer_counter_fresh(&peer, cases[i].counter) != cases[i].fresh)
			fail_msg("step %zu: counter %llu", i, (unsigned long long)cases[i].counter);
}

TEST(test_unknown_policies_are_counted)
{
	ENDED_BY(group_stop) struct group group;

	group_start(&group, 2, 2);
	group.n_policies = 1;
	end_gossip_and_keys(group.g[1]);
	group.g[1] = make_gossip_member(&group, 1, 66, &key);
	gossip_set(group.g[0], 0, 1, 1);
	gossip_set(group.g[0], 1, 1, 1);
	gossip_set(group.g[1], 0, 1, 1);
	tick_gossip_times(&group, 10, always_arrives, NULL);
	assert_true(gossip_counters(group.g[1])->unknown_policy > 0);
	assert_int_equal(gossip_sum(group.g[0], 0).lost, 0);
	assert_int_equal(gossip_sum(group.g[0], 1).lost, 1); /* the peer lacks it */
}

TEST(test_refused_parameters)
{
	const uint64_t twice[3] = {1, 2, 1};
	uint32_t ids[3] = {1, 2, 1};
	struct roster *roster, *same;
	struct gossip_params good = {.epoch = 1,
		.branching = 1,
		.tick_ns = TICK,
		.timeout_ns = TIMEOUT,
		.datagram_max = 1200};
	struct gossip_params bad[8];
	struct gossip *g;

	assert_int_equal(roster_create(ids, 3, &same), -EINVAL);
	assert_int_equal(roster_create(ids, 2, &roster), 0);
	good.roster = roster;
	for (int i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].roster = NULL;
	bad[1].self = 2;
	bad[2].epoch = 0;
	bad[3].branching = 0;
	bad[4].datagram_max = 50;
	bad[5].datagram_max = DATAGRAM_MAX + 1;
	bad[6].estimator = GOSSIP_ESTIMATORS;
	bad[7].policies = twice;
	bad[7].n_policies = 3;
	for (int i = 0; i < 8; i++)
		assert_int_equal(gossip_create(&bad[i], 0, &g), -EINVAL);
	assert_int_equal(gossip_create(&good, 0, &g), 0);
	end_gossip_and_keys(g);
	roster_destroy(roster);
}

/* Writes all datagrams of a tick before the first one arrives, because reports contain times. */
static void tick_together(struct group *group, unsigned n)
{
	static struct {
		uint8_t buf[DATAGRAM_MAX];
		unsigned to;
		size_t len;
	} sent[64];

	while (n-- > 0) {
		unsigned n_sent = 0;

		group->now += TICK;
		for (unsigned i = 0; i < group->n; i++) {
			gossip_tick(group->g[i], group->now);
			while ((sent[n_sent].len = gossip_send(
					group->g[i], sent[n_sent].buf, &sent[n_sent].to)) > 0)
				assert_true(++n_sent < 64);
		}
		for (unsigned k = 0; k < n_sent; k++)
			gossip_receive(
				group->g[sent[k].to], group->now + 1, sent[k].buf, sent[k].len);
	}
}

static void check_reports(
	const struct group *group, const bool *metered, const double *rates, uint64_t since_ns)
{
	for (unsigned i = 0; i < group->n; i++)
		for (unsigned p = 0; p < group->n_policies; p++) {
			struct gossip_enforced sum = gossip_enforced(group->g[i], p);

			if (!metered[p]) {
				assert_int_equal(sum.at_ns, 0);
				continue;
			}
			assert_int_equal(sum.unreported, 0);
			assert_true(sum.at_ns > since_ns);
			assert_true(fabs(sum.now - group->n * rates[p]) < 1e-3 * rates[p]);
		}
}

/* Reports of any set of policies arrive, also after the policies get other indices. */
TEST(test_reports)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct group group;
		struct prng prng;
		uint64_t ids[64], updated_ns;
		unsigned from[64], of = 1 + seed % 4;
		double rates[64];
		bool metered[64], has[64];

		prng_seed(&prng, seed);
		group_start(&group, 3, 1 + prng_below(&prng, 64));
		for (unsigned p = 0; p < group.n_policies; p++) {
			metered[p] = prng_below(&prng, 4) < of - 1;
			rates[p] = 1000 + prng_below(&prng, 1000000);
			for (unsigned i = 0; metered[p] && i < group.n; i++)
				gossip_enforce(group.g[i], p, rates[p]);
		}
		tick_together(&group, 10);
		check_reports(&group, metered, rates, 5000 * MS);
		/* The last policy is removed, and the others are reversed. */
		group.n_policies--;
		for (unsigned p = 0; p < group.n_policies; p++) {
			from[p] = group.n_policies - 1 - p;
			ids[p] = group.policies[from[p]];
			has[p] = metered[from[p]];
		}
		for (unsigned p = 0; p < group.n_policies / 2; p++) {
			double rate = rates[p];

			rates[p] = rates[from[p]];
			rates[from[p]] = rate;
		}
		for (unsigned i = 0; i < group.n; i++)
			assert_int_equal(gossip_update(group.g[i], ids, group.n_policies, from,
						 TICK, group.now),
				0);
		updated_ns = group.now;
		tick_together(&group, 10);
		check_reports(&group, has, rates, updated_ns);
		group_stop(&group);
	}
}
