/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The steps of packets of policies with ACTION_SHAPE: into the worker's shaper, past the levels
 * above, and out. The worker's own thread.
 */
#ifndef WEIR_APP_SHAPE_STEPS_H
#define WEIR_APP_SHAPE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/shape.h"

struct policy_shape;
struct policy_state;
struct rte_mbuf;
struct shape_packet;
struct snapshot;
struct worker;

/* --- in --------------------------------------------------------------------------------------- */

/* A packet for shape_in_arrive(). */
struct held {
	struct rte_mbuf *m;
	uint32_t slot; /* the policy's */
	uint32_t cost;
	uint16_t path; /* index of the worker's path that it arrived on */
	bool ecn;      /* its sender understands CoDel's mark */
};

/*
 * Counts a packet of a policy that police_is_shaped(), and queues it if it must wait. SHAPE_WAITS:
 * the worker's shaper owns it. After a larger verdict the caller must drop it; the worker's
 * counters already have the drop.
 */
enum shape_verdict shape_in_arrive(
	struct worker *worker, struct policy_state *state, const struct held *held, uint64_t now);

/* --- levels above ----------------------------------------------------------------------------- */

/*
 * Packets that wait for a policy below others. The levels above are charged when a packet is about
 * to leave, and count it after it has left.
 */

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

/* --- out -------------------------------------------------------------------------------------- */

/*
 * Waiting packets leave a worker when they conform, when their policy leaves, or when the worker
 * stops. They leave in their order of arrival, and each is transmitted, or dropped and counted. A
 * packet that leaves before it conforms is flushed. It has no tokens, so it is dropped if its limit
 * is hard.
 */

/*
 * Transmits packets that are due, at most some bursts. Returns true if there were any. Call it
 * before a turn's bursts, so that packets that have waited leave before new ones.
 */
bool shape_out_due(struct worker *worker);

/*
 * If the TSC has been set back, flushes all waiting packets, because the times at which they are
 * due are lost. The queues restart when control sends their limits again.
 */
void shape_out_clock(struct worker *worker, uint64_t now);

/*
 * Flushes policies that a newer snapshot no longer has, a part at a time, after all packets that
 * were due when it began. Returns true when all have left. Then the worker can use the snapshot,
 * and no packet overtakes others of its flow. Until then new packets of these policies still join
 * their queues.
 */
bool shape_out_leaving(struct worker *worker, const struct snapshot *newer);

/* Flushes all waiting packets, because the worker stops. */
void shape_out_all(struct worker *worker);

#endif
