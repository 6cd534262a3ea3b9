/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The brokers of the simulator: the messages of publishers, the bucket that fits them, and the
 * results of a placement.
 */
#include "check.h"
#include "scope.h"

#include "broker_run.h"

static const struct broker_traffic kinds[] = {
	{false, 100, 10, 1, 1, 0, 20000},
	{false, 100, 10, 10, 1, 0, 20000},
	{true, 100, 10, 10, 7, 0, 20000},
	{false, 100, 10, 10, 25, 0.008, 20000},
	{true, 100, 10, 1, 30, 0.016, 20000},
};

#define KINDS (COUNT(kinds))

/* A trace is in order, has the given messages and rate, and sends a group's messages together. */
TEST(test_trace)
{
	for (unsigned i = 0; i < KINDS; i++) {
		const struct broker_traffic *t = &kinds[i];
		struct broker_trace trace;
		double seconds, rate;

		assert_int_equal(broker_trace_make(&trace, t, 3), 0);
		assert_true(trace.n * t->batch + t->batch * t->group >= t->messages);
		for (uint64_t j = 1; j < trace.n; j++) {
			assert_true(trace.events[j].at >= trace.events[j - 1].at);
			assert_true(trace.events[j].source < t->publishers);
		}
		seconds = (double)trace.events[trace.n - 1].at / 1e9;
		rate = (double)(trace.n * t->batch) / seconds;
		assert_near(rate, broker_rate(t), 0.15 * broker_rate(t));
		if (t->group > 1 && t->spread == 0)
			assert_int_equal(trace.events[0].at, trace.events[1].at);
		broker_trace_free(&trace);
	}
}

/* The share of messages that wait before a bucket of this burst, in units of a message. */
static double trace_waiting_units(
	const struct broker_trace *trace, unsigned batch, uint64_t limit, uint64_t burst)
{
	double lack = 0;
	uint64_t n = 0, last = 0;

	for (uint64_t i = 0; i < trace->n * batch; i++) {
		uint64_t at = trace->events[i / batch].at;

		lack = fmax(0, lack - (double)(at - last) / 1e9 * (double)limit) + BROKER_MESSAGE;
		last = at;
		n += lack > (double)burst;
	}
	return (double)n / (double)(trace->n * batch);
}

/* Section VI: one of 100 messages waits at most. A bucket an eighth of a message smaller fails. */
TEST(test_burst)
{
	for (unsigned i = 0; i < KINDS; i++) {
		const struct broker_traffic *t = &kinds[i];
		uint64_t limit = (uint64_t)(1.1 * broker_rate(t) * BROKER_MESSAGE), burst;
		struct broker_trace trace;

		assert_int_equal(broker_trace_make(&trace, t, 5), 0);
		assert_int_equal(broker_trace_burst(&trace, t->batch, limit, &burst), 0);
		assert_true(trace_waiting_units(&trace, t->batch, limit, burst) <= 0.01);
		assert_true(trace_waiting_units(&trace, t->batch, limit, burst - 125) > 0.01);
		broker_trace_free(&trace);
	}
}

/* The calibration: a bit above 60,000 messages a second, and more in batches. */
TEST(test_capacity)
{
	double one = broker_capacity(1), ten = broker_capacity(10);

	assert_true(one > 55000 && one < 61000);
	assert_true(ten > one);
}

static void run_broker_case(const struct broker_case *c, enum broker_method method, unsigned k,
	struct broker_outcome *out)
{
	ENDED_BY(broker_world_free) struct broker_world world;

	assert_int_equal(broker_world_init(&world, c, 60000, 11), 0);
	if (k > 0)
		assert_int_equal(broker_run_on(&world, method, k, out), 0);
	else
		assert_int_equal(broker_run(&world, method, out), 0);
}

/* On one broker no message waits for tokens; on all six some do. A second run is the same. */
TEST(test_split_costs)
{
	struct broker_case c = {
		.traffic = {false, 1000, 10, 1, 1, 0, 100000}, .loads = {1000, 0, 0, 0, 0, 0}};
	struct broker_outcome one, six, again;

	run_broker_case(&c, BROKER_LB, 1, &one);
	run_broker_case(&c, BROKER_LB, 6, &six);
	run_broker_case(&c, BROKER_LB, 6, &again);
	assert_int_equal(one.k, 1);
	assert_int_equal(six.k, 6);
	assert_true(one.met && !six.met);
	assert_near(one.measured.access_p99, 0, 0);
	assert_true(six.measured.access_p99 > 1e6);
	assert_near(six.measured.p99, again.measured.p99, 0);
}

/* Groups that send in bursts do not wait if the placement separates them; otherwise they do. */
TEST(test_groups)
{
	struct broker_case c = {.traffic = {true, 600, 10, 10, 30, 0, 100000}};
	struct broker_outcome apart, lot;

	run_broker_case(&c, BROKER_SRTM, 5, &apart);
	run_broker_case(&c, BROKER_MAX_MIN, 5, &lot);
	assert_true(apart.measured.worst < lot.measured.worst);
	assert_near(apart.measured.access_p99, 0, 0);
	assert_true(lot.measured.access_p99 > 0);
}

/* Other load of the brokers delays messages, but not in the bucket. */
TEST(test_others)
{
	struct broker_case c = {.traffic = {false, 1000, 10, 1, 1, 0, 100000}};
	struct broker_outcome idle, busy;

	run_broker_case(&c, BROKER_LB, 1, &idle);
	for (unsigned i = 0; i < BROKERS; i++)
		c.loads[i] = 70000;
	run_broker_case(&c, BROKER_LB, 1, &busy);
	assert_true(busy.measured.p99 > 2 * idle.measured.p99);
	assert_near(busy.measured.access_p99, idle.measured.access_p99, 0);
}

/*
 * A placement without a round of measurement is nearly always right, for traffic of no figure.
 * After a wrong one, the sources are on other brokers in the end.
 */
TEST(test_sure_is_right)
{
	static const struct broker_traffic traffics[] = {
		{false, 500, 10, 10, 15, 0, 100000},
		{false, 2000, 5, 10, 12, 0, 100000},
		{false, 1000, 20, 5, 18, 0, 100000},
		{false, 900, 15, 3, 9, 0, 100000},
		{false, 700, 20, 10, 7, 0.001, 100000},
		{true, 3000, 10, 10, 1, 0, 100000},
		{true, 500, 10, 10, 15, 0, 100000},
		{true, 7000, 10, 4, 1, 0, 300000},
	};
	unsigned untried = 0, mistaken = 0, runs = 0;

	for (unsigned i = 0; i < COUNT(traffics); i++) {
		struct broker_case c = {.traffic = traffics[i]};
		double capacity = broker_capacity(traffics[i].batch);

		for (uint64_t seed = 1; seed <= ROUNDS(6); seed++) {
			struct broker_outcome out;
			struct broker_world world;

			assert_int_equal(broker_world_init(&world, &c, capacity, seed), 0);
			assert_int_equal(broker_run(&world, BROKER_WEIR, &out), 0);
			broker_world_free(&world);
			untried += out.untried;
			mistaken += out.mistaken;
			runs++;
			if (!out.met)
				fail_msg("traffic %u, seed %" PRIu64 ": %g ms on %u", i, seed,
					out.measured.worst / 1e6, out.k);
		}
	}
	assert_true(untried >= runs / 2);
	assert_true(mistaken <= 1 + untried / 20);
}
