/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every meter behind one call: conforming or not. The algorithm is the profile's, so that code per
 * packet does not care which it is; a burst of one kind costs one well-predicted branch a packet.
 *
 * The policy defines the unit: a byte, a packet, or a new flow. Time is in ticks of any monotonic
 * counter. State has one writer. A cost of 0 conforms with every kind and takes nothing.
 *
 * Profiles change while packets flow, by meter_change(). With every kind, one burst is then never
 * more than the larger of the two bursts or quotas. No state waits for ever under a rate that lets
 * anything pass. The header of each kind states which tokens or units it keeps over a change.
 */
#ifndef WEIR_METER_METER_H
#define WEIR_METER_METER_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/colours.h"
#include "meter/fixed_window.h"
#include "meter/gcra.h"
#include "meter/hybrid.h"
#include "meter/meters.h"
#include "meter/phantom.h"
#include "meter/credit.h"
#include "meter/window_quota.h"
#include "meter/random_drop.h"
#include "meter/token_bucket.h"

/* One limit, precomputed by control. */
#define METER_PROFILE(constant, member, prefix, state, profile, ...) struct profile member;
union meter_profile {
	METERS(METER_PROFILE, METER_PROFILE)
};
#undef METER_PROFILE

/* One state. */
#define METER_STATE(constant, member, prefix, state, ...) struct state member;
union meter {
	METERS(METER_STATE, METER_STATE)
};
#undef METER_STATE

static_assert(sizeof(union meter_profile) == 48, "with an index it is a line on its way");
static_assert(sizeof(union meter) == 24, "no kind is larger than the usual one");

/*
 * Sets the profile of params->kind on a counter of hz ticks a second. Returns 0, -EINVAL for
 * contradictory params, or -ERANGE for values that the kind cannot hold; see each kind's. Control
 * thread.
 */
static inline int meter_profile_init(
	union meter_profile *profile, const struct meter_params *params, uint64_t hz)
{
	*profile = (union meter_profile){0};
#define METER_CASE(constant, member, prefix, state, type, set, ...) \
	case METER_##constant:                                      \
		return set(&profile->member, params, hz);
	switch (params->kind) {
		METERS(METER_CASE, METER_CASE)
	case METER_KINDS:
		break;
	}
#undef METER_CASE
	return -EINVAL;
}

/*
 * Makes `next` the profile of `meter`, of the same kind, from tick `now` on. The state's one
 * writer, whose own copy is *profile. For a table of sources, none of which is visited, `meter` is
 * any: their profile has the effect of the change.
 */
static inline void meter_change(enum meter_kind kind, union meter *meter,
	union meter_profile *profile, const union meter_profile *next, uint64_t now)
{
#define METER_CASE(constant, member, prefix, ...)                                      \
	case METER_##constant:                                                         \
		prefix##_change(&meter->member, &profile->member, &next->member, now); \
		break;
	switch (kind) {
		METERS(METER_CASE, METER_CASE)
	case METER_KINDS:
		break;
	}
#undef METER_CASE
}

/* Returns the numbers that distinguish the profile from others of its kind. Any thread. */
static inline struct meter_limit meter_profile_limit(
	enum meter_kind kind, const union meter_profile *profile)
{
#define METER_CASE(constant, member, prefix, state, type, ...) \
	case METER_##constant:                                 \
		return type##_limit(&profile->member);
	switch (kind) {
		METERS(METER_CASE, METER_CASE)
	case METER_KINDS:
		break;
	}
#undef METER_CASE
	return (struct meter_limit){0};
}

/* Sets a fresh state: the whole burst or quota. Only random drop reads the seed. */
static inline void meter_init(enum meter_kind kind, union meter *meter,
	const union meter_profile *profile, uint64_t now, uint64_t seed)
{
#define METER_CASE(constant, member, prefix, ...)                            \
	case METER_##constant:                                               \
		prefix##_begin(&meter->member, &profile->member, now, seed); \
		break;
	switch (kind) {
		METERS(METER_CASE, METER_CASE)
	case METER_KINDS:
		break;
	}
#undef METER_CASE
}

/* meter_conforms() for the kinds that are not the usual one. */
static inline bool meter_conforms_unusual(enum meter_kind kind, union meter *meter,
	const union meter_profile *profile, uint64_t now, uint32_t cost)
{
#define METER_CASE(constant, member, prefix, ...) \
	case METER_##constant:                    \
		return prefix##_conforms(&meter->member, &profile->member, now, cost);
	switch (kind) {
		METERS(METER_CASE, METER_CASE)
	case METER_KINDS:
		break;
	}
#undef METER_CASE
	return false;
}

/*
 * Returns true if a packet of so many units conforms, and takes them if so. The state's one writer.
 */
static inline bool meter_conforms(enum meter_kind kind, union meter *meter,
	const union meter_profile *profile, uint64_t now, uint32_t cost)
{
	if (__builtin_expect(kind == METER_TOKEN_BUCKET, 1)) {
		token_bucket_advance(&meter->bucket, &profile->bucket, now);
		return token_bucket_take(&meter->bucket, cost);
	}
	return meter_conforms_unusual(kind, meter, profile, now, cost);
}

#endif
