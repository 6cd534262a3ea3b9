/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "allocate/demand.h"

/* p is the part of an old value that remains after one second, in one step or in twenty. */
TEST(test_keep_is_per_second)
{
	static const double p[] = {0.1, 0.5, 0.75, 0.999};

	for (size_t i = 0; i < COUNT(p); i++) {
		double left = 1;

		for (int k = 0; k < 20; k++)
			left *= demand_keep(p[i], 0.05);
		assert_near(left, p[i], 1e-12);
		assert_near(demand_keep(p[i], 1), p[i], 1e-12);
	}
	assert_true(demand_keep(0, 0.05) == 0);
}

TEST(test_step_response)
{
	double keep = demand_keep(0.1, 0.05);
	struct demand d = {0};

	for (int i = 0; i < 2000; i++)
		demand_add(&d, 1000, keep);
	assert_near(d.rate, 1000, 1e-6);
	for (int i = 0; i < 20; i++)
		demand_add(&d, 0, keep);
	assert_near(d.rate, 100, 1e-6); /* one second later: p of the old value */
}

TEST(test_starts_from_its_samples)
{
	struct demand d = {0};

	demand_add(&d, 500, 0.9);
	assert_near(d.rate, 500, 1e-9);
	demand_add(&d, 500, 0.9);
	assert_near(d.rate, 500, 1e-9);
	d = (struct demand){0};
	demand_add(&d, 700, 0); /* no filter */
	demand_add(&d, 300, 0);
	assert_near(d.rate, 300, 1e-9);
}

static uint64_t flow_slot_word(uint64_t tag, uint64_t bytes)
{
	return tag << FLOW_COUNT_BITS | bytes;
}

TEST(test_flow_rates)
{
	uint64_t slots[FLOW_SLOTS] = {0};
	double out[FLOW_SLOTS];
	struct flow_rates *rates = test_calloc(1, sizeof(*rates));
	const struct steady_memory slow = {.keep = 0.9, .slow = 0.9}, none = {0};

	assert_int_equal(flow_rates_add(rates, slots, 0.05, &none, out), 0);
	slots[3] = flow_slot_word(9, 5000);
	slots[8] = flow_slot_word(4, FLOW_COUNT_MASK - 99);
	assert_int_equal(flow_rates_add(rates, slots, 0.05, &none, out), 2);
	assert_near(out[0], 100000, 1e-6);
	slots[3] = flow_slot_word(9, 7500);
	slots[8] = flow_slot_word(4, 900); /* wrapped: bytes before that do not count */
	assert_int_equal(flow_rates_add(rates, slots, 0.05, &none, out), 2);
	assert_near(out[0], 50000, 1e-6);
	assert_near(out[1], 18000, 1e-6);
	slots[3] = flow_slot_word(7, 500); /* another flow: it starts from zero */
	assert_int_equal(flow_rates_add(rates, slots, 0.05, &slow, out), 2);
	assert_near(out[0], 1000, 1e-6);
	test_free(rates);
}

/*
 * Flows that share a slot between two readings: the rate is never above the bytes sent. If an
 * earlier count of one of them were read as wrapped, it would be faster than any network.
 */
TEST(test_slot_borrowed_and_back)
{
	const double interval_s = 0.05;
	struct flow_rates *rates = test_calloc(1, sizeof(*rates));
	struct flow_sample *sample = test_calloc(1, sizeof(*sample));
	const struct steady_memory none = {0};
	struct prng prng;
	unsigned back = 0;

	prng_seed(&prng, 7);
	for (unsigned k = 0; k < 20000; k++) {
		uint64_t before = sample->slot[3], sent = 0;
		double out[FLOW_SLOTS];
		unsigned n;

		for (unsigned packet = 0; packet < 8; packet++) {
			flow_sample_add(sample, 3 + ((1 + prng_below(&prng, 2)) << 8), 1500);
			sent += 1500;
		}
		back += flow_slot_tag(before) == flow_slot_tag(sample->slot[3]) &&
			sample->slot[3] < before;
		n = flow_rates_add(rates, sample->slot, interval_s, &none, out);
		assert_true(n == 0 || out[0] * interval_s < (double)sent + 1);
	}
	assert_true(back > 10); /* the case occurred */
	test_free(sample);
	test_free(rates);
}

/* A silent flow is no evidence while it keeps its slot; with its next byte it is again. */
TEST(test_silent_flows)
{
	uint64_t slots[FLOW_SLOTS] = {flow_slot_word(1, 1000), flow_slot_word(2, 1000)};
	double out[FLOW_SLOTS];
	const struct steady_memory memory = {.keep = 0.5, .slow = 0.9};
	struct flow_rates *rates = test_calloc(1, sizeof(*rates));

	for (unsigned k = 0; k < 20; k++) {
		assert_int_equal(flow_rates_add(rates, slots, 0.05, &memory, out), 2);
		slots[1] += 100;
	}
	assert_int_equal(flow_rates_add(rates, slots, 0.05, &memory, out), 1);
	assert_true(out[0] > 1900);
	slots[0]++;
	slots[1] += 100;
	assert_int_equal(flow_rates_add(rates, slots, 0.05, &memory, out), 2);
	assert_true(rates->old_rate == 0);
	for (unsigned k = 0; k < 18; k++) { /* 2 s since they got their slots; one is silent */
		slots[1] += 100;
		flow_rates_add(rates, slots, 0.05, &memory, out);
	}
	assert_true(rates->old_rate == out[0] + out[1]);
	test_free(rates);
}

static struct steady_memory memory_of(double quick_s, double slow_s, double tells)
{
	return (struct steady_memory){exp(-0.05 / quick_s), exp(-0.05 / slow_s), tells};
}

/* A sawtooth is remembered as its mean; a change is followed at the speed of the quick filter. */
TEST(test_steady_rate)
{
	struct steady_memory memory = memory_of(0.43, 1.7, 0);
	struct steady_rate rate = {0};
	double least = INFINITY, most = 0;

	for (unsigned k = 0; k < 400; k++) {
		double value = demand_steady(&rate, 700 + 600.0 * (k % 10) / 9, &memory);

		least = k < 200 ? least : fmin(least, value);
		most = k < 200 ? most : fmax(most, value);
	}
	assert_near(least, 1000, 50);
	assert_near(most, 1000, 50);
	for (unsigned k = 0; k < 4; k++)
		demand_steady(&rate, 50000, &memory);
	assert_true(rate.rate > 9000); /* with only the slow filter: 6,300 */
	for (unsigned k = 0; k < 20; k++)
		demand_steady(&rate, 0, &memory);
	assert_true(rate.rate < 4000); /* with only the slow filter: 5,600 */
}

/*
 * Oracle: the number of packets sent. Packets arrive at random times, 2 to 2,000 a second. A rate
 * that remembers 40 packets has a standard deviation of 1 / sqrt(80) of its mean, like an EWMA.
 */
TEST(test_steady_rate_of_few_packets)
{
	struct prng prng;

	prng_seed(&prng, 11);
	for (double packets_s = 2; packets_s <= 2000; packets_s *= 10) {
		struct steady_memory memory = memory_of(0.43, fmax(1.7, 40 / packets_s), 8 / 0.43);
		struct steady_rate rate = {0};
		double next_s = 0, sum = 0, squares = 0, mean, bound;
		unsigned n = 0;

		for (unsigned k = 0; k < 40000; k++) {
			unsigned packets = 0;

			for (; next_s < (k + 1) * 0.05; packets++)
				next_s -= log(1 - prng_unit(&prng)) / packets_s;
			demand_steady(&rate, packets / 0.05, &memory);
			if (k < 10000)
				continue;
			sum += rate.rate;
			squares += rate.rate * rate.rate;
			n++;
		}
		mean = sum / n;
		bound = 1.5 / sqrt(80);
		assert_near(mean, packets_s, 0.05 * packets_s);
		assert_true(sqrt(squares / n - mean * mean) < bound * packets_s);
	}
}

/* A new flow counts for little at first. Later it has its mean since it began. */
TEST(test_steady_rate_begins)
{
	struct steady_memory memory = memory_of(0.43, 20, 8 / 0.43);
	struct steady_rate rate = {0};

	assert_true(demand_steady(&rate, 20, &memory) < 2.5);
	for (unsigned k = 0; k < 60; k++)
		demand_steady(&rate, k % 10 ? 0 : 20, &memory);
	assert_near(rate.rate, 2, 0.4);
}
