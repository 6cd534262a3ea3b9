/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Detects queues of a port that are of no use. A device can have several queues and put all packets
 * on one, even if it reports RSS. So this uses the packets that arrive. Control.
 */
#ifndef WEIR_APP_QUEUES_H
#define WEIR_APP_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* Returns the number of queues of a port that have received packets since the start. */
unsigned queues_used(const struct instance *inst, unsigned port);

/* The task. Reports once for a port that some queues get no packets, and others many flows. */
uint64_t queues_next(const struct instance *inst);
bool queues_run(struct instance *inst, uint64_t now_ns);

#endif
