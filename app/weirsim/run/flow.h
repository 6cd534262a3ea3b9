/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Traffic: flows of every kind on their way from a sender through a limiter to a receiver, and
 * back. The path of a packet: sender, jitter, upstream bottleneck, a quarter of the round-trip
 * time, limiter, another quarter, receiver. Answers take half of the round-trip time, and pass no
 * limiter.
 */
#ifndef WEIR_SIM_FLOW_H
#define WEIR_SIM_FLOW_H

#include "sim.h"

/* Plans all traffic of the scenario. Returns 0 or -ENOMEM. */
int flows_create(struct sim *sim);
void flows_free(struct sim *sim);

#endif
