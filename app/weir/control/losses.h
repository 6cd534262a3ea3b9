/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports when packets are lost that no policy drops, when datagrams are rejected, and when that
 * has ended. Detects queues of a port that are of no use. Control.
 */
#ifndef WEIR_APP_LOSSES_H
#define WEIR_APP_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* The module, and the task. Start returns 0 or -ENOMEM. */
int losses_start(struct instance *inst);
void losses_stop(struct instance *inst);
uint64_t losses_next(const struct instance *inst);
bool losses_run(struct instance *inst, uint64_t now_ns);

/* Packets that a port lost because a worker came too late, by the device and by the kernel. */
struct rte_eth_stats;
uint64_t losses_missed(
	const struct instance *inst, unsigned port, const struct rte_eth_stats *stats);

/*
 * True while datagrams are rejected, and were for some seconds. Then `text` has the verdicts and
 * their numbers since it began, such as "replay 397".
 */
#define LOSSES_VERDICTS 256
bool losses_refused(const struct instance *inst, char text[LOSSES_VERDICTS]);

/* --- queues without packets ------------------------------------------------------------------- */

/*
 * A device can have several queues and put all packets on one, even if it reports RSS. So this uses
 * the packets that arrive.
 */

/* Returns the number of queues of a port that have received packets since the start. */
unsigned queues_used(const struct instance *inst, unsigned port);

/* The task. Reports once for a port that some queues get no packets, and others many flows. */
uint64_t queues_next(const struct instance *inst);
bool queues_run(struct instance *inst, uint64_t now_ns);

#endif
