/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commits of a limiter with hard limits between its ticks, in virtual time. It commits its
 * grants, sends them immediately, and does not sleep beyond the end of a lease.
 */
#ifndef WEIR_SIM_NODE_COMMIT_H
#define WEIR_SIM_NODE_COMMIT_H

#include "node.h"

/*
 * Called after each call of its limiter, when the meters have its limits. Begins a commit if
 * necessary, which takes the scenario's time of "commit", and sends the datagrams that are due.
 */
void node_follow_up(struct sim *sim, struct node *node);

/* Called at a crash: records that are not on the disk yet are lost, and the commit ends. */
void node_drop_commit(struct node *node);

#endif
