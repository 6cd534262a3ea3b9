/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Publishes the limiter's decisions to the workers: splits each limit over them, and sends each its
 * part by its ring. Waits until all workers use the published state.
 */
#include "publish.h"

#include <errno.h>
#include <string.h>

#include "instance.h"
#include "clock.h"
#include "event.h"
#include "parts.h"
#include "police/extended.h"
#include "police/try.h"
#include "policy/kind.h"
#include "attach.h"
#include "kernel_lines.h"
#include "renewal.h"
#include "tick.h"

static void log_limit(const struct policy *policy, int err)
{
	if (err)
		event(POLICY_FAILED, event_word("policy", policy->name),
			event_word("why", strerror(-err)));
}

/* Returns the present limit of a policy for the engine. */
static struct engine_limit published_limit(const struct instance *inst, unsigned policy)
{
	struct engine_limit limit; /* not zeroed: that takes half of the time of a change */

	limit.policy = &inst->policies[policy];
	limit.slot = inst->slots.of[policy];
	limit.hz = inst->clock.hz;
	limit.clock = inst->clock.set_back;
	engine_view(&inst->engine, inst->limiter, policy, &limit);
	return limit;
}

static void join_parts(void *context, uint32_t slot, struct limit_profile *profile)
{
	const struct instance *inst = context;

	if (slot < inst->slots.capacity) /* a trial has no parts */
		parts_join(inst, slot, profile);
}

static unsigned count_rings(const struct instance *inst)
{
	return inst->config->n_workers;
}

static void begin_ring(struct instance *inst, unsigned worker, const struct limit_profile *profile)
{
	struct worker *w = &inst->workers[worker];

	limit_ring_begin(&w->limit_ring, profile);
	w->ending[profile->policy] = profile->ending;
}

/* A worker with a full ring does not delay the others. */
static void send_ring(struct instance *inst, unsigned worker, const struct limit_profile *profile)
{
	struct dirty *behind = &inst->behind[worker];

	if (!dirty_is_empty(behind) || !limit_ring_send(&inst->workers[worker].limit_ring, profile))
		dirty_mark(behind, profile->policy % inst->slots.capacity); /* or of its trial */
}

/* A kind of receivers of limits. The engine numbers all receivers in the order of the rows. */
struct receivers {
	unsigned (*count)(const struct instance *inst);
	/* Sends receiver i the first limit of a policy, or another one. */
	void (*begin)(struct instance *inst, unsigned i, const struct limit_profile *profile);
	void (*send)(struct instance *inst, unsigned i, const struct limit_profile *profile);
};

static const struct receivers receivers[] = {
	{count_rings, begin_ring, send_ring},
	{kernel_lines_cpus, kernel_lines_begun, kernel_lines_set_limit},
};

/* Returns the row of a receiver, and changes *i to its index within the row. */
static const struct receivers *receivers_of(const struct instance *inst, unsigned *i)
{
	const struct receivers *row = receivers;

	for (unsigned n = row->count(inst); *i >= n; n = (++row)->count(inst))
		*i -= n;
	return row;
}

static void begin_limit(void *context, unsigned i, const struct limit_profile *profile)
{
	receivers_of(context, &i)->begin(context, i, profile);
}

static void send_limit(void *context, unsigned i, const struct limit_profile *profile)
{
	receivers_of(context, &i)->send(context, i, profile);
}

/* Returns false if the ring is full. A limit that no meter can express was logged before. */
static bool send_worker_limit(
	struct instance *inst, const struct engine_limit *limit, unsigned worker)
{
	struct limit_profile profile;

	return engine_worker_profile(&inst->engine, limit, worker, &profile) != 0 ||
	       limit_ring_send(&inst->workers[worker].limit_ring, &profile);
}

/*
 * Sends a worker its outstanding limits, with the values of now, up to the first that finds no
 * room.
 */
static void catch_up(struct instance *inst, unsigned worker)
{
	struct dirty *behind = &inst->behind[worker];

	for (unsigned i = 0; i < PUBLISH_ROUND && !dirty_is_empty(behind); i++) {
		uint32_t slot = dirty_next(behind);
		struct engine_limit limit = published_limit(inst, inst->slots.policy[slot]);
		struct engine_trial trial;

		if (!send_worker_limit(inst, &limit, worker))
			return;
		if (engine_trial(&inst->engine, &limit, &trial) &&
			!send_worker_limit(inst, &trial.limit, worker))
			return;
		dirty_published(behind, slot);
	}
}

void publish_never(struct instance *inst, uint32_t slot)
{
	dirty_clear(&inst->dirty, slot);
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		dirty_clear(&inst->behind[w], slot);
}

bool publish_is_done(const struct instance *inst)
{
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		if (!instance_has_published(inst, w))
			return false;
	return true;
}

void publish_all_later(struct instance *inst)
{
	for (unsigned p = 0; p < inst->n_policies; p++)
		dirty_mark(&inst->dirty, inst->slots.of[p]);
}

static void forget_line(struct instance *inst, uint32_t slot)
{
	inst->engine.slots[slot].restarts = true;
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		limit_ring_forget(&inst->workers[w].limit_ring, slot);
}

void publish_restart(struct instance *inst)
{
	for (unsigned p = 0; p < inst->n_policies; p++) {
		uint32_t slot = inst->slots.of[p];

		forget_line(inst, slot);
		if (inst->engine.slots[slot].trial)
			forget_line(inst, trial_slot(slot, inst->engine.slots[slot].trial,
						  inst->slots.capacity));
	}
	publish_all_later(inst);
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
	if (publish_is_done(inst))
		return true;
	renewal_shorten(inst);
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		catch_up(inst, w);
	for (unsigned i = 0; i < PUBLISH_ROUND && !dirty_is_empty(&inst->dirty); i++) {
		uint32_t slot = dirty_next(&inst->dirty);
		unsigned policy = inst->slots.policy[slot];
		struct engine_limit limit = published_limit(inst, policy);

		kernel_lines_before(inst, policy, &limit.view);
		log_limit(limit.policy, engine_enforce(&inst->engine, &limit, tick_now()));
		dirty_published(&inst->dirty, slot);
	}
	return publish_is_done(inst);
}

void publish_begin(struct instance *inst, unsigned policy, bool spent)
{
	struct engine_limit limit = published_limit(inst, policy);

	spent |= policy_is_hard(limit.policy);
	renewal_shorten(inst);
	parts_begin(inst, policy);
	log_limit(limit.policy,
		engine_begin(&inst->engine, &limit, tick_now(), control_now(), spent));
}

void publish_begin_trial(struct instance *inst, unsigned policy)
{
	struct engine_limit limit = published_limit(inst, policy);

	log_limit(
		limit.policy, engine_begin_trial(&inst->engine, &limit, tick_now(), control_now()));
}

/* The only place that replaces a snapshot: every line that its classifier leads to is ready. */
void publish_classifier(
	struct instance *inst, struct snapshot *snapshot, const struct publish_changes *changes)
{
	const struct snapshot *previous = inst->publisher.current;

	snapshot->leaving = changes->leaving;
	snapshot->n_leaving = changes->n_leaving;
	snapshot->trials = changes->trials;
	snapshot->n_trials = changes->n_trials;
	snapshot->retargeted = changes->retargets || !previous ? snapshot->generation
							       : previous->retargeted;
	snapshot->kinds = 0;
	for (unsigned p = 0; p < inst->n_policies; p++)
		snapshot->kinds |= 1U << policy_state_kind(&inst->policies[p]);
	snapshot->classifier = inst->classifier;
	snapshot->sourced = inst->sourced;
	snapshot->n_sourced = inst->n_sourced;
	snapshot->hard = inst->sourced + inst->n_sourced;
	snapshot->n_hard = inst->n_hard;
	snapshot->parents = inst->parents;
	publisher_publish(&inst->publisher, snapshot);
	kernel_lines_publish(inst);
}

int publish_first(struct instance *inst)
{
	struct snapshot *snapshot;

	inst->engine.driver = (struct engine_driver){inst, join_parts, begin_limit, send_limit};
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

/* --- grace periods ---------------------------------------------------------------------------- */

void grace_begin(struct grace *grace, const struct instance *inst)
{
	grace->taken = false;
	grace->generation = 0;
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		grace->marks[w] = limit_ring_mark(&inst->workers[w].limit_ring);
}

void grace_begin_snapshot(struct grace *grace, const struct instance *inst)
{
	grace_begin(grace, inst);
	grace->generation = inst->publisher.current->generation;
}

bool grace_done(struct grace *grace, const struct instance *inst)
{
	const unsigned n_workers = inst->config->n_workers;

	for (unsigned w = 0; w < n_workers; w++) {
		/* Acquire pairs with the release in move(): packets that it sent before. */
		uint64_t seen = __atomic_load_n(&inst->workers[w].generation, __ATOMIC_ACQUIRE);

		if (seen < grace->generation)
			return false;
	}
	for (unsigned w = 0; !grace->taken && w < n_workers; w++)
		if (!limit_ring_taken(&inst->workers[w].limit_ring, grace->marks[w]))
			return false;
	if (!grace->taken)
		grace->moment = publisher_moment(&inst->publisher);
	grace->taken = true;
	return publisher_is_past(&inst->publisher, grace->moment);
}
