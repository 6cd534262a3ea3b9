/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans of a simulated limiter.
 */
#ifndef WEIR_SIM_NODE_LOANS_H
#define WEIR_SIM_NODE_LOANS_H

#include "node.h"

/* True if the scenario has loans, and a policy that lends. */
bool node_lends(const struct sim *sim);

/* The buckets of a limiter, for limiter_create(); all NULL without loans. */
struct limiter_buckets node_buckets(struct sim *sim, struct node *node);

/* Schedules the limiter's next look at its buckets, if there is to be one. */
void node_await_look(struct sim *sim, struct node *node);

/* Bytes lent and borrowed by all limiters, previous starts included. */
struct loan_totals nodes_loans(const struct sim *sim, unsigned policy);

/* Messages of loans by all limiters, previous starts included. */
struct loan_counters nodes_loan_messages(const struct sim *sim);

/* Adds the totals of a limiter that is about to crash. */
void node_keep_loans(struct sim *sim, const struct node *node);

#endif
