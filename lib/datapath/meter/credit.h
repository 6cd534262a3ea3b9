/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prefetched units of a quota (lib/control/quota), on their way to the packets that use them. A
 * credit has the units that control has leased for one policy. All workers of a limiter take from
 * it, a quantum at a time, by one compare-and-swap, and spend that without any request. Only
 * control adds to it, so the workers can never pass more than was paid for.
 *
 * If it does not have enough, a packet can pass by the fallback, a token bucket of the worker's
 * own: the traffic that passes when the total is spent. Without a fallback, its burst is 0.
 *
 * Units are of a period, and a period's credit has a generation. A worker takes only from the
 * generation in its profile. Until it gets the next one, as soon as any limit, it finds nothing.
 * Units that a worker holds when the period turns were paid for in the period that ended, and count
 * there. It can still use them, once, but they are no longer given back. The next take begins only
 * when they are not enough for a packet, and takes at least the missing units: after it all old
 * units are used. So one bit marks all held units as old, or none.
 *
 * A refusal only reads, except the first after a look by control, which stores the wanted units.
 *
 * Over any time, of one generation: all workers together take the units put in, less the remaining
 * ones.
 */
#ifndef WEIR_METER_CREDIT_H
#define WEIR_METER_CREDIT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/meters.h"
#include "meter/token_bucket.h"

#define CREDIT_SHIFT 48 /* the generation is above the units */
#define CREDIT_MOST  ((UINT64_C(1) << CREDIT_SHIFT) - 1)

/*
 * Most units that a worker holds, in its bucket's bits for an owner; the highest bit marks them as
 * old.
 */
#define CREDIT_HELD_MOST UINT32_C(0x7fffffff)
#define CREDIT_OLD       UINT32_C(0x80000000)

/* Zeroed before use: an empty one of generation 0. */
struct credit {
	uint64_t word;   /* generation and units: all by compare-and-swap, or the like */
	uint64_t wanted; /* the largest need that was refused since control looked, or 0 */
} __attribute__((aligned(64)));

/* One policy's credit, in a worker's copy. */
struct credit_profile {
	struct credit *credit; /* NULL: nothing there, ever */
	uint32_t quantum;      /* units taken beyond the need, if there are as many */
	uint16_t generation;
	uint8_t unit_bits; /* see struct token_bucket_params: of the fallback alone */
	struct token_bucket_profile fallback;
};

/* A worker's state: the fallback's, and units in its owner's bits. */
struct credit_cache {
	struct token_bucket fallback;
};

/* Reason for which a packet passes. */
enum credit_verdict {
	CREDIT_REFUSES,
	CREDIT_PAYS,
	CREDIT_FALLBACK, /* not paid for: within the limit of the fallback */
};

/* Returns the units that are left. Any thread. */
static inline uint64_t credit_left(const struct credit *credit)
{
	/* Here as below: the word stands for nothing else in memory, and no order is needed. */
	return __atomic_load_n(&credit->word, __ATOMIC_RELAXED) & CREDIT_MOST;
}

/* Makes a private copy, as of some moment of this call. Any thread. */
static inline void credit_copy(const struct credit *credit, struct credit *copy)
{
	copy->word = __atomic_load_n(&credit->word, __ATOMIC_RELAXED);
	copy->wanted = __atomic_load_n(&credit->wanted, __ATOMIC_RELAXED);
}

/* Adds units that are paid for. The sum with the units left is at most CREDIT_MOST. Control. */
static inline void credit_put(struct credit *credit, uint64_t units)
{
	__atomic_fetch_add(&credit->word, units, __ATOMIC_RELAXED);
}

/*
 * Begins another generation, with nothing in it. Returns the units that were left of the previous
 * one, of which workers take none any more. Control.
 */
static inline uint64_t credit_turn(struct credit *credit, uint16_t generation)
{
	return __atomic_exchange_n(
		       &credit->word, (uint64_t)generation << CREDIT_SHIFT, __ATOMIC_RELAXED) &
	       CREDIT_MOST;
}

/* The largest need that was refused since the last look, or 0. Control. */
static inline uint64_t credit_wanted(struct credit *credit)
{
	if (__atomic_load_n(&credit->wanted, __ATOMIC_RELAXED) == 0)
		return 0;
	return __atomic_exchange_n(&credit->wanted, 0, __ATOMIC_RELAXED);
}

/*
 * Stores a need. If several workers do so at a time, any one counts: each repeats it with its next
 * packet.
 */
static inline void credit_want(struct credit *credit, uint64_t need)
{
	if (__atomic_load_n(&credit->wanted, __ATOMIC_RELAXED) < need)
		__atomic_store_n(&credit->wanted, need, __ATOMIC_RELAXED);
}

/*
 * Takes `need` units (at least 1) of a generation for a worker that lacks as many, and up to a
 * quantum more. Returns the units taken, or 0 if there are not as many, or the generation is
 * another. Any worker; never waits: the loop repeats only when another has changed the word.
 */
static inline uint64_t credit_take(
	struct credit *credit, uint16_t generation, uint64_t need, uint32_t quantum)
{
	uint64_t seen = __atomic_load_n(&credit->word, __ATOMIC_RELAXED), units, taken;

	do {
		units = seen & CREDIT_MOST;
		if (seen >> CREDIT_SHIFT != generation)
			return 0;
		if (units < need) {
			credit_want(credit, need);
			return 0;
		}
		taken = need + (units - need < quantum ? units - need : quantum);
	} while (!__atomic_compare_exchange_n(
		&credit->word, &seen, seen - taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return taken;
}

/*
 * Sets the profile of a worker that has only the fallback. Returns like
 * token_bucket_profile_init(). Control; credit_profile_join() then adds a credit.
 */
static inline int credit_profile_init(
	struct credit_profile *profile, const struct token_bucket_params *fallback, uint64_t hz)
{
	*profile = (struct credit_profile){.unit_bits = fallback->unit_bits};
	return token_bucket_profile_init(&profile->fallback, fallback, hz);
}

/* Adds a credit, by its generation; quantum: at most CREDIT_HELD_MOST. Control. */
static inline void credit_profile_join(struct credit_profile *profile, struct credit *credit,
	uint16_t generation, uint32_t quantum)
{
	profile->credit = credit;
	profile->generation = generation;
	profile->quantum = quantum < CREDIT_HELD_MOST ? quantum : CREDIT_HELD_MOST;
}

/* Holds nothing, and the fallback is full. */
static inline void credit_cache_init(
	struct credit_cache *hand, const struct credit_profile *profile, uint64_t now)
{
	token_bucket_set_owner(&hand->fallback, 0);
	token_bucket_init(&hand->fallback, &profile->fallback, now);
}

/* Units held, old ones too. Any thread. */
static inline uint32_t credit_cache_held(const struct credit_cache *hand)
{
	return token_bucket_owner(&hand->fallback) & CREDIT_HELD_MOST;
}

/*
 * Returns the units held that can be given back, if they are of `generation`, the credit's present
 * one, which can be newer than the worker's profile. Control, when the worker has stopped.
 */
static inline uint32_t credit_cache_returns(
	const struct credit_cache *hand, const struct credit_profile *profile, uint16_t generation)
{
	uint32_t held = token_bucket_owner(&hand->fallback);

	return held & CREDIT_OLD || profile->generation != generation ? 0 : held;
}

/* Does the same as meter_change(). The hand's one writer, whose own copy is *profile. */
static inline void credit_cache_change(struct credit_cache *hand, struct credit_profile *profile,
	const struct credit_profile *next, uint64_t now)
{
	uint32_t held = token_bucket_owner(&hand->fallback);

	if (held && (next->generation != profile->generation || next->credit != profile->credit))
		token_bucket_set_owner(&hand->fallback, held | CREDIT_OLD);
	token_bucket_advance(&hand->fallback, &profile->fallback, now);
	*profile = *next;
}

/* credit_charge() of a packet for which not enough is held. */
static inline enum credit_verdict credit_charge_more(struct credit_cache *hand,
	const struct credit_profile *profile, uint64_t now, uint32_t cost)
{
	uint32_t held = credit_cache_held(hand);
	uint64_t taken = 0;

	if (profile->credit)
		taken = credit_take(
			profile->credit, profile->generation, cost - held, profile->quantum);
	if (taken) {
		token_bucket_set_owner(&hand->fallback, (uint32_t)(held + taken - cost));
		return CREDIT_PAYS;
	}
	return token_bucket_conforms(
		       &hand->fallback, &profile->fallback, now, cost << profile->unit_bits)
		       ? CREDIT_FALLBACK
		       : CREDIT_REFUSES;
}

/*
 * Charges a packet of so many units, and returns the reason for which it passes, if it does. A cost
 * of 0 is always paid. The hand's one writer.
 */
static inline enum credit_verdict credit_charge(struct credit_cache *hand,
	const struct credit_profile *profile, uint64_t now, uint32_t cost)
{
	uint32_t owner = token_bucket_owner(&hand->fallback);

	if (__builtin_expect((owner & CREDIT_HELD_MOST) < cost, 0))
		return credit_charge_more(hand, profile, now, cost);
	token_bucket_set_owner(&hand->fallback, owner - cost);
	return CREDIT_PAYS;
}

/*
 * Returns the result of credit_charge() as of now; takes nothing. Other workers can take the units
 * before the charge. The hand's one writer.
 */
static inline enum credit_verdict credit_look(struct credit_cache *hand,
	const struct credit_profile *profile, uint64_t now, uint32_t cost)
{
	uint32_t held = credit_cache_held(hand);
	uint64_t seen;

	if (__builtin_expect(held >= cost, 1))
		return CREDIT_PAYS;
	seen = profile->credit ? __atomic_load_n(&profile->credit->word, __ATOMIC_RELAXED) : 0;
	if (profile->credit && seen >> CREDIT_SHIFT == profile->generation) {
		if ((seen & CREDIT_MOST) >= cost - held)
			return CREDIT_PAYS;
		credit_want(profile->credit, cost - held);
	}
	token_bucket_refill(&hand->fallback, &profile->fallback, now);
	return hand->fallback.tokens >= (uint64_t)(cost << profile->unit_bits) << TOKEN_BYTE
		       ? CREDIT_FALLBACK
		       : CREDIT_REFUSES;
}

/* The other functions of a row of meter/meters.h. */

static inline int credit_cache_set(
	struct credit_profile *profile, const struct meter_params *params, uint64_t hz)
{
	struct token_bucket_params fallback = token_bucket_params(params);

	return credit_profile_init(profile, &fallback, hz);
}

static inline void credit_cache_begin(struct credit_cache *hand,
	const struct credit_profile *profile, uint64_t now, uint64_t seed)
{
	(void)seed;
	credit_cache_init(hand, profile, now);
}

static inline bool credit_cache_conforms(struct credit_cache *hand,
	const struct credit_profile *profile, uint64_t now, uint32_t cost)
{
	return credit_charge(hand, profile, now, cost) != CREDIT_REFUSES;
}

static inline struct meter_limit credit_profile_limit(const struct credit_profile *profile)
{
	return (struct meter_limit){(uint64_t)profile->fallback.rate, profile->fallback.burst,
		(uint64_t)profile->generation << 32 | profile->quantum};
}

static_assert(sizeof(struct credit) == 64, "nothing else is on the line that workers share");
static_assert(sizeof(struct credit_profile) == 32 && sizeof(struct credit_cache) == 24,
	"no larger than other meters'");

#endif
