/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter with conserved policies does beside its ticks, in virtual time: it commits what it
 * has given away, says so at once, and does not sleep beyond the end of a lease.
 */
#ifndef WEIR_SIM_NODE_COMMIT_H
#define WEIR_SIM_NODE_COMMIT_H

#include "node.h"

/*
 * After each call of its limiter, when the meters know of its limits: begins to commit what is to
 * be committed, which takes the scenario's time of "commit", and sends what there is to be sent.
 */
void node_follow_up(struct sim *sim, struct node *node);

/* A crash: what was on its way to the disk is lost, and nothing is being committed. */
void node_drop_commit(struct node *node);

#endif
