/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What kind of policy it is: which meter it runs, and which of the ways of the packet path it
 * takes. One place says so to control and to workers alike. Pure; any thread. Of policies that
 * have an allocator.
 */
#ifndef WEIR_POLICY_KIND_H
#define WEIR_POLICY_KIND_H

#include <stdbool.h>

#include "meter/meter.h"
#include "policy/config.h"

/*
 * The meter that a policy runs: as configured, but a token bucket for each source is kept as a
 * GCRA, which decides the same in a quarter of the memory; and a conserved GCRA as a token bucket,
 * which several workers may draw from at any time without passing more than one would. Of a total
 * it is the purse, whose fallback the configured limit is.
 */
enum meter_kind policy_meter_kind(const struct policy *policy);

/* Whether each source has a meter of its own. */
static inline bool policy_is_per_source(const struct policy *policy)
{
	return policy->per_v4 || policy->per_v6;
}

/* Whether its packets wait. */
static inline bool policy_is_shaped(const struct policy *policy)
{
	return policy->action == ACTION_SHAPE;
}

/*
 * Whether a worker decides it from its line alone. A token bucket for each source is no token
 * bucket but a GCRA; one that others drain has a rate below 0; a total has a purse.
 */
bool policy_is_plain(const struct policy *policy);

/* Whether control wants samples of its flows from workers. */
bool policy_samples_flows(const struct policy *policy);

/* Whether it is a total in bytes, that drops: nothing of a packet is asked but its length. */
bool policy_is_total(const struct policy *policy);

/* Whether flows share a limit in bytes, that drops: nothing else is asked but a packet's flow. */
bool policy_is_phantom(const struct policy *policy);

#endif
