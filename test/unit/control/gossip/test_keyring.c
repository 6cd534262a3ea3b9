/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Which limiter can open which datagrams, also while the keys and identities of a group change, and
 * the limits of an insider and of a copied machine.
 */
#include "check.h"
#include "scope.h"

#include <sodium.h>

#include "gossip/gossip.h"

#define TICK (50 * MS)
#define ROOM 1200
#define N    3

static const uint8_t old_key[DATAGRAM_KEY] = "the key that the group has had.";
static const uint8_t new_key[DATAGRAM_KEY] = "the key that it is to have next";

/* A limiter's configuration: its group keys in order, and its use of identities. */
struct keys_step {
	const uint8_t *first, *second; /* second NULL: none */
	bool identities, optional;
};

struct keyed_group {
	struct roster *roster;
	enum gossip_estimator estimator;
	uint8_t secrets[N][DATAGRAM_KEY], publics[N][DATAGRAM_KEY];
	struct keyring *rings[N];
	struct gossip *g[N];
	uint64_t now, messages;
};

static struct keyring *ring_of(
	const struct keyed_group *group, unsigned i, const struct keys_step *step)
{
	uint8_t keys[KEYRING_GROUP_KEYS][DATAGRAM_KEY];
	struct keyring_params params = {.roster = group->roster,
		.self = i,
		.n_keys = step->second ? 2 : 1,
		.keys = keys,
		.secret = step->identities ? group->secrets[i] : NULL,
		.publics = step->identities ? group->publics : NULL,
		.identities_optional = step->optional};
	struct keyring *ring = NULL;

	memcpy(keys[0], step->first, DATAGRAM_KEY);
	if (step->second)
		memcpy(keys[1], step->second, DATAGRAM_KEY);
	assert_int_equal(keyring_create(&params, &ring), 0);
	return ring;
}

static void start_keyed(struct keyed_group *group, unsigned i, const struct keys_step *step)
{
	static const uint64_t policy = 77;
	static uint64_t epoch = 1;
	const uint64_t start = ++epoch;
	struct gossip_params params = {.roster = group->roster,
		.self = i,
		.n_policies = 1,
		.policies = &policy,
		.keyring = ring_of(group, i, step),
		.epoch = start,
		.seed = start,
		.branching = 2,
		.tick_ns = TICK,
		.timeout_ns = 20 * TICK,
		.datagram_max = ROOM,
		.estimator = group->estimator};

	gossip_destroy(group->g[i]);
	keyring_destroy(group->rings[i]);
	group->rings[i] = params.keyring;
	assert_int_equal(gossip_create(&params, group->now, &group->g[i]), 0);
	gossip_set(group->g[i], 0, 100, 1);
}

static struct keyed_group *keyed_group_new(
	enum gossip_estimator estimator, const struct keys_step *step)
{
	struct keyed_group *group = test_calloc(1, sizeof(*group));
	uint32_t ids[N];

	group->estimator = estimator;
	group->now = 1000 * TICK;
	for (unsigned i = 0; i < N; i++) {
		ids[i] = 1000 - i;
		memset(group->secrets[i], (int)(i + 1), DATAGRAM_KEY);
		crypto_scalarmult_base(group->publics[i], group->secrets[i]);
	}
	assert_int_equal(roster_create(ids, N, &group->roster), 0);
	for (unsigned i = 0; i < N; i++)
		start_keyed(group, i, step);
	return group;
}

static void keyed_group_free(struct keyed_group *group)
{
	for (unsigned i = 0; i < N; i++) {
		gossip_destroy(group->g[i]);
		keyring_destroy(group->rings[i]);
	}
	roster_destroy(group->roster);
	test_free(group);
}

END_POINTER(keyed_group_free, struct keyed_group *)

static void rekey(struct keyed_group *group, unsigned i, const struct keys_step *step)
{
	struct keyring *ring = ring_of(group, i, step);

	assert_ptr_equal(gossip_rekey(group->g[i], ring), group->rings[i]);
	keyring_destroy(group->rings[i]);
	group->rings[i] = ring;
}

static void exchange_messages(struct keyed_group *group)
{
	uint8_t buf[ROOM];

	for (unsigned i = 0; i < N; i++)
		for (unsigned to = 0; to < N; to++) {
			size_t len;

			if (to == i)
				continue;
			gossip_message_at(buf)[0] = 1;
			len = gossip_seal_message(group->g[i], buf, 1, to);
			group->messages += gossip_receive(group->g[to], group->now, buf, len) ==
					   GOSSIP_MESSAGE;
		}
}

static void tick_keyed(struct keyed_group *group, unsigned ticks)
{
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	while (ticks--) {
		group->now += TICK;
		for (unsigned i = 0; i < N; i++) {
			gossip_tick(group->g[i], group->now);
			while ((len = gossip_send(group->g[i], buf, &to)) > 0)
				gossip_receive(group->g[to], group->now, buf, len);
			while ((len = gossip_answer(group->g[i], buf, &to)) > 0)
				gossip_receive(group->g[to], group->now, buf, len);
		}
		exchange_messages(group);
	}
}

static uint64_t refused(const struct keyed_group *group, enum gossip_verdict verdict)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < N; i++)
		n += gossip_counters(group->g[i])->verdict[verdict];
	return n;
}

/* Checks that no datagram is rejected, and that all messages of these ticks arrive. */
static void tick_without_loss(struct keyed_group *group, unsigned ticks)
{
	uint64_t messages = group->messages;

	for (unsigned t = 0; t < ticks; t++) {
		tick_keyed(group, 1);
		for (unsigned i = 0; i < N; i++)
			assert_true(gossip_alive(group->g[i]) > 0);
		assert_int_equal(gossip_sum(group->g[0], 0).lost, 0);
	}
	for (enum gossip_verdict v = GOSSIP_TRUNCATED; v < GOSSIP_MESSAGE; v++)
		if (refused(group, v) != 0)
			fail_msg("%s: %u", gossip_verdict_name(v), (unsigned)refused(group, v));
	assert_int_equal(group->messages - messages, ticks * N * (N - 1));
}

static const enum gossip_estimator all_estimators[] = {GOSSIP_STATE, GOSSIP_TREE};

/*
 * A key is added, becomes the first, then the old one is removed. In each step the limiters change
 * in any order, some ticks apart. Every mix of two successive steps occurs, and none loses a
 * datagram.
 */
TEST(test_rotation)
{
	static const struct keys_step steps[] = {{old_key, NULL, false, false},
		{old_key, new_key, false, false}, {new_key, old_key, false, false},
		{new_key, NULL, false, false}};
	static const unsigned orders[][N] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};

	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++)
		for (unsigned o = 0; o < 3; o++) {
			struct keyed_group *group = keyed_group_new(all_estimators[e], &steps[0]);

			tick_keyed(group, 80);
			tick_without_loss(group, 10);
			for (unsigned s = 1; s < 4; s++)
				for (unsigned i = 0; i < N; i++) {
					rekey(group, orders[o][i], &steps[s]);
					tick_without_loss(group, 7);
				}
			for (unsigned i = 0; i < N; i++) {
				const struct peer *peer = gossip_peer(group->g[i], (i + 1) % N);

				assert_true(!peer || peer->restarts == 0);
			}
			keyed_group_free(group);
		}
}

/* A limiter that restarts during a rotation returns like at any other time. */
TEST(test_rotation_with_restart)
{
	static const struct keys_step old_new = {old_key, new_key, false, false},
				      new_old = {new_key, old_key, false, false};

	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++) {
		struct keyed_group *group = keyed_group_new(all_estimators[e], &old_new);

		tick_keyed(group, 80);
		rekey(group, 0, &new_old);
		tick_keyed(group, 10);
		start_keyed(group, 0, &new_old);
		start_keyed(group, 2, &old_new);
		tick_keyed(group, 100);
		tick_without_loss(group, 20);
		keyed_group_free(group);
	}
}

/* Datagrams of a limiter that skips a step are rejected, and the verdict shows why. */
TEST(test_rotation_too_fast)
{
	static const struct keys_step before = {old_key, NULL, false, false},
				      after = {new_key, NULL, false, false};
	ENDED_BY(keyed_group_free_at)
	struct keyed_group *group = keyed_group_new(GOSSIP_STATE, &before);

	tick_keyed(group, 20);
	rekey(group, 0, &after);
	tick_keyed(group, 60);
	assert_int_equal(gossip_alive(group->g[0]), 0);
	assert_int_equal(gossip_alive(group->g[1]), 1);
	assert_true(refused(group, GOSSIP_NO_KEY) > 20);
	rekey(group, 0, &before);
	tick_keyed(group, 60);
	assert_int_equal(gossip_alive(group->g[0]), 2);
}

/* A group gets identities while it runs; its key may change before, after or in between. */
TEST(test_identities_come)
{
	static const struct keys_step steps[] = {{old_key, NULL, false, false},
		{old_key, new_key, true, true}, {new_key, old_key, true, false},
		{new_key, NULL, true, false}};

	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++) {
		struct keyed_group *group = keyed_group_new(all_estimators[e], &steps[0]);

		tick_keyed(group, 80);
		for (unsigned s = 1; s < 4; s++)
			for (unsigned i = 0; i < N; i++) {
				rekey(group, i, &steps[s]);
				tick_keyed(group, 7);
				for (unsigned k = 0; k < N; k++)
					assert_true(gossip_alive(group->g[k]) > 0);
				assert_int_equal(gossip_sum(group->g[0], 0).lost, 0);
			}
		tick_keyed(group, 40);
		for (unsigned i = 0; i < N; i++) {
			const struct peer *peer = gossip_peer(group->g[i], (i + 1) % N);

			if (!peer || !peer->alive) /* leaves do not watch each other */
				continue;
			assert_int_equal(peer->restarts, 0);
			assert_true(keyring_is_identity(group->rings[i], peer->key));
		}
		keyed_group_free(group);
	}
}

/* Every pair has its own key, and both sides compute the same one. */
TEST(test_pairs)
{
	static const struct keys_step step = {old_key, new_key, true, true};
	ENDED_BY(keyed_group_free_at)
	struct keyed_group *group = keyed_group_new(GOSSIP_STATE, &step);
	uint32_t names[4] = {keyring_name(group->rings[0], false),
		keyring_name(group->rings[0], true), 0, keyring_also(group->rings[0])};
	const uint8_t *seen[16];
	unsigned n = 0;

	assert_true(keyring_is_identity(group->rings[0], names[1]));
	assert_false(keyring_is_identity(group->rings[0], names[0]));
	assert_null(keyring_find(group->rings[0], 1, 0));
	for (unsigned a = 0; a < N; a++)
		for (unsigned b = 0; b < a; b++)
			for (unsigned k = 0; k < 4; k++) {
				const uint8_t *key = keyring_find(group->rings[a], b, names[k]);

				if (k == 2)
					continue;
				assert_memory_equal(key, keyring_find(group->rings[b], a, names[k]),
					DATAGRAM_KEY);
				for (unsigned i = 0; i < n; i++)
					assert_memory_not_equal(key, seen[i], DATAGRAM_KEY);
				seen[n++] = key;
			}
	assert_int_equal(n, 9);
}

/*
 * Limiter 2 is an insider: it has the group key and pretends to be limiter 0. Without identities
 * limiter 1 accepts it; identities prevent this. With identities limiter 1 cannot open any forgery,
 * under the key without identities or under limiter 2's own secret.
 */
static enum gossip_verdict insider_says(struct keyed_group *group, const struct keys_step *its)
{
	uint8_t buf[ROOM];
	struct cursor cursor = {.at = buf, .end = buf + ROOM};
	struct keyring_params params = {
		.roster = group->roster, .self = 0, .n_keys = 1, .keys = &old_key};
	struct keyring *ring = NULL;
	struct datagram_header header = {.version = DATAGRAM_VERSION,
		.flags = DATAGRAM_SEALED,
		.newest = DATAGRAM_VERSION,
		.oldest = DATAGRAM_OLDEST,
		.sender = group->roster->ids[0],
		.epoch = 4711,
		.counter = 1};
	struct datagram_body body = {.receiver = group->roster->ids[1], .tick = 1};
	enum gossip_verdict verdict;
	size_t len;

	if (its->identities) { /* 2's own pair key with 1, under 0's name */
		ring = ring_of(group, 2, its);
		header.key = keyring_name(ring, true);
	} else {
		assert_int_equal(keyring_create(&params, &ring), 0);
		header.key = keyring_name(ring, false);
	}
	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	len = datagram_seal(buf, (size_t)(cursor.at - buf), keyring_find(ring, 1, header.key));
	verdict = gossip_receive(group->g[1], group->now, buf, len);
	keyring_destroy(ring);
	return verdict;
}

TEST(test_insider)
{
	static const struct keys_step plain = {old_key, NULL, false, false},
				      proven = {old_key, NULL, true, false},
				      optional = {old_key, NULL, true, true};
	ENDED_BY(keyed_group_free_at)
	struct keyed_group *group = keyed_group_new(GOSSIP_STATE, &plain);

	assert_int_equal(insider_says(group, &plain), GOSSIP_UNPROVEN);
	for (unsigned i = 0; i < N; i++)
		rekey(group, i, &optional);
	assert_int_equal(insider_says(group, &plain), GOSSIP_UNPROVEN);
	assert_int_equal(insider_says(group, &proven), GOSSIP_FORGED);
	for (unsigned i = 0; i < N; i++)
		rekey(group, i, &proven);
	assert_int_equal(insider_says(group, &plain), GOSSIP_NO_KEY);
	assert_int_equal(insider_says(group, &proven), GOSSIP_FORGED);
	tick_keyed(group, 80);
	assert_int_equal(gossip_alive(group->g[1]), N - 1);
}

static uint32_t draws;

static uint32_t next_draw(void)
{
	draws = draws * 1664525 + 1013904223;
	return draws >> 16 | draws << 16;
}

/* Copies the nonce of a datagram from its header. */
static void nonce_of(const uint8_t *buf, uint8_t nonce[24])
{
	memset(nonce, 0, 24);
	memcpy(nonce, buf + 4, buf[0] == 1 ? 20 : 24);
}

/*
 * One machine resumed twice from a snapshot: both copies have the same epoch, counter and seed, and
 * send different data to one peer. They never use the same nonce, in either format.
 */
TEST(test_nonces_of_a_copy)
{
	enum { SENT = 200 };
	static uint8_t nonces[2][SENT][24];
	static const uint64_t policy = 77;
	static const struct keys_step step = {old_key, NULL, false, false};
	ENDED_BY(keyed_group_free_at)
	struct keyed_group *group = keyed_group_new(GOSSIP_STATE, &step);

	for (unsigned copy = 0; copy < 2; copy++) {
		struct gossip_params params = {.roster = group->roster,
			.n_policies = 1,
			.policies = &policy,
			.keyring = group->rings[0],
			.epoch = 4711,
			.seed = 1,
			.random_bits = next_draw,
			.branching = 2,
			.tick_ns = TICK,
			.timeout_ns = 20 * TICK,
			.datagram_max = ROOM};
		struct gossip *g;
		unsigned n = 0, to;
		uint8_t buf[ROOM];

		assert_int_equal(gossip_create(&params, group->now, &g), 0);
		gossip_set(g, 0, copy, copy);
		while (n < SENT) {
			gossip_tick(g, group->now);
			while (n < SENT && gossip_send(g, buf, &to) > 0)
				nonce_of(buf, nonces[copy][n++]);
		}
		gossip_destroy(g);
	}
	for (unsigned a = 0; a < SENT; a++)
		for (unsigned b = 0; b < SENT; b++) {
			assert_memory_not_equal(nonces[0][a], nonces[1][b], 24);
			if (a != b)
				assert_memory_not_equal(nonces[0][a], nonces[0][b], 24);
		}
}

TEST(test_refused_keyrings)
{
	static const struct keys_step step = {old_key, NULL, true, false};
	ENDED_BY(keyed_group_free_at)
	struct keyed_group *group = keyed_group_new(GOSSIP_STATE, &step);
	uint8_t same[2][DATAGRAM_KEY];
	struct keyring_params good = {.roster = group->roster,
		.n_keys = 1,
		.keys = same,
		.secret = group->secrets[0],
		.publics = group->publics};
	struct keyring_params bad[5] = {good, good, good, good, good};
	static const int want[5] = {-EINVAL, -EINVAL, -EEXIST, -EINVAL, -EINVAL};
	struct keyring *ring = NULL;

	memcpy(same[0], old_key, DATAGRAM_KEY);
	memcpy(same[1], old_key, DATAGRAM_KEY);
	assert_int_equal(keyring_create(&good, &ring), 0);
	keyring_destroy(ring);
	ring = NULL;
	bad[0].n_keys = 0;
	bad[1].n_keys = 3;
	bad[2].n_keys = 2;
	bad[3].secret = group->secrets[1];
	bad[4].publics = NULL;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(keyring_create(&bad[i], &ring), want[i]);
		assert_null(ring);
	}
	memset(group->publics[1], 0, DATAGRAM_KEY); /* a point of low order: the secret is 0 */
	assert_int_equal(keyring_create(&good, &ring), -EINVAL);
}

/* The memory of the keys is excluded from core dumps, as /proc/self/smaps shows. */
TEST(test_not_dumped)
{
	static const struct keys_step step = {old_key, NULL, false, false};
	ENDED_BY(keyed_group_free_at)
	struct keyed_group *group = keyed_group_new(GOSSIP_STATE, &step);
	uintptr_t at = (uintptr_t)keyring_group(group->rings[0], 0);
	FILE *smaps = fopen("/proc/self/smaps", "re");
	bool inside = false, found = false;
	char line[512];

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		uintptr_t from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from <= at && at < to;
		if (inside && strncmp(line, "VmFlags:", 8) == 0) {
			found = true;
			assert_non_null(strstr(line, " dd"));
		}
	}
	fclose(smaps);
	assert_true(found);
}
