/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "flow/flow_sample.h"
#include "limiter/limiter.h"

END_POINTER(limiter_destroy, struct limiter *)

#define LIMIT 1250000.0
#define BURST UINT64_C(75000)

static const uint32_t ids[3] = {11, 22, 33};

/* The counters of one limiter's workers. */
struct source {
	uint64_t arrived, dropped, asked;
	uint64_t slots[FLOW_SLOTS];
};

static void measure_test_source(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct source *source = context;

	assert_true(policy < 2);
	source->asked++;
	*sample = (struct limiter_sample){.arrived_bytes = source->arrived,
		.dropped_packets = source->dropped,
		.slots = source->slots};
}

/* Returns a roster of the first n ids; created on first use, and kept. */
static const struct roster *roster_of(unsigned n)
{
	static struct roster *rosters[4];

	if (!rosters[n])
		assert_int_equal(roster_create(ids, n, &rosters[n]), 0);
	return rosters[n];
}

static void fill_two_policies(struct limiter_policy policies[2], const char *allocator)
{
	for (unsigned i = 0; i < 2; i++)
		policies[i] = (struct limiter_policy){.id = 5 + i,
			.interval_ns = (i + 1) * 50 * MS,
			.allocator = allocator_find(allocator),
			.limit_bps = 10000000,
			.burst_bytes = BURST,
			.keep_per_second = 0.1};
}

static struct limiter *make_test_limiter(
	unsigned self, unsigned n, const char *allocator, uint64_t now)
{
	struct limiter_policy policies[2];
	struct limiter_params params = {
		.gossip = {.roster = roster_of(n),
			.self = self,
			.epoch = 100 + now + self,
			.seed = 1,
			.branching = 3,
			.timeout_ns = 1000 * MS,
			.datagram_max = 1200},
		.policies = policies,
		.n_policies = 2,
		.n_workers = 1,
	};
	struct limiter *l = NULL, *none = NULL;

	fill_two_policies(policies, allocator);
	assert_int_equal(limiter_create(&params, now, &l), 0);
	params.n_workers = 0;
	assert_int_equal(limiter_create(&params, now, &none), -EINVAL);
	params.n_workers = 1;
	params.gossip.roster = NULL;
	assert_int_equal(limiter_create(&params, now, &none), -EINVAL);
	return l;
}

static double local_limit(const struct limiter *l, unsigned policy)
{
	struct limiter_view view;

	limiter_view(l, policy, &view);
	return view.local_limit;
}

/* Adds one flow's traffic of one interval. */
static void add_flow_traffic(struct source *s, unsigned flow, uint64_t bytes, bool dropped)
{
	s->arrived += bytes;
	s->dropped += dropped;
	s->slots[flow] = (uint64_t)(flow + 1) << FLOW_COUNT_BITS |
			 ((s->slots[flow] + bytes) & FLOW_COUNT_MASK);
}

static void exchange_datagrams(struct limiter *from, struct limiter *const *group, uint64_t now)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	while ((len = limiter_send(from, buf, &to)) > 0)
		if (group[to])
			limiter_receive(group[to], now, buf, len);
}

TEST(test_starts_at_its_part)
{
	ENDED_BY(limiter_destroy_at) struct limiter *l = make_test_limiter(0, 3, "fps", 0);
	struct limiter_view view;

	assert_near(local_limit(l, 0), LIMIT / 3, 1e-6);
	limiter_view(l, 0, &view);
	assert_int_equal(view.local_burst, BURST / 3);
	limiter_destroy(l);
	l = make_test_limiter(0, 1, "central", 0);
	assert_near(local_limit(l, 0), LIMIT, 1e-6);
}

TEST(test_ticks_when_due)
{
	ENDED_BY(limiter_destroy_at)
	struct limiter *l = make_test_limiter(0, 1, "central", 1000 * MS);
	struct source s = {0};

	assert_int_equal(limiter_next(l), 1050 * MS);
	limiter_tick(l, 1050 * MS - 1, measure_test_source, &s);
	assert_int_equal(s.asked, 0);
	limiter_tick(l, 1050 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 1); /* the second policy's interval is twice as long */
	limiter_tick(l, 1100 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 3);
	/* A slightly late tick keeps the schedule; a very late one starts a new schedule. */
	limiter_tick(l, 1160 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 4);
	assert_int_equal(limiter_next(l), 1200 * MS);
	limiter_tick(l, 1200 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 6);
	limiter_tick(l, 1900 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 8);
	assert_int_equal(limiter_next(l), 1950 * MS);
	limiter_tick(l, 1950 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 9);
}

/* A late tick divides by the elapsed time, not by the interval. */
TEST(test_late_tick_measures_right)
{
	ENDED_BY(limiter_destroy_at) struct limiter *l = make_test_limiter(0, 1, "fps", 0);
	struct source s = {0};
	struct limiter_view view;

	add_flow_traffic(&s, 0, 100000, false);
	limiter_tick(l, 200 * MS, measure_test_source, &s);
	limiter_view(l, 0, &view);
	assert_near(view.demand, 500000, 1e-3);
}

/* Counters that run backwards give no demand; later increases count again. */
TEST(test_backwards_is_nothing)
{
	ENDED_BY(limiter_destroy_at) struct limiter *l = make_test_limiter(0, 1, "fps", 0);
	struct source s = {0};
	struct limiter_view view;

	add_flow_traffic(&s, 0, 100000, false);
	limiter_tick(l, 100 * MS, measure_test_source, &s);
	s.arrived -= 50000;
	limiter_tick(l, 200 * MS, measure_test_source, &s);
	limiter_view(l, 0, &view);
	assert_true(view.demand >= 0 && view.demand < 1000000);
	s.arrived += 100000;
	limiter_tick(l, 300 * MS, measure_test_source, &s);
	limiter_view(l, 0, &view);
	assert_true(view.demand > 0 && view.demand < 1000000);
}

/* Alone in a roster of two, a limiter stays at limit/N. */
TEST(test_alone_in_a_group)
{
	struct limiter *l = make_test_limiter(0, 2, "fps", 0), *group[2] = {l, NULL};
	struct source s = {0};

	for (uint64_t now = 50; now <= 5000; now += 50) {
		add_flow_traffic(&s, now / 50 % 4, 200000, true);
		limiter_tick(l, now * MS, measure_test_source, &s);
		exchange_datagrams(l, group, now * MS);
		assert_near(local_limit(l, 0), LIMIT / 2, 1e-3);
	}
	limiter_destroy(l);
}

/* At first every policy is published; unchanged policies are not published again. */
TEST(test_tells_what_changes)
{
	ENDED_BY(limiter_destroy_at) struct limiter *l = make_test_limiter(0, 2, "static", 0);
	struct source s = {0};

	assert_int_equal(limiter_next_change(l, 0), 0);
	assert_int_equal(limiter_next_change(l, 1), 1);
	limiter_tick(l, 100 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 2);
	while (limiter_next_change(l, 0) < 2) {
	}
	add_flow_traffic(&s, 0, 20000, false); /* below the limit */
	limiter_tick(l, 200 * MS, measure_test_source, &s);
	assert_int_equal(s.asked, 4);
	assert_int_equal(limiter_next_change(l, 0), 2);
	add_flow_traffic(&s, 0, 2000000, true); /* above the limit */
	limiter_tick(l, 300 * MS, measure_test_source, &s);
	assert_int_equal(limiter_next_change(l, 0), 0);
	assert_int_equal(limiter_next_change(l, 0), 1);
	assert_int_equal(limiter_next_change(l, 0), 2);
}

/* Updates the limiter with its first policy replaced by `other`, or unchanged if NULL. */
static void update_first(struct limiter *l, const struct limiter_policy *other)
{
	static const unsigned same[2] = {0, 1};
	struct limiter_policy policies[2];

	fill_two_policies(policies, "static");
	policies[0].parent = 6;
	if (other)
		policies[0] = *other;
	assert_int_equal(limiter_update(l, policies, 2, same, 7), 0);
}

static void expect_first_told(struct limiter *l, const char *what)
{
	if (limiter_next_change(l, 0) != 0)
		fail_msg("%s is another", what);
	assert_int_equal(limiter_next_change(l, 0), 2);
}

/* A policy replaced by an equal one continues; any other difference is published. */
TEST(test_replaced)
{
#define FIELD(field)                                           \
	{                                                      \
#field, offsetof(struct limiter_policy, field) \
	}
	static const struct {
		const char *name;
		size_t at;
	} fields[] = {FIELD(limit_bps), FIELD(limit_s), FIELD(burst_bytes), FIELD(interval_ns),
		FIELD(keep_per_second), FIELD(burst_floor), FIELD(packet), FIELD(eta),
		FIELD(history_ns), FIELD(step_ns), FIELD(total), FIELD(chunk), FIELD(drawn),
		FIELD(counts), FIELD(accounting), FIELD(period_length), FIELD(plain.limit_bps),
		FIELD(plain.limit_s), FIELD(plain.burst_bytes), FIELD(schedule), FIELD(override),
		FIELD(child), FIELD(own), FIELD(waits), FIELD(parent), FIELD(below), FIELD(weight),
		FIELD(guaranteed_bps), FIELD(second)};
#undef FIELD
	struct limiter *l = make_test_limiter(0, 2, "static", 0);
	struct limiter_policy usual[2], other;

	fill_two_policies(usual, "static");
	usual[0].parent = 6;
	update_first(l, NULL);
	while (limiter_next_change(l, 0) < 2) {
	}
	for (size_t i = 0; i < COUNT(fields); i++) {
		other = usual[0];
		((uint8_t *)&other)[fields[i].at] ^= 1;
		update_first(l, NULL);
		assert_int_equal(limiter_next_change(l, 0), 2);
		update_first(l, &other);
		expect_first_told(l, fields[i].name);
		update_first(l, NULL);
		expect_first_told(l, fields[i].name);
	}
	other = usual[0];
	other.allocator = allocator_find("fps");
	update_first(l, &other);
	expect_first_told(l, "allocator");
	other.indicator = &gdrl_utilisation;
	update_first(l, &other);
	expect_first_told(l, "indicator");
	limiter_destroy(l);
}

/* Two limiters with 3 and 7 flows. */
struct pair {
	struct limiter *l[2];
	struct source s[2];
	uint64_t now;
};

static void pair_run(struct pair *p, uint64_t ms, bool connected)
{
	static const unsigned flows[2] = {3, 7};
	struct limiter *none[2] = {NULL, NULL};

	for (uint64_t end = p->now + ms * MS; p->now < end;) {
		p->now += 50 * MS;
		for (int i = 0; i < 2; i++) {
			if (!p->l[i])
				continue;
			for (unsigned f = 0; f < flows[i]; f++)
				add_flow_traffic(&p->s[i], f,
					(uint64_t)(local_limit(p->l[i], 0) * 0.051 / flows[i]),
					true);
			limiter_tick(p->l[i], p->now, measure_test_source, &p->s[i]);
			exchange_datagrams(p->l[i], connected ? p->l : none, p->now);
		}
	}
}

static void pair_start(struct pair *p, const char *allocator)
{
	*p = (struct pair){.now = 1000 * MS};
	for (unsigned i = 0; i < 2; i++)
		p->l[i] = make_test_limiter(i, 2, allocator, p->now);
}

static void pair_stop(struct pair *p)
{
	for (unsigned i = 0; i < 2; i++)
		limiter_destroy(p->l[i]);
}

static double sum_of_limits(const struct pair *p)
{
	return local_limit(p->l[0], 0) + local_limit(p->l[1], 0);
}

TEST(test_three_to_seven)
{
	ENDED_BY(pair_stop) struct pair p;

	pair_start(&p, "fps");
	pair_run(&p, 10000, true);
	assert_near(local_limit(p.l[0], 0) / LIMIT, 0.3, 0.01);
	assert_near(sum_of_limits(&p), LIMIT, 0.01 * LIMIT);
	pair_stop(&p);
	pair_start(&p, "static");
	pair_run(&p, 1000, true);
	assert_near(local_limit(p.l[0], 0), LIMIT / 2, 1e-6);
}

/* While the path is cut each reaches limit/N in the stated time, and recovers after the cut. */
TEST(test_cut_and_heal)
{
	ENDED_BY(pair_stop) struct pair p;

	pair_start(&p, "fps");
	pair_run(&p, 5000, true);
	pair_run(&p, 1100, false);
	assert_near(local_limit(p.l[0], 0), LIMIT / 2, 1);
	assert_near(local_limit(p.l[1], 0), LIMIT / 2, 1);
	pair_run(&p, 3000, true);
	assert_near(local_limit(p.l[0], 0) / LIMIT, 0.3, 0.02);
}

/*
 * A limiter crashes and returns: limit/N until it has news, then its share. The sum is never far
 * above the limit.
 */
TEST(test_restart_is_gentle)
{
	ENDED_BY(pair_stop) struct pair p;

	pair_start(&p, "fps");
	pair_run(&p, 5000, true);
	limiter_destroy(p.l[1]);
	p.l[1] = NULL;
	pair_run(&p, 2000, true);
	assert_near(local_limit(p.l[0], 0), LIMIT / 2, 1);
	p.l[1] = make_test_limiter(1, 2, "fps", p.now);
	p.s[1] = (struct source){0};
	assert_near(local_limit(p.l[1], 0), LIMIT / 2, 1e-6);
	for (int i = 0; i < 60; i++) {
		pair_run(&p, 50, true);
		assert_true(sum_of_limits(&p) <= 1.1 * LIMIT);
	}
	assert_near(local_limit(p.l[1], 0) / LIMIT, 0.7, 0.03);
}

TEST(test_burst_follows_the_share)
{
	struct limiter_view a, b;
	ENDED_BY(pair_stop) struct pair p;

	pair_start(&p, "fps");
	pair_run(&p, 10000, true);
	limiter_view(p.l[0], 0, &a);
	limiter_view(p.l[1], 0, &b);
	assert_near((double)a.local_burst / BURST, a.local_limit / LIMIT, 0.01);
	assert_true(a.local_burst + b.local_burst <= BURST);
}
