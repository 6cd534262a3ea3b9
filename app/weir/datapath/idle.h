/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How long an idle worker sleeps ("idle": "sleep").
 */
#ifndef WEIR_APP_IDLE_H
#define WEIR_APP_IDLE_H

#include <stdint.h>

#include "base/math.h"

/*
 * A worker sleeps half of the quiet time, at most 1 ms, so a packet after a pause waits at most
 * half as long again. After a longer quiet time it sleeps up to 4 ms, because wake-ups are the cost
 * of an idle limiter.
 */
#define SLEEP_MIN_NS  UINT64_C(50000)
#define SLEEP_MAX_NS  UINT64_C(1000000)
#define SLEEP_DEEP_NS UINT64_C(4000000)
#define DEEP_SHARE    256 /* part of the quiet time, for sleeps beyond 1 ms */

/*
 * A worker that can wait for packets (rx_wait.h) pauses only while the wire has been quiet for less
 * than this. At a higher rate of packets, a pause collects several of them for one wake-up.
 */
#define WAIT_AFTER_NS UINT64_C(500000)

/* Returns the nanoseconds to sleep after a quiet time. The worker. */
static inline uint64_t idle_sleep_ns(uint64_t quiet_ns)
{
	uint64_t ns = min_u64(quiet_ns / 2, SLEEP_MAX_NS);
	uint64_t deep = min_u64(quiet_ns / DEEP_SHARE, SLEEP_DEEP_NS);

	return max_u64(max_u64(ns, deep), SLEEP_MIN_NS);
}

#endif
