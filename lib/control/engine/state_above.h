/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Waiting packets of a policy with ancestors, in an engine that changes states itself. The
 * ancestors decide when a packet is about to leave, and count it after that. Private to this room.
 */
#ifndef WEIR_ENGINE_STATE_ABOVE_H
#define WEIR_ENGINE_STATE_ABOVE_H

#include <stdint.h>

struct engine;
struct engine_worker;
struct policy_shape;
struct policy_state;
struct shape_packet;

/*
 * Lends the policy in a slot the missing tokens for a packet of that cost, from the bucket that
 * workers share. Does nothing if the policy does not borrow.
 */
void state_lend(const struct engine *engine, struct policy_state *state, uint32_t slot,
	uint32_t cost, uint64_t now);

/* Registers the ancestors' decision with the worker's shaper. */
void state_above_begin(struct engine_worker *worker);

/* Counts a packet that leaves at the ancestors. */
void state_above_count(struct engine_worker *worker, const struct policy_shape *shape,
	const struct shape_packet *packet);

#endif
