/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How long a worker sleeps that has nothing to do, where it may ("idle": "sleep").
 */
#ifndef WEIR_APP_IDLE_H
#define WEIR_APP_IDLE_H

#include <stdint.h>

#include "base/math.h"

/*
 * Half of what the wire has been quiet for, so that a packet after a pause waits at most half as
 * long again, up to a millisecond; a wire that is quiet for seconds may cost its next packet four,
 * because the wake-ups are what an idle box costs.
 */
#define SLEEP_MIN_NS  UINT64_C(50000)
#define SLEEP_MAX_NS  UINT64_C(1000000)
#define SLEEP_DEEP_NS UINT64_C(4000000)
#define DEEP_SHARE    256 /* of the quiet time, beyond the millisecond */

/*
 * A worker that can wait for packets (rx_wait.h) pauses only while the wire has been quiet for less
 * than this. At a higher rate of packets, a pause collects several of them for one wake-up.
 */
#define WAIT_AFTER_NS UINT64_C(500000)

/* Nanoseconds, after so many in which nothing came. The worker. */
static inline uint64_t idle_sleep_ns(uint64_t quiet_ns)
{
	uint64_t ns = min_u64(quiet_ns / 2, SLEEP_MAX_NS);
	uint64_t deep = min_u64(quiet_ns / DEEP_SHARE, SLEEP_DEEP_NS);

	return max_u64(max_u64(ns, deep), SLEEP_MIN_NS);
}

#endif
