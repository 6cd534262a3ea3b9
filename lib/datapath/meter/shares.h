/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's limit, divided over its workers by demand: for meters that cannot draw from one
 * shared bucket (shared_bucket.h). They cannot because each keeps its own window or its own sign.
 * Pure; control thread.
 *
 * Shares are parts of rate and burst alike, and their sum is 1. Let all workers change to new
 * shares at one time, and each first earn at its old rate up to then. Then all of them together
 * pass at most r·t + b over any window t. A share that grows brings no tokens with it, and one that
 * shrinks gives up the tokens above its burst. These are lost, which is the cost of a shift of
 * demand. If one worker changes later than another by d, the bound grows by its lost rate, times d.
 * That is for buckets. A window that has been spent stays so under another share, and a worker
 * whose share grows within it has the larger one. So flows that move can be granted a window twice.
 */
#ifndef WEIR_METER_SHARES_H
#define WEIR_METER_SHARES_H

#include <stdint.h>

/* Part divided evenly, for a worker's first packets; the parts of idle workers are wasted. */
#define SHARES_FLOOR 0.01

/*
 * Time over which a worker's demand is averaged, in seconds; or the interval of looks, if longer.
 */
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

/*
 * Returns the part of an older average that is kept over an interval; compute it once for all
 * policies.
 */
double shares_keep(double interval_s);

/*
 * Writes the parts of n workers (at least 1) to parts[]: in proportion to demand, except for
 * SHARES_FLOOR. None is 0; their sum is at most 1, and less by rounding only, even if no worker has
 * demand.
 */
void shares_divide(const struct share *shares, unsigned n, double *parts);

#endif
