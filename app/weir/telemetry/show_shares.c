/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The demand of each limiter for one policy, from the gossip of this limiter.
 */
#include "show.h"

#include <stdio.h>
#include <string.h>

#include "gossip/gossip.h"
#include "instance.h"
#include "limiter/limiter.h"

/* A policy, by its index. */
struct shares {
	const struct instance *inst;
	unsigned policy;
};

/*
 * Gets the demand and weight of a limiter: measured if it is this one, otherwise from its last
 * report. Returns false if there is none that counts.
 */
static bool share_of(const struct shares *of, unsigned i, double *demand, double *weight)
{
	const struct limiter *limiter = of->inst->limiter;
	struct limiter_view view;
	struct gossip_sum told;

	if (i == of->inst->config->gossip.self) {
		limiter_view(limiter, of->policy, &view);
		*demand = view.demand;
		*weight = view.weight;
		return true;
	}
	if (!gossip_reported_sum(limiter_gossip(limiter), of->policy, i, &told))
		return false;
	*demand = told.demand;
	*weight = told.weight;
	return true;
}

static json_t *share_json(const void *context, unsigned i)
{
	const struct shares *of = context;
	const struct gossip_config *gossip = &of->inst->config->gossip;
	double demand, weight;
	json_t *json = json_pack(
		"{s:s, s:b}", "name", gossip->roster[i].name, "self", i == gossip->self);

	if (!share_of(of, i, &demand, &weight))
		return json;
	show_rate(json, &of->inst->policies[of->policy], "demand", demand);
	json_object_set_new(json, "weight", json_real(weight));
	return json;
}

/* params: "POLICY" or "POLICY,START". NULL if the policy's allocator does not gossip. */
json_t *show_shares(const char *params, void *context)
{
	struct shares of = {.inst = context};
	size_t len = params ? strcspn(params, ",") : 0;
	char name[CONFIG_NAME_MAX];

	if (!params || len >= sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)len, params);
	of.policy = show_find(of.inst, name);
	if (of.policy == of.inst->n_policies || !of.inst->policies[of.policy].allocator->gossips)
		return NULL;
	return show_page("limiters", params[len] ? params + len + 1 : NULL,
		of.inst->config->gossip.n_roster, TELEMETRY_PAGE, share_json, &of);
}
