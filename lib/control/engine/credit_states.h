/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The credits of an engine whose workers are states and no threads (engine/states.h), by slot: for
 * the simulator and the replay of captures. One thread.
 */
#ifndef WEIR_ENGINE_CREDIT_STATES_H
#define WEIR_ENGINE_CREDIT_STATES_H

#include <stdint.h>

#include "engine/credit_account.h"
#include "engine/engine.h"

/* Zeroed before use. */
struct credit_states {
	struct credit *credits;
	struct credit_account *accounts; /* of a slot that has no total: without a credit */
};

/*
 * Room for so many slots, from which the engine joins credits to profiles; before its states are
 * added. The engine has no other driver. Returns 0 or -ENOMEM; credit_states_free() is due in
 * either case, after the engine.
 */
int credit_states_alloc(struct credit_states *states, struct engine *engine, unsigned n_slots);
void credit_states_free(struct credit_states *states);

/* The policy in a slot has a total: its account begins. The limiter knows it by the same number. */
struct credit_account *credit_states_begin(
	struct credit_states *states, const struct credit_owner *owner, uint64_t now_ns);

#endif
