/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The generic cell rate algorithm, or leaky bucket as a meter (ITU-T I.371): the verdicts of a
 * token bucket (r, b) from 8 bytes of state, for tables of millions.
 *
 * Its clock is not the caller's but a virtual one, which the profile derives: the units that the
 * limit has granted since it began, to 2^-8 of a unit. So a state is a point of that time, and a
 * packet moves it by its cost, which is exact. A new rate changes the pace of the clock and not the
 * tokens of a state. Tokens are kept over any number of changes, each stretch of time earns at the
 * rate that held in it, and nothing is rounded on the way.
 *
 * Compared with a token bucket of the same rate, the tokens always differ by less than 2^-8 of a
 * unit: the virtual clock is cut to that, states are not. So over any window of t at most r·t + b +
 * 2^-8 units pass, and a backlog gets no less than r·t + b less one packet and 2^-8 units. While a
 * clock is back, the token bucket stands still, but virtual time is back with it.
 *
 * Virtual time wraps after 2^56 units: 16 days at 400 Gbit/s, 22 months at 10 Gbit/s. A state that
 * was not used for so long can appear less than full, once. It never passes more than its burst,
 * and never waits longer than it takes to fill, or for a second.
 */
#ifndef WEIR_METER_GCRA_H
#define WEIR_METER_GCRA_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "meter/bucket_core.h"
#include "meter/token_bucket.h"

/*
 * Does the same as token_bucket_profile_init(), without the drain, because virtual time does not
 * run backwards.
 */
static inline int gcra_profile_init(
	struct gcra_profile *profile, const struct token_bucket_params *params, uint64_t hz)
{
	tokens_t second;
	int64_t rate;
	int err;

	*profile = (struct gcra_profile){
		.burst = params->burst_bytes << params->unit_bits << GCRA_SHIFT};
	if (params->burst_bytes > TOKEN_BUCKET_MAX_BURST >> params->unit_bits)
		return -ERANGE;
	err = token_rate(params, params->rate_bps, hz, &rate);
	if (err)
		return err;
	second = (tokens_t)rate * hz >> (TOKEN_SHIFT - GCRA_SHIFT);
	profile->rate = (uint64_t)rate;
	profile->second = second < GCRA_MAX_SECOND ? (uint64_t)second : GCRA_MAX_SECOND;
	return 0;
}

/*
 * Makes `profile` the successor of `old` from tick `now` on; without this, states of `old` have any
 * content up to the burst. Granted units stay granted, at the rates of their time; a smaller burst
 * takes the units above it at the next look. Control thread, before the profile is published.
 */
static inline void gcra_profile_succeed(
	struct gcra_profile *profile, const struct gcra_profile *old, uint64_t now)
{
	profile->start = gcra_granted(old, now);
	profile->since = now;
}

/* A meter that starts with its whole burst. */
static inline void gcra_init_now(struct gcra *gcra, const struct gcra_now *now)
{
	gcra->allow_at = now->at - now->burst;
}

static inline void gcra_init(struct gcra *gcra, const struct gcra_profile *profile, uint64_t now)
{
	struct gcra_now instant = gcra_now(profile, now);

	gcra_init_now(gcra, &instant);
}

/*
 * Returns true if a packet of so many units conforms, and takes them if so. A cost of 0 always
 * conforms. The state's one writer.
 */
static inline bool gcra_conforms_now(struct gcra *gcra, const struct gcra_now *now, uint32_t cost)
{
	int64_t tokens = gcra_tokens(gcra, now), need = (int64_t)((uint64_t)cost << GCRA_SHIFT);
	bool conforms = (tokens > 0 ? tokens : 0) >= need;

	/* A choice, not a branch: verdicts near the limit are a coin toss to the predictor. */
	gcra->allow_at = now->at - (uint64_t)(conforms ? tokens - need : tokens);
	return conforms;
}

static inline bool gcra_conforms(
	struct gcra *gcra, const struct gcra_profile *profile, uint64_t now, uint32_t cost)
{
	struct gcra_now instant = gcra_now(profile, now);

	return gcra_conforms_now(gcra, &instant, cost);
}

/*
 * Returns true if the meter has its whole burst, like a fresh one. Any thread that can read the
 * state.
 */
static inline bool gcra_idle_now(const struct gcra *gcra, const struct gcra_now *now)
{
	return (uint64_t)gcra_tokens(gcra, now) == now->burst;
}

/* Makes `to` the emptier bucket of both. The states' one writer. */
static inline void gcra_join(
	struct gcra *to, const struct gcra *from, const struct gcra_profile *profile, uint64_t now)
{
	struct gcra_now at = gcra_now(profile, now);

	if (gcra_tokens(from, &at) < gcra_tokens(to, &at))
		*to = *from;
}

/* A bucket has no window to prolong. */
static inline void gcra_prolong(struct gcra *gcra, uint64_t now)
{
	(void)gcra;
	(void)now;
}

static_assert(sizeof(struct gcra) == 8, "millions of them fit a table");
static_assert(sizeof(struct gcra_profile) == 48, "as a token bucket's");

/* Functions of a row of meter/meters.h. */

static inline int gcra_set(
	struct gcra_profile *profile, const struct meter_params *params, uint64_t hz)
{
	struct token_bucket_params bucket = token_bucket_params(params);

	return gcra_profile_init(profile, &bucket, hz);
}

static inline void gcra_begin(
	struct gcra *gcra, const struct gcra_profile *profile, uint64_t now, uint64_t seed)
{
	(void)seed;
	gcra_init(gcra, profile, now);
}

static inline void gcra_change(struct gcra *gcra, struct gcra_profile *profile,
	const struct gcra_profile *next, uint64_t now)
{
	struct gcra_profile old = *profile;

	(void)gcra;
	*profile = *next;
	gcra_profile_succeed(profile, &old, now);
}

static inline struct meter_limit gcra_profile_limit(const struct gcra_profile *profile)
{
	return (struct meter_limit){profile->rate, profile->burst, 0};
}

static inline bool gcra_idle(
	const struct gcra *gcra, const struct gcra_profile *profile, uint64_t now)
{
	struct gcra_now instant = gcra_now(profile, now);

	return gcra_idle_now(gcra, &instant);
}

#endif
