/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy's state on a worker before its first packet, and its memory beyond the line.
 */
#include "police/extended.h"

#include "flow/new_flow.h"
#include "police/coloured.h"
#include "police/shaped.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "source/source_table.h"

static size_t whole_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static size_t sources_bytes(const struct policy *policy)
{
	if (!policy_is_per_source(policy))
		return 0;
	return whole_lines(source_table_bytes(policy_meter_kind(policy), policy->sources));
}

static size_t flows_bytes(const struct policy *policy)
{
	return policy->count == COUNT_FLOWS ? whole_lines(new_flows_bytes(POLICE_FLOWS)) : 0;
}

static struct phantom_params phantom_params_of(
	const struct policy *policy, const struct policy_start *start)
{
	const struct classes_config *classes = &policy->classes;

	return (struct phantom_params){
		.classes = classes->n,
		.weights = classes->by == CLASSES_BY_DSCP ? classes->weights : NULL,
		.secret = start->secret,
	};
}

static size_t classes_bytes(const struct policy *policy)
{
	const struct policy_start any = {0};
	struct phantom_params params = phantom_params_of(policy, &any);

	return policy->meter == METER_PHANTOM ? whole_lines(phantom_bytes(&params)) : 0;
}

static size_t colours_bytes(const struct policy *policy)
{
	return policy_is_coloured(policy) ? sizeof(struct coloured) : 0;
}

size_t policy_extended_bytes(const struct policy *policy)
{
	if (policy_is_simple(policy))
		return 0;
	if (policy_is_phantom(policy))
		return classes_bytes(policy);
	return sizeof(struct policy_extended) + sources_bytes(policy) + flows_bytes(policy) +
	       (policy_is_shaped(policy) ? sizeof(struct policy_shape) : 0) +
	       classes_bytes(policy) + colours_bytes(policy);
}

enum police_kind policy_state_kind(const struct policy *policy)
{
	if (policy_is_simple(policy))
		return POLICE_SIMPLE;
	if (policy_is_phantom(policy))
		return POLICE_PHANTOM;
	if (policy_is_total(policy))
		return POLICE_TOTAL;
	if (policy_is_shaped(policy))
		return POLICE_SHAPED;
	return policy_is_per_source(policy) ? POLICE_SOURCED : POLICE_OTHER;
}

static void other_init(struct policy_extended *other, const struct policy *policy,
	const struct limit_profile *profile, const struct policy_start *start)
{
	uint8_t *memory = (uint8_t *)(other + 1);

	*other = (struct policy_extended){
		.profile = profile->meter,
		.kind = profile->kind,
		.count = (uint8_t)policy->count,
		.action = (uint8_t)policy->action,
		.mark = (int8_t)policy->mark,
		.per_v4 = policy->per_v4,
		.per_v6 = policy->per_v6,
		.unit_bits = (uint8_t)policy_unit_bits(policy),
	};
	meter_init(profile->kind, &other->meter, &profile->meter, start->now, start->seed);
	if (sources_bytes(policy))
		other->sources = source_table_init(
			memory, profile->kind, policy->sources, start->secret);
	if (flows_bytes(policy)) {
		other->flows = (struct new_flows *)(memory + sources_bytes(policy));
		new_flows_init(other->flows, POLICE_FLOWS, start->hz);
		source_key_init(&other->flow_key, ~start->secret); /* not that of the sources */
	}
	if (classes_bytes(policy)) {
		struct phantom_params params = phantom_params_of(policy, start);

		other->by_dscp = policy->classes.by == CLASSES_BY_DSCP;
		phantom_init(police_phantom(other), &params, &other->profile.bucket);
	}
	if (colours_bytes(policy))
		coloured_init(other, policy, start->now);
}

void policy_state_init(struct policy_state *state, void *memory, const struct policy *policy,
	const struct limit_profile *profile, const struct policy_start *start)
{
	const unsigned flags = policy_state_kind(policy) |
			       (policy->weigh_tcp_only ? POLICE_TCP_ONLY : 0) |
			       (policy_has_parent(policy) ? POLICE_BELOW : 0);

	*state = (struct policy_state){0};
	token_bucket_set_owner(
		&state->bucket, police_owner(flags, profile->sample_shift, policy->accounting));
	if (police_is_extended(state)) {
		state->other = memory;
		other_init(state->other, policy, profile, start);
		if (policy_is_shaped(policy))
			shaped_init(state, profile, start);
		return;
	}
	state->limit = profile->meter.bucket;
	token_bucket_init(&state->bucket, &state->limit, start->now);
	if (police_is_phantom(state)) {
		struct phantom_params params = phantom_params_of(policy, start);

		state->phantom = phantom_init(memory, &params, &state->limit);
	}
}

/* The line of no policy is all zero: not plain and not extended. */
void *policy_state_memory(const struct policy_state *state)
{
	if (police_is_phantom(state))
		return state->phantom;
	return police_is_simple(state) ? NULL : state->other;
}

/* Ever smaller packets, until none passes. */
void policy_state_spend(struct policy_state *state, uint64_t now)
{
	struct policy_extended *other = state->other;

	if (!police_is_extended(state)) {
		token_bucket_refill(&state->bucket, &state->limit, now);
		state->bucket.tokens = 0;
		return;
	}
	if (meter_can(other->kind, METER_AT_RANDOM))
		return;
	if (police_is_shaped(state)) {
		shape_queue_spend(&police_shape(other)->queue);
		return;
	}
	if (other->kind == METER_CREDIT) { /* the shared credit is not this worker's to spend */
		other->meter.credit.fallback.tokens = 0;
		return;
	}
	if (other->coloured) {
		coloured_spend(other, now);
		return;
	}
	for (uint32_t cost = UINT32_C(1) << 31; cost > 0; cost /= 2)
		while (meter_conforms(other->kind, &other->meter, &other->profile, now, cost))
			;
}

/*
 * Otherwise sources would all change their workers together, or arrive where no worker has their
 * buckets: waiting packets must leave before.
 */
static bool reta_last(const struct policy *policy, const struct policy *next)
{
	const struct place_key *key = &policy->place.key, *other = &next->place.key;

	if (!policy_is_placed(policy))
		return !policy_is_placed(next);
	return policy_is_placed(next) && key->v4 == other->v4 && key->v6 == other->v6 &&
	       policy_paths(policy) == policy_paths(next);
}

bool policy_state_lasts(const struct policy *policy, const struct policy *next)
{
	return policy->action == next->action && policy->mark == next->mark &&
	       policy_colours_equal(policy, next) && policy->accounting == next->accounting &&
	       policy->weigh_tcp_only == next->weigh_tcp_only &&
	       policy_has_parent(policy) == policy_has_parent(next) &&
	       (policy_samples_flows(policy) || !policy_samples_flows(next)) &&
	       policy_is_timed(policy) == policy_is_timed(next) &&
	       policy_unit_bits(policy) == policy_unit_bits(next) && reta_last(policy, next);
}

void policy_state_age(struct policy_state *state, uint64_t now, unsigned lines)
{
	if (police_sources(state))
		source_table_age(state->other->sources, &state->other->profile, now, lines);
}
