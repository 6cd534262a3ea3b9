/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "phantom_world.h"
#include "scope.h"

/* Packets that just conform or just do not, at a unit per tick. */
TEST(test_pairs)
{
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 8 * GHZ, 16000, CLASSES, NULL, 1000);
	world_wait(&w, 0);
	/* A class without a queue can use all tokens. */
	assert_false(world_send(&w, 0, 16001));
	world_press(&w);
	assert_true(world_send(&w, 0, 4000));
	/*
	 * 10000 are left. For a queue of 4000, a quarter of it and 1000, a 16th of the burst, must
	 * stay.
	 */
	assert_false(world_send(&w, 0, 8001));
	assert_true(world_send(&w, 0, 8000));
	assert_false(world_send(&w, 0, 1));
	assert_true(world_send(&w, 0, 0));
	/* Other classes can use the rest. */
	assert_false(world_send(&w, 1, 2001));
	assert_true(world_send(&w, 1, 500));
	/* For a queue below a 16th of the burst, five quarters of it must stay. */
	assert_false(world_send(&w, 1, 876));
	assert_true(world_send(&w, 1, 875));
	assert_true(world_send(&w, 2, 625));
	assert_false(world_send(&w, 3, 1));
	world_wait(&w, 99);
	assert_false(world_send(&w, 3, 100));
	world_wait(&w, 1);
	assert_true(world_send(&w, 3, 100));
	check_books(&w);
	/* A full bucket ends all queues. */
	world_wait(&w, 1000000);
	assert_false(world_send(&w, 0, 16001));
	assert_true(world_send(&w, 0, 16000));
}

/* Tokens of the free part belong to no class. Lower tokens join the class's queue. */
TEST(test_free_part)
{
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 8 * GHZ, 16000, CLASSES, NULL, 1000);
	world_wait(&w, 0);
	assert_true(world_send(&w, 0, 1999));
	assert_true(world_send(&w, 1, 1));
	assert_int_equal(w.phantom->weight, 0);
	/* Not a unit more: */
	assert_true(world_send(&w, 1, 1));
	assert_int_equal(w.phantom->weight, 1);
	assert_true(queue_of(&w, 1) == 1);
	world_wait(&w, 1001);
	/* only the part of a packet below it joins a queue. */
	assert_true(world_send(&w, 2, 1500));
	assert_true(queue_of(&w, 2) == 500);
	assert_true(world_send(&w, 3, 500));
	check_books(&w);
	world_wait(&w, 999);
	assert_true(queue_of(&w, 3) > 0);
	world_wait(&w, 1);
	assert_int_equal(w.phantom->weight, 0);
	/* Tokens fill the free part while no class has a queue, and never more than it. */
	world_wait(&w, 1999);
	assert_false(phantom_take_free(&w.bucket, &w.profile, 2000));
	world_wait(&w, 1000);
	assert_true(phantom_take_free(&w.bucket, &w.profile, 2000));
	assert_false(phantom_take_free(&w.bucket, &w.profile, 1));
	assert_true(phantom_take_free(&w.bucket, &w.profile, 0));
}

/* After a time without packets old queues end, for each way of advancing the meter. */
TEST(test_forgotten)
{
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 8 * GHZ, 16000, CLASSES, NULL, 0);
	world_wait(&w, 0);
	assert_true(world_send(&w, 0, 9000));
	assert_true(queue_of(&w, 0) == 7000);
	/* Only the bucket is refilled, as by packets that use the free part. */
	token_bucket_refill(&w.bucket, &w.profile, 7500);
	assert_true(phantom_take_free(&w.bucket, &w.profile, 500));
	token_bucket_refill(&w.bucket, &w.profile, 7600);
	phantom_advance(w.phantom, &w.bucket, &w.profile);
	assert_true(queue_of(&w, 0) == 0);
	assert_int_equal(w.phantom->weight, 0);
	assert_true(phantom_take(
		w.phantom, phantom_of_number(w.phantom, 1), &w.bucket, &w.profile, 300));
	assert_true(queue_of(&w, 1) == 200);
	check_books(&w);
}

/*
 * Returns the service, in units, that the meter's queues are behind those of the ideal scheduler.
 */
static double phantom_waiting(const struct world *world)
{
	const struct phantom *p = world->phantom;
	double waits = 0;

	for (unsigned i = 0; i < world->n; i++) {
		const struct phantom_class *class = &p->classes[i];

		waits -= world->queue[i];
		if (phantom_ahead(p, class) < phantom_span(p))
			waits += ldexp((double)(int64_t)(class->end - p->time) * class->weight,
				-PHANTOM_BYTE);
	}
	return waits;
}

/*
 * The books are exact, and at most r·t + b passes. Queues are those of an ideal scheduler, except
 * for service that is not given yet, at most 4 slots' length. Each class can be ahead by a slot by
 * its weight, or behind by as much as all others are ahead.
 */
TEST(test_random)
{
	static const struct {
		uint64_t bps, burst;
		unsigned n, most_weight;
	} cases[] = {
		{10 * GHZ / 1000, 75000, 64, 1},
		{10 * GHZ / 1000, 75000, 16, 9},
		{10 * GHZ, 125000000, 64, 100},
		{GHZ, 1500, 16, 3},
		{64000, 20000, 32, 100},
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		uint64_t seed = 11 + c, frame_ticks = 8 * GHZ * FRAME / cases[c].bps;
		uint8_t weights[64];
		struct prng prng;
		struct world w;
		unsigned active = 1;
		double differs, slot, waits;

		prng_seed(&prng, seed);
		for (unsigned i = 0; i < cases[c].n; i++)
			weights[i] = (uint8_t)(1 + prng_below(&prng, cases[c].most_weight));
		world_begin(
			&w, cases[c].bps, cases[c].burst, cases[c].n, weights, UINT64_MAX - GHZ);
		for (unsigned i = 0; i < 30000; i++) {
			unsigned class;

			if (prng_below(&prng, 1000) == 0)
				active = 1 + prng_below(&prng, cases[c].n);
			if (prng_below(&prng, 3000) == 0)
				world_wait(&w, prng_below(&prng, 3) * frame_ticks * cases[c].burst /
						       FRAME / 2);
			w.eager = prng_below(&prng, 4) == 0;
			world_wait(&w, (uint64_t)(prng_unit(&prng) * (double)frame_ticks));
			waits = phantom_waiting(&w);
			if (waits < -1 || waits > (double)cases[c].burst / 7 + 1)
				fail_msg("seed %" PRIu64 ", step %u: %g wait to be served", seed, i,
					waits);
			class = prng_below(&prng, active);
			world_send(&w, class, 1 + prng_below(&prng, FRAME));
			check_books(&w);
			class = prng_below(&prng, w.n);
			slot = slot_of(&w);
			differs = queue_of(&w, class) - w.queue[class];
			if (differs < -slot * weights[class] * 1.25 - 1 ||
				differs > slot * (double)w.phantom->weight + waits + 1)
				fail_msg("seed %" PRIu64 ", step %u: a queue of %g, not %g", seed,
					i, queue_of(&w, class), w.queue[class]);
		}
		world_end(&w);
	}
}

/* Max-min: sets the part of the rate that each class gets, by weight, for its demand. */
static void fill_max_min(
	double *parts, const double *asks, const uint8_t *weights, unsigned n, double rate)
{
	bool done[CLASSES] = {false};
	double weight = 0, level = 0;
	bool again = true;

	for (unsigned i = 0; i < n; i++)
		weight += weights[i];
	while (again && weight > 0) {
		again = false;
		level = rate / weight;
		for (unsigned i = 0; i < n; i++) {
			if (done[i] || asks[i] > level * weights[i])
				continue;
			done[i] = again = true;
			rate -= asks[i];
			weight -= weights[i];
		}
	}
	for (unsigned i = 0; i < n; i++)
		parts[i] = done[i] ? asks[i] : level * weights[i];
}

/* Classes that offer different constant loads get max-min fair parts. */
TEST(test_shares)
{
	static const struct {
		double asks[CLASSES]; /* parts of the limit */
		uint8_t weights[CLASSES];
		unsigned n;
	} cases[] = {
		{{1.5}, {1}, 1}, {{2, 2}, {1, 1}, 2}, {{5, 0.5}, {1, 1}, 2},
		{{10, 0.2, 0.5}, {1, 1, 1}, 3}, {{3, 3}, {4, 1}, 2}, {{0.3, 3, 3}, {9, 1, 2}, 3},
		{{20, 1, 1, 0.1, 0.05, 0.5}, {1, 1, 2, 1, 1, 3}, 6},
		{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9},
			{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 16},
		{{0.1, 0.1, 0.2}, {1, 1, 1}, 3}, /* below the limit */
	};
	const uint64_t bps = 10000000, burst = 75000;
	const double seconds = 60, rate = (double)bps / 8;

	for (size_t c = 0; c < COUNT(cases); c++) {
		double due[CLASSES] = {0}, asks[CLASSES] = {0}, parts[CLASSES] = {0}, all = 0;
		uint8_t weights[CLASSES];
		struct prng prng;
		struct world w;

		prng_seed(&prng, c);
		for (unsigned i = 0; i < CLASSES; i++) {
			weights[i] = i < cases[c].n ? cases[c].weights[i] : 1;
			asks[i] = cases[c].asks[i] * rate;
		}
		fill_max_min(parts, asks, weights, cases[c].n, rate);
		world_begin(&w, bps, burst, CLASSES, weights, 0);
		while ((double)w.now < seconds * GHZ) {
			world_wait(&w, 1 + (uint64_t)(prng_unit(&prng) * 200000));
			for (unsigned k = 0, i; k < cases[c].n; k++) {
				i = (unsigned)(w.now + k) % cases[c].n;
				for (; due[i] + FRAME <= asks[i] * (double)w.now / GHZ;
					due[i] += FRAME)
					world_send(&w, i, FRAME);
			}
		}
		for (unsigned i = 0; i < cases[c].n; i++) {
			double want = parts[i] * seconds;

			all += w.passed[i];
			if (fabs(w.passed[i] - want) > (double)burst + FRAME)
				fail_msg("case %zu, class %u: %g passed, not %g", c, i, w.passed[i],
					want);
		}
		if (cases[c].asks[0] > 1)
			assert_true(all >= rate * seconds - FRAME);
		check_books(&w);
		world_end(&w);
	}
}

/* With any number of backlogged classes the whole rate passes: only a full bucket loses tokens. */
TEST(test_full_rate)
{
	static const uint64_t bursts[] = {6000, 20000, 75000, 1000000};

	for (size_t b = 0; b < COUNT(bursts); b++) {
		for (unsigned n = 1; n <= 64; n *= 2) {
			double passed = 0;
			struct prng prng;
			struct world w;

			prng_seed(&prng, n);
			world_begin(&w, 10000000, bursts[b], 64, NULL, 5);
			world_wait(&w, 0);
			while (w.now < 5 * GHZ) {
				unsigned first = prng_below(&prng, n);

				for (unsigned k = 0; k < 2 * n; k++)
					world_send(&w, (first + k) % n, FRAME);
				world_wait(&w, 1 + prng_below(&prng, 1000000));
			}
			for (unsigned i = 0; i < n; i++)
				passed += w.passed[i];
			if (passed < 1.25e6 * 5 - FRAME)
				fail_msg("burst %" PRIu64 ", %u classes: %g", bursts[b], n, passed);
			world_end(&w);
		}
	}
}

/* A class that starts while another one has long had the whole rate gets its half immediately. */
TEST(test_newcomer)
{
	ENDED_BY(world_end) struct world w;
	double had;

	world_begin(&w, 10000000, 75000, CLASSES, NULL, 0);
	while (w.now < 10 * GHZ) {
		world_wait(&w, 100000);
		world_send(&w, 0, FRAME);
	}
	assert_true(world_send(&w, 1, FRAME));
	assert_true(world_send(&w, 1, FRAME));
	had = w.passed[0];
	while (w.now < 11 * GHZ) {
		world_wait(&w, 100000);
		world_send(&w, 0, FRAME);
		world_send(&w, 1, FRAME);
	}
	assert_in_range((uint64_t)w.passed[1], 625000, 625000 + 75000);
	/* The new class stops, and the first one gets the whole rate again. */
	had = w.passed[0];
	while (w.now < 12 * GHZ) {
		world_wait(&w, 100000);
		world_send(&w, 0, FRAME);
	}
	assert_in_range((uint64_t)(w.passed[0] - had), 1250000 - 75000 / 5, 1250000 + 75000);
}

/* Returns the units that a class has passed and that were earned back, by its weight. */
static double class_had(const struct world *world, unsigned class)
{
	return (world->passed[class] - queue_of(world, class)) / world->weights[class];
}

/* One class first takes all that it can, including the free part. Then all send too much. */
static void crowd_classes(struct world *w, struct prng *prng, unsigned n)
{
	uint64_t end = w->now + GHZ / 5;

	memset(w->passed, 0, sizeof(w->passed));
	while (world_send(w, 0, 1 + prng_below(prng, FRAME)))
		;
	for (; (int64_t)(end - w->now) > 0; world_wait(w, prng_below(prng, 200000))) {
		unsigned first = prng_below(prng, n);

		for (unsigned k = 0; k < 2 * n; k++)
			world_send(w, (first + k) % n, 1 + prng_below(prng, FRAME));
	}
}

/*
 * The bound: classes that are backlogged together have passed the same by weight, except for the
 * free part, once, and a slot each.
 */
TEST(test_free_bound)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		uint8_t weights[CLASSES];
		struct prng prng;
		struct world w;
		unsigned n;

		prng_seed(&prng, seed);
		n = 2 + prng_below(&prng, 7);
		for (unsigned i = 0; i < CLASSES; i++)
			weights[i] = (uint8_t)(1 + prng_below(&prng, 4));
		world_begin(&w, 100000000, 500000, CLASSES, weights, 0);
		for (unsigned rest = 0; rest < 3; rest++) {
			double most = 0, least = INFINITY, bound;

			world_wait(&w, GHZ);
			crowd_classes(&w, &prng, n);
			for (unsigned i = 0; i < n; i++) {
				most = fmax(most, class_had(&w, i));
				least = fmin(least, class_had(&w, i));
			}
			bound = free_of(&w) / weights[0] + 2 * slot_of(&w);
			if (most - least > bound)
				fail_msg("seed %" PRIu64 ", %u classes: %g apart, not %g", seed, n,
					most - least, bound);
		}
		world_end(&w);
	}
}

static void change_phantom_limit(struct world *world, uint64_t bps, uint64_t burst)
{
	struct token_bucket_profile next = profile_of(bps, burst), plain = world->profile;

	token_bucket_change(&world->plain, &plain, &next, world->now);
	phantom_change(world->phantom, &world->bucket, &world->profile, &next, world->now);
	world_wait(world, 0);
}

/* Limits change repeatedly: the bound holds, no class is stalled, and each gets its part again. */
TEST(test_changes)
{
	const uint64_t seed = 5;
	struct prng prng;
	ENDED_BY(world_end) struct world w;

	prng_seed(&prng, seed);
	world_begin(&w, 10000000, 75000, CLASSES, NULL, UINT64_MAX - GHZ);
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t bps = 1000000 + prng_below(&prng, 20000000);
		uint64_t burst = 4 * FRAME + (uint64_t)(prng_unit(&prng) * prng_unit(&prng) * 1e6);
		uint64_t end = w.now + prng_below(&prng, 100000000);
		uint64_t ticks = 2 * 8 * GHZ * FRAME / bps;
		double before[2];

		change_phantom_limit(&w, bps, burst);
		for (; (int64_t)(end - w.now) > 0; world_wait(&w, prng_below(&prng, 500000)))
			world_send(&w, prng_below(&prng, 4), 1 + prng_below(&prng, FRAME));
		/*
		 * A class waits at most for the time in which half the rate fills a larger burst.
		 */
		before[0] = w.passed[0];
		before[1] = w.passed[1];
		end = w.now + 2 * 8 * GHZ * 1002000 / bps + 4 * ticks;
		for (; (int64_t)(end - w.now) > 0; world_wait(&w, ticks / 8)) {
			world_send(&w, 0, FRAME);
			world_send(&w, 1, FRAME);
		}
		if (w.passed[0] == before[0] || w.passed[1] == before[1])
			fail_msg("seed %" PRIu64 ", round %u: one is stuck", seed, round);
	}
}

/*
 * A burst is cut so that tokens reach the free part, while a class has a queue and the earned
 * tokens are not worth serving. The next advance ends all queues.
 */
TEST(test_cut)
{
	ENDED_BY(world_end) struct world w;

	world_begin(&w, GHZ, 100000, CLASSES, NULL, 0);
	world_press(&w);
	assert_true(world_send(&w, 0, 3000));
	change_phantom_limit(&w, GHZ, 95000);
	assert_true(w.bucket.tokens > phantom_mark(&w.profile));
	world_wait(&w, 8);
	assert_true(queue_of(&w, 0) == 0);
	assert_int_equal(w.phantom->busy, 0);
}

/* Sorted again at any time, into slots of any length, the books stay the same. */
TEST(test_sorted)
{
	const uint64_t seed = 8;
	uint8_t weights[CLASSES];
	struct prng prng;
	ENDED_BY(world_end) struct world w;

	prng_seed(&prng, seed);
	for (unsigned i = 0; i < CLASSES; i++)
		weights[i] = (uint8_t)(1 + prng_below(&prng, 5));
	world_begin(&w, 10000000, 75000, CLASSES, weights, 0);
	for (unsigned i = 0; i < 20000; i++) {
		double before[CLASSES];

		world_wait(&w, prng_below(&prng, 1000000));
		world_send(&w, prng_below(&prng, CLASSES), 1 + prng_below(&prng, FRAME));
		for (unsigned k = 0; k < CLASSES; k++)
			before[k] = queue_of(&w, k);
		phantom_sort(w.phantom, PHANTOM_BYTE + 4 + prng_below(&prng, 12));
		for (unsigned k = 0; k < CLASSES; k++)
			if (queue_of(&w, k) != before[k])
				fail_msg("seed %" PRIu64 ", step %u, class %u", seed, i, k);
		check_books(&w);
	}
}

/* The length of slots follows the burst, and they reach as far as a queue does. */
TEST(test_reach)
{
	struct phantom_class *class;
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 10000000, 75000, CLASSES, NULL, 0);
	world_wait(&w, 0);
	assert_true(slot_of(&w) <= 75000.0 / 31);
	change_phantom_limit(&w, 10000000, 1000000);
	assert_true(slot_of(&w) >= 1000000.0 / 62);
	change_phantom_limit(&w, 10000000, 10000);
	assert_true(slot_of(&w) <= 10000.0 / 31);
	class = phantom_of_number(w.phantom, 0);
	phantom_join(w.phantom, class, UINT64_C(5000) << PHANTOM_BYTE);
	phantom_join(w.phantom, phantom_of_number(w.phantom, 1), UINT64_C(5000) << PHANTOM_BYTE);
	phantom_join(w.phantom, class, UINT64_C(500000) << PHANTOM_BYTE);
	assert_true(queue_of(&w, 0) == 505000);
	phantom_serve(w.phantom, UINT64_C(10000) << PHANTOM_BYTE);
	assert_near(queue_of(&w, 0), 500000, 0.02);
	assert_near(queue_of(&w, 1), 0, 0.02);
	phantom_serve(w.phantom, w.phantom->left + (UINT64_C(499999) << PHANTOM_BYTE));
	assert_near(queue_of(&w, 0), 1, 0.02);
}

/* The longest slots hold the sums of the heaviest classes. */
TEST(test_widest)
{
	uint8_t weights[PHANTOM_DSCPS];
	ENDED_BY(world_end) struct world w;

	memset(weights, PHANTOM_WEIGHT_MAX, sizeof(weights));
	world_begin(&w, 8 * GHZ, PHANTOM_BURST_MAX, PHANTOM_DSCPS, weights, 0);
	world_wait(&w, 0);
	world_press(&w);
	for (unsigned i = 0; i < PHANTOM_DSCPS; i++) {
		assert_true(world_send(&w, i, 1));
		check_books(&w);
	}
	for (unsigned i = 0; i < PHANTOM_DSCPS; i++)
		assert_true(w.phantom->classes[i].end < UINT64_C(1) << w.phantom->shift);
	world_wait(&w, PHANTOM_DSCPS / 2);
	check_books(&w);
}

/* Removing the tokens removes no queue. */
TEST(test_emptied)
{
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 8 * GHZ, 10000, CLASSES, NULL, 0);
	world_wait(&w, 0);
	world_press(&w);
	assert_true(world_send(&w, 0, 3000));
	w.bucket.tokens = 0;
	phantom_refill(w.phantom, &w.bucket, &w.profile, 0);
	assert_true(queue_of(&w, 0) == 3000);
	phantom_refill(w.phantom, &w.bucket, &w.profile, 1000);
	assert_near(queue_of(&w, 0), 2000, 0.01);
}

/* A queue that ended half an age ago counts as ended, and not as one in the future. */
TEST(test_age)
{
	const uint32_t cost = UINT32_MAX;
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 8 * GHZ, (uint64_t)cost + 1, CLASSES, NULL, 0);
	for (unsigned i = 0; i < 20000000 && w.phantom->aged == 0; i++) {
		world_wait(&w, (uint64_t)cost + 1 - (i % 2));
		assert_true(world_send(&w, i < 3 ? i : 3, cost));
	}
	assert_true(w.phantom->aged >= PHANTOM_AGE >> PHANTOM_AGE_SHIFT);
	check_books(&w);
	for (unsigned i = 0; i < 3; i++)
		assert_true(w.phantom->classes[i].end > PHANTOM_AGE / 2);
}
