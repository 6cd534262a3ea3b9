/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Moves a policy into a slot and out of it: all its state, on control and each worker.
 */
#include "attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"
#include "event.h"
#include "police/extended.h"
#include "policy/kind.h"
#include "worker_data.h"

static int shares_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct engine_slot *mine = &inst->engine.slots[slot];

	(void)hz;
	if (inst->config->n_workers == 1 || engine_is_borrowed(&inst->engine, policy))
		return 0;
	mine->shares = calloc(inst->config->n_workers, sizeof(*mine->shares));
	return mine->shares ? 0 : -ENOMEM;
}

static void shares_remove(struct instance *inst, uint32_t slot)
{
	free(inst->engine.slots[slot].shares);
	inst->engine.slots[slot].shares = NULL;
}

const struct policy_part shares_part = {.prepare = shares_prepare, .remove = shares_remove};

int policy_whole_profile(const struct instance *inst, const struct policy *policy, uint32_t slot,
	uint64_t hz, struct limit_profile *profile)
{
	const struct engine_limit whole = {.policy = policy,
		.slot = slot,
		.hz = hz,
		.view = {.local_limit = policy_rate(policy), .local_burst = policy->burst_bytes}};

	return engine_profile(&inst->engine, &whole, 1, profile);
}

static int lines_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct limit_profile profile;
	int ret = policy_whole_profile(inst, policy, slot, hz, &profile);

	for (unsigned w = 0; ret == 0 && w < inst->config->n_workers; w++)
		ret = worker_add_policy(&inst->workers[w], policy, &profile);
	return ret;
}

static int lines_prepare_change(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	int ret = 0;

	(void)slot;
	(void)hz;
	for (unsigned w = 0; ret == 0 && w < inst->config->n_workers; w++)
		ret = worker_change_policy(&inst->workers[w], policy);
	return ret;
}

static void lines_remove(struct instance *inst, uint32_t slot)
{
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		worker_remove_policy(&inst->workers[w], slot);
}

const struct policy_part lines_part = {
	.prepare = lines_prepare,
	.prepare_change = lines_prepare_change,
	.remove = lines_remove,
};

int policy_attach(struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	int ret;

	inst->carried_over[slot] = (struct carried_over){.also = SLOT_NONE};
	inst->engine.slots[slot] = (struct engine_slot){0};
	ret = parts_prepare(inst, policy, slot, hz);
	if (ret)
		event(POLICY_FAILED, event_word("policy", policy->name),
			event_word("why", strerror(-ret)));
	return ret;
}

void policy_detach(struct instance *inst, uint32_t slot)
{
	parts_remove(inst, slot);
	inst->engine.slots[slot] = (struct engine_slot){0};
}

unsigned *slots_per_source(const struct policy *policies, const uint32_t *slots, unsigned n,
	unsigned *n_sourced, unsigned *n_hard)
{
	unsigned *sourced = calloc((size_t)n + 1, sizeof(*sourced));

	*n_sourced = *n_hard = 0;
	for (unsigned i = 0; sourced && i < n; i++)
		if (policies[i].per_v4 || policies[i].per_v6)
			sourced[(*n_sourced)++] = slots[i];
	/* No policy is both. */
	for (unsigned i = 0; sourced && i < n; i++)
		if (policy_is_hard(&policies[i]))
			sourced[*n_sourced + (*n_hard)++] = slots[i];
	return sourced;
}

int slots_of_parents(const struct policy *policies, const uint32_t *slots, unsigned n,
	unsigned n_slots, uint32_t **parents)
{
	unsigned below = 0;

	*parents = NULL;
	for (unsigned i = 0; i < n; i++)
		below += policy_has_parent(&policies[i]);
	if (below == 0)
		return 0;
	*parents = malloc(n_slots * sizeof(**parents));
	if (!*parents)
		return -ENOMEM;
	for (unsigned slot = 0; slot < n_slots; slot++)
		(*parents)[slot] = SLOT_NONE;
	for (unsigned i = 0; i < n; i++)
		if (policy_has_parent(&policies[i]))
			(*parents)[slots[i]] = slots[policies[i].parent];
	return 0;
}
