/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limiters with hard and soft limits, over a network that a test can cut.
 */
#include "check.h"
#include "scope.h"

#include "hard_policy.h"

#include "flow/flow_sample.h"
#include "limiter/limiter.h"

END_POINTER(limiter_destroy, struct limiter *)

#define N      4
#define TICK   (50 * MS)
#define LIMIT  UINT64_C(8000000) /* bit/s */
#define BURST  UINT64_C(100001)
#define LEASE  (2013 * MS)
#define BUFFER 1400

enum { SOFT, FPS, GDRL, ADAPTOR, POLICIES };

struct group {
	struct limiter *l[N];
	struct roster *roster;
	uint64_t now;
	uint64_t arrived[N][POLICIES];
	uint64_t demand[N][POLICIES]; /* bytes a tick */
	uint64_t dropped[N];          /* packets of each policy */
	uint64_t slots[FLOW_SLOTS];
	uint64_t messages, told_bursts; /* messages of ledgers; changes of only a burst */
	bool cut[N], stuck[N];          /* stuck: its disk does not commit */
	unsigned turn;
};

static void fill_hard_policies(struct limiter_policy policies[POLICIES])
{
	for (unsigned p = 0; p < POLICIES; p++)
		policies[p] = hard_policy(
			1 + p, p == ADAPTOR ? "adaptor" : "fps", LIMIT, BURST, TICK);
	policies[GDRL].indicator = &gdrl_utilisation;
	policies[SOFT].guarantee = LIMITER_SOFT;
}

static struct limiter *limiter_new(
	const struct group *g, unsigned i, unsigned n_policies, const struct limiter_ledger *ledger)
{
	struct limiter_policy policies[POLICIES];
	struct limiter_params params = {
		.gossip = {.roster = g->roster,
			.self = i,
			.epoch = i + ledger->epoch,
			.seed = i,
			.branching = 2,
			.timeout_ns = 500 * MS,
			.datagram_max = BUFFER,
			.estimator = GOSSIP_STATE},
		.policies = policies,
		.n_policies = n_policies,
		.n_workers = 1,
		.skips_idle = true,
		.ledger = *ledger,
	};
	struct limiter *limiter;

	fill_hard_policies(policies);
	assert_int_equal(limiter_create(&params, g->now, &limiter), 0);
	return limiter;
}

static struct limiter_ledger test_ledger(uint32_t drift_ppm)
{
	return (struct limiter_ledger){.overlay = {.shape = OVERLAY_RANDOM},
		.epoch = 1,
		.identity = {.low = 1},
		.lease_ns = LEASE,
		.drift_ppm = drift_ppm,
		.promise = 50};
}

static struct group *group_of_drift(unsigned n_policies, uint32_t drift_ppm)
{
	struct group *g = test_calloc(1, sizeof(*g));
	struct limiter_ledger ledger = test_ledger(drift_ppm);
	uint32_t ids[N] = {11, 7, 13, 5};

	assert_int_equal(roster_create(ids, N, &g->roster), 0);
	g->now = 1000 * TICK;
	for (unsigned i = 0; i < N; i++)
		g->l[i] = limiter_new(g, i, n_policies, &ledger);
	return g;
}

static struct group *group_new(unsigned n_policies)
{
	return group_of_drift(n_policies, 100);
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < N; i++)
		limiter_destroy(g->l[i]);
	roster_destroy(g->roster);
	test_free(g);
}

END_POINTER(group_free, struct group *)

static void measure_hard(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct group *g = context;

	*sample = (struct limiter_sample){.arrived_bytes = g->arrived[g->turn][policy],
		.dropped_packets = g->dropped[g->turn],
		.slots = g->slots};
}

static double hard_local_limit(const struct group *g, unsigned i, unsigned policy)
{
	struct limiter_view view;

	limiter_view(g->l[i], policy, &view);
	return view.local_limit;
}

static uint64_t burst_of(const struct group *g, unsigned i)
{
	struct limiter_view view;

	limiter_view(g->l[i], ADAPTOR, &view);
	return view.local_burst;
}

static void check_sums(const struct group *g, unsigned n_policies)
{
	for (unsigned p = FPS; p < n_policies; p++) {
		double sum = 0;
		uint64_t bursts = 0;

		for (unsigned i = 0; i < N; i++) {
			struct limiter_view view;

			limiter_view(g->l[i], p, &view);
			sum += view.local_limit;
			bursts += view.local_burst;
		}
		if (sum > LIMIT / 8.0 || bursts > BURST)
			fail_msg("policy %u: %g B/s, %llu B", p, sum, (unsigned long long)bursts);
	}
}

static void save_hard_node(struct group *g, unsigned i)
{
	if (g->stuck[i] || !limiter_uncommitted(g->l[i]))
		return;
	if (limiter_save(g->l[i], NULL, NULL) == 0)
		limiter_committed(g->l[i], g->now);
}

static void post_hard_node(struct group *g, unsigned i, unsigned n_policies)
{
	uint8_t buf[BUFFER];
	uint64_t before;
	double rate;
	unsigned to;
	size_t len;

	while ((len = limiter_send(g->l[i], buf, &to)) > 0) {
		if (g->cut[i] || g->cut[to])
			continue;
		before = n_policies > ADAPTOR ? burst_of(g, to) : 0;
		rate = n_policies > ADAPTOR ? hard_local_limit(g, to, ADAPTOR) : 0;
		if (limiter_receive(g->l[to], g->now, buf, len) == GOSSIP_MESSAGE)
			g->messages += len > DATAGRAM_MIN &&
				       *gossip_message_at(buf) != AGREE_MESSAGE;
		if (n_policies > ADAPTOR && hard_local_limit(g, to, ADAPTOR) == rate)
			g->told_bursts += burst_of(g, to) != before;
	}
}

static void step_hard_group(struct group *g, unsigned n_policies)
{
	g->now += TICK;
	for (unsigned i = 0; i < N; i++) {
		g->turn = i;
		for (unsigned p = 0; p < n_policies; p++) {
			g->arrived[i][p] += g->demand[i][p];
			if (g->demand[i][p])
				limiter_wake(g->l[i], p);
		}
		limiter_tick(g->l[i], g->now, measure_hard, g);
		save_hard_node(g, i);
		post_hard_node(g, i, n_policies);
		check_sums(g, n_policies);
	}
}

static void step_hard_times(struct group *g, unsigned n, unsigned n_policies)
{
	while (n--)
		step_hard_group(g, n_policies);
}

static double sum_of(const struct group *g, unsigned policy)
{
	double sum = 0;

	for (unsigned i = 0; i < N; i++)
		sum += hard_local_limit(g, i, policy);
	return sum;
}

TEST(test_follows_fps)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	uint64_t all = LIMIT / 8 * TICK / (1000 * MS);

	for (unsigned p = 0; p < POLICIES; p++)
		assert_near(hard_local_limit(g, 0, p), LIMIT / 8.0 / N, 1);
	g->demand[2][FPS] = g->demand[2][SOFT] = all;
	g->demand[0][GDRL] = all / 4;
	g->demand[1][GDRL] = g->demand[2][GDRL] = g->demand[3][GDRL] = all / 12;
	step_hard_times(g, 200, POLICIES);
	assert_true(hard_local_limit(g, 2, FPS) > LIMIT / 8.0 * 0.9);
	assert_near(hard_local_limit(g, 2, FPS), hard_local_limit(g, 2, SOFT), LIMIT / 8.0 * 0.05);
	assert_near(hard_local_limit(g, 0, GDRL), LIMIT / 8.0 / 2, LIMIT / 8.0 * 0.05);
	assert_near(sum_of(g, FPS), LIMIT / 8.0, 1);
	/* The demand moves to another limiter. */
	g->demand[2][FPS] = 0;
	g->demand[1][FPS] = all;
	step_hard_times(g, 200, POLICIES);
	assert_true(hard_local_limit(g, 1, FPS) > LIMIT / 8.0 * 0.9);
	assert_near(sum_of(g, FPS), LIMIT / 8.0, 1);
}

/* Part of the limit that limiter 1 has some ticks after one packet arrived there. */
static double part_after_packet(struct group *g, bool is_lost, unsigned ticks)
{
	g->arrived[1][FPS] += 1500;
	limiter_wake(g->l[1], FPS);
	g->dropped[1] += is_lost;
	step_hard_times(g, ticks, POLICIES);
	return hard_local_limit(g, 1, FPS) / (LIMIT / 8.0);
}

/* A site that loses all its packets keeps a bucket of a packet or two, for a minute. */
TEST(test_starving_site_keeps_a_packet)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	unsigned minute = 60000 * MS / TICK;

	g->demand[2][FPS] = LIMIT / 8 * TICK / (1000 * MS);
	step_hard_times(g, 200, POLICIES);
	assert_true(part_after_packet(g, false, 200) < 0.005);
	assert_near(part_after_packet(g, true, 200), 0.1 / N, 0.004);
	assert_true(0.1 / N * BURST > 1514);
	assert_near(part_after_packet(g, true, minute - 10), 0.1 / N, 0.004);
	assert_true(part_after_packet(g, true, minute + 200) < 0.005);
	assert_near(part_after_packet(g, true, 200), 0.1 / N, 0.004);
	assert_true(part_after_packet(g, false, 200) < 0.005);
	assert_near(sum_of(g, FPS), LIMIT / 8.0, 1);
}

/* A share that is not committed is out of use here, and not in use at another limiter. */
TEST(test_stuck_disk)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);

	step_hard_times(g, 20, POLICIES);
	g->stuck[0] = true;
	g->demand[2][FPS] = LIMIT / 8 * TICK / (1000 * MS);
	step_hard_times(g, 100, POLICIES);
	assert_true(hard_local_limit(g, 0, FPS) < LIMIT / 8.0 / N);
	assert_true(sum_of(g, FPS) < LIMIT / 8.0 - 1000);
	g->stuck[0] = false;
	step_hard_times(g, 20, POLICIES);
	assert_near(sum_of(g, FPS), LIMIT / 8.0, 1);
}

/* A lease ends between two ticks: limiter_next() returns that time, and the limit falls then. */
TEST(test_lease)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	bool falls = false;
	double before;

	step_hard_times(g, 40, POLICIES);
	g->cut[1] = true;
	before = hard_local_limit(g, 1, FPS);
	/* Digests renew the leases of policies at different times. */
	for (unsigned k = 0; k < 200 && hard_local_limit(g, 1, FPS) >= before * 0.6; k++) {
		assert_true(limiter_next(g->l[1]) > g->now);
		assert_near(hard_local_limit(g, 1, FPS), before, 1);
		g->now = limiter_next(g->l[1]) - 1;
		assert_false(limiter_tick(g->l[1], g->now, measure_hard, g));
		g->now++;
		falls = limiter_tick(g->l[1], g->now, measure_hard, g);
	}
	assert_true(falls);
	assert_true(hard_local_limit(g, 1, FPS) < before * 0.6);
	assert_true(limiter_next_change(g->l[1], 0) < POLICIES);
}

/* The reported ending share equals the part gone after all leases end, rounded up in 255ths. */
TEST(test_ending)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	struct limiter_view soft, before, after;
	double left;

	step_hard_times(g, 40, POLICIES);
	limiter_view(g->l[1], FPS, &before);
	limiter_view(g->l[1], SOFT, &soft);
	assert_int_equal(soft.ending, 0);
	assert_true(before.ending > 0);
	assert_true(limiter_lease_ends(g->l[1]) > g->now);
	left = before.local_limit * (255 - before.ending) / 255;
	g->cut[1] = true;
	for (unsigned k = 0; k < 200 && limiter_lease_ends(g->l[1]) != UINT64_MAX; k++)
		step_hard_group(g, POLICIES);
	assert_int_equal(limiter_lease_ends(g->l[1]), UINT64_MAX);
	limiter_view(g->l[1], FPS, &after);
	assert_int_equal(after.ending, 0);
	assert_true(left <= after.local_limit);
	assert_true(left + before.local_limit / 255 >= after.local_limit);
}

/* A disk's records of one limiter. */
struct kept {
	struct limiter_record records[POLICIES + 1];
	uint8_t bytes[POLICIES + 1][1024];
	unsigned n;
};

static int keep_record(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	struct kept *kept = context;
	uint8_t *bytes = kept->bytes[kept->n];

	assert_true(kept->n <= POLICIES && len <= sizeof(kept->bytes[0]));
	memcpy(bytes, record, len);
	kept->records[kept->n++] = (struct limiter_record){kind, id, bytes, len};
	return 0;
}

/* A ledger comes with the first policies that need it; its records are read once. */
TEST(test_given_ledger)
{
	static const unsigned added[] = {SOFT, LIMITER_ADDED, LIMITER_ADDED, LIMITER_ADDED},
			      same[] = {SOFT, FPS, GDRL, ADAPTOR};
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	struct limiter_ledger none = {0}, ledger = test_ledger(100);
	struct limiter_policy policies[POLICIES];
	struct kept *kept = test_calloc(1, sizeof(*kept));
	double holds;

	fill_hard_policies(policies);
	g->stuck[1] = true;
	step_hard_times(g, 40, POLICIES);
	assert_int_equal(limiter_save(g->l[1], keep_record, kept), 0);
	holds = conserve_view(limiter_conserve(g->l[1]), 0, g->now).balance;
	limiter_destroy(g->l[1]);
	g->l[1] = limiter_new(g, 1, 1, &none);
	assert_null(limiter_conserve(g->l[1]));
	ledger.epoch = 2;
	ledger.records = kept->records;
	ledger.n_records = kept->n;
	limiter_give_ledger(g->l[1], &ledger);
	assert_int_equal(limiter_update(g->l[1], policies, POLICIES, added, g->now), 0);
	test_free(kept);
	assert_near(conserve_view(limiter_conserve(g->l[1]), 0, g->now).balance, holds, 0);
	policies[FPS].keep_per_second /= 2;
	assert_int_equal(limiter_update(g->l[1], policies, POLICIES, same, g->now), 0);
}

/* Sum of the shares that neighbours have inherited from a silent limiter. */
static uint64_t sum_inherited(const struct group *g, unsigned silent)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < N; i++)
		if (i != silent)
			sum += conserve_view(limiter_conserve(g->l[i]), 0, g->now).inherited;
	return sum;
}

/*
 * A limiter whose clock may be slow by the drift enforces its lease for longer in real time. A
 * neighbour that inherits waits for it on a clock that may be fast: no less than that, and not much
 * longer.
 */
TEST(test_drift)
{
	static const struct {
		uint32_t ppm;
		uint64_t least; /* ns from the last message, at most LEASE / 4 old */
	} rows[] = {{0, LEASE}, {100, LEASE + LEASE / 5000}, {200000, LEASE * 12 / 8},
		{500000, 3 * LEASE}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct group *g = group_of_drift(FPS + 1, rows[i].ppm);
		uint64_t cut_ns, took;

		step_hard_times(g, 40, FPS + 1);
		assert_int_equal(sum_inherited(g, 1), 0);
		g->cut[1] = true;
		cut_ns = g->now;
		while (sum_inherited(g, 1) == 0 && g->now - cut_ns < 5 * LEASE)
			step_hard_group(g, FPS + 1);
		took = g->now - cut_ns;
		print_message("drift %u ppm: after %llu ms\n", rows[i].ppm,
			(unsigned long long)(took / MS));
		assert_in_range(took, rows[i].least - LEASE / 4, rows[i].least + LEASE / 4);
		group_free(g);
	}
}

/*
 * A limiter that restarts with empty state holds nothing until all its neighbours have reported its
 * share. One that is on its first start has its share immediately.
 */
TEST(test_recovering)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	struct limiter_ledger ledger = test_ledger(100);

	g->demand[1][FPS] = LIMIT / 8 * TICK / (1000 * MS);
	step_hard_times(g, 100, POLICIES);
	assert_true(hard_local_limit(g, 1, FPS) > LIMIT / 8.0 * 0.9);
	limiter_destroy(g->l[1]);
	ledger.recovering = true;
	ledger.epoch = 2;
	g->l[1] = limiter_new(g, 1, POLICIES, &ledger);
	for (unsigned p = FPS; p < POLICIES; p++)
		assert_near(hard_local_limit(g, 1, p), 0, 0);
	assert_int_equal(burst_of(g, 1), 0);
	check_sums(g, POLICIES);
	step_hard_times(g, 60, POLICIES);
	assert_true(hard_local_limit(g, 1, FPS) > LIMIT / 8.0 * 0.9);
	assert_near(sum_of(g, FPS), LIMIT / 8.0, 1);
}

TEST(test_reload)
{
	static const unsigned from[] = {GDRL, SOFT, ADAPTOR, FPS};
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	struct limiter_policy old[POLICIES], new[POLICIES];
	double before;

	g->demand[2][FPS] = LIMIT / 8 * TICK / (1000 * MS);
	step_hard_times(g, 100, POLICIES);
	fill_hard_policies(old);
	for (unsigned i = 0; i < POLICIES; i++)
		new[i] = old[from[i]];
	before = hard_local_limit(g, 2, FPS);
	assert_int_equal(limiter_update(g->l[2], new, POLICIES, from, g->now), 0);
	assert_near(hard_local_limit(g, 2, 3), before, 0);
	assert_int_equal(limiter_conserve_index(g->l[2], 0), 0);
	assert_int_equal(limiter_conserve_index(g->l[2], 1), LIMITER_ADDED);
	assert_int_equal(limiter_conserve_index(g->l[2], 2), 1);
	assert_int_equal(limiter_conserve_burst_index(g->l[2], 2), 3);
	assert_int_equal(limiter_conserve_burst_index(g->l[2], 3), LIMITER_ADDED);
}

static uint64_t sum_of_bursts(const struct group *g)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < N; i++)
		sum += burst_of(g, i);
	return sum;
}

/* Rate and burst move independently, and back; check_sums() checks both sums after each tick. */
TEST(test_burst_moves)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	uint64_t all = LIMIT / 8 * TICK / (1000 * MS);

	assert_int_equal(sum_of_bursts(g), BURST);
	assert_true(burst_of(g, 0) >= BURST / N);
	g->demand[0][ADAPTOR] = all * 6 / 10; /* smooth */
	for (unsigned k = 0; k < 200; k++) {
		g->demand[1][ADAPTOR] = k % 20 ? 0 : all * 4; /* a fifth, once a second */
		step_hard_group(g, POLICIES);
	}
	g->demand[1][ADAPTOR] = 0;
	assert_true(hard_local_limit(g, 0, ADAPTOR) > 0.6 * LIMIT / 8);
	assert_true(burst_of(g, 1) > 2 * burst_of(g, 0));
	assert_true(burst_of(g, 2) < BURST / N);
	assert_true(g->told_bursts > 0); /* enforced on arrival, not a tick later */
	step_hard_times(g, 10, POLICIES);
	assert_near(sum_of(g, ADAPTOR), LIMIT / 8.0, 1);
	assert_int_equal(sum_of_bursts(g), BURST);
	/* The bursts move to another limiter, and the previous one becomes silent. */
	for (unsigned k = 0; k < 200; k++) {
		g->demand[3][ADAPTOR] = k % 20 ? 0 : all * 4;
		step_hard_group(g, POLICIES);
	}
	assert_true(burst_of(g, 3) > 2 * burst_of(g, 1));
}

/* A burst that cannot be committed is out of use here, and not in use elsewhere. */
TEST(test_burst_is_under_way)
{
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	uint64_t all = LIMIT / 8 * TICK / (1000 * MS);

	step_hard_times(g, 20, POLICIES);
	g->stuck[0] = true;
	for (unsigned k = 0; k < 100; k++) {
		g->demand[2][ADAPTOR] = k % 20 ? 0 : all * 4;
		step_hard_group(g, POLICIES);
	}
	g->demand[2][ADAPTOR] = 0;
	assert_true(burst_of(g, 0) < BURST / N);
	assert_true(sum_of_bursts(g) < BURST - 1000);
	g->stuck[0] = false;
	step_hard_times(g, 20, POLICIES);
	assert_int_equal(sum_of_bursts(g), BURST);
}

/* A changed burst is complete when all limiters have it; until then it is less, or the old one. */
TEST(test_other_burst)
{
	static const unsigned from[] = {SOFT, FPS, GDRL, ADAPTOR};
	ENDED_BY(group_free_at) struct group *g = group_new(POLICIES);
	struct limiter_policy policies[POLICIES];

	fill_hard_policies(policies);
	policies[ADAPTOR].burst_bytes = BURST / 2;
	for (unsigned i = 0; i < N; i++) {
		step_hard_times(g, 5, POLICIES);
		assert_int_equal(limiter_update(g->l[i], policies, POLICIES, from, g->now), 0);
	}
	step_hard_times(g, 40, POLICIES);
	assert_int_equal(sum_of_bursts(g), BURST / 2);
	/* With an allocator that does not divide the burst, it follows the rate again. */
	policies[ADAPTOR].allocator = allocator_find("fps");
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(limiter_update(g->l[i], policies, POLICIES, from, g->now), 0);
	assert_int_equal(limiter_conserve_burst_index(g->l[0], ADAPTOR), LIMITER_ADDED);
	assert_near((double)burst_of(g, 1),
		BURST / 2.0 * hard_local_limit(g, 1, ADAPTOR) * 8 / LIMIT, 1);
}

/* Without a hard limit there is no ledger, and no message. */
TEST(test_soft)
{
	ENDED_BY(group_free_at) struct group *g = group_new(1);

	step_hard_times(g, 100, 1);
	assert_int_equal(g->messages, 0);
	assert_null(limiter_conserve(g->l[0]));
	assert_false(limiter_uncommitted(g->l[0]));
	assert_int_equal(limiter_save(g->l[0], NULL, NULL), -EAGAIN);
}

/* Rates move over the edges of the given overlay. */
TEST(test_given_overlay)
{
	static const struct overlay_pair path[] = {{11, 7}, {7, 13}, {13, 5}};
	static const struct {
		struct overlay_params overlay;
		unsigned edges[N];
	} rows[] = {
		{{.shape = OVERLAY_RANDOM}, {3, 3, 3, 3}},
		{{.shape = OVERLAY_RING}, {2, 2, 2, 2}},
		{{.shape = OVERLAY_GIVEN, .pairs = path, .n_pairs = 3}, {1, 2, 2, 1}},
	};

	for (size_t r = 0; r < COUNT(rows); r++) {
		struct group *g = group_new(0);

		for (unsigned i = 0; i < N; i++) {
			struct limiter_ledger ledger = test_ledger(100);
			struct limiter *l;

			ledger.overlay = rows[r].overlay;
			l = limiter_new(g, i, POLICIES, &ledger);
			assert_int_equal(
				conserve_book((struct conserve *)(uintptr_t)limiter_conserve(l))
					->n_edges,
				rows[r].edges[i]);
			limiter_destroy(l);
		}
		group_free(g);
	}
}

/* An unconfirmed message is repeated with each tick of the policies, not sooner. */
TEST(test_repeats)
{
	ENDED_BY(group_free_at) struct group *g = group_new(0);
	struct limiter_ledger ledger = test_ledger(100);
	const struct conserve_counters *counters;
	ENDED_BY(limiter_destroy_at) struct limiter *l;
	uint8_t buf[BUFFER];
	unsigned to;

	ledger.recovering = true;
	l = limiter_new(g, 0, POLICIES, &ledger);
	counters = conserve_counters(limiter_conserve(l));
	for (unsigned k = 0; k < 8; k++) {
		limiter_tick(l, g->now, measure_hard, g);
		if (limiter_uncommitted(l) && limiter_save(l, NULL, NULL) == 0)
			limiter_committed(l, g->now);
		while (limiter_send(l, buf, &to) > 0)
			;
		assert_int_equal(counters->messages_sent, (k + 1) * (N - 1));
		limiter_tick(l, g->now + TICK - 1, measure_hard, g);
		while (limiter_send(l, buf, &to) > 0)
			;
		assert_int_equal(counters->messages_sent, (k + 1) * (N - 1));
		g->now += TICK;
	}
}
