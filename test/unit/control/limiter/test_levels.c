/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies below parents, at one limiter and at several that gossip: the share of each in its
 * parent, and where. Passed traffic is modelled as a fluid, first of a leaf, then of its parents.
 */
#include "check.h"
#include "scope.h"

#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define TICK        UINT64_C(50000000)
#define BOXES_MOST  3
#define LEVELS_MOST 6
#define LIMIT       1e6 /* bytes per second, of the root */

/* A level: index of its parent, which comes before it; -1 for the root. */
struct level {
	int parent;
	double limit, guaranteed;
	unsigned weight;
	double offered[BOXES_MOST]; /* bytes per second, of a leaf at each box */
};

struct box {
	struct limiter *limiter;
	double arrived[LEVELS_MOST];
	uint64_t dropped[LEVELS_MOST];
	double passed[LEVELS_MOST]; /* bytes per second, in the last tick */
};

struct world {
	struct level levels[LEVELS_MOST];
	unsigned n, n_boxes;
	struct box boxes[BOXES_MOST];
	struct limiter_policy policies[LEVELS_MOST];
	struct roster *roster;
	uint64_t now;
	bool parted;
};

static void measure_box(void *context, unsigned policy, struct limiter_sample *sample)
{
	static uint64_t slots[FLOW_SLOTS];
	const struct box *box = context;

	*sample = (struct limiter_sample){.arrived_bytes = (uint64_t)box->arrived[policy],
		.dropped_packets = box->dropped[policy],
		.slots = slots};
}

static double local_of(const struct box *box, unsigned level)
{
	struct limiter_view view;

	limiter_view(box->limiter, level, &view);
	return view.local_limit;
}

static double share_of(const struct box *box, unsigned level)
{
	struct limiter_view view;

	limiter_view(box->limiter, level, &view);
	return view.share;
}

/* From the last level, a leaf, upwards: the arriving traffic of each level, and the passed part. */
static void pass_fluid(struct world *w, unsigned b)
{
	struct box *box = &w->boxes[b];
	double arriving[LEVELS_MOST] = {0}, part[LEVELS_MOST];

	for (unsigned i = w->n; i-- > 0;) {
		arriving[i] += w->levels[i].offered[b];
		box->passed[i] = fmin(arriving[i], local_of(box, i));
		part[i] = arriving[i] > 0 ? box->passed[i] / arriving[i] : 1;
		if (w->levels[i].parent >= 0)
			arriving[w->levels[i].parent] += box->passed[i];
		if (arriving[i] > 0)
			limiter_wake(box->limiter, i);
		box->arrived[i] += arriving[i] * TICK / SECOND;
	}
	/* Traffic refused by a parent counts as dropped at every level below it. */
	for (unsigned i = 0; i < w->n; i++) {
		if (w->levels[i].parent >= 0 && part[w->levels[i].parent] < part[i])
			part[i] = fmin(part[i], part[w->levels[i].parent]);
		if (w->levels[i].parent >= 0)
			box->passed[i] *= fmin(1, part[w->levels[i].parent]);
		box->dropped[i] += arriving[i] > 0 && part[i] < 1 - 1e-9;
	}
}

static void exchange(struct world *w, unsigned b)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	while ((len = limiter_send(w->boxes[b].limiter, buf, &to)) > 0)
		if (!w->parted)
			limiter_receive(w->boxes[to].limiter, w->now, buf, len);
}

static void run_world(struct world *w, double seconds)
{
	for (unsigned k = 0; k < (unsigned)(seconds * SECOND / TICK + 0.5); k++) {
		w->now += TICK;
		for (unsigned b = 0; b < w->n_boxes; b++) {
			struct limiter *l = w->boxes[b].limiter;

			pass_fluid(w, b);
			limiter_tick(l, w->now, measure_box, &w->boxes[b]);
			if (limiter_uncommitted(l) && limiter_save(l, NULL, NULL) == 0)
				limiter_committed(l, w->now);
			exchange(w, b);
		}
	}
}

static void make_policies(struct world *w, const char *allocator)
{
	for (unsigned i = 0; i < w->n; i++) {
		const struct level *level = &w->levels[i];

		w->policies[i] = (struct limiter_policy){
			.id = 100 + i,
			.allocator = allocator_find(allocator),
			.limit_bps = (uint64_t)(8 * level->limit),
			.burst_bytes = 100000,
			.interval_ns = TICK,
			.keep_per_second = 0.1,
			.child = level->parent >= 0,
			.parent = level->parent >= 0 ? 100 + (uint32_t)level->parent : 0,
			.weight = level->weight,
			.guaranteed_bps = (uint64_t)(8 * level->guaranteed),
		};
	}
}

static void start_box(struct world *w, unsigned b)
{
	struct limiter_params params = {
		.gossip = {.roster = w->roster,
			.self = b,
			.epoch = 1 + b + w->now,
			.seed = b,
			.branching = 3,
			.timeout_ns = SECOND,
			.datagram_max = 1200},
		.policies = w->policies,
		.n_policies = w->n,
		.n_workers = 1,
		.skips_idle = true,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.epoch = 1,
			.identity = {.low = 1},
			.lease_ns = 5 * SECOND,
			.drift_ppm = 100},
	};

	assert_int_equal(limiter_create(&params, w->now, &w->boxes[b].limiter), 0);
}

static void start_world(struct world *w, unsigned n_boxes, const char *allocator)
{
	static const uint32_t ids[BOXES_MOST] = {11, 22, 33};

	while (w->n < LEVELS_MOST && w->levels[w->n].limit > 0)
		w->n++;
	w->n_boxes = n_boxes;
	w->now = 100 * SECOND;
	if (!w->policies[0].id)
		make_policies(w, allocator);
	assert_int_equal(roster_create(ids, n_boxes, &w->roster), 0);
	for (unsigned b = 0; b < n_boxes; b++)
		start_box(w, b);
}

static void end_world(struct world *w)
{
	for (unsigned b = 0; b < w->n_boxes; b++)
		limiter_destroy(w->boxes[b].limiter);
	roster_destroy(w->roster);
}

/* Passed traffic of a level at all boxes, as a part of LIMIT. */
static double passed_of(const struct world *w, unsigned level)
{
	double sum = 0;

	for (unsigned b = 0; b < w->n_boxes; b++)
		sum += w->boxes[b].passed[level];
	return sum / LIMIT;
}

static double locals_of(const struct world *w, unsigned level)
{
	double sum = 0;

	for (unsigned b = 0; b < w->n_boxes; b++)
		sum += local_of(&w->boxes[b], level);
	return sum / LIMIT;
}

#define ROOT                                 \
	{                                    \
		.parent = -1, .limit = LIMIT \
	}

TEST(test_lone_limiter)
{
	ENDED_BY(end_world)
	struct world w = {
		.levels = {ROOT, {.parent = 0, .limit = LIMIT, .weight = 2, .offered = {2e6}},
			{.parent = 0, .limit = LIMIT, .offered = {2e6}}}};

	start_world(&w, 1, "central");
	run_world(&w, 3);
	assert_near(passed_of(&w, 1), 2.0 / 3, 0.01);
	assert_near(passed_of(&w, 2), 1.0 / 3, 0.01);
	assert_near(passed_of(&w, 0), 1, 0.01);
	/*
	 * A child that needs less leaves the rest to others, and gets its share back when it needs
	 * it.
	 */
	w.levels[1].offered[0] = 2e5;
	run_world(&w, 3);
	assert_near(passed_of(&w, 1), 0.2, 0.01);
	assert_near(passed_of(&w, 2), 0.8, 0.01);
	assert_near(share_of(&w.boxes[0], 1), LIMIT * 2 / 3, LIMIT / 100);
	w.levels[1].offered[0] = 0;
	run_world(&w, 10);
	assert_near(passed_of(&w, 2), 1, 0.01);
	w.levels[1].offered[0] = 2e6;
	run_world(&w, 2);
	assert_near(passed_of(&w, 1), 2.0 / 3, 0.02);
}

TEST(test_guaranteed)
{
	ENDED_BY(end_world)
	struct world w = {
		.levels = {ROOT, {.parent = 0, .limit = LIMIT, .guaranteed = 4e5, .offered = {2e6}},
			{.parent = 0, .limit = 5e5, .weight = 2, .offered = {2e6}},
			{.parent = 0, .limit = LIMIT, .offered = {0}}}};

	start_world(&w, 1, "central");
	run_world(&w, 3);
	assert_near(passed_of(&w, 1), 0.6, 0.01);
	assert_near(passed_of(&w, 2), 0.4, 0.01);
	w.levels[1].offered[0] = 1e5;
	run_world(&w, 3);
	assert_near(passed_of(&w, 2), 0.5, 0.01); /* its ceiling */
}

/*
 * Shares are of the group: one customer at one limiter, one at another, and one at both. The
 * parent's limit is where its customers are.
 */
TEST(test_group)
{
	ENDED_BY(end_world)
	struct world w = {.levels = {ROOT, {.parent = 0, .limit = LIMIT, .weight = 2},
				  {.parent = 0, .limit = LIMIT},
				  {.parent = 1, .limit = LIMIT, .offered = {2e6}},
				  {.parent = 1, .limit = LIMIT, .offered = {5e5, 2e6}},
				  {.parent = 2, .limit = LIMIT, .offered = {0, 2e6}}}};

	start_world(&w, 2, "fps");
	run_world(&w, 10);
	for (unsigned i = 3; i < 6; i++)
		assert_near(passed_of(&w, i), 1.0 / 3, 0.03);
	assert_near(passed_of(&w, 0), 1, 0.02);
	assert_near(locals_of(&w, 0), 1, 0.02);
	assert_true(local_of(&w.boxes[1], 2) > 0.3 * LIMIT);
	/* Never limit/alive, at any level: each side has at most its half. */
	w.parted = true;
	for (unsigned k = 0; k < 100; k++) {
		run_world(&w, 0.1);
		assert_true(locals_of(&w, 0) < 1.02);
		assert_true(k < 20 || local_of(&w.boxes[0], 0) < 0.501 * LIMIT);
	}
	for (unsigned i = 1; i < 6; i++)
		for (unsigned b = 0; b < 2; b++)
			assert_true(local_of(&w.boxes[b], i) < 0.501 * LIMIT);
	w.parted = false;
	run_world(&w, 10);
	for (unsigned i = 3; i < 6; i++)
		assert_near(passed_of(&w, i), 1.0 / 3, 0.03);
}

/* A hard-limited child has a part of the ledger's share at each limiter; the same for a parent. */
TEST(test_hard)
{
	ENDED_BY(end_world)
	struct world w = {
		.levels = {ROOT, {.parent = 0, .limit = 8e5, .weight = 1, .offered = {2e6, 1e6}},
			{.parent = 0, .limit = 8e5, .weight = 3, .offered = {1e6, 0}}},
		.n = 3};

	make_policies(&w, "fps");
	w.policies[0].guarantee = w.policies[1].guarantee = LIMITER_HARD;
	start_world(&w, 2, NULL);
	for (unsigned k = 0; k < 200; k++) {
		run_world(&w, 0.1);
		assert_true(locals_of(&w, 0) <= 1 + 1e-9);
		assert_true(locals_of(&w, 1) <= 0.8 + 1e-9);
		for (unsigned b = 0; b < 2; b++)
			assert_true(local_of(&w.boxes[b], 1) <= share_of(&w.boxes[b], 1));
	}
	assert_near(passed_of(&w, 1), 0.25, 0.04);
	assert_near(passed_of(&w, 2), 0.75, 0.04);
}

/* Changed parents, weights and indices, at run time. */
TEST(test_update)
{
	ENDED_BY(end_world)
	struct world w = {.levels = {ROOT, {.parent = 0, .limit = LIMIT, .offered = {2e6}},
				  {.parent = 0, .limit = LIMIT, .offered = {2e6}}}};
	static const unsigned same[] = {0, 1, 2};
	struct limiter_policy other[3];

	start_world(&w, 1, "central");
	run_world(&w, 2);
	assert_near(passed_of(&w, 1), 0.5, 0.01);
	w.policies[1].weight = 4;
	assert_int_equal(limiter_update(w.boxes[0].limiter, w.policies, 3, same, w.now), 0);
	run_world(&w, 2);
	assert_near(passed_of(&w, 1), 0.8, 0.01);
	/* A limit is lowered for a while: shares follow in proportion. */
	assert_int_equal(
		limiter_set_terms(w.boxes[0].limiter,
			&(struct limiter_change_terms){0, {4000000, 0, 100000}, 1}, 1, w.now),
		0);
	run_world(&w, 2);
	assert_near(passed_of(&w, 1), 0.4, 0.01);
	/* The child no longer has a parent. */
	w.policies[2].child = false;
	assert_int_equal(limiter_update(w.boxes[0].limiter, w.policies, 3, same, w.now), 0);
	run_world(&w, 1);
	assert_near(share_of(&w.boxes[0], 2), LIMIT, 1e-6);
	assert_near(local_of(&w.boxes[0], 2), LIMIT, 1e-6);
	/* A parent that does not exist is rejected, and nothing changes. */
	memcpy(other, w.policies, sizeof(other));
	other[1].parent = 77;
	assert_int_equal(limiter_update(w.boxes[0].limiter, other, 3, same, w.now), -EINVAL);
	run_world(&w, 1);
	assert_near(share_of(&w.boxes[0], 2), LIMIT, 1e-6);
}

/* A child of an idle limiter gets its share although no traffic arrives. */
TEST(test_idle)
{
	ENDED_BY(end_world)
	struct world w = {.levels = {ROOT, {.parent = 0, .limit = LIMIT, .offered = {0, 0}},
				  {.parent = 0, .limit = LIMIT, .offered = {0, 0}}}};

	start_world(&w, 2, "fps");
	run_world(&w, 10);
	assert_near(share_of(&w.boxes[0], 1), LIMIT, 1e-6);
	w.levels[2].offered[1] = 2e6;
	run_world(&w, 20);
	for (unsigned b = 0; b < 2; b++) {
		assert_near(share_of(&w.boxes[b], 1), LIMIT / 2, LIMIT / 16);
		assert_near(local_of(&w.boxes[b], 1), LIMIT / 4, LIMIT / 32);
	}
	assert_near(passed_of(&w, 2), 1, 0.02);
}

static double claim_of(const struct box *box, unsigned level)
{
	struct limiter_view view;

	limiter_view(box->limiter, level, &view);
	return view.global_demand;
}

/* Traffic that waits at a level does not reach the parents, but counts in their demand. */
TEST(test_waiting)
{
	enum { NOWHERE = 3, MIDDLE = 1, LEAF = 2 };
	static const struct {
		unsigned waits, comes_to; /* level up to which it comes */
		double root, middle;
	} rows[] = {
		{NOWHERE, MIDDLE, 0, 4e5},
		{0, MIDDLE, 4e5, 4e5},
		{NOWHERE, LEAF, 0, 0},
		{0, LEAF, 0, 0},
		{MIDDLE, LEAF, 4e5, 4e5},
		{LEAF, LEAF, 4e5, 4e5},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct world w = {.levels = {ROOT, {.parent = 0, .limit = LIMIT},
					  {.parent = 1, .limit = LIMIT}},
			.n = 3};
		struct box *box = &w.boxes[0];

		make_policies(&w, "central");
		if (rows[i].waits < NOWHERE)
			w.policies[rows[i].waits].waits = true;
		start_world(&w, 1, NULL);
		for (unsigned k = 0; k < 200; k++) {
			w.now += TICK;
			for (unsigned level = rows[i].comes_to; level <= LEAF; level++) {
				limiter_wake(box->limiter, level);
				box->arrived[level] += 4e5 * TICK / SECOND;
			}
			limiter_tick(box->limiter, w.now, measure_box, box);
		}
		assert_near(claim_of(box, 0), rows[i].root, 1);
		assert_near(claim_of(box, MIDDLE), rows[i].middle, 1);
		assert_near(claim_of(box, LEAF), 4e5, 1);
		end_world(&w);
	}
}

/* Offers a leaf 400 kB/s, lost or not; returns its claim at the end. */
static double claims_after(struct world *w, unsigned ticks, bool lost)
{
	struct box *box = &w->boxes[0];

	for (unsigned k = 0; k < ticks; k++) {
		w->now += TICK;
		limiter_wake(box->limiter, 1);
		box->arrived[1] += 4e5 * TICK / SECOND;
		box->dropped[1] += lost;
		limiter_tick(box->limiter, w->now, measure_box, box);
	}
	return claim_of(box, 1);
}

/*
 * A leaf claims half of the room to grow, weighted by how often it loses packets, as a mean over
 * 400 ms.
 */
TEST(test_claims_room)
{
	ENDED_BY(end_world) struct world w = {.levels = {ROOT, {.parent = 0, .limit = LIMIT}}};

	start_world(&w, 1, "central");
	assert_near(claims_after(&w, 400, false), 4e5, 1);
	assert_near(local_of(&w.boxes[0], 1), LIMIT, 1);
	assert_near(claims_after(&w, 1, true), 4e5 + 6e5 / 2 / 8, 1);
	assert_near(claims_after(&w, 400, true), 7e5, 1);
	assert_near(claims_after(&w, 1, false), 4e5 + 6e5 / 2 * 7 / 8, 1);
}

/*
 * A parent's own packets at one limiter and a child's at the other: the limit is divided between
 * both.
 */
TEST(test_own_packets)
{
	ENDED_BY(end_world)
	struct world w = {.levels = {{.parent = -1, .limit = LIMIT, .offered = {0, 2e5}},
				  {.parent = 0, .limit = LIMIT, .offered = {6e5, 0}}},
		.n = 2};

	make_policies(&w, "fps");
	w.policies[0].own = true;
	start_world(&w, 2, NULL);
	run_world(&w, 20);
	assert_near(local_of(&w.boxes[0], 0), LIMIT * 3 / 4, LIMIT / 100);
	assert_near(local_of(&w.boxes[1], 0), LIMIT / 4, LIMIT / 100);
	assert_near(passed_of(&w, 0), 0.8, 0.01);
}

/* The share of the first child while the second is offered so much. */
static double share_next_to_load(struct world *w, double offered)
{
	w->levels[2].offered[0] = offered;
	run_world(w, 40); /* until it is stable */
	return share_of(&w->boxes[0], 1);
}

/* An idle child's share is updated in steps of at least a sixteenth. */
TEST(test_idle_share)
{
	ENDED_BY(end_world)
	struct world w = {
		.levels = {ROOT, {.parent = 0, .limit = LIMIT}, {.parent = 0, .limit = LIMIT}}};
	double share;

	start_world(&w, 1, "central");
	assert_near(share_next_to_load(&w, 0), LIMIT, 0);
	assert_near(share_next_to_load(&w, 6e4), LIMIT, 0);
	share = share_next_to_load(&w, 6.4e4);
	assert_true(share > LIMIT - 6.4e4 - 1 && share <= LIMIT * 15 / 16);
	assert_near(share_next_to_load(&w, 4e4), share, 0);
	assert_true(share_next_to_load(&w, 0) >= share * 17 / 16);
}
