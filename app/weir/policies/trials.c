/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Trials of policies (policy/trial.h): where each counts on the workers, and how one begins and
 * ends while packets flow.
 */
#include "trials.h"

#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "base/time.h"
#include "clock.h"
#include "instance.h"
#include "police/try.h"
#include "policy/trial.h"
#include "publish.h"

static uint32_t line_of(const struct instance *inst, uint32_t slot, unsigned line)
{
	return trial_slot(slot, line, inst->slots.capacity);
}

/*
 * Makes a state on each worker, and the workers' shares if they do not draw from a shared bucket.
 */
static int make_line(struct instance *inst, const struct policy *policy, uint32_t at, uint64_t hz)
{
	int ret;

	inst->engine.slots[at] = (struct engine_slot){0};
	ret = shares_part.prepare(inst, policy, at, hz);
	return ret ? ret : lines_part.prepare(inst, policy, at, hz);
}

static void free_line(struct instance *inst, uint32_t slot, unsigned line)
{
	uint32_t at = line_of(inst, slot, line);

	if (line == 0)
		return;
	lines_part.remove(inst, at);
	shares_part.remove(inst, at);
}

static int trial_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct policy trial;

	inst->trials[slot] = (struct trial_lines){0};
	if (!policy_has_trial(policy))
		return 0;
	trial = policy_trial(policy);
	inst->trials[slot].next = 1;
	return make_line(inst, &trial, line_of(inst, slot, 1), hz);
}

/*
 * Runs on the thread that prepares a reload. It can read the policies in force, which do not change
 * meanwhile.
 */
static int trial_prepare_change(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	const struct policy *previous = &inst->policies[inst->slots.policy[slot]];
	struct trial_lines *mine = &inst->trials[slot];
	struct policy trial;

	mine->changes = !policy_trials_equal(previous, policy);
	mine->next = 0;
	if (!mine->changes || !policy_has_trial(policy))
		return 0;
	mine->next = inst->engine.slots[slot].trial == 1 ? 2 : 1;
	trial = policy_trial(policy);
	return make_line(inst, &trial, line_of(inst, slot, mine->next), hz);
}

static void trial_give_up(struct instance *inst, uint32_t slot)
{
	struct trial_lines *mine = &inst->trials[slot];

	if (mine->changes)
		free_line(inst, slot, mine->next);
	mine->changes = false;
}

/* No worker can reach the policy yet: publish_begin() sets the limits of both. */
static void trial_begin(struct instance *inst, unsigned policy)
{
	uint32_t slot = inst->slots.of[policy];
	struct trial_lines *mine = &inst->trials[slot];

	inst->engine.slots[slot].trial = mine->next;
	for (unsigned w = 0; mine->next && w < inst->config->n_workers; w++)
		police_set_trial(&inst->workers[w].policies[slot], mine->next);
	mine->next = 0;
	mine->since_ns = control_now();
}

/* No worker uses the new line yet; the next snapshot leads there. */
static void trial_change(struct instance *inst, unsigned policy)
{
	uint32_t slot = inst->slots.of[policy];
	struct trial_lines *mine = &inst->trials[slot];

	if (!mine->changes)
		return;
	mine->previous = inst->engine.slots[slot].trial;
	inst->engine.slots[slot].trial = mine->next;
	mine->next = 0;
	mine->since_ns = control_now();
	publish_begin_trial(inst, policy);
}

static void trial_changed(struct instance *inst, uint32_t slot)
{
	struct trial_lines *mine = &inst->trials[slot];

	free_line(inst, slot, mine->previous);
	mine->previous = 0;
	mine->changes = false;
}

static void trial_remove(struct instance *inst, uint32_t slot)
{
	free_line(inst, slot, inst->trials[slot].next);
	free_line(inst, slot, inst->engine.slots[slot].trial);
	free_line(inst, slot, inst->trials[slot].previous);
	inst->engine.slots[slot].trial = 0;
	inst->trials[slot] = (struct trial_lines){0};
}

const struct policy_part trial_part = {
	.prepare = trial_prepare,
	.prepare_change = trial_prepare_change,
	.give_up = trial_give_up,
	.begin = trial_begin,
	.change = trial_change,
	.changed = trial_changed,
	.remove = trial_remove,
};

unsigned trials_list_changes(const struct instance *inst, struct trial_change *changes)
{
	unsigned n = 0;

	for (unsigned i = 0; i < inst->n_policies; i++) {
		uint32_t slot = inst->slots.of[i];

		if (inst->trials[slot].changes)
			changes[n++] = (struct trial_change){slot, inst->engine.slots[slot].trial};
	}
	return n;
}

bool trials_look(struct instance *inst, unsigned policy, struct trial_now *now)
{
	uint32_t slot = inst->slots.of[policy];
	struct engine_limit limit = {.policy = &inst->policies[policy], .slot = slot};
	struct engine_trial trial;

	engine_view(&inst->engine, inst->limiter, policy, &limit);
	if (!engine_trial(&inst->engine, &limit, &trial))
		return false;
	*now = (struct trial_now){
		.policy = trial.policy,
		.local_limit = trial.limit.view.local_limit,
		.local_burst = trial.limit.view.local_burst,
		.age_s = (double)(control_now() - inst->trials[slot].since_ns) / SECOND_NS,
	};
	engine_trial_totals(&inst->engine, slot, &now->totals);
	return true;
}
