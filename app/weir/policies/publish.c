/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "publish.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "instance.h"
#include "clock.h"
#include "log.h"
#include "parts.h"
#include "policy/kind.h"
#include "attach.h"

static void log_limit(const struct policy *policy, int err)
{
	if (err)
		log_err("policy %s: %s", policy->name, strerror(-err));
}

/* What the policy in a slot may pass by now. */
static struct engine_limit published_limit(const struct instance *inst, unsigned policy)
{
	struct engine_limit limit = {.policy = &inst->policies[policy],
		.slot = inst->slots.of[policy],
		.hz = inst->clock.hz};

	engine_view(&inst->engine, inst->limiter, policy, &limit);
	return limit;
}

static void join_parts(void *context, uint32_t slot, struct limit_profile *profile)
{
	parts_join(context, slot, profile);
}

static void begin_limit_ring(void *context, unsigned worker, const struct limit_profile *profile)
{
	limit_ring_begin(&((struct instance *)context)->workers[worker].limit_ring, profile);
}

static bool send_limit_ring(void *context, unsigned worker, const struct limit_profile *profile)
{
	return limit_ring_send(&((struct instance *)context)->workers[worker].limit_ring, profile);
}

/* False when there was no room, in some worker's ring or else. */
static bool send_profile(struct instance *inst, uint32_t slot)
{
	struct engine_limit limit = published_limit(inst, inst->slots.policy[slot]);
	int ret = 0;

	if (engine_is_borrowed(&inst->engine, limit.policy))
		ret = engine_change_shared_bucket(
			&inst->engine, &limit, &inst->rounds.changes, rte_rdtsc());
	if (ret == 0)
		ret = engine_enforce(&inst->engine, &limit, rte_rdtsc());
	if (ret == -EAGAIN)
		return false;
	log_limit(limit.policy, ret);
	return true;
}

/*
 * A shared bucket's former limit is looked at until all workers have been quiescent: so a round
 * changes each once, and begins when they have been since the round before. False: not yet.
 */
static bool begin_shared_bucket_round(struct instance *inst)
{
	if (!inst->engine.shared_buckets)
		return true;
	if (!publisher_is_past(&inst->publisher, inst->rounds.ended))
		return false;
	inst->rounds.moved = shared_bucket_round(&inst->rounds.changes);
	return true;
}

static void end_shared_bucket_round(struct instance *inst)
{
	if (inst->rounds.moved || inst->rounds.changes.n)
		inst->rounds.ended = publisher_moment(&inst->publisher);
}

/* Up to the first that does not fit: the others would not, either. */
static void tell_round(struct instance *inst)
{
	for (unsigned i = 0; i < PUBLISH_ROUND && !dirty_is_empty(&inst->dirty); i++) {
		uint32_t slot = dirty_next(&inst->dirty);

		if (!send_profile(inst, slot))
			return;
		dirty_told(&inst->dirty, slot);
	}
}

void publish_all_later(struct instance *inst)
{
	for (unsigned p = 0; p < inst->n_policies; p++)
		dirty_mark(&inst->dirty, inst->slots.of[p]);
}

bool publish(struct instance *inst)
{
	unsigned p = limiter_next_change(inst->limiter, 0);

	for (; p < inst->n_policies; p = limiter_next_change(inst->limiter, p + 1))
		dirty_mark(&inst->dirty, inst->slots.of[p]);
	return publish_rest(inst);
}

bool publish_rest(struct instance *inst)
{
	if (dirty_is_empty(&inst->dirty))
		return true;
	if (!begin_shared_bucket_round(inst))
		return false;
	tell_round(inst);
	end_shared_bucket_round(inst);
	return dirty_is_empty(&inst->dirty);
}

void publish_begin(struct instance *inst, unsigned policy, bool spent)
{
	struct engine_limit limit = published_limit(inst, policy);

	spent |= policy_is_conserved(limit.policy);
	parts_begin(inst, policy);
	log_limit(limit.policy,
		engine_begin(&inst->engine, &limit, rte_rdtsc(), control_now(), spent));
}

/* The only one who exchanges a snapshot: every line that its classifier leads to is ready. */
void publish_classifier(
	struct instance *inst, struct snapshot *snapshot, const struct publish_changes *changes)
{
	const struct snapshot *former = inst->publisher.current;

	snapshot->leaving = changes->leaving;
	snapshot->n_leaving = changes->n_leaving;
	snapshot->retargeted = changes->retargets || !former ? snapshot->generation
							     : former->retargeted;
	snapshot->shapes = false;
	for (unsigned p = 0; p < inst->n_policies; p++)
		snapshot->shapes |= policy_is_shaped(&inst->policies[p]);
	snapshot->classifier = inst->classifier;
	snapshot->sourced = inst->sourced;
	snapshot->n_sourced = inst->n_sourced;
	publisher_publish(&inst->publisher, snapshot);
}

int publish_first(struct instance *inst)
{
	struct snapshot *snapshot;

	inst->engine.driver = (struct engine_driver){
		inst, join_parts, begin_limit_ring, send_limit_ring};
	parts_plan(inst, NULL, NULL, 0);
	for (unsigned p = 0; p < inst->n_policies; p++) {
		int ret = policy_attach(
			inst, &inst->policies[p], inst->slots.of[p], inst->clock.hz);

		if (ret)
			return ret;
		publish_begin(inst, p, false);
	}
	snapshot = publisher_take(&inst->publisher);
	if (!snapshot)
		return -ENOMEM;
	publish_classifier(inst, snapshot, &(struct publish_changes){0});
	return 0;
}
