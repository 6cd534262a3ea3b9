/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: meters by their abilities, for checks and their messages.
 */
#ifndef WEIR_CONFIG_METER_CHECK_H
#define WEIR_CONFIG_METER_CHECK_H

#include <stdbool.h>

#include "allocate/allocate.h"
#include "config/value_keys.h"
#include "policy/policy.h"

/* Bytes: the names of all, quoted. */
#define METER_ROOM(constant, member, prefix, state, profile, set, name, ...) \
	sizeof(name) + sizeof(" or ") +
enum { METERS_TEXT_MAX = METERS_TO_CHOOSE(METER_ROOM, METER_ROOM) 1 };
#undef METER_ROOM

/*
 * Writes the meters with any of the abilities and without the others to `text`, such as
 * `"a", "b" or "c"`, and returns it. Abilities 0: no meters.
 */
const char *meters_that_but(unsigned abilities, unsigned without, char text[METERS_TEXT_MAX]);

static inline const char *meters_that(unsigned abilities, char text[METERS_TEXT_MAX])
{
	return meters_that_but(abilities, 0, text);
}

/*
 * Returns the abilities of which the meter must have one for the allocator: GTB drains a bucket,
 * GRD drops at random or fills one, adaptor divides the depth of buckets. 0: no requirement.
 */
static inline unsigned allocator_asks(const struct policy *policy)
{
	if (policy->allocator == &allocator_gtb)
		return METER_DRAINED;
	if (policy->allocator == &allocator_adaptor)
		return METER_DEEPENED;
	return policy->allocator == &allocator_grd ? METER_AT_RANDOM | METER_DRAINED : 0;
}

/* Returns true if its allocator can use the meter. */
static inline bool allocator_allows(const struct policy *policy, enum meter_kind meter)
{
	return allocator_asks(policy) == 0 || meter_can(meter, allocator_asks(policy));
}

/* Returns true if its meter has any of these abilities, or has an error. */
static inline bool meter_may(const struct policy *policy, unsigned abilities)
{
	return policy->meter == CHOICE_REFUSED || meter_can(policy->meter, abilities);
}

#endif
