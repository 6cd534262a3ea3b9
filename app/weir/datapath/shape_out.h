/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How waiting packets leave a worker: when they conform, when their policy leaves, or when the
 * worker stops. They leave in their order of arrival, and each is transmitted, or dropped and
 * counted. A packet that leaves before it conforms is flushed. It has no tokens, so it is dropped
 * if its limit is hard. The worker's own thread.
 */
#ifndef WEIR_APP_SHAPE_OUT_H
#define WEIR_APP_SHAPE_OUT_H

#include <stdbool.h>
#include <stdint.h>

struct snapshot;
struct worker;

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
