/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The one list of the meters and their abilities, from which the unions, calls, names and checks of
 * all places follow. Pure; any thread.
 */
#ifndef WEIR_METER_METERS_H
#define WEIR_METER_METERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Abilities that a policy can require of its meter. Weir refuses a configuration that requires one
 * that the row lacks.
 */
enum meter_ability {
	METER_BURST = 1 << 0,      /* "burst" is its depth, and it counts in parts of a unit */
	METER_WINDOW = 1 << 1,     /* "window" is the length of its quota's window */
	METER_AT_RANDOM = 1 << 2,  /* drops a part of the packets, and has nothing that runs out */
	METER_HARD = 1 << 3,       /* its parts add up, even while units move between them */
	METER_DEEPENED = 1 << 4,   /* the depth alone may change ("adaptor") */
	METER_DRAINED = 1 << 5,    /* copy of all limiters' bucket, drained by all ("gtb", "grd") */
	METER_SHAPES = 1 << 6,     /* packets may wait for it */
	METER_CLASSES = 1 << 7,    /* classes of packets share it */
	METER_PER_SOURCE = 1 << 8, /* each source may have one; see the rows */
	METER_COLOURS = 1 << 9,    /* gives one of three colours, with an action each */
	METER_PEAK = 1 << 10,   /* "peak" is its second bucket: beyond the limit, and all in all */
	METER_EXCESS = 1 << 11, /* "excess" is its second bucket: in addition to the limit */
	METER_SPILLS = 1 << 12  /* the second bucket has no rate: the first overflows into it */
};

/*
 * All that people can choose, in the order of their names in messages. `whole` is called for meters
 * of which a policy has one, `per_source` for meters that a table of sources has too, with
 *
 *     METER_constant, member of the unions, prefix of its functions, struct of its state, struct of
 *     its profile, function that sets it, name in configurations, name in prose, its abilities
 *
 * A meter PREFIX is a header with both structs and these functions, described in meter.h:
 *
 *     setter of the profile: (profile, params, hz)  meter_profile_init()
 *     PROFILE_limit(profile)                        meter_profile_limit()
 *     PREFIX_begin(state, profile, now, seed)       meter_init()
 *     PREFIX_conforms(state, profile, now, cost)
 *     PREFIX_change(state, profile, next, now)
 *     PREFIX_idle(state, profile, now)              whether it decides as a fresh one does, only
 *                                                   `per_source`
 *     PREFIX_join(to, from, profile, now)           makes `to` at least as strict as both, only
 *                                                   `per_source`
 *     PREFIX_prolong(state, now)                    a window under way ends no earlier than one
 *                                                   that begins now, only `per_source`
 */
/* clang-format off */
#define METERS_TO_CHOOSE(whole, per_source) \
	whole(TOKEN_BUCKET, bucket, token_bucket, token_bucket, token_bucket_profile, \
		token_bucket_set, "token-bucket", "token bucket", \
		METER_BURST | METER_HARD | METER_DEEPENED | METER_DRAINED | METER_SHAPES) \
	per_source(GCRA, gcra, gcra, gcra, gcra_profile, gcra_set, \
		"gcra", "GCRA", METER_BURST | METER_HARD | METER_DEEPENED) \
	per_source(FIXED_WINDOW, window, fixed_window, fixed_window, quota, quota_set, \
		"fixed-window", "fixed window", METER_WINDOW) \
	per_source(HYBRID, hybrid, hybrid, hybrid, quota, quota_set, \
		"hybrid", "hybrid of quota and even rate", METER_WINDOW) \
	whole(RANDOM_DROP, drop, random_drop, random_drop, random_drop_profile, random_drop_set, \
		"random-drop", "random drop", METER_AT_RANDOM) \
	whole(PHANTOM, phantom, token_bucket, token_bucket, token_bucket_profile, \
		phantom_bucket_set, "phantom", "phantom queues", \
		METER_BURST | METER_HARD | METER_CLASSES) \
	whole(SRTCM, srtcm, committed, token_bucket, colour_profile, colour_profile_set, \
		"srtcm", "one rate, three colours: RFC 2697", \
		METER_BURST | METER_HARD | METER_COLOURS | METER_EXCESS | METER_SPILLS) \
	whole(TRTCM, trtcm, committed, token_bucket, colour_profile, colour_profile_set, \
		"trtcm", "two rates, three colours: RFC 2698", \
		METER_BURST | METER_HARD | METER_COLOURS | METER_PEAK) \
	whole(TRTCM_4115, trtcm_4115, committed, token_bucket, colour_profile, \
		colour_profile_set, "trtcm-4115", "two rates, three colours: RFC 4115", \
		METER_BURST | METER_HARD | METER_COLOURS | METER_EXCESS)

/* All meters: also that of the allocator quota, which people cannot choose. */
#define METERS(whole, per_source) \
	METERS_TO_CHOOSE(whole, per_source) \
	whole(CREDIT, credit, credit_cache, credit_cache, credit_profile, credit_cache_set, \
		"credit", "credit", METER_BURST)
/* clang-format on */

/* A row that a list has no use for. */
#define METER_SKIP(...)

#define METER_CONSTANT(constant, ...) METER_##constant,
enum meter_kind { METERS(METER_CONSTANT, METER_CONSTANT) METER_KINDS };
#undef METER_CONSTANT

/* Settings of a meter; each kind reads its own. */
struct meter_params {
	enum meter_kind kind;
	uint64_t rate_bps;       /* eight times units per second: bit/s when units are bytes */
	uint64_t drain_bps;      /* METER_DRAINED with rate 0: tokens lost, same unit (GTB) */
	uint64_t burst;          /* units: METER_BURST; a credit's fallback */
	uint64_t window_ns;      /* METER_WINDOW: quota = rate × window */
	double drop_probability; /* METER_AT_RANDOM: 0 to 1 */
	uint8_t rate_below;      /* see struct token_bucket_params; also for METER_WINDOW */
	uint8_t unit_bits;       /* the same, of buckets: their costs are multiples of 2^this */
};

/* Numbers that distinguish limits of one kind. */
struct meter_limit {
	uint64_t rate;   /* a token bucket's drain is a negative one, in two's complement */
	uint64_t burst;  /* or window */
	uint64_t credit; /* its generation and quantum; of colours, a hash of their second bucket */
};

/* Returns the name in configurations, or NULL for an invalid kind. Any thread. */
static inline const char *meter_name(enum meter_kind kind)
{
#define METER_NAME(constant, member, prefix, state, profile, set, name, ...) name,
	static const char *const names[] = {METERS(METER_NAME, METER_NAME)};
#undef METER_NAME

	return kind < METER_KINDS ? names[kind] : NULL;
}

/* Returns true if the kind has any of these abilities, false for an invalid kind. Any thread. */
static inline bool meter_can(enum meter_kind kind, unsigned abilities)
{
#define METER_WHOLE(constant, member, prefix, state, profile, set, name, prose, can) can,
#define METER_EACH(constant, member, prefix, state, profile, set, name, prose, can) \
	(can) | METER_PER_SOURCE,
	static const uint16_t all[] = {METERS(METER_WHOLE, METER_EACH)};
#undef METER_WHOLE
#undef METER_EACH

	return kind < METER_KINDS && all[kind] & abilities;
}

#endif
