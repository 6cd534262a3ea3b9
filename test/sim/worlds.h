/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Worlds of one part of the brain each, in virtual time, which say on standard output what must not
 * be. One seed is one run.
 */
#ifndef WEIR_SIM_WORLDS_H
#define WEIR_SIM_WORLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "gossip/gossip.h"

/* What runs add to. */
struct ledger_sums {
	uint64_t adoptions, memory_losses, news;
};

/* Round trips over an edge of the tree, by the mean of all pairs, and letters when all is calm. */
struct budget_sums {
	double tree, lot, messages;
	unsigned worlds, nodes;
};

/* Limiters with all that they are made of, see group_world.c: whether all was well. */
bool run_group_world(uint64_t seed, enum gossip_estimator estimator, bool reloads);

/* Limiters with everything at once, see mixed_world.c: ends the program when a call fails. */
void run_mixed_world(uint64_t seed, enum gossip_estimator estimator);

/* Peers that compare what they were told, see agree_world.c. */
void run_agree_world(uint64_t seed);

/* Sources that are placed, see place_world.c. */
void run_place_world(uint64_t seed);

/* Ledgers alone, see ledger_world.c: whether all was well. */
bool run_ledger_world(uint64_t seed, unsigned steps, struct ledger_sums *sums);

/* Budgets and their tree, see budget_world.c: ends the program when something is wrong. */
void run_budget_world(uint64_t seed, struct budget_sums *sums);

#endif
