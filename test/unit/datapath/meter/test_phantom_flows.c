/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flows that start and end, and the state of their queues at a later packet. Service is lazy, as at
 * workers.
 */
#include "phantom_world.h"
#include "scope.h"

static struct phantom_class *of_flow(struct world *w, uint32_t hash)
{
	return phantom_of_flow(w->phantom, hash, &w->bucket, &w->profile);
}

/* Each flow has its own class while its set has a free one. A fifth flow shares. */
TEST(test_flows)
{
	struct phantom_class *seen[PHANTOM_WAYS], *class;
	uint32_t hashes[PHANTOM_WAYS], hash = 0;
	ENDED_BY(world_end) struct world w;

	world_begin(&w, 8 * GHZ, 100000, CLASSES, NULL, 0);
	world_wait(&w, 0);
	world_press(&w);
	for (unsigned n = 0; n <= PHANTOM_WAYS; n++) {
		do
			class = of_flow(&w, ++hash);
		while ((class - w.phantom->classes) / PHANTOM_WAYS != 2);
		if (n == PHANTOM_WAYS) {
			assert_int_not_equal(class->flow, hash);
			break;
		}
		assert_int_equal(class->flow, hash);
		assert_ptr_equal(of_flow(&w, hash), class);
		for (unsigned i = 0; i < n; i++)
			assert_ptr_not_equal(seen[i], class);
		assert_true(
			phantom_take(w.phantom, class, &w.bucket, &w.profile, n == 0 ? 100 : 1000));
		hashes[n] = hash;
		seen[n] = class;
	}
	/* The first flow's queue has ended. No flow leaves its own class for that. */
	world_wait(&w, 450);
	for (unsigned i = 0; i < PHANTOM_WAYS; i++)
		assert_ptr_equal(of_flow(&w, hashes[i]), seen[i]);
	/* The fifth flow can get that class, although the end of its queue is not served yet. */
	assert_true(phantom_queue(w.phantom, seen[0]) > 0);
	assert_ptr_equal(of_flow(&w, hash), seen[0]);
	assert_int_equal(seen[0]->flow, hash);
	/* When a queue is empty, its class is free. */
	world_wait(&w, 10000);
	assert_int_equal(of_flow(&w, 0x55555555)->flow, 0x55555555);
}

/* The most flows of this number that share a class. */
TEST(test_few_share)
{
	static const struct {
		unsigned classes, flows, most_percent;
	} cases[] = {{64, 10, 1}, {64, 32, 6}, {256, 100, 4}, {1024, 256, 2}};
	struct prng prng;

	prng_seed(&prng, 3);
	for (size_t c = 0; c < COUNT(cases); c++) {
		unsigned shared = 0;

		for (unsigned round = 0; round < 100; round++) {
			struct world w;

			world_begin(&w, 8 * GHZ, 10000000, cases[c].classes, NULL, 0);
			world_wait(&w, 0);
			world_press(&w);
			for (unsigned i = 0; i < cases[c].flows; i++) {
				struct phantom_class *class = of_flow(
					&w, (uint32_t)prng_next(&prng));

				shared += phantom_queue(w.phantom, class) > 0;
				assert_true(phantom_take(
					w.phantom, class, &w.bucket, &w.profile, FRAME));
			}
			world_end(&w);
		}
		if (shared > cases[c].flows * cases[c].most_percent)
			fail_msg("%u flows in %u classes: %.2f %% share", cases[c].flows,
				cases[c].classes, shared / (double)cases[c].flows);
	}
}

/*
 * A packet of a flow, without the quick refusal. Sets *shares to true if it uses another flow's
 * class.
 */
static bool flow_takes(struct world *w, uint32_t hash, uint32_t cost, bool *shares)
{
	struct phantom_class *class;

	phantom_follow(w->phantom, &w->bucket, &w->profile);
	class = of_flow(w, hash);
	*shares = class->flow != hash;
	return phantom_take(w->phantom, class, &w->bucket, &w->profile, cost);
}

/* A packet of a flow as at workers, except for the quick refusal. */
static bool flow_sends(struct world *w, uint32_t hash, bool *shares)
{
	return phantom_take_free(&w->bucket, &w->profile, FRAME) ||
	       flow_takes(w, hash, FRAME, shares);
}

/*
 * Flows of one packet each, next to one that takes all the rest. Their queues end immediately, so
 * hardly any flow shares a class.
 */
TEST(test_churn)
{
	const uint64_t seed = 21, ticks = 8 * FRAME, flows_per_s = 5000, most_percent = 6;
	unsigned flows = 0, shared = 0, refused = 0;
	bool shares;
	struct prng prng;
	ENDED_BY(world_end) struct world w;

	prng_seed(&prng, seed);
	world_begin(&w, GHZ, 12500000, 64, NULL, 0);
	for (uint64_t next = 0; w.now < 2 * GHZ;) {
		w.now += ticks / 2; /* twice the limit */
		token_bucket_refill(&w.bucket, &w.profile, w.now);
		flow_sends(&w, 1, &shares);
		if (w.now < next)
			continue;
		next += GHZ / flows_per_s;
		if (w.now < GHZ) /* the large flow has its full part */
			continue;
		shares = false;
		refused += !flow_sends(&w, (uint32_t)prng_next(&prng), &shares);
		shared += shares;
		flows++;
	}
	if (shared * 100 > flows * most_percent || refused * 100 > flows * most_percent)
		fail_msg("seed %" PRIu64 ": of %u flows %u share, %u are refused", seed, flows,
			shared, refused);
}

/*
 * All flows but one end. After the time that their queues take, it has the part of a single class.
 */
TEST(test_ended)
{
	static const unsigned ns[] = {16, 64, 256, 1024};
	const uint64_t burst_ticks = GHZ / 10;

	for (size_t k = 0; k < COUNT(ns); k++) {
		double least = 1;
		struct world w;

		world_begin(&w, GHZ, 12500000, ns[k], NULL, 0);
		for (unsigned i = 0; w.now < 3 * burst_ticks; i = (i + 1) % ns[k]) {
			world_wait(&w, 4 * FRAME);
			world_send(&w, i, FRAME);
		}
		while (w.now < 8 * burst_ticks) {
			double had = 1 - (double)w.bucket.tokens / (double)w.profile.burst;

			if (w.now >= 4 * burst_ticks)
				least = fmin(least, had);
			world_wait(&w, 4 * FRAME);
			world_send(&w, 0, FRAME);
		}
		if (least < 0.75)
			fail_msg("of %u classes the one left has %g of the burst", ns[k], least);
		/* Ended flows make no slot longer, although service was late. */
		assert_int_equal(w.phantom->shift, phantom_shift(&w.profile));
		check_books(&w);
		world_end(&w);
	}
}

/* Returns true if all classes of a set still have queues after all earned tokens are served. */
static bool all_classes_stay(const struct world *w, unsigned set)
{
	const struct phantom_params params = {.classes = CLASSES};
	struct phantom *copy = aligned_alloc(64, (phantom_bytes(&params) + 63) / 64 * 64);
	bool all;

	assert_non_null(copy);
	memcpy(copy, w->phantom, phantom_bytes(&params));
	phantom_advance(copy, &w->bucket, &w->profile);
	all = phantom_empty(copy, &copy->classes[set * PHANTOM_WAYS]) == 0;
	free(copy);
	return all;
}

/*
 * A set without a free class is only searched again if a class might be free. No free class is
 * missed, and few searches find none.
 */
TEST(test_look_again)
{
	const uint64_t seed = 34;
	unsigned ends = 0, stays = 0, vain = 0;
	struct prng prng;
	ENDED_BY(world_end) struct world w;

	prng_seed(&prng, seed);
	world_begin(&w, GHZ, 50000, CLASSES, NULL, 0);
	for (unsigned i = 0; i < 200000; i++) {
		unsigned set = prng_below(&prng, CLASSES / PHANTOM_WAYS);
		struct phantom_class *classes = &w.phantom->classes[set * PHANTOM_WAYS];

		world_wait(&w, prng_below(&prng, 16 * 450)); /* a tenth more than is earned */
		world_send(&w, prng_below(&prng, CLASSES), 1 + prng_below(&prng, 1000));
		if (phantom_empty(w.phantom, classes))
			continue;
		bool may_end = phantom_may_end(w.phantom, classes, &w.bucket),
		     all = all_classes_stay(&w, set);

		if (!may_end && !all)
			fail_msg("seed %" PRIu64 ", step %u: one has ended", seed, i);
		ends += !all;
		stays += all;
		vain += all && may_end;
	}
	assert_true(ends > 100);
	if (vain * 10 > stays)
		fail_msg("seed %" PRIu64 ": looks %u times of %u in vain", seed, vain, stays);
}

/*
 * Returns true if the flow has a class, or its set has no free class for it until others are
 * served.
 */
static bool class_is_known(const struct world *w, uint32_t hash)
{
	const struct phantom_class *classes =
		&w->phantom->classes[phantom_set(w->phantom, hash * w->phantom->key)];

	for (unsigned i = 0; i < PHANTOM_WAYS; i++)
		if (classes[i].flow == hash)
			return true;
	return phantom_empty(w->phantom, classes) == 0 &&
	       !phantom_may_end(w->phantom, classes, &w->bucket);
}

/* If phantom_refuses() refuses, the full path also refuses, and changes nothing. */
static bool look_is_right(struct world *w, uint32_t hash, uint32_t cost)
{
	static const struct phantom_params params = {.classes = CLASSES};
	const struct token_bucket before = w->bucket;
	size_t bytes = phantom_bytes(&params);
	struct phantom *copy = malloc(bytes);
	bool same;

	assert_non_null(copy);
	assert_true(class_is_known(w, hash));
	memcpy(copy, w->phantom, bytes);
	phantom_follow(w->phantom, &w->bucket, &w->profile);
	same = !phantom_take(w->phantom, of_flow(w, hash), &w->bucket, &w->profile, cost);
	same &= memcmp(copy, w->phantom, bytes) == 0 &&
		memcmp(&before, &w->bucket, sizeof(before)) == 0;
	free(copy);
	return same;
}

/* Most refusals are quick ones, for long flows and for flows of one packet. */
TEST(test_refused_at_a_look)
{
	static const unsigned flows[] = {4, 12, 40, 1000000};
	const unsigned least_percent = 90;

	for (size_t c = 0; c < COUNT(flows); c++) {
		const uint64_t seed = 55 + c;
		unsigned refused = 0, looked = 0;
		struct prng prng;
		struct world w;

		prng_seed(&prng, seed);
		world_begin(&w, GHZ, 50000, CLASSES, NULL, 0);
		for (unsigned i = 0; i < 100000; i++) {
			uint32_t hash = 1 + prng_below(&prng, flows[c]);
			uint32_t cost = prng_below(&prng, 1001);
			bool look, shares;

			/* Five times the limit, sometimes with a pause in which queues end. */
			w.now += prng_below(&prng, i % 5000 ? 2 * 8 * 100 : 8 * 50000);
			token_bucket_refill(&w.bucket, &w.profile, w.now);
			if (phantom_take_free(&w.bucket, &w.profile, cost) ||
				!phantom_asks(&w.bucket, &w.profile, cost))
				continue;
			look = phantom_refuses(w.phantom, hash, &w.bucket, &w.profile, cost);
			looked += look;
			if (look && !look_is_right(&w, hash, cost))
				fail_msg("seed %" PRIu64 ", step %u: not as it looks", seed, i);
			refused += look || !flow_takes(&w, hash, cost, &shares);
		}
		check_books(&w);
		if (looked * 100 < refused * least_percent || refused < 10000)
			fail_msg("%u flows: %u of %u refused at a look", flows[c], looked, refused);
		world_end(&w);
	}
}

/* Returns the next hash whose flow is in this set. */
static uint32_t hash_of_set(const struct world *w, unsigned set, uint32_t hash)
{
	do
		hash++;
	while (phantom_set(w->phantom, hash * w->phantom->key) != set * PHANTOM_WAYS);
	return hash;
}

/*
 * All classes of a set have long queues. A short queue elsewhere ends so soon that pending service
 * could end its slot, and the service that it gives back could end others. So the quick refusal
 * cannot decide about a new flow.
 */
TEST(test_slot_is_over)
{
	const uint32_t cost = 15000;
	uint32_t hash = 0, elsewhere;
	unsigned known = 0, unknown = 0;
	bool shares;
	ENDED_BY(world_end) struct world w;

	world_begin(&w, GHZ, 40000, CLASSES, NULL, 0);
	world_press(&w);
	elsewhere = hash_of_set(&w, 2, 0);
	assert_true(flow_takes(&w, elsewhere, 200, &shares));
	for (unsigned i = 0; i < PHANTOM_WAYS; i++) {
		hash = hash_of_set(&w, 1, hash);
		assert_true(flow_takes(&w, hash, 6000, &shares));
	}
	hash = hash_of_set(&w, 1, hash);
	/* After an advance, later service does not end with a slot. */
	w.now = 8 * 500;
	phantom_refill(w.phantom, &w.bucket, &w.profile, w.now);
	for (; unknown == 0 && w.phantom->weight == PHANTOM_WAYS + 1; w.now += 8) {
		uint64_t earned, waits;

		token_bucket_refill(&w.bucket, &w.profile, w.now);
		phantom_follow(w.phantom, &w.bucket, &w.profile);
		earned = w.bucket.tokens - w.phantom->seen;
		waits = w.phantom->left + (earned >> PHANTOM_TOKEN);
		if (waits < w.phantom->turn) {
			assert_true(phantom_refuses(w.phantom, hash, &w.bucket, &w.profile, cost));
			known++;
		} else if (earned < w.phantom->room) {
			assert_false(phantom_refuses(w.phantom, hash, &w.bucket, &w.profile, cost));
			unknown++;
		}
	}
	assert_true(known > 0 && unknown > 0);
}
