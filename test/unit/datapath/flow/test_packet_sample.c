/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The weights of sampled packets add up to the number of all packets, even for regular traffic. No
 * more packets are sampled than requested, at any rate.
 */
#include "check.h"

#include "base/prng.h"
#include "flow/packet_sample.h"

#define HZ    UINT64_C(1000000000)
#define PER_S 1000
#define BURST 32
#define SEED  UINT64_C(7)

/*
 * Bursts of `burst` packets, `bursts_per_s` times a second. The first packet of each burst belongs
 * to one sender.
 */
struct traffic {
	unsigned burst;
	double bursts_per_s;
};

struct outcome {
	double all, firsts; /* packets that were offered */
	uint64_t taken;
	double stood_all, stood_firsts; /* weights of the samples */
	double variance, firsts_variance;
};

static void offer_traffic(struct packet_sample *sample, const struct traffic *traffic,
	uint64_t *now, double seconds, struct outcome *outcome)
{
	uint64_t until = *now + (uint64_t)(seconds * HZ);

	for (; *now < until; *now += (uint64_t)(HZ / traffic->bursts_per_s)) {
		unsigned shift;
		uint64_t taken = packet_sample_take(
			sample, UINT64_MAX >> (64 - traffic->burst), *now, &shift);
		double weight = ldexp(1, (int)shift), n = __builtin_popcountll(taken);

		outcome->all += traffic->burst;
		outcome->firsts++;
		outcome->taken += (uint64_t)n;
		outcome->stood_all += weight * n;
		outcome->stood_firsts += weight * (double)(taken & 1);
		outcome->variance += weight * (weight - 1) * n;
		outcome->firsts_variance += weight * (weight - 1) * (double)(taken & 1);
	}
}

/* Over many seeds the mean error of each sum is 0, and its variance is the estimated one. */
TEST(nobody_is_preferred)
{
	static const struct traffic cases[] = {
		{1, 300}, {1, 30000}, {32, 10}, {32, 1000}, {32, 200000}, {7, 5000}};
	const unsigned seeds = ROUNDS(200);

	for (unsigned i = 0; i < COUNT(cases); i++) {
		double all = 0, firsts = 0, said = 0, off = 0, said_firsts = 0;

		for (unsigned seed = 0; seed < seeds; seed++) {
			struct outcome o = {0};
			struct packet_sample sample;
			uint64_t now = 3;

			packet_sample_init(&sample, SEED + seed, PER_S, HZ, now);
			offer_traffic(&sample, &cases[i], &now, 0.3, &o);
			all += (o.stood_all - o.all) / o.all;
			firsts += (o.stood_firsts - o.firsts) / o.firsts;
			said += o.variance / (o.all * o.all);
			said_firsts += o.firsts_variance / (o.firsts * o.firsts);
			off += pow((o.stood_all - o.all) / o.all, 2);
		}
		/* Four standard errors of the mean. */
		assert_near(all / seeds, 0, 4 * sqrt(said) / seeds + 1e-12);
		assert_near(firsts / seeds, 0, 4 * sqrt(said_firsts) / seeds + 1e-12);
		if (said > 0)
			assert_near(off / said, 1, 4 * sqrt(2.0 / seeds) + 0.2);
	}
}

/* Up to the requested rate all packets are sampled, each with weight 1. */
TEST(few_are_all_taken)
{
	const struct traffic slow = {4, 100};
	struct packet_sample sample;
	struct outcome o = {0};
	uint64_t now = 1;

	packet_sample_init(&sample, SEED, PER_S, HZ, now);
	offer_traffic(&sample, &slow, &now, 5, &o);
	assert_near((double)o.taken, o.all, 0);
	assert_near(o.stood_all, o.all, 0);
	assert_near(o.variance, 0, 0);
}

/*
 * The samples a second are near the requested rate; a flood gets at most a few rounds immediately.
 */
TEST(many_are_bounded)
{
	static const double rates[] = {100, 3000, 50000, 450000};

	for (unsigned i = 0; i < COUNT(rates); i++) {
		const struct traffic traffic = {BURST, rates[i]};
		struct packet_sample sample;
		struct outcome first = {0}, then = {0};
		uint64_t now = 1;

		packet_sample_init(&sample, SEED, PER_S, HZ, now);
		offer_traffic(&sample, &traffic, &now, 0.1, &first);
		offer_traffic(&sample, &traffic, &now, 2, &then);
		assert_true(first.taken < 2 * PACKET_SAMPLE_SHIFT_MAX * BURST);
		assert_true(then.taken > 2 * PER_S / 2.5 && then.taken < 2 * PER_S * 2.5);
	}
}

/* After a flood the sample soon adapts to a low rate. */
TEST(a_flood_is_forgotten)
{
	const struct traffic flood = {BURST, 400000}, few = {1, 200};
	struct packet_sample sample;
	struct outcome before = {0}, settles = {0}, then = {0};
	uint64_t now = 1;

	packet_sample_init(&sample, SEED, PER_S, HZ, now);
	offer_traffic(&sample, &flood, &now, 0.5, &before);
	assert_true(sample.shift > 8);
	offer_traffic(&sample, &few, &now, 1, &settles);
	assert_int_equal(sample.shift, 0);
	offer_traffic(&sample, &few, &now, 1, &then);
	assert_near((double)then.taken, then.all, 0);
}

/* Only candidates are sampled; without candidates there is no sample. */
TEST(only_candidates)
{
	const uint64_t some = UINT64_C(0x8000000100010010);
	struct packet_sample sample;
	unsigned shift;

	packet_sample_init(&sample, SEED, PER_S, HZ, 0);
	assert_int_equal(packet_sample_take(&sample, 0, 0, &shift), 0);
	assert_true(packet_sample_take(&sample, some, 0, &shift) == some);
	assert_int_equal(shift, 0);
	for (unsigned i = 0; i < 10000; i++)
		assert_true((packet_sample_take(&sample, some, 1, &shift) & ~some) == 0);
	assert_true(shift > 3);
}
