/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "allocate/allocate.h"
#include "base/prng.h"

#define LIMIT            1250000.0 /* 10 Mbit/s in bytes per second */
#define DT               0.05
#define SHARED_BUCKET(n) (0.01 * LIMIT / (n))

/* One interval of a limiter of `n`, with these rates; its flows share the demand equally. */
struct situation {
	double interval; /* seconds; 0: DT */
	unsigned n, lost, flows;
	double demand, remote_weight, remote_demand;
	bool dropped;
};

static struct allocate_output run_allocator(
	struct allocate_state *state, const char *allocator, const struct situation *s)
{
	double flow[32];
	struct allocate_input in = {
		.interval_s = s->interval > 0 ? s->interval : DT,
		.keep = pow(0.1, DT),
		.n = s->n,
		.lost = s->lost,
		.limit = LIMIT,
		.demand_now = s->demand,
		.demand = s->demand,
		.demand_slow = s->demand,
		.dropped = s->dropped,
		.remote_weight = s->remote_weight,
		.remote_demand = s->remote_demand,
		.flow = flow,
		.n_flows = s->flows,
	};
	struct allocate_output out;

	for (unsigned i = 0; i < s->flows; i++)
		flow[i] = s->demand / s->flows;
	allocator_find(allocator)->allocate(state, &in, &out);
	assert_true(isfinite(out.local_limit) && isfinite(out.weight));
	assert_true(out.local_limit >= 0 && out.local_limit <= LIMIT * (1 + 1e-9));
	assert_true(out.weight >= 0);
	return out;
}

static struct allocate_output run_until_steady(
	struct allocate_state *state, const char *allocator, const struct situation *s)
{
	struct allocate_output out = {0};

	for (int i = 0; i < 400; i++)
		out = run_allocator(state, allocator, s);
	return out;
}

TEST(test_table)
{
	assert_string_equal(allocator_find("fps")->name, "fps");
	assert_string_equal(allocator_find("static")->name, "static");
	assert_string_equal(allocator_find("central")->name, "central");
	assert_null(allocator_find("FPS"));
	assert_null(allocator_find(""));
	assert_true(allocator_find("central")->alone);
	assert_false(allocator_find("fps")->alone);
}

TEST(test_reference_allocators)
{
	struct situation s = {.n = 4, .lost = 2, .demand = 5 * LIMIT, .dropped = true, .flows = 3};
	struct allocate_state st = {0};

	assert_near(run_allocator(&st, "static", &s).local_limit, LIMIT / 4, 1e-6);
	st = (struct allocate_state){0};
	assert_near(run_allocator(&st, "central", &s).local_limit, LIMIT, 1e-6);
}

/* Drop probability by the formula, and the same limit as a share of the demand. */
TEST(test_reference_drop)
{
	struct situation s = {.n = 4, .demand = 2 * LIMIT, .dropped = true};
	struct allocate_state st = {0};

	run_allocator(&st, "central", &s);
	assert_near(st.drop, 0.5, 1e-12);
	run_allocator(&st, "static", &s);
	assert_near(st.drop, 1 - 0.25 / 2, 1e-12);
	s.demand = LIMIT / 4;
	run_allocator(&st, "static", &s);
	assert_near(st.drop, 0, 0);
	/* Without demand and without a limit the probability is 0. */
	assert_true(allocate_drop(0, 0) == 0);
	assert_true(allocate_drop(100, 100) == 0);
}

TEST(test_gtb)
{
	static const struct {
		unsigned n, lost;
		double remote, limit, drain; /* parts of LIMIT */
	} rows[] = {
		{2, 0, 0, 1, 0},
		{2, 0, 0.3, 0.7, 0},
		{2, 0, 1, 0, 0},
		{2, 0, 1.5, 0, 0.5},
		{2, 1, 0, 0.5, 0}, /* a lost peer takes its part along */
		{4, 1, 0.5, 0.25, 0},
		{4, 2, 0.75, 0, 0.25},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct allocate_state st = {0};
		struct situation s = {.n = rows[i].n,
			.lost = rows[i].lost,
			.demand = LIMIT / 2,
			.remote_demand = rows[i].remote * LIMIT};

		assert_near(run_allocator(&st, "gtb", &s).local_limit, rows[i].limit * LIMIT, 1e-6);
		assert_near(st.drain, rows[i].drain * LIMIT, 1e-6);
		assert_near(st.weight, LIMIT / 2, 1e-6);
	}
	assert_true(allocator_find("gtb")->whole_burst);
}

TEST(test_grd)
{
	static const struct {
		unsigned n, lost;
		double demand, remote, share, drop; /* parts of LIMIT */
	} rows[] = {
		{2, 0, 0.25, 0.25, 0.5, 0}, /* below the limit nothing is dropped */
		{2, 0, 0.5, 0.5, 0.5, 0},
		{2, 0, 1, 1, 0.5, 0.5},
		{2, 0, 3, 1, 0.75, 0.75},
		{2, 0, 0, 4, 0, 0.75}, /* without demand: the same probability */
		{2, 1, 1, 0, 1, 0.5},
		{4, 2, 1, 1, 0.5, 0.75},
		{3, 0, 0, 0, 1.0 / 3, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned present = rows[i].n - rows[i].lost;
		struct allocate_state st = {0};
		struct situation s = {.n = rows[i].n,
			.lost = rows[i].lost,
			.demand = rows[i].demand * LIMIT,
			.remote_demand = rows[i].remote * LIMIT};
		double limit = LIMIT * present / rows[i].n;
		double got = run_allocator(&st, "grd", &s).local_limit;

		assert_near(got / limit, rows[i].share, 0.01);
		assert_near(st.drop, rows[i].drop, 1e-12);
	}
}

/* A byte an hour is a demand, and one that exceeds the limit by a thousandth is held back. */
TEST(test_regimes)
{
	static const char *const names[] = {
		"central", "static", "gtb", "grd", "adaptor", "gdrl", "quota"};
	static const struct {
		double demand;
		bool dropped;
		enum allocate_regime regime;
	} rows[] = {
		{0, false, ALLOCATE_IDLE},
		{1.0 / 3600, false, ALLOCATE_BOTTLENECKED},
		{LIMIT, false, ALLOCATE_BOTTLENECKED},
		{1.001 * LIMIT, true, ALLOCATE_UNBOTTLENECKED},
	};

	for (size_t k = 0; k < COUNT(names); k++)
		for (size_t i = 0; i < COUNT(rows); i++) {
			struct situation s = {
				.n = 1, .demand = rows[i].demand, .dropped = rows[i].dropped};
			struct allocate_state st = {0};

			run_allocator(&st, names[k], &s);
			if (st.regime != rows[i].regime)
				fail_msg("%s, row %zu: %s", names[k], i,
					allocate_regime_name(st.regime));
		}
}

TEST(test_fps_all_idle)
{
	struct situation s = {.n = 4};
	struct allocate_state st = {0};

	assert_near(run_until_steady(&st, "fps", &s).local_limit, LIMIT / 4, 1e-6);
	s.lost = 3;
	assert_near(run_until_steady(&st, "fps", &s).local_limit, LIMIT / 4, 1e-6);
	assert_int_equal(st.regime, ALLOCATE_IDLE);
}

TEST(test_fps_lone_limiter)
{
	struct situation s = {.n = 1, .flows = 3, .demand = 2 * LIMIT, .dropped = true};
	struct allocate_state st = {0};

	assert_near(run_until_steady(&st, "fps", &s).local_limit, LIMIT, 1e-6);
	s.demand = LIMIT / 10; /* bottlenecked without competition: all the room */
	s.dropped = false;
	assert_near(run_until_steady(&st, "fps", &s).local_limit, LIMIT, 1e-6);
}

/* The first limiter of the group with demand: the others idle, with weight 0. */
TEST(test_fps_first_limiter)
{
	struct situation s = {.n = 3, .flows = 2, .demand = 2 * LIMIT, .dropped = true};
	struct allocate_state st = {0};
	struct allocate_output out = run_allocator(&st, "fps", &s);

	assert_near(out.local_limit, LIMIT - 2 * SHARED_BUCKET(3), 1);
	assert_true(out.weight > 0); /* a unit for the next limiter to compare with */
	assert_near(run_until_steady(&st, "fps", &s).weight, 2, 1e-6);
}

/* Silent peers: a full partition ends at limit/N, for any demand. */
TEST(test_fps_full_partition)
{
	struct situation s = {.n = 5, .lost = 4, .flows = 9, .demand = 3 * LIMIT, .dropped = true};
	struct allocate_state st = {0};

	assert_near(run_until_steady(&st, "fps", &s).local_limit, LIMIT / 5, 1e-6);
	s.lost = 2; /* each lost peer takes its part along */
	s.remote_weight = 9;
	assert_near(run_until_steady(&st, "fps", &s).local_limit, LIMIT * 3 / 5 / 2, LIMIT * 0.01);
}

TEST(test_fps_weight_is_a_flow_count)
{
	for (unsigned flows = 1; flows <= 32; flows++) {
		struct situation s = {.n = 2,
			.flows = flows,
			.remote_weight = 7,
			.dropped = true,
			.demand = LIMIT,
			.remote_demand = LIMIT};
		struct allocate_state st = {0};
		struct allocate_output out = run_until_steady(&st, "fps", &s);
		double share = flows / (flows + 7.0);

		assert_near(out.weight, flows, 1e-6);
		assert_near(out.local_limit,
			SHARED_BUCKET(2) + (LIMIT - 2 * SHARED_BUCKET(2)) * share, 1);
	}
}

/*
 * In its first interval a demand is bottlenecked: it gets its rate and some room, not a flow's
 * share.
 */
TEST(test_fps_first_interval)
{
	struct situation idle = {.n = 2, .remote_weight = 7, .remote_demand = LIMIT};
	struct situation first = {.n = 2,
		.remote_weight = 7,
		.remote_demand = LIMIT,
		.flows = 1,
		.demand = LIMIT / 20,
		.dropped = true};
	struct allocate_state st = {0};
	struct allocate_output out = run_until_steady(&st, "fps", &idle);

	assert_near(out.local_limit, SHARED_BUCKET(2), 1);
	out = run_allocator(&st, "fps", &first);
	assert_int_equal(st.regime, ALLOCATE_BOTTLENECKED);
	assert_true(out.local_limit >= first.demand);
	assert_true(out.local_limit <= 1.25 * first.demand);
	run_allocator(&st, "fps", &first); /* drops in the second interval: it competes */
	assert_int_equal(st.regime, ALLOCATE_UNBOTTLENECKED);
}

TEST(test_fps_demand_above_the_limit_at_once)
{
	struct situation s = {.n = 2,
		.remote_weight = 7,
		.remote_demand = LIMIT,
		.flows = 0,
		.demand = 10 * LIMIT,
		.dropped = true};
	struct allocate_state st = {0};
	struct allocate_output out = run_allocator(&st, "fps", &s);

	/* No sample and no evidence of competition: a weight of at most one flow. */
	assert_true(out.weight > 0 && out.weight <= 1);
	assert_true(out.local_limit < 0.9 * LIMIT);
}

/*
 * Below its share the local limit follows the demand, with room; it does not follow a recovering
 * sawtooth.
 */
TEST(test_fps_bottlenecked)
{
	struct situation s = {.n = 2,
		.remote_weight = 3,
		.remote_demand = 0.85 * LIMIT,
		.flows = 7,
		.demand = 0.2 * LIMIT};
	struct allocate_state st = {0};
	double limit = run_until_steady(&st, "fps", &s).local_limit;

	assert_int_equal(st.regime, ALLOCATE_BOTTLENECKED);
	assert_true(limit >= 1.05 * s.demand && limit <= 1.2 * s.demand);

	/* The rest has no demand: room in proportion. */
	s.remote_demand = 0.2 * LIMIT;
	limit = run_until_steady(&st, "fps", &s).local_limit;
	assert_near(limit, LIMIT / 2, 0.02 * LIMIT);
}

/* Drops hold the limit for as long as the pressure lasts: 0.4 s × ln 2. */
TEST(test_fps_remembers_drops)
{
	static const double parts[] = {0.96, 0.6, 0.3};

	for (size_t i = 0; i < COUNT(parts); i++) {
		struct situation s = {.n = 2,
			.remote_weight = 3,
			.remote_demand = LIMIT,
			.flows = 3,
			.demand = 0.6 * LIMIT,
			.dropped = true};
		struct allocate_state st = {0};
		double limit = run_until_steady(&st, "fps", &s).local_limit;
		int intervals = 0;

		s.dropped = false;
		s.demand = parts[i] * limit; /* like after a loss: still held back here */
		while (run_allocator(&st, "fps", &s).local_limit > 0.99 * limit && intervals < 100)
			intervals++;
		/* A demand close to the limit, with room for more, keeps it. */
		assert_near(intervals * DT, parts[i] > 0.95 ? 100 * DT : 0.25, DT);
		if (parts[i] < 0.95)
			assert_near(run_until_steady(&st, "fps", &s).local_limit, 1.05 * s.demand,
				0.01 * limit);
	}
}

/* The demand of many flows decides, because it is more than one flow's part. */
static const struct situation pressed = {
	.n = 2, .remote_weight = 7, .remote_demand = LIMIT, .flows = 20, .demand = 0.2 * LIMIT};

/* Runs intervals, 'x' with a drop and '.' without; returns the last limit. */
static double run_drops(struct allocate_state *st, double interval, const char *drops)
{
	struct situation s = pressed;
	double limit = 0;

	s.interval = interval;
	for (; *drops; drops++) {
		s.dropped = *drops == 'x';
		limit = run_allocator(st, "fps", &s).local_limit;
	}
	return limit;
}

/* The pressure: the part of the time in which the bucket is empty. */
TEST(test_fps_pressure)
{
	static const struct {
		double interval;
		const char *drops;
		double pressure;
	} cases[] = {
		{0.05, ".", 0},
		{0.05, "x", 0.125},
		{0.05, "x.", 0.125 * 0.875},
		{0.05, "xx", 0.125 + 0.125 * 0.875},
		{0.1, "x", 0.25},
		{0.2, "x", 0.5},
		{0.4, "x", 1}, /* longer than its memory: only the last interval counts */
		{0.5, "x", 1},
		{0.5, "x.", 0},
		{0.5, ".x", 1},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct allocate_state st = {0};

		run_drops(&st, cases[i].interval, cases[i].drops);
		assert_near(st.pressure, cases[i].pressure, 1e-12);
	}
}

/*
 * A demand with drops always, sometimes, or never. A limiter that drops in each tenth interval has
 * little more room than one that never drops.
 */
TEST(test_fps_room_goes_by_pressure)
{
	static const struct {
		const char *drops;
		double least, most;
	} cases[] = {
		{"..........", 1.05, 1.06},
		{".........x", 1.08, 1.15},
		{".x.x.x.x.x", 1.3, 1.4},
		{"xxxxxxxxxx", 1.59, 1.61},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct allocate_state st = {0};
		double limit;

		for (int k = 0; k < 40; k++)
			run_drops(&st, DT, cases[i].drops);
		st.local_limit = 0; /* nothing to keep: only the room */
		limit = run_drops(&st, 0.001, ".");
		assert_true(limit >= cases[i].least * pressed.demand - SHARED_BUCKET(2));
		assert_true(limit <= cases[i].most * pressed.demand + SHARED_BUCKET(2));
	}
}

/* While its bucket is empty more than half of the time, a limit does not fall. */
TEST(test_fps_pressed_keeps_its_limit)
{
	struct allocate_state st = {0};

	run_drops(&st, DT, ".xxxxx"); /* 1 - 0.875^5 = 0.49 */
	st.local_limit = 0.6 * LIMIT;
	assert_true(run_drops(&st, 0.001, "x") < 0.35 * LIMIT);
	run_drops(&st, DT, "xx");
	st.local_limit = 0.6 * LIMIT;
	assert_near(run_drops(&st, 0.001, "x"), 0.6 * LIMIT, SHARED_BUCKET(2));
}

/*
 * After an idle time, or at the start, there is no pressure: the first interval only shows a rate.
 */
TEST(test_fps_idle_has_no_pressure)
{
	struct situation idle = {.n = 2, .remote_weight = 3, .remote_demand = LIMIT};
	struct allocate_state st = {0};

	run_drops(&st, DT, "xxxxxxxxxx");
	run_until_steady(&st, "fps", &idle);
	assert_true(st.pressure == 0);
	allocate_rest(&st, 1000); /* equal to so many seconds of idle intervals */
	assert_near(run_drops(&st, DT, "x"), 1.05 * pressed.demand, SHARED_BUCKET(2));
}

/*
 * The pressure after a loss and `n` intervals without arrivals; old flows have this part of the
 * rate.
 */
static double pressure_of_silence(double old_part, unsigned n)
{
	struct allocate_state st = {
		.regime = ALLOCATE_BOTTLENECKED, .weight = 1, .count = 1, .local_limit = LIMIT / 4};
	double flow = LIMIT / 8;
	struct allocate_input in = {.interval_s = DT,
		.keep = pow(0.1, DT),
		.n = 2,
		.limit = LIMIT,
		.demand = LIMIT / 8,
		.demand_now = LIMIT / 8,
		.demand_slow = LIMIT / 8,
		.dropped = true,
		.remote_weight = 1,
		.remote_demand = LIMIT,
		.flow = &flow,
		.n_flows = 1,
		.old_part = old_part};
	struct allocate_output out;

	for (unsigned i = 0; i < 40; i++)
		allocator_find("fps")->allocate(&st, &in, &out);
	in.demand_now = 0;
	in.dropped = false;
	for (unsigned i = 0; i < n; i++)
		allocator_find("fps")->allocate(&st, &in, &out);
	return st.pressure;
}

/* Silent old flows wait for a timer, which is no evidence; short requests have ended. */
TEST(test_fps_silence_of_old_flows)
{
	assert_near(pressure_of_silence(1, 30), pressure_of_silence(1, 0), 1e-12);
	assert_near(pressure_of_silence(0, 20), pow(1 - DT / 0.4, 20), 0.01);
	assert_near(pressure_of_silence(0.5, 20), pow(1 - DT / 0.8, 20), 0.01);
}

/*
 * Seven flows lost all packets for so long that the limit has fallen with them. With the first drop
 * they compete again, like one flow at least.
 */
TEST(test_fps_losers_are_not_locked_out)
{
	double flow[7] = {2000, 0, 0, 0, 0, 0, 60000};
	struct allocate_state st = {.regime = ALLOCATE_UNBOTTLENECKED,
		.weight = 7,
		.count = 7,
		.local_limit = 0.7 * LIMIT};
	struct allocate_input in = {.interval_s = DT,
		.keep = pow(0.1, DT),
		.n = 2,
		.limit = LIMIT,
		.demand = 6000,
		.demand_now = 6000,
		.demand_slow = 6000,
		.remote_weight = 3,
		.remote_demand = LIMIT,
		.flow = flow,
		.n_flows = 7};
	struct allocate_output out;

	for (int i = 0; i < 40; i++)
		allocator_find("fps")->allocate(&st, &in, &out);
	assert_true(out.local_limit < 0.03 * LIMIT);
	in.dropped = true;
	for (int i = 0; i < 8; i++) /* 0.4 s */
		allocator_find("fps")->allocate(&st, &in, &out);
	assert_true(out.weight > 0.6);
	assert_true(out.local_limit > 0.15 * LIMIT);
	for (int i = 0; i < 20; i++)
		allocator_find("fps")->allocate(&st, &in, &out);
	assert_true(out.weight > 0.95);
	assert_true(out.local_limit > 0.23 * LIMIT);
}

/* The weight of a limiter that has just dropped, whose only flow uses a part of a unit's rate. */
static double weight_of_flow(double part)
{
	double flow = part * LIMIT / 4;
	struct allocate_state st = {
		.regime = ALLOCATE_BOTTLENECKED, .weight = 1, .count = 1, .local_limit = LIMIT / 4};
	struct allocate_input in = {.interval_s = DT,
		.keep = pow(0.1, DT),
		.n = 2,
		.limit = LIMIT,
		.demand = flow,
		.demand_now = flow,
		.demand_slow = flow,
		.dropped = true,
		.remote_weight = 3,
		.remote_demand = LIMIT,
		.flow = &flow,
		.n_flows = 1};
	struct allocate_output out;

	allocator_find("fps")->allocate(&st, &in, &out);
	return out.weight;
}

/* One drop counts as a flow only if a flow there uses a third of a flow's rate. */
TEST(test_fps_unit_goes_by_use)
{
	assert_near(weight_of_flow(0.9), 1, 1e-9);
	assert_near(weight_of_flow(0.4), 1, 1e-9);
	assert_near(weight_of_flow(0.1), 0.3, 1e-9);
	assert_true(weight_of_flow(0.01) < 0.15);
}

/* Many flows are held back elsewhere and one here is not: growth is bounded by the demand. */
TEST(test_fps_grows_with_the_demand)
{
	struct situation s = {.n = 2,
		.remote_weight = 3,
		.remote_demand = 0.8 * LIMIT,
		.flows = 8,
		.demand = 0.2 * LIMIT};
	struct allocate_state st = {0};
	double limit = run_until_steady(&st, "fps", &s).local_limit;

	s.dropped = true;
	s.demand = 1.05 * limit;
	for (int i = 0; i < 10; i++)
		run_allocator(&st, "fps", &s);
	assert_near(st.local_limit, 1.5 * s.demand, 0.02 * LIMIT); /* not 8 / (8 + 3) */
	assert_int_equal(st.regime, ALLOCATE_BOTTLENECKED);
}

/*
 * One flow has the whole rate for a second: the weight falls little, and recovers when the flows
 * are even again.
 */
TEST(test_fps_weight_falls_slowly)
{
	struct situation seven = {.n = 2,
		.flows = 7,
		.demand = LIMIT,
		.remote_weight = 3,
		.remote_demand = LIMIT,
		.dropped = true};
	struct situation one = seven;
	struct allocate_state st = {0};

	one.flows = 1;
	run_until_steady(&st, "fps", &seven);
	for (int i = 0; i < 20; i++)
		run_allocator(&st, "fps", &one);
	assert_near(st.weight, 1 + 6 * pow(0.1, 0.5), 1e-3); /* the paper's filter: 1.6 */
	for (int i = 0; i < 20; i++)
		run_allocator(&st, "fps", &seven);
	assert_true(st.weight > 6.4);
	run_until_steady(&st, "fps", &one);
	assert_near(st.weight, 1, 1e-3);
}

TEST(test_fps_demand_that_ends)
{
	struct situation s = {.n = 2,
		.remote_weight = 3,
		.remote_demand = LIMIT / 2,
		.flows = 3,
		.demand = 0.6 * LIMIT,
		.dropped = true};
	struct allocate_state st = {0};

	run_until_steady(&st, "fps", &s);
	s = (struct situation){.n = 2, .remote_weight = 3, .remote_demand = LIMIT / 2};
	assert_near(run_until_steady(&st, "fps", &s).local_limit, SHARED_BUCKET(2), 1);
	assert_true(st.weight == 0);
}

/* Appendix of the paper: the right allocation is a fixed point, also with bottlenecked flows. */
TEST(test_fps_fixed_point)
{
	double flow[8] = {0};
	double local = 0.55 * LIMIT, small = 0.05 * LIMIT, large = (local - 4 * small) / 3;
	struct allocate_input in = {.interval_s = DT,
		.keep = pow(0.1, DT),
		.n = 2,
		.limit = LIMIT,
		.demand = local,
		.demand_now = local,
		.demand_slow = local,
		.dropped = true,
		.remote_demand = LIMIT - local,
		.flow = flow,
		.n_flows = 7};
	struct allocate_state st = {0};
	struct allocate_output out;

	for (int i = 0; i < 7; i++)
		flow[i] = i < 3 ? large : small;
	/* The other limiter's flows get the same rate: its weight in flows. */
	in.remote_weight = (LIMIT - local) / large;
	for (int i = 0; i < 400; i++)
		allocator_find("fps")->allocate(&st, &in, &out);
	assert_near(out.weight, local / large, 1e-6);
	assert_near(out.local_limit, local, 0.01 * LIMIT);
}

/* Noisy rates: the count must not depend on the number of flows, unlike with the largest rate. */
TEST(test_fps_noise_is_no_bias)
{
	double count[2] = {0};
	const unsigned flows[2] = {3, 7};
	struct prng prng;

	prng_seed(&prng, 11);
	for (int k = 0; k < 2; k++)
		for (int round = 0; round < 20000; round++) {
			struct allocate_state st = {.regime = ALLOCATE_UNBOTTLENECKED};
			double flow[8], sum = 0;
			struct allocate_input in = {.interval_s = DT,
				.n = 2,
				.limit = LIMIT,
				.dropped = true,
				.remote_weight = 1,
				.flow = flow,
				.n_flows = flows[k]};
			struct allocate_output out;

			/* A sawtooth between half and whole, at a random phase. */
			for (unsigned i = 0; i < flows[k]; i++)
				sum += flow[i] = LIMIT / 10 * (2 + 2 * prng_unit(&prng)) / 3;
			in.demand = in.demand_now = in.demand_slow = sum;
			allocator_find("fps")->allocate(&st, &in, &out);
			count[k] += out.weight / 20000;
		}
	assert_near(count[0] / (count[0] + count[1]), 0.3, 0.005);
}

/* A parent's limit is where its children may use it, for any flows. */
TEST(test_parent)
{
	struct allocate_input in = {.interval_s = DT,
		.keep = pow(0.1, DT),
		.n = 2,
		.limit = LIMIT,
		.demand_now = LIMIT,
		.demand = LIMIT,
		.demand_slow = LIMIT,
		.remote_weight = 0.1 * LIMIT,
		.remote_demand = LIMIT,
		.parent = true,
		.wanted = 0.3 * LIMIT};
	struct allocate_state s = {0};
	struct allocate_output out;

	allocator_fps.allocate(&s, &in, &out);
	assert_near(out.weight, 0.3 * LIMIT, 1e-6);
	assert_near(out.local_limit, SHARED_BUCKET(2) + 0.75 * 0.99 * LIMIT, 1e-6);
	assert_int_equal(s.regime, ALLOCATE_BOTTLENECKED);
	in.dropped = true;
	in.wanted = in.remote_weight = 0;
	allocator_fps.allocate(&s, &in, &out);
	assert_near(out.local_limit, LIMIT / 2, 1e-6);
	assert_int_equal(s.regime, ALLOCATE_UNBOTTLENECKED);
	in.demand = 0;
	allocator_fps.allocate(&s, &in, &out);
	assert_int_equal(s.regime, ALLOCATE_IDLE);
}
