/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Worlds of one part of lib/control each, in virtual time. They print violations on standard
 * output. One seed is one run.
 */
#ifndef WEIR_SIM_WORLDS_H
#define WEIR_SIM_WORLDS_H

#include <stdbool.h>
#include <stdint.h>

#include "gossip/gossip.h"

/* Sums over all runs. */
struct ledger_sums {
	uint64_t adoptions, memory_losses, news, joined;
};

/*
 * Round trips over an edge of the tree, relative to the mean of all pairs, and messages without
 * faults.
 */
struct budget_sums {
	double tree, lot, messages;
	unsigned worlds, nodes;
};

/* Limiters with all parts, see group_world.c. Returns true if no check failed. */
bool run_group_world(uint64_t seed, enum gossip_estimator estimator, bool reloads);

/* Limiters with all features, see mixed_world.c. Ends the program when a call fails. */
void run_mixed_world(uint64_t seed, enum gossip_estimator estimator);

/* Peers that compare their settings, see agree_world.c. */
void run_agree_world(uint64_t seed);

/* Sources that are placed, see place_world.c. */
void run_place_world(uint64_t seed);

/* Ledgers alone, see ledger_world.c. Returns true if no check failed. */
bool run_ledger_world(uint64_t seed, unsigned steps, bool joins, struct ledger_sums *sums);

/* Budgets and their tree, see budget_world.c. Ends the program after a violation. */
void run_budget_world(uint64_t seed, struct budget_sums *sums);

#endif
