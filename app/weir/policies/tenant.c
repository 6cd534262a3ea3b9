/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "tenant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "log.h"
#include "police/other.h"
#include "policy/kind.h"

static int shares_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct engine_slot *mine = &box->engine.slots[slot];

	(void)hz;
	if (box->config->n_workers == 1 || engine_is_lent(&box->engine, policy))
		return 0;
	mine->shares = calloc(box->config->n_workers, sizeof(*mine->shares));
	return mine->shares ? 0 : -ENOMEM;
}

static void shares_remove(struct box *box, uint32_t slot)
{
	free(box->engine.slots[slot].shares);
	box->engine.slots[slot].shares = NULL;
}

const struct policy_part shares_part = {.prepare = shares_prepare, .remove = shares_remove};

/*
 * On every worker, with the whole limit: what the limiter will grant is no more than that, so if
 * the meter can express this, publish_begin() cannot fail.
 */
static int lines_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	const struct engine_limit whole = {.policy = policy,
		.slot = slot,
		.hz = hz,
		.view = {.local_limit = policy_rate(policy), .local_burst = policy->burst_bytes}};
	struct limit_profile profile;
	int ret = engine_profile(&box->engine, &whole, 1, &profile);

	for (unsigned w = 0; ret == 0 && w < box->config->n_workers; w++)
		ret = worker_add_policy(&box->workers[w], policy, &profile);
	return ret;
}

static int lines_prepare_change(struct box *box, const struct policy *policy)
{
	int ret = 0;

	for (unsigned w = 0; ret == 0 && w < box->config->n_workers; w++)
		ret = worker_change_policy(&box->workers[w], policy);
	return ret;
}

static void lines_remove(struct box *box, uint32_t slot)
{
	for (unsigned w = 0; w < box->config->n_workers; w++)
		worker_remove_policy(&box->workers[w], slot);
}

const struct policy_part lines_part = {
	.prepare = lines_prepare,
	.prepare_change = lines_prepare_change,
	.remove = lines_remove,
};

int tenant_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	int ret;

	box->carried[slot] = (struct carried){.also = SLOT_NONE};
	box->engine.slots[slot] = (struct engine_slot){0};
	ret = parts_prepare(box, policy, slot, hz);
	if (ret)
		log_err("policy %s: %s", policy->name, strerror(-ret));
	return ret;
}

void tenant_remove(struct box *box, uint32_t slot)
{
	parts_remove(box, slot);
	box->engine.slots[slot] = (struct engine_slot){0};
}

unsigned *tenants_sourced(
	const struct policy *policies, const uint32_t *slots, unsigned n, unsigned *n_sourced)
{
	unsigned *sourced = calloc((size_t)n + 1, sizeof(*sourced));

	*n_sourced = 0;
	for (unsigned i = 0; sourced && i < n; i++)
		if (policies[i].per_v4 || policies[i].per_v6)
			sourced[(*n_sourced)++] = slots[i];
	return sourced;
}
