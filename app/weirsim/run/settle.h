/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter with conserved policies does beside its ticks, in virtual time: it settles what it
 * has given away, says so at once, and does not sleep beyond the end of a lease.
 */
#ifndef WEIR_SIM_SETTLE_H
#define WEIR_SIM_SETTLE_H

#include "node.h"

/*
 * After each call of its limiter, when the meters know of its limits: begins to settle what is to
 * be settled, which takes the scenario's time of "settle", and sends what there is to be sent.
 */
void node_follow_up(struct sim *sim, struct node *node);

/* A crash: what was on its way to the disk is lost, and nothing is being settled. */
void node_unsettle(struct node *node);

#endif
