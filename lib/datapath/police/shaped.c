/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose packets wait (ACTION_SHAPE): their state on a worker in addition to struct
 * policy_extended, and how it gets their limit.
 */
#include "police/shaped.h"

#include "base/time.h"
#include "police/extended.h"
#include "policy/kind.h"

#define US_PER_S UINT64_C(1000000)

struct shape_terms shaped_terms(const struct policy *policy)
{
	const struct shape_config *shape = &policy->shape;

	return (struct shape_terms){
		.units = shape->bytes,
		.delay_us = (uint32_t)(shape->delay_ns / US_NS),
		.target_us = (uint32_t)(shape->target_ns / US_NS),
		.interval_us = (uint32_t)(shape->interval_ns / US_NS),
		.codel = shape->drop == SHAPE_DROP_CODEL,
		.ecn = shape->ecn,
		.hard = policy_is_hard(policy) || policy->under_hard,
		.timed = policy_is_timed(policy),
		.below = policy_has_parent(policy),
	};
}

static uint64_t us_to_ticks(uint32_t us, uint64_t hz)
{
	return (uint64_t)((unsigned __int128)us * hz / US_PER_S);
}

static struct shape_params shape_params_of(const struct shape_terms *terms, uint64_t hz)
{
	return (struct shape_params){
		.delay = us_to_ticks(terms->delay_us, hz),
		.units = terms->units,
		.codel = terms->codel,
		.ecn = terms->ecn,
		.target = us_to_ticks(terms->target_us, hz),
		.interval = us_to_ticks(terms->interval_us, hz),
		.timed = terms->timed,
		.below = terms->below,
	};
}

/* Compares the settings of its queue: all others stay while a policy has its place. */
static bool shape_terms_equal(const struct shape_terms *a, const struct shape_terms *b)
{
	return a->units == b->units && a->delay_us == b->delay_us && a->target_us == b->target_us &&
	       a->interval_us == b->interval_us && a->codel == b->codel && a->ecn == b->ecn;
}

void shaped_init(struct policy_state *state, const struct limit_profile *profile,
	const struct policy_start *start)
{
	struct shape_params params = shape_params_of(&profile->shape.terms, start->hz);
	struct policy_shape *shape = police_shape(state->other);

	*shape = (struct policy_shape){.terms = profile->shape.terms,
		.seat = shape->seat,
		.slot = profile->policy,
		.by_packet = state->other->count == COUNT_PACKETS};
	shape_queue_init(&shape->queue, &params, &profile->shape.bucket, start->shared, start->now);
}

void shaped_limit(struct shaper *shaper, struct policy_state *state,
	const struct limit_profile *profile, uint64_t now, uint64_t hz)
{
	struct policy_shape *shape = police_shape(state->other);
	struct shape_params params = shape_params_of(&profile->shape.terms, hz);

	if (shape->terms.clock != profile->shape.terms.clock) {
		shape->arrival = now;
		shape_restart(shaper, &shape->queue, &params, &profile->shape.bucket, now);
	} else {
		if (!shape_terms_equal(&shape->terms, &profile->shape.terms))
			shape_change(shaper, &shape->queue, &params, now);
		shape_limit(shaper, &shape->queue, &profile->shape.bucket, now);
	}
	shape->terms = profile->shape.terms;
}

void shaped_expire(struct shaper *shaper, struct policy_state *state, uint8_t ending, uint64_t from)
{
	shape_expire(shaper, &police_shape(state->other)->queue, ending, from);
}

void shaped_counts_arrival(struct policy_state *state, uint32_t cost)
{
	police_count(state, 1, cost, 0, 0);
}

void shaped_counts_refusal(struct policy_state *state, uint32_t cost, enum drop_reason why)
{
	police_count(state, 1, cost, 1, cost);
	counter_add(&police_shape(state->other)->dropped[why - DROP_SHAPE_FIRST], 1);
}

void shaped_counts_drop(struct policy_state *state, uint32_t cost, enum drop_reason why)
{
	police_count(state, 0, 0, 1, cost);
	counter_add(&police_shape(state->other)->dropped[why - DROP_SHAPE_FIRST], 1);
}
