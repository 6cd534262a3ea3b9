/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that the meters of a node enforce. They are its limiter's limits, or the rest of a hard
 * limit when a lease ends while the control thread stalls (base/expiry.h). Checks that the sum over
 * all nodes never exceeds a hard limit.
 */
#ifndef WEIR_SIM_NODE_LIMITS_H
#define WEIR_SIM_NODE_LIMITS_H

#include "node.h"

/* Returns the limiter's present limit, and counts it as enforced. */
struct engine_limit node_limit_of(struct sim *sim, struct node *node, unsigned p);

/* Enforces the limiter's present limit. */
void node_enforce(struct sim *sim, struct node *node, unsigned p);

/* Notes the largest and smallest limit of a policy, after a change. */
void node_limits_in_force(struct sim *sim, unsigned p);

/* Enforces the limits that have changed. */
void node_enforce_changes(struct sim *sim, struct node *node);

/* The meters are gone: they enforce nothing. */
void node_enforce_nothing(struct sim *sim, struct node *node);

/* Starts the leases of a limiter that has just started. */
void node_lease_start(struct sim *sim, struct node *node);

/* Renews the leases after each call of the limiter, when the meters enforce its limits. */
void node_lease_renew(struct sim *sim, struct node *node);

/* The control thread stalls from now on: schedules the end of the leases. */
void node_lease_run_out(struct sim *sim, struct node *node);

/* Has sim->released called when packets that wait on a worker can leave. */
void node_await_release(struct sim *sim, struct node *node, unsigned worker);

#endif
