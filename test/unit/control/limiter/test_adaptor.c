/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The adaptor allocator: its history, its two divisions, and limiters whose traffic moves.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "allocate/history.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define TICK  (50 * MS)
#define LIMIT 1000000.0 /* bytes per second */
#define BURST UINT64_C(200000)
#define LEAST 9084.0 /* bytes: smallest bucket of a limiter, unless a policy sets another */
#define N     3

TEST(test_history_slides)
{
	uint64_t now = 7 * SECOND + 310 * MS; /* not at the start of a step, now or later */
	ENDED_BY(free_at) struct history *h = history_create(10 * SECOND, SECOND, now);

	assert_non_null(h);
	assert_near(history_rate(h, now), 0, 0);
	/*
	 * The mean is over the time since the start, not over ten seconds of which most has not
	 * passed.
	 */
	for (int i = 0; i < 20; i++, now += TICK) {
		history_add(h, now, now + TICK, 500, 10 * i);
		assert_near(history_rate(h, now + TICK), 10000, 1e-6);
		assert_near(history_recent(h, now + TICK, 0), 10000, 1e-6);
		assert_near(history_recent(h, now + TICK, 500.0 * (i + 1)), 0, 1e-6);
	}
	assert_near(history_backlog(h, now), 190, 0);
	/* Silence: the average falls; the backlog stays until its step expires. */
	for (int i = 0; i < 100; i++, now += TICK)
		history_add(h, now, now + TICK, 0, 0);
	assert_near(history_rate(h, now), 10000.0 / 6, 1e-6);
	assert_near(history_recent(h, now, 0), 0, 0);
	assert_near(history_backlog(h, now), 190, 0);
	history_add(h, now, 18 * SECOND - 1, 0, 0);
	assert_near(history_backlog(h, 18 * SECOND - 1), 190, 0);
	assert_near(history_backlog(h, 18 * SECOND), 0, 0); /* without a further history_add() */
	assert_near(history_rate(h, 18 * SECOND), 0, 0);
}

/* After a long silence, new values are not added to old values in the same place of the ring. */
TEST(test_history_gaps)
{
	static const uint64_t gaps[] = {1, 2, 9, 10, 11, 19, 20, 21, 1000};

	for (size_t i = 0; i < COUNT(gaps); i++) {
		struct history *h = history_create(10 * SECOND, SECOND, 0);
		uint64_t now = SECOND / 2, kept = gaps[i] < 10 ? 1000 : 0;

		history_add(h, 0, now, 1000, 1000);
		now += gaps[i] * SECOND;
		history_add(h, now - MS, now, 10, 10);
		assert_near(history_backlog(h, now), kept ? 1000 : 10, 0);
		assert_near(history_rate(h, now) * (gaps[i] < 10 ? (double)gaps[i] + 0.5 : 9.5),
			(double)kept + 10, 1e-6);
		free(h);
	}
}

struct added {
	uint64_t from, to;
	double bytes;
};

/* Bytes of an interval that arrived after a time. */
static double bytes_after(const struct added *a, double time)
{
	double from = fmax((double)a->from, time);

	return a->bytes * fmax(0, (double)a->to - from) / (double)(a->to - a->from);
}

/*
 * A history covers exactly its length, for any additions; compared with a list of all
 * intervals.
 */
TEST(test_history_random)
{
	struct prng prng;

	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++) {
		unsigned steps = 2 + (unsigned)(seed % 20), n = 0;
		uint64_t now = seed * 977 * MS;
		struct history *h = history_create(steps * SECOND, SECOND, now);
		double begun = (double)now;
		struct added added[100];

		prng_seed(&prng, seed);
		for (; n < 100; n++) {
			unsigned most_ms = prng_below(&prng, 20) ? 400 : 40000;
			uint64_t to = now + prng_below(&prng, most_ms) * MS + 1;
			double sum = 0, most = 0, from;

			added[n] = (struct added){now, to, prng_below(&prng, 10000)};
			now = to;
			history_add(h, added[n].from, to, added[n].bytes, added[n].bytes);
			from = ((double)(now / SECOND) - (steps - 1)) * (double)SECOND;
			for (unsigned k = 0; k <= n; k++) {
				sum += bytes_after(&added[k], from);
				if ((double)added[k].to >= from && added[k].bytes > most)
					most = added[k].bytes;
			}
			from = fmax(from, begun);
			if (fabs(history_backlog(h, now) - most) > 0 ||
				fabs(history_rate(h, now) * ((double)now - from) / 1e9 - sum) >
					1e-3)
				fail_msg("seed %llu, %u", (unsigned long long)seed, n);
		}
		free(h);
	}
}

TEST(test_history_bounds)
{
	static const unsigned rows[][2] = {{0, HISTORY_STEPS_MIN}, {1, HISTORY_STEPS_MIN},
		{HISTORY_STEPS_MIN, HISTORY_STEPS_MIN},
		{HISTORY_STEPS_MIN + 1, HISTORY_STEPS_MIN + 1},
		{HISTORY_STEPS_MAX - 1, HISTORY_STEPS_MAX - 1},
		{HISTORY_STEPS_MAX, HISTORY_STEPS_MAX}, {HISTORY_STEPS_MAX + 1, HISTORY_STEPS_MAX},
		{10000, HISTORY_STEPS_MAX}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct history *h = history_create(rows[i][0] * SECOND, SECOND, 0);

		assert_int_equal(h->n, rows[i][1]);
		free(h);
	}
}

TEST(test_backlog)
{
	static const struct {
		double before, arrived, left, want;
	} rows[] = {
		{0, 100, 100, 0}, {0, 101, 100, 1}, {1, 99, 100, 0}, {50, 0, 100, 0},
		{50, 500, 100, 450}, {50, 5000, 100, 1000}, /* at most one bucket's worth */
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_near(backlog_after(rows[i].before, rows[i].arrived, rows[i].left, 1000),
			rows[i].want, 0);
}

/* The result of one allocation from a zero state. */
static struct allocate_state answer_from_zero(const struct allocate_input *in)
{
	struct allocate_state state = {0};
	struct allocate_output out;

	allocator_adaptor.allocate(&state, in, &out);
	assert_near(out.local_limit, state.local_limit, 0);
	assert_near(out.weight, state.weight, 0);
	return state;
}

TEST(test_divides_both)
{
	const double rate = (1 - ALLOCATE_FLOOR) * LIMIT, floor = ALLOCATE_FLOOR * LIMIT / 2;
	const double burst = (double)BURST - 2 * LEAST;
	static const struct {
		double demand, backlog, remote_demand, remote_backlog;
		double rate_share, burst_share; /* parts of the rest after the floors */
	} rows[] = {
		{5000, 50000, 5000, 50000, 0.5, 0.5},
		{9000, 20000, 1000, 60000, 0.9, 0.25}, /* smooth here, bursts at the peer */
		{1000, 60000, 9000, 20000, 0.1, 0.75},
		{5000, 0, 5000, 100000 - LEAST, 0.5, LEAST / 100000}, /* arrivals count */
		{0, 0, 5000, 50000, 0, 0},                            /* idle: the floor */
		{5000, 50000, 0, 0, 1, 1},
		/* A remembered backlog without arrivals now. */
		{0, 50000, 5000, 50000, 0, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct allocate_input in = {.n = 2,
			.limit = LIMIT,
			.burst = (double)BURST,
			.burst_least = LEAST,
			.demand = rows[i].demand,
			.backlog = rows[i].backlog,
			.remote_demand = rows[i].remote_demand,
			.remote_weight = rows[i].remote_backlog};
		struct allocate_state s = answer_from_zero(&in);

		assert_near(s.local_limit, floor + rate * rows[i].rate_share, 1e-6);
		assert_near(s.local_burst, LEAST + burst * rows[i].burst_share, 1e-6);
	}
}

TEST(test_all_idle_or_lost)
{
	static const struct {
		unsigned n, lost;
		double demand, share; /* share of the whole */
	} rows[] = {
		{1, 0, 0, 1},
		{1, 0, 777, 1},
		{4, 0, 0, 0.25},
		{4, 3, 0, 0.25}, /* never limit / alive */
		{4, 3, 777, 0.25},
		{4, 2, 0, 0.25},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct allocate_input in = {.n = rows[i].n,
			.lost = rows[i].lost,
			.limit = LIMIT,
			.burst = (double)BURST,
			.burst_least = LEAST,
			.demand = rows[i].demand};
		struct allocate_state s = answer_from_zero(&in);

		assert_near(s.local_limit, rows[i].share * LIMIT, 1e-6);
		assert_near(s.local_burst, rows[i].share * (double)BURST, 1e-6);
	}
}

/*
 * Each limiter keeps enough burst for flows to start, but together at most half of a small burst.
 */
TEST(test_small_burst)
{
	static const struct {
		double burst, idle; /* burst of an idle limiter of two */
	} rows[] = {{4 * LEAST, LEAST}, {4 * LEAST - 4, LEAST - 1}, {LEAST, LEAST / 4.0}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct allocate_input in = {.n = 2,
			.limit = LIMIT,
			.burst = rows[i].burst,
			.burst_least = LEAST,
			.remote_demand = 5000,
			.remote_weight = 50000};
		struct allocate_state s = answer_from_zero(&in);

		assert_near(s.local_burst, rows[i].idle, 1e-9);
		in.demand = 5000;
		in.backlog = 50000;
		in.remote_demand = in.remote_weight = 0;
		s = answer_from_zero(&in);
		assert_near(s.local_burst, rows[i].burst - rows[i].idle, 1e-9);
	}
}

/* Rates and bursts add up to at most the totals, and each has its floor, for any demand. */
TEST(test_adds_up)
{
	struct prng prng;

	for (uint64_t seed = 1; seed <= ROUNDS(500); seed++) {
		double demand[8], backlog[8], demands = 0, backlogs = 0, rates = 0, bursts = 0;
		unsigned n = 1 + (unsigned)(seed % 8);
		double burst, least, low;

		prng_seed(&prng, seed);
		burst = 1 + prng_below(&prng, 1000000);
		least = LEAST < burst / n / 2 ? LEAST : burst / n / 2;
		for (unsigned i = 0; i < n; i++) {
			demand[i] = prng_below(&prng, 3) ? prng_below(&prng, 2000000) : 0;
			backlog[i] = prng_below(&prng, 3) ? prng_below(&prng, 1000000) : 0;
			/* The limiter reports it like this. */
			backlog[i] = demand[i] <= 0 ? 0 : fmax(backlog[i], LEAST);
			demands += demand[i];
			backlogs += backlog[i];
		}
		for (unsigned i = 0; i < n; i++) {
			struct allocate_input in = {.n = n,
				.limit = LIMIT,
				.burst = burst,
				.burst_least = LEAST,
				.demand = demand[i],
				.backlog = backlog[i],
				.remote_demand = demands - demand[i],
				.remote_weight = backlogs - backlog[i]};
			struct allocate_state s = answer_from_zero(&in);

			rates += s.local_limit;
			bursts += s.local_burst;
			low = s.local_burst - least;
			if (low < -1e-6 || s.local_limit < ALLOCATE_FLOOR * LIMIT / n - 1e-6)
				fail_msg("seed %llu: below the floor", (unsigned long long)seed);
		}
		if (fabs(rates - LIMIT) > 1e-3 || fabs(bursts - burst) > 1e-3)
			fail_msg("seed %llu: %g of %g, %g of %g", (unsigned long long)seed, rates,
				LIMIT, bursts, burst);
	}
}

/* Limiters with one policy; the only input is the workers' counters. */
struct group {
	struct limiter *l[N];
	struct roster *roster;
	uint64_t now, arrived[N], dropped[N], waits[N];
	double tokens[N], lost[N], sent[N];
	double carry[N];
	double most_rate, most_burst; /* maximum of the sums over the group, since set to 0 */
	uint64_t slots[FLOW_SLOTS];
	unsigned turn, measured[N]; /* whose policy is inspected, and how often it has been */
};

static struct limiter_view adaptor_view(const struct group *g, unsigned i)
{
	struct limiter_view v;

	limiter_view(g->l[i], 0, &v);
	return v;
}

static void measure_adaptor(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct group *g = context;

	assert_int_equal(policy, 0);
	g->measured[g->turn]++;
	*sample = (struct limiter_sample){
		.arrived_bytes = g->arrived[g->turn],
		.dropped_packets = g->dropped[g->turn],
		.slots = g->slots,
		.backlog = g->waits[g->turn],
	};
}

static struct limiter_policy policy_of(const char *allocator)
{
	return (struct limiter_policy){
		.id = 5,
		.allocator = allocator_find(allocator),
		.limit_bps = (uint64_t)LIMIT * 8,
		.burst_bytes = BURST,
		.interval_ns = TICK,
		.keep_per_second = 0.1,
		.history_ns = 10 * SECOND,
		.step_ns = SECOND,
	};
}

static void start_adaptor_node(
	struct group *g, unsigned i, const char *allocator, enum gossip_estimator e)
{
	struct limiter_policy policy = policy_of(allocator);
	struct limiter_params params = {
		.gossip = {.roster = g->roster,
			.self = i,
			.epoch = 1 + i + g->now,
			.seed = 1 + i,
			.branching = N,
			.timeout_ns = SECOND,
			.datagram_max = 1200,
			.estimator = e},
		.policies = &policy,
		.n_policies = 1,
		.n_workers = 1,
		.skips_idle = true,
	};

	assert_int_equal(limiter_create(&params, g->now, &g->l[i]), 0);
}

static struct group *group_with(const char *allocator, enum gossip_estimator e)
{
	static const uint32_t ids[N] = {11, 7, 13};
	struct group *g = test_calloc(1, sizeof(*g));

	assert_int_equal(roster_create(ids, N, &g->roster), 0);
	g->now = 1000 * SECOND;
	for (unsigned i = 0; i < N; i++)
		start_adaptor_node(g, i, allocator, e);
	return g;
}

static struct group *group_new(const char *allocator)
{
	return group_with(allocator, GOSSIP_STATE);
}

static void group_free(struct group *g)
{
	for (unsigned i = 0; i < N; i++)
		limiter_destroy(g->l[i]);
	roster_destroy(g->roster);
	test_free(g);
}

END_POINTER(group_free, struct group *)

/* A policer with the local limit and burst, for packets of 1,000 bytes. */
static void arrive_at_policer(struct group *g, unsigned i, double bytes)
{
	struct limiter_view v = adaptor_view(g, i);

	for (g->carry[i] += bytes; g->carry[i] >= 1000; g->carry[i] -= 1000) {
		g->arrived[i] += 1000;
		limiter_wake(g->l[i], 0);
		g->sent[i] += 1000;
		if (g->tokens[i] >= 1000) {
			g->tokens[i] -= 1000;
		} else {
			g->dropped[i]++;
			g->lost[i] += 1000;
		}
	}
	g->tokens[i] += v.local_limit * (double)TICK / 1e9;
	if (g->tokens[i] > (double)v.local_burst)
		g->tokens[i] = (double)v.local_burst;
}

static void exchange_adaptor(struct group *g, unsigned i)
{
	uint8_t buf[1200];
	unsigned to;
	size_t len;

	while ((len = limiter_send(g->l[i], buf, &to)) > 0)
		if (g->l[to])
			limiter_receive(g->l[to], g->now, buf, len);
}

static double sum_of_limits(const struct group *g)
{
	double sum = 0;

	for (unsigned i = 0; i < N; i++)
		sum += g->l[i] ? adaptor_view(g, i).local_limit : 0;
	return sum;
}

static uint64_t sum_of_bursts(const struct group *g)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < N; i++)
		sum += g->l[i] ? adaptor_view(g, i).local_burst : 0;
	return sum;
}

/* Runs for so many seconds; the bytes of a second arrive evenly by tick, or all together. */
static void run_adaptor_group(
	struct group *g, unsigned seconds, const double rates[N], const bool batch[N])
{
	for (unsigned k = 0; k < seconds * 20; k++) {
		g->now += TICK;
		for (unsigned i = 0; i < N; i++) {
			if (!g->l[i])
				continue;
			if (!batch[i])
				arrive_at_policer(g, i, rates[i] / 20);
			else
				arrive_at_policer(g, i, k % 20 == 7 ? rates[i] : 0);
			g->turn = i;
			limiter_tick(g->l[i], g->now, measure_adaptor, g);
			exchange_adaptor(g, i);
		}
		g->most_rate = fmax(g->most_rate, sum_of_limits(g));
		g->most_burst = fmax(g->most_burst, (double)sum_of_bursts(g));
	}
}

static const bool smooth[N];

TEST(test_starts_with_equal_parts)
{
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");

	assert_near(adaptor_view(g, 0).local_limit, LIMIT / N, 1e-6);
	assert_int_equal(adaptor_view(g, 0).local_burst, BURST / N);
	run_adaptor_group(g, 20, (const double[N]){0}, smooth);
	assert_near(adaptor_view(g, 1).local_limit, LIMIT / N, 1e-6);
	assert_int_equal(adaptor_view(g, 1).local_burst, BURST / N);
}

TEST(test_load_moves)
{
	static const double before[N] = {0.6 * LIMIT, 0.2 * LIMIT, 0};
	static const double after[N] = {0.2 * LIMIT, 0.6 * LIMIT, 0};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");
	double floor = ALLOCATE_FLOOR * LIMIT / N, rest = (1 - ALLOCATE_FLOOR) * LIMIT;

	run_adaptor_group(g, 15, before, smooth);
	assert_near(adaptor_view(g, 0).local_limit, floor + 0.75 * rest, 0.01 * LIMIT);
	assert_near(adaptor_view(g, 1).local_limit, floor + 0.25 * rest, 0.01 * LIMIT);
	assert_near(adaptor_view(g, 2).local_limit, floor, 1e-3);
	assert_near(sum_of_limits(g), LIMIT, 0.001 * LIMIT);
	/* After two steps the new demand counts, and the old one still does. */
	run_adaptor_group(g, 2, after, smooth);
	assert_true(adaptor_view(g, 1).demand > 0.39 * LIMIT); /* all except a burst in a second */
	assert_true(adaptor_view(g, 0).local_limit < 0.6 * LIMIT);
	run_adaptor_group(g, 8, after, smooth);
	assert_near(adaptor_view(g, 1).local_limit, floor + 0.75 * rest, 0.01 * LIMIT);
	assert_near(sum_of_limits(g), LIMIT, 0.001 * LIMIT);
}

/* If two limiters have the same rate, the one with bursts gets more burst. */
TEST(test_burst_goes_where_bursts_are)
{
	static const double rates[N] = {0.1 * LIMIT, 0.1 * LIMIT, 0};
	static const bool batch[N] = {true, false, false};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");

	run_adaptor_group(g, 15, rates, batch);
	assert_near(adaptor_view(g, 0).local_limit, adaptor_view(g, 1).local_limit, 0.1 * LIMIT);
	assert_true(adaptor_view(g, 0).local_limit >= adaptor_view(g, 1).local_limit);
	assert_true(adaptor_view(g, 0).local_burst > BURST / 2);
	assert_true(adaptor_view(g, 1).local_burst < BURST / 4);
	assert_true(adaptor_view(g, 2).local_burst >= (uint64_t)LEAST);
	assert_true(adaptor_view(g, 1).local_burst >= (uint64_t)LEAST);
	assert_true(sum_of_bursts(g) <= BURST + N && sum_of_bursts(g) + N >= BURST);
	/* Limiter 0 becomes smooth; a history later both have the same burst. */
	run_adaptor_group(g, 12, rates, smooth);
	assert_near((double)adaptor_view(g, 0).local_burst, (double)adaptor_view(g, 1).local_burst,
		2000);
}

/* A burst too short to show in control's counts still shows by its drops. */
TEST(test_drops_are_evidence)
{
	static const double rates[N] = {0.3 * LIMIT, 0.3 * LIMIT, 0};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");

	for (unsigned k = 0; k < 20 * 20; k++) {
		g->dropped[0]++;
		g->now += TICK;
		for (unsigned i = 0; i < N; i++) {
			arrive_at_policer(g, i, rates[i] / 20);
			g->turn = i;
			limiter_tick(g->l[i], g->now, measure_adaptor, g);
			exchange_adaptor(g, i);
		}
	}
	assert_true(adaptor_view(g, 0).local_burst > 3 * adaptor_view(g, 1).local_burst);
}

/* In a shaper the backlog counts, even beyond the depth of the bucket. */
TEST(test_what_waits_counts)
{
	static const double rates[N] = {0.3 * LIMIT, 0.3 * LIMIT, 0};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");

	g->waits[1] = 50000;
	run_adaptor_group(g, 15, rates, smooth);
	assert_true(adaptor_view(g, 1).weight > 50000);
	assert_true(adaptor_view(g, 1).local_burst > 3 * adaptor_view(g, 0).local_burst);
}

/* A lost peer takes its part of rate and burst along, and gets both back on return. */
TEST(test_lost_peer)
{
	static const double rates[N] = {0.3 * LIMIT, 0.3 * LIMIT, 0.3 * LIMIT};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");

	run_adaptor_group(g, 12, rates, smooth);
	limiter_destroy(g->l[2]);
	g->l[2] = NULL;
	run_adaptor_group(g, 3, rates, smooth);
	assert_near(sum_of_limits(g), LIMIT * 2 / 3, 0.001 * LIMIT);
	assert_near((double)sum_of_bursts(g), (double)BURST * 2 / 3, 3);
	limiter_destroy(g->l[1]);
	g->l[1] = NULL;
	run_adaptor_group(g, 3, rates, smooth);
	assert_near(adaptor_view(g, 0).local_limit, LIMIT / 3, 1);
	assert_int_equal(adaptor_view(g, 0).local_burst, BURST / 3);
	start_adaptor_node(g, 1, "adaptor", GOSSIP_STATE);
	start_adaptor_node(g, 2, "adaptor", GOSSIP_STATE);
	g->arrived[1] = g->arrived[2] = 0;
	g->most_rate = g->most_burst = 0;
	run_adaptor_group(g, 10, rates, smooth);
	assert_true(g->most_rate <= 1.05 * LIMIT);
	assert_true(g->most_burst <= 1.05 * (double)BURST);
	assert_near(sum_of_limits(g), LIMIT, 0.01 * LIMIT);
	assert_near(adaptor_view(g, 2).local_limit, LIMIT / 3, 0.02 * LIMIT);
}

/* The other estimators carry the same two values. */
TEST(test_estimators)
{
	static const double rates[N] = {0.1 * LIMIT, 0.6 * LIMIT, 0};
	static const bool batch[N] = {true, false, false};

	for (int e = 0; e < GOSSIP_ESTIMATORS; e++) {
		struct group *g = group_with("adaptor", (enum gossip_estimator)e);

		run_adaptor_group(g, 20, rates, batch);
		assert_near(adaptor_view(g, 1).local_limit / LIMIT, 6.0 / 7, 0.05);
		/*
		 * All arrivals of a tick come together, so the smooth limiter also needs some
		 * burst.
		 */
		assert_true(
			2 * adaptor_view(g, 0).local_burst > 3 * adaptor_view(g, 1).local_burst);
		group_free(g);
	}
}

/*
 * Returns the part lost of traffic that conforms in total but moves to another limiter every 20 s.
 */
static double lost_of(const char *allocator)
{
	struct group *g = group_new(allocator);
	double lost = 0, sent = 0;

	for (unsigned k = 0; k < 9; k++) {
		double rates[N] = {0};

		rates[k % N] = 0.7 * LIMIT;
		rates[(k + 1) % N] = 0.1 * LIMIT;
		run_adaptor_group(g, 20, rates, smooth);
	}
	for (unsigned i = 0; i < N; i++) {
		lost += g->lost[i];
		sent += g->sent[i];
	}
	group_free(g);
	return lost / sent;
}

TEST(test_loses_less_than_fixed_parts)
{
	double fixed = lost_of("static"), adapted = lost_of("adaptor");

	assert_true(fixed > 0.4); /* 2/3 of the excess over 1/3 */
	if (adapted > fixed / 2)
		fail_msg("lost %g with static, %g with adaptor", fixed, adapted);
}

/* A shaper in front of each limiter: a queue of packets of 1,000 bytes, and their total wait. */
struct line {
	uint64_t came[1024]; /* arrival times, by packet number */
	uint64_t in, out;
	double tokens;
};

static void serve_adaptor_line(struct group *g, unsigned i, struct line *line, double *waited_s)
{
	struct limiter_view v = adaptor_view(g, i);
	uint64_t waiting;

	line->tokens = fmin(line->tokens + v.local_limit / 1000, (double)v.local_burst);
	for (; line->out < line->in && line->tokens >= 1000; line->out++, line->tokens -= 1000)
		*waited_s += (double)(g->now - line->came[line->out % 1024]) / 1e9;
	waiting = 1000 * (line->in - line->out);
	g->waits[i] = waiting > g->waits[i] ? waiting : g->waits[i];
}

static void come_to_line(struct group *g, unsigned i, struct line *line, unsigned n)
{
	for (; n > 0; n--, g->arrived[i] += 1000) {
		assert_true(line->in - line->out < 1024);
		line->came[line->in++ % 1024] = g->now;
	}
	limiter_wake(g->l[i], 0);
}

static void end_tick(struct group *g)
{
	for (unsigned i = 0; i < N; i++) {
		g->turn = i;
		limiter_tick(g->l[i], g->now, measure_adaptor, g);
		g->waits[i] = 0;
		exchange_adaptor(g, i);
	}
}

/* Mean wait of a packet in ms, while bursts of three quarters of the total burst move. */
static double mean_wait(const char *allocator)
{
	struct group *g = group_new(allocator);
	struct line *lines = test_calloc(N, sizeof(*lines));
	double waited = 0, packets = 0;

	for (unsigned ms = 1; ms <= 120000; ms++) {
		unsigned first = ms / 40000;

		g->now += MS;
		if (ms % 5 == 0)
			come_to_line(g, first % N, &lines[first % N], 1);
		if (ms % 10 == 0)
			come_to_line(g, (first + 1) % N, &lines[(first + 1) % N], 1);
		if (ms % 1000 == 500)
			come_to_line(g, (first + 2) % N, &lines[(first + 2) % N], 150);
		for (unsigned i = 0; i < N; i++)
			serve_adaptor_line(g, i, &lines[i], &waited);
		if (ms % 50 == 0)
			end_tick(g);
	}
	for (unsigned i = 0; i < N; i++)
		packets += (double)lines[i].in;
	test_free(lines);
	group_free(g);
	return waited / packets;
}

TEST(test_waits_less_than_with_fixed_parts)
{
	double fixed = mean_wait("static"), fps = mean_wait("fps"), adapted = mean_wait("adaptor");

	assert_true(fixed > 0.01);
	if (adapted > fixed / 4 || adapted > fps / 4)
		fail_msg("%g ms with static, %g with fps, %g with adaptor", 1e3 * fixed, 1e3 * fps,
			1e3 * adapted);
	print_message("%g ms with static, %g with fps, %g with adaptor\n", 1e3 * fixed, 1e3 * fps,
		1e3 * adapted);
}

/* After a long idle time the history is empty: skipping idle policies changes no result. */
TEST(test_skips_idle)
{
	static const double rates[N] = {0.6 * LIMIT, 0, 0}, none[N];
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");

	run_adaptor_group(g, 5, rates, smooth);
	assert_true(adaptor_view(g, 0).local_limit > 0.9 * LIMIT);
	run_adaptor_group(g, 30, none, smooth);
	for (unsigned i = 0; i < N; i++) {
		assert_near(adaptor_view(g, i).local_limit, LIMIT / N, 1e-6);
		assert_int_equal(adaptor_view(g, i).local_burst, BURST / N);
		assert_near(adaptor_view(g, i).weight, 0, 0);
	}
}

/* A changed limit or burst is divided in the same proportions; a changed history starts empty. */
TEST(test_update)
{
	static const double rates[N] = {0.6 * LIMIT, 0.1 * LIMIT, 0};
	static const bool batch[N] = {false, true, false};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");
	struct limiter_policy policy = policy_of("adaptor");
	struct limiter_view before, after;
	const unsigned from = 0;

	run_adaptor_group(g, 12, rates, batch);
	before = adaptor_view(g, 1);
	assert_int_equal(limiter_update(g->l[1], &policy, 1, &from, g->now), 0);
	after = adaptor_view(g, 1);
	assert_near(after.local_limit, before.local_limit, 0);
	assert_int_equal(after.local_burst, before.local_burst);
	assert_near(after.demand, before.demand, 0);
	assert_near(after.weight, before.weight, 0);
	policy.limit_bps *= 2;
	policy.burst_bytes *= 3;
	assert_int_equal(limiter_update(g->l[1], &policy, 1, &from, g->now), 0);
	after = adaptor_view(g, 1);
	assert_near(after.local_limit, 2 * before.local_limit, 1e-6);
	assert_near((double)after.local_burst, 3 * (double)before.local_burst, 3);
	policy.history_ns = 2 * SECOND;
	assert_int_equal(limiter_update(g->l[1], &policy, 1, &from, g->now), 0);
	run_adaptor_group(g, 3, rates, batch);
	assert_near(adaptor_view(g, 1).demand, 0.1 * LIMIT, 0.06 * LIMIT);
	/* The new history expires in two seconds, the old one in ten. */
	run_adaptor_group(g, 3, (const double[N]){0}, batch);
	assert_near(adaptor_view(g, 1).demand, 0, 0);
	assert_true(adaptor_view(g, 0).demand > 0);
}

/* After a time with burst 0 there are no proportions left: each limiter gets the same part. */
TEST(test_burst_restarts)
{
	static const double rates[N] = {0.6 * LIMIT, 0.1 * LIMIT, 0};
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");
	struct limiter_policy policy = policy_of("adaptor");
	double limit;
	const unsigned from = 0;

	run_adaptor_group(g, 12, rates, smooth);
	limit = adaptor_view(g, 1).local_limit;
	policy.burst_bytes = 0;
	assert_int_equal(limiter_update(g->l[1], &policy, 1, &from, g->now), 0);
	assert_int_equal(adaptor_view(g, 1).local_burst, 0);
	policy.burst_bytes = 3 * BURST;
	assert_int_equal(limiter_update(g->l[1], &policy, 1, &from, g->now), 0);
	assert_int_equal(adaptor_view(g, 1).local_burst, 3 * BURST / N);
	assert_near(adaptor_view(g, 1).local_limit, limit, 0);
}

/* A new allocator has no memory of the past, and the old memory does not keep the policy active. */
TEST(test_other_allocator)
{
	static const double rates[N] = {2 * LIMIT, 2 * LIMIT, 2 * LIMIT}, none[N];
	const struct limiter_policy adaptor = policy_of("adaptor");
	struct limiter_policy fixed = policy_of("static");
	ENDED_BY(group_free_at) struct group *g = group_new("adaptor");
	const unsigned from = 0;
	unsigned measured[N];

	fixed.keep_per_second = 0.01;
	run_adaptor_group(g, 12, rates, smooth); /* the virtual queue reaches its maximum */
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(limiter_update(g->l[i], &fixed, 1, &from, g->now), 0);
	run_adaptor_group(g, 6, none, smooth); /* shorter than the history */
	memcpy(measured, g->measured, sizeof(measured));
	run_adaptor_group(g, 1, none, smooth);
	assert_memory_equal(g->measured, measured, sizeof(measured));
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(limiter_update(g->l[i], &adaptor, 1, &from, g->now), 0);
	run_adaptor_group(g, 1, none, smooth);
	for (unsigned i = 0; i < N; i++) {
		assert_near(adaptor_view(g, i).demand, 0, 0);
		assert_near(adaptor_view(g, i).weight, 0, 0);
		assert_int_equal(adaptor_view(g, i).local_burst, BURST / N);
	}
}
