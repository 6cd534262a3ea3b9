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
#include "policy/policy.h"

struct config;

/*
 * The meter that a policy runs: as configured, but a token bucket for each source is kept as a
 * GCRA, which decides the same in a quarter of the memory; and a conserved GCRA as a token bucket,
 * which several workers may draw from at any time without passing more than one would. Of a total
 * it is the credit, whose fallback the configured limit is.
 */
enum meter_kind policy_meter_kind(const struct policy *policy);

/* Whether each source has a meter of its own. */
static inline bool policy_is_per_source(const struct policy *policy)
{
	return policy->per_v4 || policy->per_v6;
}

/* Whether its limit holds at every moment, over all limiters. */
static inline bool policy_is_conserved(const struct policy *policy)
{
	return policy->guarantee == GUARANTEE_CONSERVED;
}

/* Whether its packets are charged to policy->parent as well. */
static inline bool policy_has_parent(const struct policy *policy)
{
	return policy->above > 0;
}

/* Whether the packets of others are charged to it as well. */
static inline bool policy_is_parent(const struct policy *policy)
{
	return policy->children > 0;
}

/* Whether it is a level of a hierarchy. */
static inline bool policy_is_level(const struct policy *policy)
{
	return policy_has_parent(policy) || policy_is_parent(policy);
}

/*
 * Whether its limit is of the rate of all its packets together: not of each source, and no total.
 * Of such a limit policies below have parts. Any thread.
 */
bool policy_limits_rate(const struct policy *policy);

/*
 * The nearest above one of `policies` that policy_limits_rate(): of whose limit it has a part, if
 * it does so itself; or POLICY_NO_PARENT. What does not competes for that with packets that are the
 * other's own. Any thread.
 */
int policy_divider(const struct policy *policies, unsigned index);

/*
 * Whether it has a part of the limit of its policy_divider(); and whether limiters tell each other
 * what is asked of it, as its limit, or that of one above it, goes by that. Any thread.
 */
bool policy_has_part(const struct policy *policies, unsigned index);
bool policy_is_told_of(const struct policy *policies, unsigned index);

/* What it is guaranteed of its parent, in units a second over all limiters. */
static inline double policy_guaranteed(const struct policy *policy)
{
	return (double)policy->guaranteed_bps / 8 / policy_limit_s(policy);
}

/* Whether its packets wait. */
static inline bool policy_is_shaped(const struct policy *policy)
{
	return policy->action == ACTION_SHAPE;
}

/* Whether its packets have colours, of which each has an action. */
static inline bool policy_is_coloured(const struct policy *policy)
{
	return meter_can(policy->meter, METER_COLOURS);
}

/* Whether two policies colour alike, but for rates and bursts; also if neither does. Any thread. */
bool policy_colours_equal(const struct policy *a, const struct policy *b);

/*
 * Whether a worker decides it from its line alone. A token bucket for each source is no token
 * bucket but a GCRA; one that others drain has a rate below 0; a total has a credit.
 */
bool policy_is_simple(const struct policy *policy);

/*
 * Returns true for a policy whose limiters lend each other tokens (lib/control/loan) in a group
 * with these loans. Its limit
 * is soft and divided by flows, and its bucket holds bytes. It is not a level of a hierarchy.
 * Queues whose departures are settled on arrival are excluded: tokens cannot change these times.
 * Any thread.
 */
bool policy_lends(const struct policy *policy, enum loans loans);

/*
 * Whether it has one token bucket, in bytes or packets, that several may take from: simple, or what
 * does not conform is marked or counted, or packets are.
 */
bool policy_is_one_bucket(const struct policy *policy);

/* Whether its workers, where there are several, take what they need from one shared bucket. */
static inline bool policy_shares_shared_bucket(const struct policy *policy)
{
	return policy_is_simple(policy) || policy_is_shaped(policy);
}

/*
 * Why the kernel's data plane leaves its packets to workers, in words that go on after "as it"; NULL
 * if it does not. Any thread.
 */
const char *policy_needs_worker(const struct policy *policy);

/*
 * Whether control wants samples of its flows from workers: not of one of which others have parts,
 * which is divided by what those may pass.
 */
bool policy_samples_flows(const struct policy *policy);

/* Whether it is a total in bytes, that drops: nothing of a packet is asked but its length. */
bool policy_is_total(const struct policy *policy);

/* Whether flows share a limit in bytes, that drops: nothing else is asked but a packet's flow. */
bool policy_is_phantom(const struct policy *policy);

/* Whether any of n policies is conserved or a quota, so that something must survive a crash. */
bool policies_need_ledger(const struct policy *policies, unsigned n);
bool config_needs_ledger(const struct config *config);

/* A budget of units rather than a rate. False of an allocator that was refused. */
bool policy_is_quota(const struct policy *policy);

/*
 * Whether nobody may exceed its limit, or that of a policy above it, whoever of the group is there
 * and whoever is not.
 */
bool policy_is_never_exceeded(const struct policy *policy);

/*
 * Whether its packets wait, and it is settled as each arrives when it leaves, by the limit of then:
 * a third of the cost. Not where a lower limit is to hold at once, nor where what waits for long
 * may be dropped before it leaves; nor of packets, of which a limit may be a few a second: that is
 * too slow for struct shape_edt; nor below others, who are asked when it leaves. Any thread.
 */
bool policy_is_timed(const struct policy *policy);

/*
 * How many parts, as a power of two, its bucket makes a packet or flow: a slow limit is less of one
 * a tick than a bucket's smallest part else would be exact for. 0 of bytes, of meters that count
 * whole units in a window, and where packets wait. Any thread.
 */
unsigned policy_unit_bits(const struct policy *policy);

/* Whether its sources are given to workers one by one, where a wire lets them. Any thread. */
static inline bool policy_is_placed(const struct policy *policy)
{
	return policy->slo_p99_ns > 0;
}

/* Whether any of n policies asks for a port. */
bool policies_name_ports(const struct policy *policies, unsigned n);

/*
 * Whether any asks for what only the first fragment of a packet tells: ports, in IPv6 the protocol,
 * or whether it begins a flow. Any thread.
 */
bool policies_ask_first(const struct policy *policies, unsigned n);

#endif
