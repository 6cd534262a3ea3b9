/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One bucket (r, b) for several workers. It is drained by quanta: a worker that has no tokens left
 * takes what its packet needs and a little more, by one compare-and-swap, and spends that without
 * asking anybody. Its own bucket earns nothing by itself.
 *
 * Over any window of t all workers together pass at most r·t + b: what they hold is no more than a
 * quantum each, and the reserve is shallower than b by those quanta. Whoever has packets finds
 * whatever the limit has granted, on whichever worker they arrive; nothing follows demand, since
 * nothing is divided.
 *
 * A refusal only reads. The line is written as often as quanta are taken: once in a quantum while
 * there is enough; and when there is little, not before there is as much as lots decide, up to what
 * RESERVE_TAKES_PER_S takes a second would find. The lots matter: at a fixed threshold whoever asks
 * most often takes what there is as soon as it is reached, and a worker with few packets finds
 * nothing. Where the burst is too small to be divided there is no quantum and no lot, and each
 * packet takes its own cost: then it is one bucket in every verdict.
 *
 * The bucket is lib/meter's GCRA, whose state is one word and whose profile may be replaced while
 * that is in use. All is pure and inline. A unit is what the policy counts.
 */
#ifndef WEIR_SPLIT_RESERVE_H
#define WEIR_SPLIT_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/gcra.h"

#define RESERVE_TAKES_PER_S 100000
#define RESERVE_QUANTUM     UINT64_C(6056) /* bytes: four full packets, for what is slow */

#define RESERVE_WEYL UINT64_C(0x9e3779b97f4a7c15) /* 2^64 over the golden ratio */

/*
 * Bytes: no port has larger frames. As much of the burst is not divided, so that what one bucket
 * passes, passes here.
 */
#define RESERVE_FRAME UINT64_C(16384)

/* Part of the rest that may lie in quanta, over all workers: a 16th, in bits. */
#define RESERVE_HELD_SHIFT 4

struct reserve_profile {
	struct gcra_profile limit; /* its burst is the reserve's depth */
	uint64_t quantum;          /* units taken beyond what is needed, if there are as many, */
	uint64_t least;            /* and if there is not even a random part of these, nothing is */
};

struct reserve {
	struct gcra state;                     /* written by all workers, by compare-and-swap */
	const struct reserve_profile *profile; /* in force: written by control, read by workers */
	struct reserve_profile profiles[2] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

/*
 * The reserve of a limit, in units, that n_workers draw from (at least 1) on a counter of hz ticks
 * a second. bytes: units are bytes, and worth a quantum; else packets or flows, one by one.
 * Returns 0, or -ERANGE as gcra_profile_init() does. Control thread.
 */
static inline int reserve_profile_init(struct reserve_profile *profile,
	const struct token_bucket_params *params, unsigned n_workers, bool bytes, uint64_t hz)
{
	struct token_bucket_params depth = *params;
	uint64_t held = 0, least = params->rate_bps / 8 / RESERVE_TAKES_PER_S, quantum;

	if (bytes && params->burst_bytes > RESERVE_FRAME)
		held = ((params->burst_bytes - RESERVE_FRAME) >> RESERVE_HELD_SHIFT) / n_workers;
	quantum = least > RESERVE_QUANTUM ? least : RESERVE_QUANTUM;
	profile->quantum = quantum < held ? quantum : held;
	profile->least = least < held ? least : held;
	depth.burst_bytes -= n_workers * profile->quantum;
	return gcra_profile_init(&profile->limit, &depth, hz);
}

/* A reserve that starts full. Control thread, before any worker knows it. */
static inline void reserve_init(
	struct reserve *reserve, const struct reserve_profile *profile, uint64_t now)
{
	reserve->profiles[0] = *profile;
	reserve->profile = &reserve->profiles[0];
	gcra_init(&reserve->state, &profile->limit, now);
}

/* As if the reserve had just been emptied. Control thread, before any worker knows it. */
static inline void reserve_spend(struct reserve *reserve)
{
	reserve->state.allow_at += reserve->profile->limit.burst;
}

/* Whether both say the same limit, since whenever they do. Any thread. */
static inline bool reserve_profile_equal(
	const struct reserve_profile *a, const struct reserve_profile *b)
{
	return a->limit.rate == b->limit.rate && a->limit.burst == b->limit.burst &&
	       a->quantum == b->quantum && a->least == b->least;
}

/*
 * The limit is `profile` from tick `now` on, for all workers at once. Tokens are kept, as
 * gcra_profile_succeed() says. Control thread, and not before every worker has been quiescent since
 * the last change: this writes over the profile that was in force until then.
 */
static inline void reserve_change(
	struct reserve *reserve, const struct reserve_profile *profile, uint64_t now)
{
	struct reserve_profile *next = &reserve->profiles[reserve->profile == reserve->profiles];

	*next = *profile;
	gcra_profile_succeed(&next->limit, &reserve->profile->limit, now);
	/* Release pairs with the acquire in reserve_take(): contents before pointer. */
	__atomic_store_n(&reserve->profile, next, __ATOMIC_RELEASE);
}

/* From 0 up to the least, as the time decides: a lot that no two packets share for long. */
static inline uint64_t reserve_lot(const struct reserve_profile *profile, uint64_t now)
{
	uint64_t lot = now * RESERVE_WEYL >> 48;

	return lot * (profile->least << GCRA_SHIFT) >> 16;
}

/* What to take of so many tokens for a need, both in virtual time; 0 if that is not to be had. */
static inline uint64_t reserve_part(
	const struct reserve_profile *profile, uint64_t tokens, uint64_t need, uint64_t lot)
{
	uint64_t spare, quantum = profile->quantum << GCRA_SHIFT;

	if (tokens < need + lot)
		return 0;
	spare = (tokens - need) & ~((UINT64_C(1) << GCRA_SHIFT) - 1);
	return need + (spare < quantum ? spare : quantum);
}

/*
 * Takes at least `need` units (at least 1) for a worker that lacks as many, and up to a quantum
 * more. Returns the units taken, or 0 if there are not as many, and a lot more. Any worker;
 * never waits: the loop repeats only when another worker has taken some, and `need` is there still.
 */
static inline uint64_t reserve_take(struct reserve *reserve, uint64_t now, uint64_t need)
{
	const struct reserve_profile *profile = __atomic_load_n(
		&reserve->profile, __ATOMIC_ACQUIRE);
	struct gcra_now instant = gcra_now(&profile->limit, now);
	uint64_t lot = reserve_lot(profile, now);
	/* The word stands for nothing else in memory: no order is needed. */
	uint64_t seen = __atomic_load_n(&reserve->state.allow_at, __ATOMIC_RELAXED);
	uint64_t taken, left;

	do {
		int64_t tokens = gcra_tokens(&(struct gcra){seen}, &instant);

		/* Another core's clock may be ahead of ours: what it took is not here yet. */
		taken = reserve_part(
			profile, tokens > 0 ? (uint64_t)tokens : 0, need << GCRA_SHIFT, lot);
		if (taken == 0)
			return 0;
		left = instant.at - (uint64_t)tokens + taken;
	} while (!__atomic_compare_exchange_n(
		&reserve->state.allow_at, &seen, left, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return taken >> GCRA_SHIFT;
}

/*
 * Whether a packet of so many units conforms, for a worker that holds *held units of the reserve,
 * at first 0 or a quantum; takes them if so. A cost of 0 always conforms. One writer of *held.
 */
static inline bool reserve_conforms(
	struct reserve *reserve, uint64_t *held, uint64_t now, uint32_t cost)
{
	if (__builtin_expect(*held < cost, 0))
		*held += reserve_take(reserve, now, cost - *held);
	if (*held < cost)
		return false;
	*held -= cost;
	return true;
}

static_assert(sizeof(struct reserve) == 192, "a line that is written, and two that are read");

#endif
