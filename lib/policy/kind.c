/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/kind.h"

#include <string.h>

#include "allocate/allocate.h"
#include "base/time.h"
#include "policy/config.h"
#include "policy/schedule.h"
#include "shape/shape.h"

bool policy_is_quota(const struct policy *policy)
{
	return policy->allocator != NULL && policy->allocator->counts_units;
}

bool policy_is_never_exceeded(const struct policy *policy)
{
	return policy_is_hard(policy) || policy_is_quota(policy) || policy->under_hard;
}

enum meter_kind policy_meter_kind(const struct policy *policy)
{
	if (policy_is_quota(policy))
		return METER_CREDIT;
	if (policy_is_per_source(policy) && policy->meter == METER_TOKEN_BUCKET)
		return METER_GCRA;
	if (policy_is_hard(policy) && policy->meter == METER_GCRA)
		return METER_TOKEN_BUCKET;
	return policy->meter;
}

/* Returns true if it counts bytes and drops exceeding packets. */
static bool drops_bytes(const struct policy *policy)
{
	return policy->count == COUNT_BYTES && policy->action == ACTION_DROP;
}

bool policy_is_one_bucket(const struct policy *policy)
{
	return policy->count != COUNT_FLOWS && policy->action != ACTION_SHAPE &&
	       policy_meter_kind(policy) == METER_TOKEN_BUCKET && !policy_is_per_source(policy) &&
	       !policy->allocator->drains;
}

bool policy_is_simple(const struct policy *policy)
{
	return drops_bytes(policy) && policy_is_one_bucket(policy);
}

bool policy_lends(const struct policy *policy, enum loans loans)
{
	bool hard = policy_is_hard(policy);
	bool waits = policy_is_shaped(policy) && policy->count == COUNT_BYTES &&
		     !policy_is_timed(policy);

	/* A packet that waits may be larger than the bucket of a hard limit. */
	return loans >= (hard ? LOANS_ALL : LOANS_SOFT) && policy->allocator->gossips &&
	       policy->allocator->samples_flows && !policy_is_level(policy) &&
	       (policy_is_simple(policy) || (waits && !hard));
}

const char *policy_needs_worker(const struct policy *policy)
{
	if (policy_is_quota(policy))
		return "is a total";
	if (policy_is_shaped(policy))
		return "lets packets wait";
	if (policy_is_per_source(policy))
		return "limits each source";
	if (policy->count == COUNT_FLOWS)
		return "counts flows";
	if (policy->allocator->drains)
		return "is drained by others";
	if (policy_is_level(policy))
		return "is a level of a hierarchy";
	if (policy_is_coloured(policy))
		return "colours packets";
	if (!policy_is_one_bucket(policy))
		return "has another meter than a token bucket";
	return policy->trial.set ? "has a trial" : NULL;
}

bool policy_samples_flows(const struct policy *policy)
{
	return policy->allocator->samples_flows && policy->sharers == 0;
}

bool policy_limits_rate(const struct policy *policy)
{
	return !policy_is_per_source(policy) && !policy_is_quota(policy);
}

int policy_divider(const struct policy *policies, unsigned index)
{
	const struct policy *policy = &policies[index];

	while (policy_has_parent(policy)) {
		int above = policy->parent;

		policy = &policies[above];
		if (policy_limits_rate(policy))
			return above;
	}
	return POLICY_NO_PARENT;
}

bool policy_colours_equal(const struct policy *a, const struct policy *b)
{
	const struct colours_config *x = &a->colours, *y = &b->colours;
	bool same = x->aware == y->aware;

	if (!policy_is_coloured(a) || !policy_is_coloured(b))
		return policy_is_coloured(a) == policy_is_coloured(b);
	for (unsigned c = 0; c < COLOURS; c++)
		same &= x->actions[c].action == y->actions[c].action &&
			x->actions[c].mark == y->actions[c].mark;
	return same && memcmp(x->of_dscp, y->of_dscp, sizeof(x->of_dscp)) == 0;
}

bool policy_is_total(const struct policy *policy)
{
	return drops_bytes(policy) && policy_is_quota(policy);
}

bool policy_is_phantom(const struct policy *policy)
{
	return drops_bytes(policy) && policy->meter == METER_PHANTOM &&
	       policy->classes.by == CLASSES_BY_FLOW;
}

/*
 * At one unit per day, a tick of a 5 GHz counter adds 2^-48.6 units. A bucket counts in 2^-56, and
 * 1 ppm of that rate is 2^-68.5. With 2^20 parts per unit the rate is exact to 0.01 ppm, and a
 * hundredth of it to 1 ppm. Faster limits need no parts. Bursts above 2^14 leave fewer bits: the
 * parts of a burst stay below 2^34, the capacity of the smallest bucket (meter/phantom.h).
 */
#define UNIT_BITS       20
#define UNIT_BURST_BITS 34
#define UNIT_RATE_MOST  32768 /* per second: its parts per tick are less than a bucket can fill */

static unsigned unit_bits_of(const struct limit_terms *terms)
{
	uint64_t most = UINT64_C(8) * UNIT_RATE_MOST * (terms->limit_s ? terms->limit_s : 1);
	unsigned bits = UNIT_BITS;

	if (terms->limit_bps > most)
		return 0;
	while (bits > 0 && terms->burst_bytes > (UINT64_C(1) << (UNIT_BURST_BITS - bits)))
		bits--;
	return bits;
}

/* One bucket serves all limits of the policy, so the smallest number of bits applies. */
unsigned policy_unit_bits(const struct policy *policy)
{
	const struct schedule *schedule = policy->schedule;
	const struct limit_terms own = policy_terms(policy);
	const bool counts = policy->count != COUNT_BYTES && policy->action != ACTION_SHAPE &&
			    meter_can(policy->meter, METER_BURST);
	unsigned bits, other;

	if (!counts)
		return 0;
	bits = unit_bits_of(&own);
	if (policy_is_coloured(policy)) {
		other = unit_bits_of(&policy->colours.second);
		bits = other < bits ? other : bits;
	}
	for (unsigned i = 0; schedule && i < schedule->n; i++) {
		other = unit_bits_of(&schedule->entries[i].terms);
		bits = other < bits ? other : bits;
	}
	return bits;
}

bool policy_has_part(const struct policy *policies, unsigned index)
{
	return policy_limits_rate(&policies[index]) &&
	       policy_divider(policies, index) != POLICY_NO_PARENT;
}

bool policy_is_published(const struct policy *policies, unsigned index)
{
	return policies[index].allocator->gossips || policies[index].sharers > 0 ||
	       policy_has_part(policies, index);
}

bool policies_need_ledger(const struct policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (policy_is_never_exceeded(&policies[i]))
			return true;
	return false;
}

bool config_needs_ledger(const struct config *config)
{
	return policies_need_ledger(config->policies, config->n_policies);
}

/* Returns true if it needs ports, which only the first fragment of a packet has. */
static bool names_ports(const struct policy *policy)
{
	for (unsigned i = 0; i < policy_n_matches(policy); i++) {
		const struct match *match = policy_match(policy, i);

		if (match->src_port.last != 0 || match->dst_port.last != 0)
			return true;
	}
	return false;
}

static bool names_proto(const struct policy *policy)
{
	for (unsigned i = 0; i < policy_n_matches(policy); i++)
		if (policy_match(policy, i)->proto != 0)
			return true;
	return false;
}

bool policies_name_ports(const struct policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (names_ports(&policies[i]))
			return true;
	return false;
}

bool policies_ask_first(const struct policy *policies, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (policies[i].count == COUNT_FLOWS || names_ports(&policies[i]) ||
			names_proto(&policies[i]))
			return true;
	return false;
}

bool policy_is_timed(const struct policy *policy)
{
	return policy->action == ACTION_SHAPE && !policy_is_hard(policy) &&
	       !policy_has_parent(policy) && policy->count == COUNT_BYTES &&
	       policy->shape.drop == SHAPE_DROP_TAIL &&
	       policy->shape.delay_ns <= SECOND_NS / SHAPE_TIMED_PARTS;
}
