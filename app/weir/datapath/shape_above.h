/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait and whose policy is below others: these are asked as each is about to leave.
 * What they take of it they count when it has left. The worker's own thread.
 */
#ifndef WEIR_APP_SHAPE_ABOVE_H
#define WEIR_APP_SHAPE_ABOVE_H

#include <stdbool.h>
#include <stdint.h>

struct policy_shape;
struct shape_packet;
struct worker;

/* Has the worker's shaper ask it. Before the worker runs. */
void shape_above_begin(struct worker *worker);

/*
 * A packet leaves: they have `taken` it, or have not been asked, and then it takes of what they
 * have, as far as that goes, what it costs.
 */
void shape_above_leave(struct worker *worker, const struct policy_shape *shape,
	const struct shape_packet *packet, bool taken);

/*
 * Which level of its policy's lineage does not let go now of a packet that waits, as it has no room
 * for it or cannot mark it as it would: 1 is the parent; 0 if all would let it leave. What they
 * cost is not taken.
 */
unsigned shape_above_refuser(struct worker *worker, const struct policy_shape *shape,
	struct shape_packet *packet, uint64_t now);

/* One does not leave that they have taken. */
void shape_above_give(
	struct worker *worker, const struct policy_shape *shape, const struct shape_packet *packet);

#endif
