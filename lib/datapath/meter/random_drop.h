/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Drops each packet with the same probability, independent of its size and time: the limiter of GRD
 * in Raghavan et al., "Cloud Control with Distributed Rate Limiting" (SIGCOMM 2007), section 3.2.1.
 * The probability is right to 2^-33. Random numbers are splitmix64's (Steele, Lea and Flood 2014):
 * any seed will do, the same seed drops the same packets. A new profile holds from the next packet.
 */
#ifndef WEIR_METER_RANDOM_DROP_H
#define WEIR_METER_RANDOM_DROP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "meter/meters.h"

struct random_drop_profile {
	uint64_t threshold; /* random numbers of 32 bits below it drop; 2^32: all of them */
};

struct random_drop {
	uint64_t state;
};

/* Returns 0, or -EINVAL for a value that is not a probability. Control thread. */
static inline int random_drop_profile_init(struct random_drop_profile *profile, double probability)
{
	if (!(probability >= 0 && probability <= 1)) /* false for NaN */
		return -EINVAL;
	profile->threshold = (uint64_t)(probability * 0x1p32 + 0.5);
	return 0;
}

static inline void random_drop_begin(struct random_drop *drop,
	const struct random_drop_profile *profile, uint64_t now, uint64_t seed)
{
	(void)profile;
	(void)now;
	drop->state = seed;
}

/*
 * Returns true if a packet passes, at any time. One of cost 0 always does. The state's one writer.
 */
static inline bool random_drop_conforms(struct random_drop *drop,
	const struct random_drop_profile *profile, uint64_t now, uint32_t cost)
{
	uint64_t random = splitmix64_short(&drop->state) >> 32;

	(void)now;
	return random >= profile->threshold || cost == 0;
}

/* The other functions of a row of meter/meters.h. */

static inline int random_drop_set(
	struct random_drop_profile *profile, const struct meter_params *params, uint64_t hz)
{
	(void)hz;
	return random_drop_profile_init(profile, params->drop_probability);
}

static inline void random_drop_change(struct random_drop *drop, struct random_drop_profile *profile,
	const struct random_drop_profile *next, uint64_t now)
{
	(void)drop;
	(void)now;
	*profile = *next;
}

static inline struct meter_limit random_drop_profile_limit(
	const struct random_drop_profile *profile)
{
	return (struct meter_limit){profile->threshold, 0, 0};
}

#endif
