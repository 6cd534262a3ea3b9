/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies with ACTION_SHAPE on their way into the worker's shaper.
 */
#ifndef WEIR_APP_SHAPE_IN_H
#define WEIR_APP_SHAPE_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "shape/shape.h"

struct policy_state;
struct rte_mbuf;
struct worker;

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
 * counters already have the drop. The worker's own thread.
 */
enum shape_verdict shape_in_arrive(
	struct worker *worker, struct policy_state *state, const struct held *held, uint64_t now);

#endif
