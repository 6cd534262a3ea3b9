/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Charging eight packets in one call is compared with calls of police_over() one by one. The same
 * packets exceed the limit, and every word of every line is the same. Only packets that the eight
 * cannot charge are left to the caller.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "police/charge.h"
#include "police/eights.h"
#include "police/sample.h"

#define POLICIES 64
#define PACKETS  64
#define BURSTS   4000
#define NOW      (UINT64_C(1) << 40)

struct world {
	struct policy_state here[POLICIES], there[POLICIES];
	uint32_t policies[PACKETS], len[PACKETS];
	uint16_t uncharged[PACKETS];
	struct police_eights packets;
	unsigned n;
};

/* A mix of packets. */
struct row {
	const char *name;
	unsigned policies;  /* number of policies */
	unsigned none;      /* packets of 8 without a policy */
	unsigned other;     /* packets of 8 with a policy that are not charged */
	bool sampled, late; /* some policies are sampled; some lines were last refilled long ago */
	bool lends;
};

static uint64_t up_to(struct prng *prng, unsigned bits)
{
	return prng_next(prng) >> (64 - bits) >> prng_below(prng, bits);
}

/* Fills a line with random values, often at the limits of their fields. */
static struct policy_state random_line(struct prng *prng, const struct row *row)
{
	static const unsigned shifts[] = {0, 3, POLICE_SHIFT_MAX, POLICE_UNSAMPLED};
	unsigned shift = row->sampled ? shifts[prng_below(prng, 4)] : POLICE_UNSAMPLED;
	uint32_t owner = police_owner(
		POLICE_SIMPLE, shift, (enum accounting)prng_below(prng, ACCOUNTING_WIRE + 1));
	uint64_t burst = up_to(prng, 63), ago = up_to(prng, 20);
	bool ends = prng_below(prng, 4) == 0;
	struct policy_state line = {
		.limit = {.rate = (int64_t)up_to(prng, 63), .burst = burst},
		.bucket.tokens = ends ? burst : up_to(prng, 38),
		.bucket.fraction = prng_next(prng) << TOKEN_OWNER | owner,
		.bytes = prng_next(prng),
		.dropped_bytes = prng_next(prng),
		.packets = ends ? UINT32_MAX : (uint32_t)prng_next(prng),
		.dropped_packets = ends ? UINT32_MAX : (uint32_t)prng_next(prng),
	};

	if (row->late && prng_below(prng, 4) == 0)
		ago = prng_below(prng, 2) ? UINT64_C(1) << 32 : -up_to(prng, 34);
	else if (prng_below(prng, 8) == 0)
		ago = UINT32_MAX;
	line.bucket.last = NOW - ago;
	return line;
}

static void make_burst(struct world *w, struct prng *prng, const struct row *row)
{
	uint64_t which = 0;

	for (unsigned i = 0; i < POLICIES; i++)
		w->here[i] = w->there[i] = random_line(prng, row);
	w->n = 1 + prng_below(prng, PACKETS);
	for (unsigned i = 0; i < w->n; i++) {
		bool none = prng_below(prng, 8) < row->none;

		w->policies[i] = none ? POLICE_NONE : prng_below(prng, row->policies);
		w->len[i] = prng_below(prng, 65536);
		w->uncharged[i] = (uint16_t)prng_below(prng, (w->len[i] < 64 ? w->len[i] : 64) + 1);
		if (!none && prng_below(prng, 8) >= row->other)
			which |= UINT64_C(1) << i;
	}
	w->packets = (struct police_eights){
		.lines = w->here,
		.policies = w->policies,
		.len = w->len,
		.uncharged = w->uncharged,
		.which = which,
		.repeated = police_find_repeated(w->policies, w->n),
		.lends = row->lends,
	};
}

static uint32_t cost_of(const struct world *w, const struct policy_state *state, unsigned i)
{
	return police_bytes(state, w->uncharged[i], w->len[i]);
}

/* Returns true if the eight may leave this packet to the caller, given the line before the call. */
static bool may_be_left(struct world *w, unsigned i)
{
	struct policy_state *state, line;

	if (!(w->packets.which >> i & 1))
		return false;
	for (unsigned k = i & ~7U; k < i; k++)
		if (w->policies[k] == w->policies[i])
			return true;
	state = &w->here[w->policies[i]];
	line = *state;
	if (police_is_slow(state) || (NOW - state->bucket.last) >> 32)
		return true;
	return w->packets.lends && police_over(&line, cost_of(w, state, i), NOW);
}

/*
 * Charges one eight, and then the packets that it left. Returns the packets that exceed the limit;
 * *n_left is the number left.
 */
static uint64_t charge_eight_here(struct world *w, unsigned at, unsigned *n_left)
{
	uint64_t over = 0, left = 0, may = 0;

	for (unsigned i = at; i < at + POLICE_EIGHT; i++)
		may |= (uint64_t)may_be_left(w, i) << i;
	assert_int_equal(
		police_charge_eights(&w->packets, at, at + POLICE_EIGHT, NOW, &over, &left),
		at + POLICE_EIGHT);
	assert_int_equal(left, may);
	assert_int_equal(over & left, 0);
	*n_left += (unsigned)__builtin_popcountll(left);
	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		struct policy_state *state = &w->here[w->policies[i]];

		over |= police_over(state, cost_of(w, state, i), NOW) & UINT64_C(1) << i;
	}
	return over;
}

/* Returns true if a packet is charged and exceeds the limit. */
static bool charge_there(struct world *w, unsigned i)
{
	struct policy_state *state;

	if (!(w->packets.which >> i & 1))
		return false;
	state = &w->there[w->policies[i]];
	return police_over(state, cost_of(w, state, i), NOW);
}

static void check_burst(struct world *w, unsigned *n_left)
{
	for (unsigned at = 0; at + POLICE_EIGHT <= w->n; at += POLICE_EIGHT) {
		uint64_t over = charge_eight_here(w, at, n_left);

		for (unsigned i = at; i < at + POLICE_EIGHT; i++) {
			bool refused = charge_there(w, i);

			assert_int_equal(over >> i & 1, refused);
		}
	}
	assert_memory_equal(w->here, w->there, sizeof(w->here));
}

static struct world *open_world(void)
{
	struct world *w = aligned_alloc(CACHE_LINE, sizeof(*w));

	memset(w, 0, sizeof(*w));
	return w;
}

TEST(test_one_by_one)
{
	static const struct row rows[] = {
		{.name = "all different, mostly", .policies = POLICIES},
		{.name = "one", .policies = 1},
		{.name = "few, and none", .policies = 6, .none = 3},
		{.name = "none", .policies = 1, .none = 8},
		{.name = "others next to them", .policies = POLICIES, .none = 1, .other = 3},
		{.name = "sampled", .policies = POLICIES, .none = 1, .sampled = true},
		{.name = "looked at last long ago, or in what is to come",
			.policies = POLICIES,
			.none = 1,
			.late = true},
		{.name = "lent to", .policies = POLICIES, .none = 1, .lends = true},
		{.name = "all of it",
			.policies = 16,
			.none = 2,
			.other = 1,
			.sampled = true,
			.late = true,
			.lends = true},
	};
	const char *text = getenv("WEIR_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 0xe1647;
	ENDED_BY(free_at) struct world *w = open_world();
	struct prng prng;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	prng_seed(&prng, seed);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		unsigned n = 0, n_left = 0;

		for (unsigned burst = 0; burst < BURSTS; burst++) {
			make_burst(w, &prng, &rows[i]);
			check_burst(w, &n_left);
			n += w->n & ~7U;
		}
		print_message("%s: %u of %u were left\n", rows[i].name, n_left, n);
	}
}

/* A call stops after an eight that leaves packets. It ignores an incomplete eight at the end. */
TEST(test_how_far)
{
	static const struct row row = {.policies = POLICIES};
	ENDED_BY(free_at) struct world *w = open_world();
	uint64_t over = 0, left = 0;
	struct prng prng;

	prng_seed(&prng, 1);
	make_burst(w, &prng, &row);
	for (unsigned i = 0; i < PACKETS; i++)
		w->policies[i] = i;
	w->packets.which = UINT64_MAX;
	w->packets.repeated = police_find_repeated(w->policies, 64);
	assert_int_equal(police_charge_eights(&w->packets, 8, 15, NOW, &over, &left), 8);
	assert_int_equal(police_charge_eights(&w->packets, 8, 31, NOW, &over, &left), 24);
	assert_int_equal(left, 0);
	for (unsigned i = 0; i < PACKETS; i++)
		assert_int_equal(w->here[i].packets - w->there[i].packets, i >= 8 && i < 24);
	w->policies[33] = 32;
	assert_int_equal(police_find_repeated(w->policies, 39), 0);
	w->packets.repeated = police_find_repeated(w->policies, 64);
	assert_int_equal(w->packets.repeated, 1 << 32 / POLICE_EIGHT);
	assert_int_equal(police_charge_eights(&w->packets, 24, 64, NOW, &over, &left), 40);
	assert_int_equal(left, UINT64_C(1) << 33);
	assert_int_equal(w->here[40].packets, w->there[40].packets);
}

int main(void)
{
	if (!police_has_eights()) {
		print_message("this CPU does not charge eight at a time\n");
		return 77;
	}
	return run_all_tests();
}
