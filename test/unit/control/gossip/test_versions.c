/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group of two releases: limiters of today and of the release before, which is a stored build of
 * its sources, sealed by one key.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "former.h"
#include "one_key.h"

#define MS   UINT64_C(1000000)
#define TICK (50 * MS)
#define ROOM 1200
#define N    5

static const uint8_t key[DATAGRAM_KEY] = "the key that both releases have";
static const uint32_t policy = 77;

struct member {
	struct gossip *now; /* of today, or */
	struct former *former;
};

struct mixed_group {
	struct roster *roster;
	enum gossip_estimator estimator;
	struct member members[N];
	uint64_t now, epoch;
	unsigned formats[3]; /* datagrams of each that were sent by limiters of today */
	bool plain;
};

static void end_member(struct member *member)
{
	if (member->former)
		former_destroy(member->former);
	end_gossip_and_keys(member->now);
	*member = (struct member){0};
}

static void start_now(struct mixed_group *group, unsigned i)
{
	struct gossip_params params = {.roster = group->roster,
		.self = i,
		.n_policies = 1,
		.policies = &policy,
		.keyring = one_key(group->roster, i, group->plain ? NULL : &key),
		.epoch = ++group->epoch,
		.seed = group->epoch,
		.branching = 2,
		.tick_ns = TICK,
		.timeout_ns = 20 * TICK,
		.datagram_max = ROOM,
		.estimator = group->estimator};

	end_member(&group->members[i]);
	assert_int_equal(gossip_create(&params, group->now, &group->members[i].now), 0);
	gossip_set(group->members[i].now, 0, 100, i + 1);
}

static void start_former(struct mixed_group *group, unsigned i)
{
	struct former_params params = {.roster = group->roster,
		.self = i,
		.n_policies = 1,
		.policies = &policy,
		.key = group->plain ? NULL : key,
		.epoch = ++group->epoch,
		.seed = group->epoch,
		.branching = 2,
		.datagram_max = ROOM,
		.estimator = group->estimator,
		.tick_ns = TICK,
		.timeout_ns = 20 * TICK};

	end_member(&group->members[i]);
	group->members[i].former = former_create(&params, group->now);
	former_set(group->members[i].former, 0, 100, i + 1);
}

static struct mixed_group *mixed_group_new(enum gossip_estimator estimator, bool plain)
{
	struct mixed_group *group = test_calloc(1, sizeof(*group));
	uint32_t ids[N];

	for (unsigned i = 0; i < N; i++)
		ids[i] = 500 + 7 * i;
	assert_int_equal(roster_create(ids, N, &group->roster), 0);
	group->estimator = estimator;
	group->plain = plain;
	group->now = 1000 * TICK;
	return group;
}

static void mixed_group_free(struct mixed_group *group)
{
	for (unsigned i = 0; i < N; i++)
		end_member(&group->members[i]);
	roster_destroy(group->roster);
	test_free(group);
}

static void deliver_mixed(struct mixed_group *group, unsigned to, uint8_t *buf, size_t len)
{
	struct member *member = &group->members[to];

	if (member->former)
		former_receive(member->former, group->now, buf, len);
	else
		gossip_receive(member->now, group->now, buf, len);
}

static void tick_mixed(struct mixed_group *group, unsigned ticks)
{
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	memset(group->formats, 0, sizeof(group->formats));
	while (ticks--) {
		group->now += TICK;
		for (unsigned i = 0; i < N; i++) {
			struct member *member = &group->members[i];

			if (member->former) {
				former_tick(member->former, group->now);
				while ((len = former_send(member->former, buf, &to)) > 0)
					deliver_mixed(group, to, buf, len);
				continue;
			}
			gossip_tick(member->now, group->now);
			while ((len = gossip_send(member->now, buf, &to)) > 0) {
				group->formats[buf[0]]++;
				deliver_mixed(group, to, buf, len);
			}
		}
	}
}

/* Each knows the weight of all others. */
static void assert_sums(const struct mixed_group *group)
{
	for (unsigned i = 0; i < N; i++) {
		const struct member *member = &group->members[i];
		double want = N * (N + 1) / 2 - (i + 1), weight;
		unsigned lost, alive;

		if (member->former) {
			weight = former_weight(member->former, 0, &lost);
			alive = former_alive(member->former);
		} else {
			weight = gossip_sum(member->now, 0).weight;
			lost = gossip_sum(member->now, 0).lost;
			alive = gossip_alive(member->now);
		}
		if (lost != 0 || alive == 0 || fabs(weight - want) > 1e-4)
			fail_msg("estimator %u, limiter %u: lost %u, alive %u, weight %g of %g",
				group->estimator, i, lost, alive, weight, want);
	}
}

static const enum gossip_estimator all_estimators[] = {GOSSIP_STATE, GOSSIP_TREE};

/* Every split of the group into the two releases, with a key and without one. */
static void test_every_mix(void **state)
{
	(void)state;
	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++)
		for (unsigned mix = 0; mix < 2u << N; mix++) {
			struct mixed_group *group = mixed_group_new(all_estimators[e], mix & 1);

			for (unsigned i = 0; i < N; i++)
				if (mix >> (i + 1) & 1)
					start_former(group, i);
				else
					start_now(group, i);
			tick_mixed(group, 200);
			assert_sums(group);
			mixed_group_free(group);
		}
}

/*
 * One after the other is upgraded, and the last of them rolled back and upgraded again. When all
 * are of today no format 1 is left: nobody goes on with it because the other does.
 */
static void test_upgrade(void **state)
{
	(void)state;
	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++) {
		struct mixed_group *group = mixed_group_new(all_estimators[e], false);

		for (unsigned i = 0; i < N; i++)
			start_former(group, i);
		tick_mixed(group, 200);
		for (unsigned i = 0; i < N; i++) {
			start_now(group, i);
			tick_mixed(group, 200);
			assert_sums(group);
		}
		start_former(group, N - 1);
		tick_mixed(group, 200);
		assert_sums(group);
		assert_true(group->formats[1] > 0);
		start_now(group, N - 1);
		tick_mixed(group, 200);
		tick_mixed(group, 100);
		assert_sums(group);
		for (unsigned i = 0; i < N; i++)
			for (unsigned k = 0; k < N; k++) {
				const struct peer *peer =
					k == i ? NULL : gossip_peer(group->members[i].now, k);

				if (peer && peer->alive)
					assert_int_equal(peer->speaks.version, 2);
			}
		assert_true(group->formats[2] > 100);
		/* A tree's probes of those that it has never heard may be of either. */
		if (group->estimator != GOSSIP_TREE)
			assert_int_equal(group->formats[1], 0);
		mixed_group_free(group);
	}
}

/* What needs format 2 is refused for its format by either, and neither is harmed by it. */
static void test_messages_of_either(void **state)
{
	struct mixed_group *group = mixed_group_new(GOSSIP_STATE, false);
	uint8_t buf[ROOM];
	size_t len;

	(void)state;
	start_former(group, 0);
	for (unsigned i = 1; i < N; i++)
		start_now(group, i);
	tick_mixed(group, 50);
	buf[FORMER_MESSAGE] = 1;
	len = former_message(group->members[0].former, buf, 1, 1);
	assert_int_equal(
		gossip_receive(group->members[1].now, group->now, buf, len), GOSSIP_VERSION);
	gossip_message_at(buf)[0] = 1;
	len = gossip_seal_message(group->members[1].now, buf, 1, 0);
	assert_string_equal(
		former_receive(group->members[0].former, group->now, buf, len), "version");
	assert_int_equal(gossip_peer(group->members[1].now, 0)->speaks.version, 1);
	assert_int_equal(gossip_peer(group->members[1].now, 2)->speaks.version, 2);
	tick_mixed(group, 20);
	assert_sums(group);
	mixed_group_free(group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mix),
		cmocka_unit_test(test_upgrade),
		cmocka_unit_test(test_messages_of_either),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
