/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait for a policy below others. The levels above are charged when a packet is about
 * to leave, and count it after it has left. The worker's own thread.
 */
#ifndef WEIR_APP_SHAPE_ABOVE_H
#define WEIR_APP_SHAPE_ABOVE_H

#include <stdbool.h>
#include <stdint.h>

struct policy_shape;
struct shape_packet;
struct worker;

/* Registers the levels above with the worker's shaper. Before the worker runs. */
void shape_above_begin(struct worker *worker);

/*
 * Counts a packet that leaves. `taken`: the levels above have been charged. Otherwise this takes
 * the packet's cost from their buckets, as far as they have it.
 */
void shape_above_leave(struct worker *worker, const struct policy_shape *shape,
	const struct shape_packet *packet, bool taken);

/*
 * Returns the level of a policy's lineage that does not let a waiting packet leave now, because it
 * lacks tokens or cannot mark the packet. 1 is the parent; 0 means that all let it leave. Takes no
 * tokens.
 */
unsigned shape_above_refuser(struct worker *worker, const struct policy_shape *shape,
	struct shape_packet *packet, uint64_t now);

/* Gives back the cost of a packet that does not leave after all. */
void shape_above_give(
	struct worker *worker, const struct policy_shape *shape, const struct shape_packet *packet);

#endif
