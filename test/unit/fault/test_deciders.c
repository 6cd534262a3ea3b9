/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Allocators, limiters and engines, which use no files or sockets, return an error if memory is
 * refused and leave none allocated. One row each. test_makers.c tests functions that read or make
 * something.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "allocate/allocate.h"
#include "allocate/hierarchy.h"
#include "base/time.h"
#include "engine/credit_account.h"
#include "engine/states.h"
#include "fault.h"
#include "limiter/limiter.h"
#include "place/fit.h"
#include "place/place.h"

#define NODES    4
#define POLICIES 3
#define UNSAID   8 /* refused messages to peers are made again with the next tick */

static int make_hierarchy(const void *argument)
{
	static const struct hierarchy_node nodes[] = {
		{.parent = HIERARCHY_ROOT, .limit = 10, .weight = 1},
		{.parent = 0, .limit = 5, .weight = 1}, {.parent = 0, .limit = 5, .weight = 1}};
	struct hierarchy *hierarchy;
	int rc = hierarchy_create(nodes, 3, &hierarchy);

	assert_true((rc == 0) == (hierarchy != NULL));
	hierarchy_destroy(hierarchy);
	return rc;
}

/* With a record of arrivals, whose phases are stored. */
static int make_placement(const void *argument)
{
	static const struct place_source sources[] = {{.rate = 10, .batch = 1, .period = 1},
		{.rate = 20, .batch = 1, .period = 1}, {.rate = 30, .batch = 1, .period = 1}};
	static const struct place_broker brokers[] = {{.capacity = 100}, {.capacity = 100}};
	static const struct place_arrival arrivals[] = {
		{.at = 0, .units = 1, .source = 0}, {.at = 0.5, .units = 1, .source = 2}};
	static const struct place_record record = {.arrivals = arrivals, .n = 2};
	const struct place_problem problem = {
		.aggregate = {.limit = 200, .burst = 1000, .least = 1, .slo = 0.1},
		.sources = sources,
		.n_sources = 3,
		.brokers = brokers,
		.n_brokers = 2,
		.principles = PLACE_PAPER,
		.seed = 1,
		.record = &record};
	const enum place_way *way = argument;
	enum place_fit_state state;
	struct placer placer;
	struct place_fit fit;
	int rc = placer_init(&placer, &problem);

	if (rc)
		return rc;
	rc = place_fit_init(&fit, &placer, *way, &state);
	if (rc == 0)
		place_fit_free(&fit);
	placer_free(&placer);
	return rc;
}

/* The first policy is a child of the second. */
static void fill_policies(struct limiter_policy policies[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct limiter_policy){.id = 1 + p,
			.allocator = allocator_find(p == 2 ? "quota" : "fps"),
			.limit_bps = 8000000,
			.burst_bytes = 100000,
			.interval_ns = 50 * MS_NS,
			.keep_per_second = 0.1,
			.history_ns = SECOND_NS,
			.step_ns = SECOND_NS,
			.total = 1000000,
			.chunk = 1000,
			.child = p == 0,
			.parent = 2,
			.guarantee = p == 1 ? LIMITER_HARD : LIMITER_SOFT};
}

/* Checks that the limits and bursts of all policies are unchanged. */
static void assert_as_before(
	const struct limiter *limiter, const struct limiter_view before[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++) {
		struct limiter_view now;

		limiter_view(limiter, p, &now);
		assert_true(now.local_limit == before[p].local_limit);
		assert_int_equal(now.local_burst, before[p].local_burst);
	}
}

/* Makes a limiter and updates it to other policies: all change, or none. */
static int make_limiter(const void *argument)
{
	static const unsigned from[] = {2, LIMITER_ADDED, 0, 1};
	static const uint32_t ids[NODES] = {11, 7, 13, 5};
	struct limiter_policy policies[POLICIES], others[POLICIES + 1];
	struct limiter_view before[POLICIES], after;
	struct roster *roster = NULL;
	struct limiter *limiter = NULL;
	struct limiter_params params = {
		.gossip = {.epoch = 1,
			.seed = 1,
			.branching = 2,
			.timeout_ns = SECOND_NS,
			.datagram_max = 1400,
			.estimator = *(const enum gossip_estimator *)argument},
		.policies = policies,
		.n_policies = POLICIES,
		.n_workers = 2,
		.ledger = {.overlay = {.shape = OVERLAY_RING},
			.epoch = 1,
			.identity = {.low = 1},
			.lease_ns = SECOND_NS,
			.drift_ppm = 100,
			.promise = 50,
			.timeout_ns = SECOND_NS},
	};
	int rc = roster_create(ids, NODES, &roster);

	fill_policies(policies);
	params.gossip.roster = roster;
	if (rc == 0)
		rc = limiter_create(&params, SECOND_NS, &limiter);
	for (unsigned p = 0; rc == 0 && p < POLICIES; p++)
		limiter_view(limiter, p, &before[p]);
	for (unsigned p = 0; p < POLICIES + 1; p++) {
		others[p] = policies[p == 1 ? 0 : from[p]];
		others[p].id = p == 1 ? 77 : others[p].id;
	}
	if (rc == 0) {
		rc = limiter_update(limiter, others, POLICIES + 1, from, SECOND_NS);
		if (rc)
			assert_as_before(limiter, before);
	}
	for (unsigned p = 0; rc == 0 && p < POLICIES + 1; p++) {
		limiter_view(limiter, p, &after);
		assert_true(after.local_limit == before[p == 1 ? 0 : from[p]].local_limit);
	}
	limiter_destroy(limiter);
	roster_destroy(roster);
	return rc;
}

static struct loan_bucket look_at_nothing(void *context, unsigned policy)
{
	return (struct loan_bucket){0};
}

/* Makes a limiter and continues with another roster: all changes, or nothing. */
static int make_regrouped(const void *argument)
{
	static const uint32_t ids[NODES] = {11, 7, 13, 5}, other_ids[] = {3, 13, 2, 11, 9};
	struct limiter_policy policies[POLICIES];
	struct roster *roster = NULL, *other = NULL;
	struct limiter *limiter = NULL;
	struct limiter_params params = {
		.gossip = {.epoch = 1,
			.seed = 1,
			.branching = 2,
			.timeout_ns = SECOND_NS,
			.datagram_max = 1400,
			.estimator = *(const enum gossip_estimator *)argument},
		.policies = policies,
		.n_policies = POLICIES,
		.n_workers = 2,
		.buckets = {.look = look_at_nothing},
	};
	int rc = roster_create(ids, NODES, &roster);

	if (rc == 0)
		rc = roster_create(other_ids, NODES + 1, &other);
	fill_policies(policies);
	policies[1].guarantee = LIMITER_SOFT; /* no hard limits, no quotas */
	policies[2].allocator = policies[1].allocator;
	params.gossip.roster = roster;
	if (rc == 0)
		rc = limiter_create(&params, SECOND_NS, &limiter);
	if (rc == 0) {
		rc = limiter_regroup(limiter, other, NULL, 3, NULL, SECOND_NS);
		assert_int_equal(
			gossip_sum(limiter_gossip(limiter), 0).lost, rc == 0 ? NODES : NODES - 1);
	}
	limiter_destroy(limiter);
	roster_destroy(roster);
	roster_destroy(other);
	return rc;
}

/* A shaped policy, one with a trial, and one whose flows are sampled, on two workers. */
static int make_engine(const void *argument)
{
	struct policy policies[POLICIES];
	struct credit_states credits = {0};
	struct engine engine = {0};
	int rc = engine_states_alloc(&engine, 2, POLICIES);

	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = (struct policy){.limit_bps = 8000000,
			.burst_bytes = 100000,
			.allocator = allocator_find("fps"),
			.mark = MARK_ECN,
			.action = p == 0 ? ACTION_SHAPE : ACTION_DROP,
			.meter = p == 1 ? METER_GCRA : METER_TOKEN_BUCKET,
			.trial = {.set = p == 1, .limit_bps = 80000, .burst_bytes = 10000},
			.shape = {.delay_ns = 100 * MS_NS}};
	if (rc == 0)
		rc = credit_states_alloc(&credits, &engine, POLICIES);
	if (rc == 0)
		rc = engine_states_wait(&engine, policies, 16, GHZ, 0);
	for (unsigned i = 0; rc == 0 && i < 2 * POLICIES; i++) {
		const struct engine_limit limit = {.policy = &policies[i % POLICIES],
			.slot = i % POLICIES,
			.hz = GHZ,
			.view = {.local_limit = 1000000, .local_burst = 100000}};
		const struct policy_start start = {.hz = GHZ};

		rc = engine_states_add(&engine, i / POLICIES, &limit, &start);
	}
	engine_states_free(&engine, POLICIES);
	credit_states_free(&credits);
	return rc;
}

static const enum gossip_estimator by_state = GOSSIP_STATE, by_tree = GOSSIP_TREE;
static const enum place_way by_search = PLACE_SEARCH, by_prediction = PLACE_PREDICT;

static const struct fault_subject subjects[] = {
	{.name = "hierarchy", .run = make_hierarchy, .kinds = FAULT_MEMORY, .at_least = 5},
	{.name = "placement by search",
		.run = make_placement,
		.argument = &by_search,
		.kinds = FAULT_MEMORY,
		.at_least = 7},
	{.name = "placement by prediction",
		.run = make_placement,
		.argument = &by_prediction,
		.kinds = FAULT_MEMORY,
		.at_least = 7},
	{.name = "limiter, state",
		.run = make_limiter,
		.argument = &by_state,
		.kinds = FAULT_MEMORY,
		.unsaid = UNSAID,
		.at_least = 40},
	{.name = "limiter, tree",
		.run = make_limiter,
		.argument = &by_tree,
		.kinds = FAULT_MEMORY,
		.unsaid = UNSAID,
		.at_least = 40},
	{.name = "regrouped limiter, state",
		.run = make_regrouped,
		.argument = &by_state,
		.kinds = FAULT_MEMORY,
		.unsaid = UNSAID,
		.at_least = 40},
	{.name = "regrouped limiter, tree",
		.run = make_regrouped,
		.argument = &by_tree,
		.kinds = FAULT_MEMORY,
		.unsaid = UNSAID,
		.at_least = 30},
	{.name = "engine", .run = make_engine, .kinds = FAULT_MEMORY, .at_least = 10},
};

TEST(test_deciders)
{
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		fault_try(&subjects[i]);
}
