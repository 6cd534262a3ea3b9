/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether all queues of a port are of use: a device may have several and put all that comes on one
 * of them, whatever it says of RSS. What arrives tells. Control.
 */
#ifndef WEIR_APP_QUEUES_H
#define WEIR_APP_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* By how many queues of a port packets have come since the start. */
unsigned queues_used(const struct instance *inst, unsigned port);

/* The task: says once of a port that some of its queues get nothing, and others many flows. */
uint64_t queues_next(const struct instance *inst);
bool queues_run(struct instance *inst, uint64_t now_ns);

#endif
