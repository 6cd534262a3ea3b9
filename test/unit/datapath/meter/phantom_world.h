/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A bucket shared by classes, next to an ideal scheduler of the same packets. The test sets the
 * clock; a tick is a nanosecond.
 */
#ifndef WEIR_TEST_PHANTOM_WORLD_H
#define WEIR_TEST_PHANTOM_WORLD_H

#include "check.h"

#include "base/prng.h"
#include "meter/phantom.h"

#define CLASSES 16
#define FRAME   1500

/* A meter, its bucket, and the values that must agree. */
struct world {
	struct token_bucket_profile profile;
	struct token_bucket bucket;
	struct phantom *phantom;
	uint64_t now;
	struct token_bucket plain; /* charged for each passed packet: never refuses one */
	bool eager;                /* serves queues immediately, which workers do not */
	unsigned n;
	uint8_t weights[PHANTOM_CLASSES_MAX];
	double queue[PHANTOM_CLASSES_MAX]; /* queues of an ideal scheduler, in units */
	double passed[PHANTOM_CLASSES_MAX];
	double deficit; /* service that the ideal owes */
};

static inline struct token_bucket_profile profile_of(uint64_t bps, uint64_t burst)
{
	struct token_bucket_params params = {.rate_bps = bps, .burst_bytes = burst};
	struct token_bucket_profile profile;

	assert_int_equal(token_bucket_profile_init(&profile, &params, GHZ), 0);
	return profile;
}

static inline void world_begin(struct world *world, uint64_t bps, uint64_t burst, unsigned n,
	const uint8_t *weights, uint64_t now)
{
	struct phantom_params params = {.classes = n, .weights = weights, .secret = 12345};
	size_t bytes = (phantom_bytes(&params) + 63) / 64 * 64;
	void *memory = aligned_alloc(64, bytes);

	assert_non_null(memory);
	*world = (struct world){.now = now, .n = n, .profile = profile_of(bps, burst)};
	for (unsigned i = 0; i < n; i++)
		world->weights[i] = weights ? weights[i] : 1;
	token_bucket_init(&world->bucket, &world->profile, now);
	token_bucket_init(&world->plain, &world->profile, now);
	world->phantom = phantom_init(memory, &params, &world->profile);
}

static inline void world_end(struct world *world)
{
	free(world->phantom);
}

/* Serves the ideal's queues together, until one is empty, and so on. */
static inline void ideal_serve(struct world *world, double service)
{
	while (service > 1e-6) {
		double weight = 0, first = INFINITY;

		for (unsigned i = 0; i < world->n; i++) {
			if (world->queue[i] <= 0)
				continue;
			weight += world->weights[i];
			first = fmin(first, world->queue[i] / world->weights[i]);
		}
		if (weight == 0)
			return;
		first = fmin(first, service / weight);
		service -= first * weight;
		for (unsigned i = 0; i < world->n; i++) {
			world->queue[i] -= first * world->weights[i];
			if (world->queue[i] < 1e-9)
				world->queue[i] = 0;
		}
	}
}

/* Returns the units that the bucket lacks below its free part. As many are queued. */
static inline double lack_of(const struct world *world)
{
	uint64_t mark = phantom_mark(&world->profile), tokens = world->bucket.tokens;

	return tokens < mark ? (double)(mark - tokens) / (1 << TOKEN_BYTE) : 0;
}

static inline double free_of(const struct world *world)
{
	return (double)(world->profile.burst - phantom_mark(&world->profile)) / (1 << TOKEN_BYTE);
}

/* Takes exactly the free part. */
static inline void world_press(struct world *world)
{
	assert_true(phantom_take_free(&world->bucket, &world->profile, (uint64_t)free_of(world)));
	assert_false(phantom_take_free(&world->bucket, &world->profile, 1));
	world->plain.tokens = world->bucket.tokens;
}

/* Advances the clock. The ideal serves as much as the bucket earned. */
static inline void world_wait(struct world *world, uint64_t ticks)
{
	double before;

	before = lack_of(world);
	world->now += ticks;
	token_bucket_refill(&world->bucket, &world->profile, world->now);
	if (world->eager)
		phantom_advance(world->phantom, &world->bucket, &world->profile);
	else
		phantom_follow(world->phantom, &world->bucket, &world->profile);
	ideal_serve(world, before - lack_of(world));
	if (lack_of(world) <= 0)
		memset(world->queue, 0, sizeof(world->queue));
}

static inline bool world_send(struct world *world, unsigned class, uint32_t cost)
{
	struct phantom_class *at = phantom_of_number(world->phantom, class);
	double before = lack_of(world);

	if (!phantom_take(world->phantom, at, &world->bucket, &world->profile, cost))
		return false;
	world->queue[class] += lack_of(world) - before;
	world->passed[class] += cost;
	assert_true(token_bucket_conforms(&world->plain, &world->profile, world->now, cost));
	return true;
}

static inline double queue_of(const struct world *world, unsigned class)
{
	const struct phantom_class *at = &world->phantom->classes[class];

	return (double)phantom_queue(world->phantom, at) * at->weight / (1 << PHANTOM_BYTE);
}

static inline double slot_of(const struct world *world)
{
	return ldexp(1, (int)world->phantom->shift - PHANTOM_BYTE);
}

/*
 * The queued units are exactly those that the bucket lacks below its free part. The sums agree with
 * the classes.
 */
static inline void check_books(const struct world *world)
{
	const struct phantom *p = world->phantom;
	uint64_t queued = 0, weight = 0, over[PHANTOM_SLOTS] = {0}, in[PHANTOM_SLOTS] = {0};

	for (unsigned i = 0; i < world->n; i++) {
		const struct phantom_class *class = &p->classes[i];
		unsigned slot = (class->end - 1) >> p->shift & (PHANTOM_SLOTS - 1);

		if (phantom_ahead(p, class) >= phantom_span(p))
			continue;
		queued += (class->end - p->time) * class->weight;
		weight += class->weight;
		in[slot] += class->weight;
		over[slot] += (phantom_slot_end(p, class->end) - class->end) * class->weight;
	}
	assert_int_equal(weight, p->weight);
	for (unsigned i = 0; i < PHANTOM_SLOTS; i++) {
		assert_int_equal(in[i] != 0, p->busy >> i & 1);
		if (in[i] == 0)
			continue;
		assert_int_equal(in[i], phantom_slot_weight(p->slots[i]));
		assert_int_equal(over[i], phantom_slot_over(p->slots[i]));
	}
	if (weight)
		assert_int_equal(queued - p->left,
			(phantom_mark(&world->profile) - p->seen) >> PHANTOM_TOKEN);
}

#endif
