/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"
#include "scope.h"

#include "base/bitmap.h"
#include "base/prng.h"
#include "group/overlay.h"

END_POINTER(overlay_destroy, struct overlay *)

#define N_MAX 200

/* Ids whose order differs from their positions. */
static void make_ids(uint32_t *ids, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ids[i] = (i + 1) * UINT32_C(2654435761);
}

static struct overlay *make_test_overlay(
	enum overlay_shape shape, unsigned n, unsigned degree, unsigned spares)
{
	uint32_t ids[N_MAX];
	struct overlay_params params = {
		.shape = shape, .ids = ids, .n = n, .degree = degree, .spares = spares};
	struct overlay *o;

	make_ids(ids, n);
	assert_int_equal(overlay_create(&params, &o), 0);
	return o;
}

/* Checks that edges are simple, the same from both ends, and in the documented order. */
static void check_edges(const struct overlay *o)
{
	for (unsigned p = 0; p < o->n; p++) {
		const struct overlay_edge *edges = overlay_edges(o, p);
		unsigned last = 0;

		assert_true(o->n_edges[p] <= o->width);
		for (unsigned k = 0; k < o->n_edges[p]; k++) {
			unsigned back = overlay_edge_to(o, edges[k].peer, p);
			unsigned ahead = (edges[k].peer + o->n - p) % o->n;

			assert_true(ahead > 0);
			assert_true(back < o->n_edges[edges[k].peer]);
			assert_int_equal(
				overlay_edges(o, edges[k].peer)[back].spare, edges[k].spare);
			assert_int_equal(edges[k].spare, k >= o->degree[p]);
			assert_true(k == 0 || k == o->degree[p] || ahead > last);
			last = ahead;
		}
		if (o->degree[p] > 0)
			assert_true(overlay_in_use(o, p, 0, NULL));
	}
}

static void check_degrees(const struct overlay *o, unsigned degree)
{
	unsigned want = degree < 2 ? 2 : degree, less = 0;

	want = want < o->n - 1 ? want : o->n - 1;
	for (unsigned p = 0; p < o->n; p++) {
		less += o->degree[p] == want - 1;
		assert_true(o->degree[p] == want || o->degree[p] == want - 1);
	}
	assert_int_equal(less, want * o->n % 2);
}

TEST(test_random)
{
	for (unsigned n = 2; n <= N_MAX; n++)
		for (unsigned d = 1; d <= 8; d++) {
			struct overlay *o = make_test_overlay(OVERLAY_RANDOM, n, d, 2);

			check_edges(o);
			check_degrees(o, d);
			assert_int_equal(overlay_parts(o, NULL), 1);
			overlay_destroy(o);
		}
}

TEST(test_ring)
{
	for (unsigned n = 1; n <= N_MAX; n++) {
		struct overlay *o = make_test_overlay(OVERLAY_RING, n, 0, n % 4);

		check_edges(o);
		for (unsigned p = 0; p < n; p++) {
			assert_int_equal(o->degree[p], n > 2 ? 2 : n - 1);
			assert_true(p == 0 || o->ids[p] > o->ids[p - 1]);
			if (n > 1)
				assert_int_equal(
					overlay_edges(o, p)[OVERLAY_FRIEND].peer, (p + 1) % n);
		}
		assert_int_equal(overlay_parts(o, NULL), 1);
		overlay_destroy(o);
	}
}

/* Chords are mixed: few are left of the initial pattern, and another roster has others. */
TEST(test_chords_are_mixed)
{
	ENDED_BY(overlay_destroy_at)
	struct overlay *o = make_test_overlay(OVERLAY_RANDOM, N_MAX, 4, 0), *other;
	unsigned near = 0, same = 0;

	other = make_test_overlay(OVERLAY_RANDOM, N_MAX - 1, 4, 0);
	for (unsigned p = 0; p < N_MAX; p++)
		for (unsigned k = 0; k < o->n_edges[p]; k++) {
			unsigned ahead = (overlay_edges(o, p)[k].peer + N_MAX - p) % N_MAX;

			near += ahead == 2;
			same += p < N_MAX - 1 && k < other->n_edges[p] &&
				overlay_edges(other, p)[k].peer == overlay_edges(o, p)[k].peer;
		}
	assert_true(near < 20); /* 200 at first; the expected number is 2 */
	assert_true(same < 3 * N_MAX);
}

static bool same_overlay(const struct overlay *a, const struct overlay *b)
{
	bool equal = a->n == b->n && memcmp(a->ids, b->ids, a->n * sizeof(*a->ids)) == 0;

	for (unsigned p = 0; equal && p < a->n; p++) {
		equal = a->n_edges[p] == b->n_edges[p];
		for (unsigned k = 0; equal && k < a->n_edges[p]; k++)
			equal = overlay_edges(a, p)[k].peer == overlay_edges(b, p)[k].peer &&
				overlay_edges(a, p)[k].spare == overlay_edges(b, p)[k].spare;
	}
	return equal;
}

/* The order of a limiter's roster does not matter; its members do. */
TEST(test_same_at_all)
{
	uint32_t ids[N_MAX];
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned n = 3; n <= N_MAX; n += 7) {
		struct overlay_params params = {
			.shape = OVERLAY_RANDOM, .ids = ids, .n = n, .degree = 4, .spares = 1};
		struct overlay *first = make_test_overlay(OVERLAY_RANDOM, n, 4, 1), *second;

		make_ids(ids, n);
		for (unsigned i = n; i > 1; i--) {
			unsigned k = prng_below(&prng, i);
			uint32_t id = ids[k];

			ids[k] = ids[i - 1];
			ids[i - 1] = id;
		}
		assert_int_equal(overlay_create(&params, &second), 0);
		assert_true(same_overlay(first, second));
		overlay_destroy(second);
		ids[n / 2]++;
		assert_int_equal(overlay_create(&params, &second), 0);
		assert_false(same_overlay(first, second));
		overlay_destroy(second);
		overlay_destroy(first);
	}
}

/* Any two limiters die, or one (a pair with itself). */
static void check_deaths(const struct overlay *o)
{
	uint64_t dead[N_MAX / 64 + 1] = {0};

	for (unsigned a = 0; a < o->n; a++)
		for (unsigned b = a; b < o->n; b++) {
			bitmap_set(dead, a);
			bitmap_set(dead, b);
			/*
			 * Without limiters, or with a single one, the overlay counts as connected.
			 */
			if (overlay_parts(o, dead) > 1)
				fail_msg("%u limiters, %u and %u are dead: parted", o->n, a, b);
			bitmap_clear(dead, a);
			bitmap_clear(dead, b);
		}
}

TEST(test_deaths)
{
	static const unsigned sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 25, 40, 100};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct overlay *o = make_test_overlay(OVERLAY_RING, sizes[i], 0, 2);

		check_deaths(o);
		overlay_destroy(o);
		for (unsigned d = 1; d <= 8; d++) {
			o = make_test_overlay(OVERLAY_RANDOM, sizes[i], d, 2);
			check_deaths(o);
			overlay_destroy(o);
		}
	}
}

/* Adjacent limiters die: first one for each spare, then one more. */
TEST(test_deaths_side_by_side)
{
	for (unsigned spares = 1; spares <= 5; spares++)
		for (unsigned n = 3 * spares + 8; n < 40; n++) {
			struct overlay *o = make_test_overlay(OVERLAY_RING, n, 0, spares);
			uint64_t dead = 0;

			for (unsigned i = 0; i < spares; i++)
				bitmap_set(&dead, 3 + i);
			/* The way around is also interrupted. */
			for (unsigned i = 0; i <= spares; i++)
				bitmap_set(&dead, spares + 6 + i);
			assert_int_equal(overlay_parts(o, &dead), 1);
			bitmap_set(&dead, 3 + spares);
			assert_int_equal(overlay_parts(o, &dead), 2);
			overlay_destroy(o);
		}
}

TEST(test_spares_rest)
{
	ENDED_BY(overlay_destroy_at) struct overlay *o = make_test_overlay(OVERLAY_RING, 9, 0, 1);
	uint64_t dead = 1 << 4;
	unsigned edge = overlay_edge_to(o, 3, 5);

	assert_true(overlay_edges(o, 3)[edge].spare);
	assert_false(overlay_in_use(o, 3, edge, NULL));
	assert_true(overlay_in_use(o, 3, edge, &dead));
	assert_false(overlay_in_use(o, 3, overlay_edge_to(o, 3, 4), &dead));
	assert_false(overlay_in_use(o, 3, overlay_edge_to(o, 3, 1), &dead));
	dead = 1 << 2; /* on its other side */
	assert_false(overlay_in_use(o, 3, edge, &dead));
	dead = 1 << 3; /* edges of a dead limiter are not in use */
	assert_false(overlay_in_use(o, 3, overlay_edge_to(o, 3, 2), &dead));
}

TEST(test_given)
{
	static const uint32_t ids[] = {40, 10, 30, 20};
	static const struct {
		struct overlay_pair pairs[4];
		unsigned n;
		int want;
	} rows[] = {
		{{{10, 20}, {20, 30}, {30, 40}}, 3, 0},
		{{{40, 10}, {40, 20}, {40, 30}}, 3, 0},
		{{{10, 20}, {30, 40}}, 2, -ENOTCONN},
		{{{10, 20}, {20, 30}}, 2, -ENOTCONN},
		{{{10, 20}, {20, 30}, {30, 41}}, 3, -ENOENT},
		{{{10, 20}, {20, 30}, {30, 30}}, 3, -ELOOP},
		{{{10, 20}, {20, 30}, {30, 40}, {20, 10}}, 4, -EEXIST},
		{{{0}}, 0, -ENOTCONN},
	};

	for (unsigned spares = 0; spares < 2; spares++)
		for (size_t i = 0; i < COUNT(rows); i++) {
			struct overlay_params params = {.shape = OVERLAY_GIVEN,
				.ids = ids,
				.n = 4,
				.spares = spares,
				.pairs = rows[i].pairs,
				.n_pairs = rows[i].n};
			struct overlay *o;

			assert_int_equal(overlay_create(&params, &o), rows[i].want);
			if (rows[i].want == 0)
				check_edges(o);
			overlay_destroy(o);
		}
}

/* If the middle of a star dies, only the spares are left. */
TEST(test_given_repaired)
{
	static const uint32_t ids[] = {40, 10, 30, 20, 50};
	static const struct overlay_pair pairs[] = {{40, 10}, {40, 20}, {40, 30}, {40, 50}};

	for (unsigned spares = 0; spares < 3; spares++) {
		struct overlay_params params = {.shape = OVERLAY_GIVEN,
			.ids = ids,
			.n = 5,
			.spares = spares,
			.pairs = pairs,
			.n_pairs = 4};
		uint64_t dead = 1 << 3, nobody = 0;
		struct overlay *o;

		assert_int_equal(overlay_create(&params, &o), 0);
		for (unsigned k = 1; k < o->n_edges[0]; k++)
			assert_false(overlay_in_use(o, 0, k, &nobody));
		assert_int_equal(overlay_parts(o, NULL), 1);
		assert_int_equal(overlay_parts(o, &dead), spares ? 1 : 4);
		overlay_destroy(o);
	}
}

TEST(test_no_roster)
{
	static const uint32_t twice[] = {7, 8, 7};
	struct overlay_params params = {.shape = OVERLAY_RING, .ids = twice};
	ENDED_BY(overlay_destroy_at) struct overlay *o;

	assert_int_equal(overlay_create(&params, &o), -EINVAL);
	assert_null(o);
	params.n = 3;
	assert_int_equal(overlay_create(&params, &o), -EINVAL);
	params.n = 2;
	assert_int_equal(overlay_create(&params, &o), 0);
	assert_int_equal(overlay_position(o, 8), 1);
	assert_int_equal(overlay_position(o, 9), 2);
}
