/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Derived properties of a policy, such as its meter and its way through the packet path. Control
 * and the workers both use these functions, so they agree. Pure; any thread. The policies have an
 * allocator.
 */
#ifndef WEIR_POLICY_KIND_H
#define WEIR_POLICY_KIND_H

#include <stdbool.h>

#include "meter/meter.h"
#include "policy/policy.h"

struct config;

/*
 * Returns the meter that a policy runs. This is the configured meter, with these exceptions:
 *
 * - A token bucket for each source is a GCRA. It decides the same in a quarter of the memory.
 * - A GCRA with a hard limit is a token bucket. Several workers can draw from it at any time
 *   without passing more than one worker would.
 * - A quota has the credit meter. The configured limit is the fallback of that.
 */
enum meter_kind policy_meter_kind(const struct policy *policy);

/* Returns true if each source has its own meter. */
static inline bool policy_is_per_source(const struct policy *policy)
{
	return policy->per_v4 || policy->per_v6;
}

/* Returns true if the sum over all limiters never exceeds the limit. */
static inline bool policy_is_hard(const struct policy *policy)
{
	return policy->guarantee == GUARANTEE_HARD;
}

/* Returns true if its packets are charged to policy->parent as well. */
static inline bool policy_has_parent(const struct policy *policy)
{
	return policy->above > 0;
}

/* Returns true if packets of other policies are charged to it as well. */
static inline bool policy_is_parent(const struct policy *policy)
{
	return policy->children > 0;
}

/* Returns true if it is a level of a hierarchy. */
static inline bool policy_is_level(const struct policy *policy)
{
	return policy_has_parent(policy) || policy_is_parent(policy);
}

/*
 * Returns true if the limit is a rate of all its packets together, so not per source and not a
 * quota. Policies below it have parts of such a limit. Any thread.
 */
bool policy_limits_rate(const struct policy *policy);

/*
 * Returns the index of the nearest ancestor for which policy_limits_rate() is true, or
 * POLICY_NO_PARENT. If the policy also limits a rate, it has a part of that ancestor's limit.
 * Otherwise its packets compete for that limit with the ancestor's own packets. Any thread.
 */
int policy_divider(const struct policy *policies, unsigned index);

/*
 * policy_has_part() returns true if the policy has a part of the limit of its policy_divider().
 * policy_is_published() returns true if limiters exchange the policy's demand. They do if its own
 * limit, or that of an ancestor, depends on it. Any thread.
 */
bool policy_has_part(const struct policy *policies, unsigned index);
bool policy_is_published(const struct policy *policies, unsigned index);

/* Returns the guaranteed part of the parent's limit, in units per second over all limiters. */
static inline double policy_guaranteed(const struct policy *policy)
{
	return (double)policy->guaranteed_bps / 8 / policy_limit_s(policy);
}

/* Returns true if its packets wait in a queue. */
static inline bool policy_is_shaped(const struct policy *policy)
{
	return policy->action == ACTION_SHAPE;
}

/* Returns true if its packets have colours, each with an action. */
static inline bool policy_is_coloured(const struct policy *policy)
{
	return meter_can(policy->meter, METER_COLOURS);
}

/*
 * Returns true if two policies colour in the same way, except for rates and bursts. Also true if
 * neither colours. Any thread.
 */
bool policy_colours_equal(const struct policy *a, const struct policy *b);

/*
 * Returns true if a worker decides from one cache line of the policy. Excluded are a token bucket
 * for each source (a GCRA), one that others drain (its rate is below 0), and a quota (it has the
 * credit meter).
 */
bool policy_is_simple(const struct policy *policy);

/*
 * Returns true for a policy whose limiters lend each other tokens (lib/control/loan) in a group
 * with these loans. Its limit is divided by flows, and its bucket holds bytes. It is not a level of
 * a hierarchy. Queues whose departures are settled on arrival are excluded: tokens cannot change
 * these times. Packets wait only for soft limits. Any thread.
 */
bool policy_lends(const struct policy *policy, enum loans loans);

/*
 * Returns true if it has one token bucket that several workers can take from. The policy is simple,
 * or it counts packets, or it marks or counts exceeding packets.
 */
bool policy_is_one_bucket(const struct policy *policy);

/* Returns true if several workers take tokens from one shared bucket. */
static inline bool policy_shares_shared_bucket(const struct policy *policy)
{
	return policy_is_simple(policy) || policy_is_shaped(policy);
}

/*
 * Returns the reason why the XDP data plane leaves the policy's packets to workers, or NULL if it
 * does not. The text continues a sentence after "as it". Any thread.
 */
const char *policy_needs_worker(const struct policy *policy);

/*
 * Returns true if control needs flow samples of the policy from workers. Policies with sharers need
 * none: they are divided by the traffic that the sharers can pass.
 */
bool policy_samples_flows(const struct policy *policy);

/* Returns true for a quota in bytes that drops. It needs only the length of a packet. */
bool policy_is_total(const struct policy *policy);

/*
 * Returns true if flows share a limit in bytes that drops. It needs only a packet's length and
 * flow.
 */
bool policy_is_phantom(const struct policy *policy);

/* Return true if any policy has a hard limit or a quota, so that state must survive a crash. */
bool policies_need_ledger(const struct policy *policies, unsigned n);
bool config_needs_ledger(const struct config *config);

/* Returns true for a quota of units, not a rate. Also false if the allocator was rejected. */
bool policy_is_quota(const struct policy *policy);

/*
 * Returns true if no limiter can exceed the limit, or that of an ancestor, even if limiters of the
 * group are lost.
 */
bool policy_is_never_exceeded(const struct policy *policy);

/*
 * Returns true if its packets wait, and each packet's departure is settled on arrival, by the limit
 * at that time. This takes a third of the time for a packet. Excluded are:
 *
 * - hard limits: a lower limit must apply immediately;
 * - CoDel: it can drop a packet after a long wait, before it leaves;
 * - waits of more than 1 s / SHAPE_TIMED_PARTS;
 * - counts of packets: their limit can be a few per second, too slow for struct shape_edt;
 * - policies with a parent, which decides when the packet leaves.
 *
 * Any thread.
 */
bool policy_is_timed(const struct policy *policy);

/*
 * Returns the number of parts, as a power of two, into which the bucket divides one packet or flow.
 * A slow limit adds less per tick than the smallest part of an undivided bucket can represent. 0
 * for bytes, for meters that count whole units in a window, and if packets wait. Any thread.
 */
unsigned policy_unit_bits(const struct policy *policy);

/*
 * Returns true if its sources are assigned to workers individually, on wires that allow it. Any
 * thread.
 */
static inline bool policy_is_placed(const struct policy *policy)
{
	return policy->slo_p99_ns > 0;
}

/* Returns true if any policy matches a port. */
bool policies_name_ports(const struct policy *policies, unsigned n);

/*
 * Returns true if any policy needs a fact that only the first fragment of a packet has: ports, in
 * IPv6 the protocol, or whether the packet begins a flow. Any thread.
 */
bool policies_ask_first(const struct policy *policies, unsigned n);

#endif
