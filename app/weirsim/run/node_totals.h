/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a quota at one limiter of the simulation. Each has a credit from which its workers
 * take units. weir's own account fills it (engine/credit_account.h) in virtual time.
 */
#ifndef WEIR_SIM_NODE_TOTALS_H
#define WEIR_SIM_NODE_TOTALS_H

#include "node.h"

/*
 * Creates accounts for policies with a quota, if there are any. Called when there is a limiter, and
 * before the engine's states are added. Returns 0 or -ENOMEM; credit_states_free() is due in either
 * case.
 */
int node_totals_create(struct sim *sim, struct node *node);

/* Reviews a policy's account, if it has one. Returns true if its workers need a new profile. */
bool node_totals_look(struct sim *sim, struct node *node, unsigned policy);

/* Returns the time until the next review, nanoseconds. */
uint64_t node_totals_rest(const struct sim *sim, const struct node *node);

/*
 * Requests units again that were unavailable, after the limiter has received or committed
 * something.
 */
void node_totals_retry(struct sim *sim, struct node *node);

/* State of a policy with a quota on a worker before a packet is charged to it. */
struct total_before {
	unsigned worker, policy;
	uint64_t passed, aside; /* bytes that passed, and the part of them that was not charged */
	uint64_t earlier;       /* prefetched units of another period */
};

/* Called before a packet is charged to such a policy, or to a child of it. */
struct total_before node_totals_before(const struct node *node, unsigned worker, unsigned policy);

/* Called after that: records the charged units. */
void node_totals_after(struct sim *sim, struct node *node, const struct total_before *before);

/* --- commit ----------------------------------------------------------------------------------- */

/*
 * Commits of a limiter with hard limits between its ticks, in virtual time. It commits its
 * grants, sends them immediately, and does not sleep beyond the end of a lease.
 */

/*
 * Called after each call of its limiter, when the meters have its limits. Begins a commit if
 * necessary, which takes the scenario's time of "commit", and sends the datagrams that are due.
 */
void node_follow_up(struct sim *sim, struct node *node);

/* Called at a crash: records that are not on the disk yet are lost, and the commit ends. */
void node_drop_commit(struct node *node);

#endif
