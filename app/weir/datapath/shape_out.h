/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a worker holds goes on its way: when it conforms; when its policy leaves; or when the worker
 * stops. In the order in which it came, and each packet sent or counted as dropped. What leaves
 * before it conforms has no tokens: of a conserved limit it is dropped. The worker's own thread.
 */
#ifndef WEIR_APP_SHAPE_OUT_H
#define WEIR_APP_SHAPE_OUT_H

#include <stdbool.h>
#include <stdint.h>

struct snapshot;
struct worker;

/*
 * Sends what is due by now, some bursts of it at most; returns whether there was anything. Before a
 * turn's bursts, so that packets that have waited are before those that come.
 */
bool shape_out_due(struct worker *worker);

/*
 * If the TSC has been set back: sends, or drops, all that waits, as nobody knows any more when it
 * is due. Its queues begin anew as control tells their limits again.
 */
void shape_out_clock(struct worker *worker, uint64_t now);

/*
 * Sends, or drops, what waits for policies that a newer snapshot has no more, some of it at a time,
 * after all that is due as it begins. True when all has left: then the worker may go by that
 * snapshot, and no flow's packets overtake others. Until then what comes for these policies still
 * goes through their queues.
 */
bool shape_out_leaving(struct worker *worker, const struct snapshot *newer);

/* Releases all that the worker holds: it stops. */
void shape_out_all(struct worker *worker);

#endif
