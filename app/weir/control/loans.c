/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "loans.h"

#include "engine/engine.h"
#include "instance.h"
#include "tick.h"

static struct lending_place bucket_place(const struct instance *inst, unsigned policy)
{
	return (struct lending_place){
		.engine = &inst->engine,
		.slot = inst->slots.of[policy],
		.now = tick_now(),
		.hz = inst->clock.hz,
	};
}

/* A policy that waits for workers to leave its slot has no bucket yet. */
static struct loan_bucket look_at_bucket(void *context, unsigned policy)
{
	struct lending_place place = bucket_place(context, policy);

	if (place.engine->slots[place.slot].held)
		return (struct loan_bucket){0};
	return lending_look(&place);
}

static struct loan_taken take_tokens(
	void *context, unsigned policy, uint64_t keep, uint64_t most, bool withhold)
{
	struct lending_place place = bucket_place(context, policy);

	return lending_take(&place, keep, most, withhold);
}

static uint64_t give_tokens(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	struct lending_place place = bucket_place(context, policy);
	uint64_t seen, given;

	if (place.engine->slots[place.slot].held)
		return 0;
	do {
		seen = lending_seen(&place);
		if (control_now() >= until_ns)
			return 0;
		place.now = tick_now();
		given = bytes;
	} while (!lending_give(&place, seen, &given));
	return given;
}

struct limiter_buckets loans_buckets(struct instance *inst)
{
	if (!inst->config->gossip.loans || !inst->engine.shared_buckets)
		return (struct limiter_buckets){0};
	return (struct limiter_buckets){inst, look_at_bucket, take_tokens, give_tokens};
}
