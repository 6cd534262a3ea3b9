/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "replay_limits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "engine/engine.h"
#include "policy/kind.h"

/* Makes the limiter's policies. A quota is divided over the limiters, also if it is in etcd. */
static struct limiter_policy *make_policies(
	const struct config *config, unsigned n, uint64_t now_ns)
{
	struct limiter_policy *policies = engine_limiter_policies(
		config->policies, config->n_policies, LOANS_NONE, (int64_t)(now_ns / SECOND_NS));

	for (unsigned i = 0; policies && i < config->n_policies; i++) {
		policies[i].drawn = false;
		if (!policy_is_quota(&config->policies[i]))
			policies[i].allocator = n > 1 ? &allocator_static : &allocator_central;
	}
	return policies;
}

/* Makes a roster of n. The names do not matter to limit/N. */
static int make_roster(unsigned n, struct roster **out)
{
	uint32_t *ids = calloc(n, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		ids[i] = i + 1;
	ret = roster_create(ids, n, out);
	free(ids);
	return ret;
}

int limits_create(
	struct replay_limits *limits, const struct config *config, unsigned n, uint64_t now_ns)
{
	struct limiter_policy *policies = make_policies(config, n, now_ns);
	struct limiter_params params = {
		.gossip = {.epoch = 1,
			.branching = 1,
			.timeout_ns = config->gossip.timeout_ns,
			.datagram_max = config->gossip.datagram_max},
		.policies = policies,
		.n_policies = config->n_policies,
		.n_workers = 1,
		/* Nothing is granted: each limiter keeps its share of hard limits. */
		.ledger = {.epoch = 1,
			.lease_ns = config->ledger.lease_ns,
			.timeout_ns = config->gossip.timeout_ns},
	};
	int ret = -ENOMEM;

	*limits = (struct replay_limits){.busy_ns = now_ns};
	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct policy *policy = &config->policies[i];

		limits->needs_demand |= meter_can(policy->meter, METER_AT_RANDOM);
		if (policy->interval_ns > limits->longest_ns)
			limits->longest_ns = policy->interval_ns;
	}
	if (policies)
		ret = make_roster(n, &limits->roster);
	params.gossip.roster = limits->roster;
	if (ret == 0)
		ret = limiter_create(&params, now_ns, &limits->limiter);
	free(policies);
	return ret;
}

void limits_destroy(struct replay_limits *limits)
{
	limiter_destroy(limits->limiter);
	roster_destroy(limits->roster);
	*limits = (struct replay_limits){0};
}

/*
 * Ends the intervals one by one while they have packets: for the longest interval, and one tick
 * more, after the last packet. The quiet time after that is one interval of any length. A filter
 * with zero input for two times ends in the same state as for both together.
 */
bool limits_advance(
	struct replay_limits *limits, uint64_t now_ns, limiter_measure measure, void *context)
{
	bool ended = false;
	uint64_t due;

	if (!limits->needs_demand)
		return false;
	while ((due = limiter_next(limits->limiter)) <= now_ns) {
		bool quiet = due - limits->busy_ns > 2 * limits->longest_ns;

		limiter_tick(limits->limiter, quiet ? now_ns : due, measure, context);
		ended = true;
	}
	limits->busy_ns = now_ns;
	return ended;
}
