/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a box may pass, divided over its workers by demand: for meters that cannot draw from one
 * shared bucket (shared_bucket.h), because each keeps its own window or its own sign. Pure; control
 * thread.
 *
 * Shares are parts of rate and burst alike, and their sum is 1. Where all workers change to new
 * shares at one time, and each first earns at its old rate up to then, all of them together pass at
 * most r·t + b over any window t: a share that grows brings no tokens with it, and one that shrinks
 * gives up those above its burst. Those are lost, which is what a shift of demand costs. Where one
 * worker changes later than another by d, the bound grows by what its rate has lost, times d. That
 * is of buckets: a window that has been spent stays so under another share, and a worker whose
 * share grows within it has the larger one, so that flows that move may be granted a window twice.
 */
#ifndef WEIR_METER_SHARES_H
#define WEIR_METER_SHARES_H

#include <stdint.h>

/* Divided evenly, for a worker's first packets; what idle workers have of it is wasted. */
#define SHARES_FLOOR 0.01

/* Time over which a worker's demand is averaged, in seconds: as fast as looks come, if slower. */
#define SHARES_MEMORY_S 0.02

/* One worker's demand for one policy. Zeroed before use. */
struct share {
	uint64_t arrived; /* units as of the last look */
	double demand;    /* units a second, smoothed */
};

/*
 * A look at one worker's count of arrivals (passed or not, since it started), interval_s after the
 * last: follows its demand. keep is shares_keep() of the interval.
 */
void share_look(struct share *share, uint64_t arrived, double interval_s, double keep);

/* What is kept of an older average over an interval; to be computed once for all policies. */
double shares_keep(double interval_s);

/*
 * The parts of n workers (at least 1), in parts[]: in proportion to demand, but for SHARES_FLOOR.
 * None is 0; their sum is at most 1, and less by rounding only. Even where nobody has demand.
 */
void shares_divide(const struct share *shares, unsigned n, double *parts);

#endif
