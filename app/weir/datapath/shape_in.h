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

/* A packet on its way to shape_in_arrive(). */
struct held {
	struct rte_mbuf *m;
	uint32_t slot; /* of its policy */
	uint32_t cost;
	uint16_t path; /* of the worker's, by which it came */
	bool ecn;      /* may be marked */
};

/*
 * A packet of a policy that police_is_shaped(), and counts it. SHAPE_WAITS: it is the worker's
 * shaper's; above that it is to be dropped, and is counted as the worker's drop too. The worker's
 * own thread.
 */
enum shape_verdict shape_in_arrive(
	struct worker *worker, struct policy_state *state, const struct held *held, uint64_t now);

#endif
