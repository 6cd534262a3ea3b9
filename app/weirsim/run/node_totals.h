/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a total at one limiter of the simulation: a credit each, which its workers take
 * from, filled by the appliance's own account (engine/credit_account.h) in virtual time.
 */
#ifndef WEIR_SIM_NODE_TOTALS_H
#define WEIR_SIM_NODE_TOTALS_H

#include "node.h"

/*
 * Accounts for the policies that have a total, if any has, when there is a limiter and before the
 * engine's states are added. Returns 0 or -ENOMEM; credit_states_free() is due in either case.
 */
int node_totals_create(struct sim *sim, struct node *node);

/* Looks at a policy's account, if it has one. Whether its workers are to be told of the policy. */
bool node_totals_look(struct sim *sim, struct node *node, unsigned policy);

/* The time until they are to be looked at again, nanoseconds. */
uint64_t node_totals_rest(const struct sim *sim, const struct node *node);

/* The limiter has heard or committed something: it is asked again for what could not be had. */
void node_totals_retry(struct sim *sim, struct node *node);

/* What a policy with a total has on a worker before a packet is charged to it. */
struct total_before {
	unsigned worker, policy;
	uint64_t passed, aside; /* bytes that passed, and those of them that it did not pay for */
	uint64_t earlier;       /* units in hand of another period */
};

/* Before a packet is charged to such a policy, or to one that is below it. */
struct total_before node_totals_before(const struct node *node, unsigned worker, unsigned policy);

/* After that: what it has paid for is recorded. */
void node_totals_after(struct sim *sim, struct node *node, const struct total_before *before);

#endif
