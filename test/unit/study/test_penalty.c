/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Splitting a token bucket: the formulas, the line before a bucket, and Proposition 1 of "Impact of
 * Distributed Rate Limiting on Load Distribution in a Latency-sensitive Messaging Service".
 */
#include "check.h"

#include "base/prng.h"
#include "penalty_queue.h"
#include "penalty_run.h"

/* The tail as a sum of terms that are all above 0, long but without cancellation. */
static double tail_by_terms(double load, double x)
{
	double sum = 0, term, enough = 1 - load * exp(1 - load);

	for (double k = floor(x) + 1;; k++) {
		double z = load * (k - x);

		term = exp(k * log(z) - z - lgamma(k + 1));
		sum += term;
		if (term < 1e-14 * enough * sum)
			return (1 - load) * sum;
	}
}

TEST(test_tail)
{
	static const double loads[] = {0.1, 0.5, 0.8, 0.9, 0.98};

	for (unsigned i = 0; i < COUNT(loads); i++) {
		assert_near(penalty_md1_tail(loads[i], -0.5), 1, 0);
		assert_near(penalty_md1_tail(loads[i], 0), loads[i], 1e-12);
		for (double x = 0.3; x < 30; x += 0.7) {
			double want = tail_by_terms(loads[i], x);

			assert_near(penalty_md1_tail(loads[i], x), want, 1e-9 * want + 1e-13);
		}
	}
}

TEST(test_excess)
{
	static const double loads[] = {0.3, 0.9};
	const double step = 1.0 / 512; /* the tail breaks at whole numbers, which are met */

	for (unsigned i = 0; i < COUNT(loads); i++) {
		double mean = loads[i] / (2 * (1 - loads[i])), integral = 0;

		assert_near(penalty_md1_excess(loads[i], 0), mean, 1e-9);
		assert_near(penalty_md1_excess(loads[i], -3), mean + 3, 1e-9);
		for (double x = 0; x < 20; x += step) {
			double left = penalty_md1_tail(loads[i], x);

			assert_near(penalty_md1_excess(loads[i], x), mean - integral, 1e-4);
			integral += step * (left + penalty_md1_tail(loads[i], x + step)) / 2;
		}
	}
}

/* Formula (1) is exact for a depth of one packet, and above the exact value for a larger depth. */
TEST(test_paper_is_above)
{
	for (double load = 0.1; load < 0.99; load += 0.1) {
		struct penalty_bucket b = {.load = load, .rate = 10000, .depth = 1, .batch = 1};

		assert_near(penalty_formula_paper(&b), penalty_formula_exact(&b), 1e-12);
		for (b.depth = 1.25; b.depth < 40; b.depth += 0.25)
			assert_true(penalty_formula_paper(&b) >
				    penalty_formula_exact(&b) * (1 + 1e-9) - 1e-15);
	}
}

/* A byte a tick: just at the tick, in line, and with a burst after a pause. */
TEST(test_line)
{
	static const struct {
		uint64_t now, leaves;
		uint32_t bytes;
	} packets[] = {
		{0, 0, 1000},     /* full: 2000 */
		{0, 0, 1000},     /* none left */
		{10, 1000, 1000}, /* waits for missing tokens */
		{20, 1001, 1},    /* in line, though it would have had its token at 1000 */
		{500, 2000, 999}, /* in line, too */
		{9000, 9000, 1999},
		{9000, 9000, 1},
		{9000, 9001, 1},
	};
	struct penalty_queue queue;

	assert_int_equal(penalty_queue_init(&queue, 8 * PENALTY_HZ, 2000), 0);
	for (unsigned i = 0; i < COUNT(packets); i++)
		assert_int_equal(penalty_queue_leave(&queue, packets[i].now, packets[i].bytes),
			packets[i].leaves);
	assert_int_equal(penalty_queue_init(&queue, 1024 * PENALTY_HZ, 2000), -ERANGE);
}

/* The bucket of lib/datapath/meter, tried at each tick, passes a packet then and not before. */
TEST(test_first_tick)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++) {
		struct token_bucket bucket = {0};
		struct penalty_queue queue;
		struct prng prng;
		uint64_t now = 0, at = 0;

		prng_seed(&prng, seed);
		assert_int_equal(penalty_queue_init(&queue,
					 1 + prng_next(&prng) % (8 * PENALTY_HZ) + PENALTY_HZ,
					 300 + prng_below(&prng, 1000)),
			0);
		token_bucket_init(&bucket, &queue.profile, 0);
		for (unsigned i = 0; i < 100; i++) {
			uint32_t bytes = 1 + prng_below(&prng, 300);
			uint64_t leaves;

			now += prng_below(&prng, 400);
			leaves = penalty_queue_leave(&queue, now, bytes);
			at = now > at ? now : at;
			while (!token_bucket_conforms(&bucket, &queue.profile, at, bytes))
				at++;
			if (leaves != at)
				fail_msg("seed %" PRIu64 ", packet %u: %" PRIu64 ", not %" PRIu64,
					seed, i, leaves, at);
		}
	}
}

#define PACKETS 160
#define PARTS   8

/* One bucket, a split of it, and packets for any of the parts that they fit into. */
struct world {
	uint64_t seed;
	struct prng prng;
	unsigned parts;
	uint32_t bytes;
	uint64_t rate, burst; /* whole bucket */
	uint64_t part_rate[PARTS], part_burst[PARTS];
	uint64_t at[PACKETS], one[PACKETS], split[PACKETS]; /* ticks: arrival, and departures */
};

/* Cuts part i from the rest: a random share, which can be 0. The last part is the whole rest. */
static uint64_t cut_random_share(struct world *w, uint64_t *left, unsigned i)
{
	uint64_t share = i + 1 == w->parts ? *left : prng_next(&w->prng) % (*left + 1);

	if (i + 1 < w->parts && prng_below(&w->prng, 2))
		share = *left / (w->parts - i); /* even */
	*left -= share;
	return share;
}

static void make_buckets(struct world *w, uint64_t seed)
{
	uint64_t rate, burst;

	*w = (struct world){.seed = seed};
	prng_seed(&w->prng, seed);
	w->parts = 1 + prng_below(&w->prng, PARTS);
	w->bytes = 40 + prng_below(&w->prng, 9000);
	w->rate = UINT64_C(1000) << prng_below(&w->prng, 27);
	w->rate += prng_next(&w->prng) % w->rate;
	w->burst = w->bytes;
	w->burst += prng_next(&w->prng) % (1 + w->bytes * (uint64_t)prng_below(&w->prng, 40));
	rate = w->rate;
	burst = w->burst;
	for (unsigned i = 0; i < w->parts; i++) {
		w->part_rate[i] = cut_random_share(w, &rate, i);
		w->part_burst[i] = cut_random_share(w, &burst, i);
	}
}

/* Packets come alone, close together or many in one tick, at loads from low to far too high. */
static void make_packets(struct world *w)
{
	double gap = 8.0 * w->bytes * PENALTY_HZ / (double)w->rate;
	uint64_t now = 0;

	gap *= 0.5 + prng_unit(&w->prng);
	for (unsigned i = 0; i < PACKETS; i++) {
		if (prng_below(&w->prng, 3))
			now += (uint64_t)(gap * 3 * prng_unit(&w->prng));
		w->at[i] = now;
	}
}

static void pass_one_and_parts(struct world *w)
{
	struct penalty_queue one, parts[PARTS];
	unsigned able[PARTS], n = 0;

	assert_int_equal(penalty_queue_init(&one, w->rate, w->burst), 0);
	for (unsigned i = 0; i < w->parts; i++) {
		assert_int_equal(
			penalty_queue_init(&parts[i], w->part_rate[i], w->part_burst[i]), 0);
		if (w->part_rate[i] > 0 && w->part_burst[i] >= w->bytes)
			able[n++] = i;
	}
	for (unsigned i = 0; i < PACKETS; i++) {
		w->one[i] = penalty_queue_leave(&one, w->at[i], w->bytes);
		/* If no part can let a packet pass, they wait for ever. */
		w->split[i] = n ? penalty_queue_leave(
					  &parts[able[prng_below(&w->prng, n)]], w->at[i], w->bytes)
				: UINT64_MAX;
	}
}

/* Delays accrued until tick t, by all packets. */
static unsigned __int128 accrued_delay(const uint64_t *at, const uint64_t *leave, uint64_t t)
{
	unsigned __int128 sum = 0;

	for (unsigned i = 0; i < PACKETS && at[i] < t; i++)
		sum += (leave[i] < t ? leave[i] : t) - at[i];
	return sum;
}

static int compare_leave_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Both sums are straight between the ticks at which packets come and leave. */
static void check_sums(const struct world *w)
{
	const uint64_t *const ticks[] = {w->at, w->one, w->split};

	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < PACKETS; i++)
			if (accrued_delay(w->at, w->split, ticks[k][i]) <
				accrued_delay(w->at, w->one, ticks[k][i]))
				fail_msg("seed %" PRIu64 ": packets of %u parts have waited less "
					 "until tick %" PRIu64,
					w->seed, w->parts, ticks[k][i]);
}

/*
 * Proposition 1 and the statement of its proof: at no time do fewer packets wait in the parts.
 *
 * Tolerance: none. Arrivals and departures are whole ticks and buckets are exact, so each tick is a
 * step of the proof's queues. In a step the parts do no more work: their rates, each rounded down,
 * add up to at most the whole rate. The parts could only gain by tokens that the one bucket loses
 * while a packet waits, less than a tick, for the rest of its tokens. The bucket loses tokens only
 * if its burst has no room for a packet's tokens and a tick's tokens. But if two parts can let
 * packets pass at all, it has room for two packets. A tick's tokens are less than a packet's.
 */
TEST(test_split_never_helps)
{
	unsigned worse = 0, rounds = ROUNDS(4000);
	struct world w;

	for (uint64_t seed = 1; seed <= rounds; seed++) {
		make_buckets(&w, seed);
		make_packets(&w);
		pass_one_and_parts(&w);
		check_sums(&w);
		worse += accrued_delay(w.at, w.split, UINT64_MAX) >
			 accrued_delay(w.at, w.one, UINT64_MAX);
		qsort(w.one, PACKETS, sizeof(w.one[0]), compare_leave_times);
		qsort(w.split, PACKETS, sizeof(w.split[0]), compare_leave_times);
		for (unsigned i = 0; i < PACKETS; i++)
			if (w.one[i] > w.split[i])
				fail_msg("seed %" PRIu64
					 ": %u packets leave %u parts by tick %" PRIu64
					 ", and not the one",
					seed, i + 1, w.parts, w.split[i]);
	}
	assert_true(worse > rounds / 4); /* or there was nothing to see */
}

/* The premise is a token each: a large packet that is out of the way of small ones is a gain. */
TEST(test_sizes_matter)
{
	struct penalty_queue one, parts[2];
	uint64_t whole = 0, split = 0;

	assert_int_equal(penalty_queue_init(&one, 8 * PENALTY_HZ, 2000), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(penalty_queue_init(&parts[i], 4 * PENALTY_HZ, 1000), 0);
	for (unsigned i = 0; i < 12; i++) {
		whole += penalty_queue_leave(&one, 0, i < 2 ? 1000 : 100);
		split += penalty_queue_leave(&parts[i >= 2], 0, i < 2 ? 1000 : 100);
	}
	assert_int_equal(whole, 5500); /* 100 to 1000 */
	assert_int_equal(split, 2000); /* the second large one */
}

static const struct penalty_case usual = {
	.rate_bps = 100000000,
	.burst_bytes = 20000,
	.packet_bytes = 1250,
	.load = 0.8,
	.batch = 4,
	.publishers = 64,
	.packets = 30000,
};

static void run_seeds(struct penalty_row *row, const struct penalty_case *c, unsigned parts)
{
	unsigned __int128 total;

	*row = (struct penalty_row){.parts = parts};
	for (uint64_t seed = 1; seed <= 20; seed++)
		assert_int_equal(penalty_run(row, c, seed, &total), 0);
}

/* The simulation's means are the exact formula's, within four times their own error. */
TEST(test_simulation_is_the_formula)
{
	static const unsigned parts[] = {2, 4, 8};
	static struct penalty_row row;

	for (unsigned kind = 0; kind < PENALTY_ARRIVALS; kind++)
		for (unsigned i = 0; i < 3; i++) {
			struct penalty_case c = usual;
			struct penalty_bucket part;

			c.arrivals = (enum penalty_arrivals)kind;
			if (!penalty_part(&c, parts[i], &part)) {
				assert_int_equal(kind, PENALTY_PERIODIC);
				continue;
			}
			run_seeds(&row, &c, parts[i]);
			assert_near(row.mean / 1e9, penalty_formula_exact(&part),
				4 * penalty_error(&row) / 1e9);
			assert_true(penalty_error(&row) < row.mean / 5);
		}
}

/* A batch of 3 does not deal 2 parts the same each time; one of 2 to 4 parts is 1 or none. */
TEST(test_where_formulas_apply)
{
	static const struct {
		unsigned batch, parts, of_part; /* 0: they do not */
	} cases[] = {{3, 2, 0}, {3, 3, 1}, {3, 1, 3}, {2, 4, 1}, {8, 4, 2}, {8, 5, 0}, {1, 7, 1}};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct penalty_case c = usual;
		struct penalty_bucket part;

		c.arrivals = PENALTY_SPREAD;
		c.batch = cases[i].batch;
		assert_int_equal(penalty_part(&c, cases[i].parts, &part), cases[i].of_part != 0);
		if (cases[i].of_part)
			assert_int_equal(part.batch, cases[i].of_part);
	}
}

/* Batches of 10, far apart, and a bucket of one packet: they wait for 0 to 9 times its tokens. */
TEST(test_quantiles)
{
	static const double shares[] = {0.05, 0.15, 0.55, 0.95};
	static struct penalty_row row;
	struct penalty_case c = usual;
	unsigned __int128 total;

	c.arrivals = PENALTY_BATCH;
	c.batch = 10;
	c.burst_bytes = c.packet_bytes;
	c.load = 0.0001;
	row = (struct penalty_row){.parts = 1};
	assert_int_equal(penalty_parts(&c), 1);
	assert_int_equal(penalty_run(&row, &c, 1, &total), 0);
	for (unsigned i = 0; i < COUNT(shares); i++) {
		double want = floor(shares[i] * 10) * 1e5;

		assert_near(penalty_quantile(&row, shares[i]), want, want / 512 + 0.5);
	}
	assert_near(row.mean, 4.5e5, 1e3);
	assert_near((double)total / (double)c.packets, 4.5e5, 1e3);
	assert_near(penalty_error(&row), 0, 0);
}
