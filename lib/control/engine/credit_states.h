/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The credits of an engine whose workers are states, not threads (engine/states.h), by slot: for
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
	struct credit_account *accounts; /* credit is NULL in slots without a quota */
};

/*
 * Allocates credits for n_slots slots. The engine joins them to profiles, and has no other driver.
 * Call it before adding states. Returns 0 or -ENOMEM; call credit_states_free() in both cases,
 * after freeing the engine.
 */
int credit_states_alloc(struct credit_states *states, struct engine *engine, unsigned n_slots);
void credit_states_free(struct credit_states *states);

/* Starts the account of a policy with a quota. The slot is its index in the limiter. */
struct credit_account *credit_states_begin(
	struct credit_states *states, const struct credit_owner *owner, uint64_t now_ns);

#endif
