/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter's step of GDRL, and the assumptions of theorem 1's proof.
 */
#include "check.h"

#include "allocate/gdrl.h"
#include "base/prng.h"

#define PACKET 1000.0

static struct gdrl_measure gdrl_measure_of(double demand, double capacity)
{
	return (struct gdrl_measure){
		.demand = demand, .capacity = capacity, .dropped = -1, .packet = PACKET};
}

static const char *const names[] = {"spare", "utilisation", "loss", "drops", "delay"};

#define N_NAMES (COUNT(names))

TEST(test_indicators)
{
	static const struct {
		const char *name;
		double demand, capacity, q, slope;
	} rows[] = {
		{"spare", 3e6, 5e6, -2e6, 1},
		{"spare", 5e6, 3e6, 2e6, 1},
		{"utilisation", 3e6, 6e6, 0.5, 12e6},
		{"utilisation", 6e6, 3e6, 2, 1.5e6},
		{"utilisation", 0, 4e6, 0, 16e12 / PACKET},
		{"loss", 3e6, 5e6, 0, 3e6},
		{"loss", 5e6, 4e6, 0.2, 5e6},
		{"drops", 3e6, 5e6, 0, 1},
		{"drops", 5e6, 3e6, 2e6, 1},
		{"delay", 3e6, 5e6, 0.0005, 4e9},
		{"delay", 3e6, 3.01e6, 0.1, 1e5},
		{"delay", 3e6, 3e6, 0.2, 1e5}, /* the tangent */
		{"delay", 5e6, 3e6, 20.2, 1e5},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct gdrl_indicator *indicator = gdrl_indicator_find(rows[i].name);
		struct gdrl_measure m = gdrl_measure_of(rows[i].demand, rows[i].capacity);

		assert_non_null(indicator);
		assert_near(indicator->value(&m), rows[i].q, 1e-9 * fabs(rows[i].q));
		assert_near(indicator->slope(&m), rows[i].slope, 1e-6 * rows[i].slope);
	}
	assert_null(gdrl_indicator_find("fairness"));
	assert_null(gdrl_indicator_find(""));
}

/* With few packets, no value is divided by a rate below the least rate. */
TEST(test_few)
{
	static const struct {
		const char *name;
		double demand, capacity, least, q, slope;
	} rows[] = {
		{"utilisation", 350, 100, 1, 3.5, 10000 / 350.0},
		{"utilisation", 50, 100, 1, 0.5, 200},
		{"utilisation", 50, 0.5, 1, 50, 1 / 50.0},
		{"utilisation", 350, 100, 0, 0.35, 1e6 / PACKET}, /* a guard of a packet a second */
		{"loss", 350, 100, 1, 250 / 350.0, 350},
		{"loss", 50, 25, 1, 0.5, 50},
		{"loss", 0.5, 0, 1, 0.5, 1},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct gdrl_indicator *indicator = gdrl_indicator_find(rows[i].name);
		struct gdrl_measure m = gdrl_measure_of(rows[i].demand, rows[i].capacity);

		m.least = rows[i].least;
		assert_near(indicator->value(&m), rows[i].q, 1e-9 * fabs(rows[i].q));
		assert_near(indicator->slope(&m), rows[i].slope, 1e-6 * rows[i].slope);
	}
}

TEST(test_measured)
{
	struct gdrl_measure m = gdrl_measure_of(3e6, 5e6);

	m.dropped = 6e5; /* bursts: drops below capacity */
	assert_near(gdrl_loss.value(&m), 0.2, 1e-12);
	assert_near(gdrl_drops.value(&m), 6e5, 0);
	m.delay_s = 0.004; /* twice as long, half as much again: the same queue */
	assert_near(gdrl_delay.value(&m), 0.004, 0);
	assert_near(gdrl_delay.inverse(&m, 0.004), 5e6, 1e-6);
	assert_near(gdrl_delay.inverse(&m, 0.008), 4e6, 1e-6);
	assert_near(gdrl_delay.slope(&m), 2e6 / 0.004, 1e-3);
	m = gdrl_measure_of(5e6, 3e6);
	assert_near(gdrl_drops.value(&m), 2e6, 0);
	m.dropped = 0; /* a measured value counts, also 0 */
	assert_near(gdrl_drops.value(&m), 0, 0);
	assert_near(gdrl_loss.value(&m), 0, 0);
}

/*
 * Indicators are decreasing and convex, `inverse` is the inverse, and the slope is its slope:
 * checked by differences.
 */
TEST(test_assumption_1)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		const struct gdrl_indicator *f = gdrl_indicator_find(names[i]);
		double demand = 3e6, last = INFINITY, fall = INFINITY;

		for (double c = 2e5; c < 9e6; c += 1e5) {
			struct gdrl_measure m = gdrl_measure_of(demand, c),
					    less = gdrl_measure_of(demand, c - 100);
			double q = f->value(&m), above = f->value(&less);

			assert_true(isfinite(q) && isfinite(f->slope(&m)) && f->slope(&m) > 0);
			assert_true(
				q <= last && (last == INFINITY || last - q <= fall * (1 + 1e-9)));
			fall = last - q;
			last = q;
			if (above <= q)
				continue; /* a flat part */
			assert_near(f->inverse(&m, above), c - 100, 1e-3);
			assert_near(100 / (above - q) / f->slope(&m), 1, 0.02);
		}
	}
}

struct row {
	double demand, capacity, eta;
	uint64_t free, floor;
	struct gdrl_neighbour neighbours[3];
	uint64_t amounts[3];
};

/* A neighbour with a received q, which gets at most gain × difference. */
#define SAYS(Q, GAIN)                                                \
	{                                                            \
		.reported = {Q, GAIN}, .fresh = true, .in_use = true \
	}

TEST(test_step)
{
	static const struct row rows[] = {
		/* 1/2d of the difference; nothing to a neighbour that is as well off, or better */
		{3e6, 5e6, 0, 5000000, 0, {SAYS(-1e6, 0.25), SAYS(-2e6, 0.25), SAYS(-3e6, 0.25)},
			{166666, 0, 0}},
		/* the taker has more neighbours */
		{3e6, 5e6, 0, 5000000, 0, {SAYS(-1e6, 0.0625), SAYS(1e6, 0.0625)}, {62500, 187500}},
		/* a configured eta; one beyond the bound */
		{3e6, 5e6, 0.01, 5000000, 0, {SAYS(-1e6, 0.25)}, {10000}},
		{3e6, 5e6, 9, 5000000, 0, {SAYS(-1e6, 0.25)}, {166666}},
		/* amounts near 0 */
		{3e6, 5e6, 0, 5000000, 0, {SAYS(-1999995, 0.25), SAYS(-1999994, 0.25)}, {0, 1}},
		/* the floor and the promise reduce all in proportion: 3 : 1 */
		{3e6, 5e6, 0, 5000000, 4700000, {SAYS(1e6, 1), SAYS(-1e6, 1)}, {225000, 74999}},
		{3e6, 5e6, 0, 100000, 0, {SAYS(1e6, 1), SAYS(-1e6, 1)}, {75000, 24999}},
		{3e6, 5e6, 0, 5000000, 5000000, {SAYS(1e6, 1)}, {0}},
		{3e6, 5e6, 0, 5000000, 6000000, {SAYS(1e6, 1)}, {0}},
		{3e6, 5e6, 0, 0, 0, {SAYS(1e6, 1)}, {0}},
		/* not fresh, not in use, not received yet */
		{3e6, 5e6, 0, 5000000, 0,
			{{.reported = {1e6, 1}, .in_use = true},
				{.reported = {1e6, 1}, .fresh = true},
				{.reported = {1e6, 1},
					.fresh = true,
					.in_use = true,
					.in_flight = 1}},
			{0, 0, 0}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct row row = rows[i];
		struct gdrl_self self = {.indicator = &gdrl_spare,
			.measure = gdrl_measure_of(row.demand, row.capacity),
			.degree = 3,
			.eta = row.eta,
			.held = (uint64_t)row.capacity,
			.free = row.free,
			.floor = row.floor};
		uint64_t amounts[3], sum = gdrl_step(&self, row.neighbours, 3, amounts);

		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(amounts[k], row.amounts[k]);
		assert_int_equal(sum, amounts[0] + amounts[1] + amounts[2]);
	}
}

/* A statement is used once, and waits while the last grant is in flight. */
TEST(test_once)
{
	struct gdrl_statement says = {0, 0.25};
	struct gdrl_neighbour other = {.in_use = true};
	struct gdrl_self self = {.indicator = &gdrl_spare,
		.measure = gdrl_measure_of(3e6, 5e6),
		.degree = 2,
		.held = 5000000,
		.free = 5000000};
	uint64_t amount;

	assert_int_equal(gdrl_step(&self, &other, 1, &amount), 0);
	assert_true(gdrl_receive(&other, &says));
	assert_int_equal(gdrl_step(&self, &other, 1, &amount), 500000);
	assert_int_equal(gdrl_step(&self, &other, 1, &amount), 0);
	assert_true(gdrl_receive(&other, &says));
	other.in_flight = 500000;
	assert_int_equal(gdrl_step(&self, &other, 1, &amount), 0);
	other.in_flight = 0;
	assert_int_equal(gdrl_step(&self, &other, 1, &amount), 500000);
}

TEST(test_nonsense_is_not_heard)
{
	static const struct gdrl_statement rows[] = {
		{NAN, 1}, {INFINITY, 1}, {1, NAN}, {1, INFINITY}, {1, 0}, {1, -1}};
	struct gdrl_neighbour other = {0};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_false(gdrl_receive(&other, &rows[i]));
	assert_false(other.fresh);
	/* Finite numbers of any size cause no errors. */
	assert_true(gdrl_receive(&other, &(struct gdrl_statement){1e308, 1e308}));
	other.in_use = true;
	for (size_t i = 0; i < N_NAMES; i++) {
		struct gdrl_self self = {.indicator = gdrl_indicator_find(names[i]),
			.measure = gdrl_measure_of(3e6, 5e6),
			.degree = 1,
			.held = 5000000,
			.free = 1000000};
		uint64_t amount;

		other.fresh = true;
		assert_true(gdrl_step(&self, &other, 1, &amount) <= 1000000);
	}
}

#define GROUP 12

/* All limiters step together, on a complete graph or a ring, with exact reals except for grants. */
static void step_all(
	const struct gdrl_indicator *f, const double *demand, double *capacity, unsigned hop)
{
	struct gdrl_statement said[GROUP];
	double next[GROUP];

	for (unsigned i = 0; i < GROUP; i++) {
		struct gdrl_self self = {.indicator = f,
			.measure = gdrl_measure_of(demand[i], capacity[i]),
			.degree = 4};

		said[i] = gdrl_state(&self);
		next[i] = capacity[i];
	}
	for (unsigned i = 0; i < GROUP; i++) {
		unsigned peers[4] = {1, GROUP - 1, hop, GROUP - hop};
		struct gdrl_neighbour others[4] = {0};
		struct gdrl_self self = {.indicator = f,
			.measure = gdrl_measure_of(demand[i], capacity[i]),
			.degree = 4,
			.held = (uint64_t)capacity[i],
			.free = (uint64_t)capacity[i]};
		uint64_t amounts[4];

		for (unsigned k = 0; k < 4; k++) {
			assert_true(gdrl_receive(&others[k], &said[(i + peers[k]) % GROUP]));
			others[k].in_use = true;
		}
		next[i] -= (double)gdrl_step(&self, others, 4, amounts);
		for (unsigned k = 0; k < 4; k++)
			next[(i + peers[k]) % GROUP] += (double)amounts[k];
	}
	for (unsigned i = 0; i < GROUP; i++)
		capacity[i] = next[i];
}

static void indicator_range(const struct gdrl_indicator *f, const double *demand,
	const double *capacity, double *least, double *most)
{
	*least = INFINITY;
	*most = -INFINITY;
	for (unsigned i = 0; i < GROUP; i++) {
		struct gdrl_measure m = gdrl_measure_of(demand[i], capacity[i]);

		*least = fmin(*least, f->value(&m));
		*most = fmax(*most, f->value(&m));
	}
}

/*
 * Step 1 of the proof: the least indicator never falls and the largest never rises. This holds for
 * any demands and every indicator, and in the end both are equal.
 */
TEST(test_range_shrinks)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct gdrl_indicator *f = gdrl_indicator_find(names[seed % N_NAMES]);
		double demand[GROUP], capacity[GROUP], least, most, first;
		double load = f == &gdrl_loss || f == &gdrl_drops ? 1.5 : 0.8;
		struct prng prng;

		prng_seed(&prng, seed);
		for (unsigned i = 0; i < GROUP; i++) {
			capacity[i] = 1e7;
			demand[i] = 1e7 * load * (0.6 + 0.8 * prng_unit(&prng));
		}
		indicator_range(f, demand, capacity, &least, &most);
		first = most - least;
		for (unsigned t = 0; t < 3000; t++) {
			double was_least = least, was_most = most, slack;

			step_all(f, demand, capacity, 2 + seed % 4);
			indicator_range(f, demand, capacity, &least, &most);
			slack = 1e-9 * (fabs(was_least) + fabs(was_most));
			if (least < was_least - slack || most > was_most + slack)
				fail_msg("seed %" PRIu64 ", %s, step %u: [%.12g, %.12g] after "
					 "[%.12g, %.12g]",
					seed, f->name, t, least, most, was_least, was_most);
		}
		if (most - least > 1e-3 * first)
			fail_msg("seed %" PRIu64 ", %s: still %g of %g apart", seed, f->name,
				most - least, first);
	}
}

/* The stated gain: half of the bound by the slope, for all neighbours together. */
TEST(test_state)
{
	static const struct {
		const char *name;
		unsigned degree;
		double q, gain;
	} rows[] = {
		{"spare", 1, -2e6, 0.5},
		{"spare", 4, -2e6, 0.125},
		{"utilisation", 2, 0.6, 5e6 / 0.6 / 4},
		{"loss", 3, 0, 3e6 / 6},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gdrl_self self = {.indicator = gdrl_indicator_find(rows[i].name),
			.measure = gdrl_measure_of(3e6, 5e6),
			.degree = rows[i].degree};
		struct gdrl_statement said = gdrl_state(&self);

		assert_near(said.q, rows[i].q, 1e-9 * fabs(rows[i].q));
		assert_near(said.gain, rows[i].gain, 1e-9 * rows[i].gain);
	}
}

/*
 * One limiter is badly off, and its neighbours have no others. Each could give half of the
 * difference, but all together must not make it the best off.
 */
TEST(test_many_give_to_one)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		const struct gdrl_indicator *f = gdrl_indicator_find(names[i]);
		struct gdrl_self hub = {
			.indicator = f, .measure = gdrl_measure_of(9e6, 5e6), .degree = GROUP - 1};
		struct gdrl_self leaf = {.indicator = f,
			.measure = gdrl_measure_of(5.5e6, 5e6),
			.degree = 1,
			.held = 5000000,
			.free = 5000000};
		struct gdrl_statement said = gdrl_state(&hub);
		struct gdrl_neighbour other = {.in_use = true};
		double least = f->value(&leaf.measure), most = f->value(&hub.measure);
		uint64_t amount;

		assert_true(gdrl_receive(&other, &said));
		assert_true(gdrl_step(&leaf, &other, 1, &amount) > 0);
		leaf.measure.capacity -= (double)amount;
		hub.measure.capacity += (GROUP - 1) * (double)amount;
		if (f->value(&hub.measure) < least || f->value(&leaf.measure) > most)
			fail_msg("%s: %g of %" PRIu64 " each, and %g left, of [%g, %g]", f->name,
				f->value(&hub.measure), amount, f->value(&leaf.measure), least,
				most);
	}
}
