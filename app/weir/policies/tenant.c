/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "tenant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "box.h"
#include "log.h"
#include "police/lend.h"
#include "police/other.h"
#include "engine/profile.h"
#include "police/shaped.h"
#include "policy/kind.h"

bool tenant_is_lent(const struct box *box, const struct policy *policy)
{
	return box->reserves && (policy_is_plain(policy) || policy_is_shaped(policy));
}

static int shares_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct split *split = &box->splits[slot];

	(void)hz;
	if (box->config->n_workers == 1 || tenant_is_lent(box, policy))
		return 0;
	split->shares = calloc(box->config->n_workers, sizeof(*split->shares));
	return split->shares ? 0 : -ENOMEM;
}

static void shares_remove(struct box *box, uint32_t slot)
{
	free(box->splits[slot].shares);
	box->splits[slot].shares = NULL;
}

const struct policy_part shares_part = {.prepare = shares_prepare, .remove = shares_remove};

/*
 * On every worker, with the whole limit: what the limiter will grant is no more than that, so if
 * the meter can express this, publish_begin() cannot fail.
 */
static int lines_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	const struct limiter_view whole = {
		.local_limit = policy_rate(policy),
		.local_burst = policy->burst_bytes,
	};
	struct limit_profile profile;
	int ret = limit_profile_init(
		&profile, policy, slot, &whole, &box->splits[slot].sampling, 1, hz);

	if (ret == 0 && tenant_is_lent(box, policy) && !profile.shaped)
		profile.meter.bucket = police_lent_profile();
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
	box->splits[slot] = (struct split){0};
	ret = parts_prepare(box, policy, slot, hz);
	if (ret)
		log_err("policy %s: %s", policy->name, strerror(-ret));
	return ret;
}

void tenant_remove(struct box *box, uint32_t slot)
{
	parts_remove(box, slot);
	box->splits[slot] = (struct split){0};
}

struct limiter_policy *tenants_limits(const struct policy *policies, unsigned n)
{
	struct limiter_policy *limits = calloc((size_t)n + 1, sizeof(*limits));

	for (unsigned i = 0; limits && i < n; i++)
		limits[i] = limit_profile_policy(&policies[i], (int64_t)time(NULL));
	return limits;
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
