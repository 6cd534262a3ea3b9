/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The loop of a worker lcore: receive a burst, decide, send.
 */
#ifndef WEIR_APP_WORKER_H
#define WEIR_APP_WORKER_H

#include <stdint.h>

#include "base/math.h"

/* How long an idle worker sleeps ("idle": "sleep"). */

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

struct worker;

/* Body of the lcore, for rte_eal_remote_launch(); arg is a struct worker. Runs until *stop. */
int worker_run(void *arg);

/*
 * The parts of worker_run(), for benchmarks and tests that have a loop of their own. A turn decides
 * one burst of each path; the last burst can wait for the next turn. The third function decides
 * that burst; call it before packets are counted. The worker's thread calls all of them.
 */
void worker_begin(struct worker *worker);
void worker_turn(struct worker *worker);
void worker_finish(struct worker *worker);
void worker_end(struct worker *worker);

/* The pause of a worker without packets: it polls, sleeps, or waits at its sockets (rx_wait.h). */

struct worker;

/*
 * Wakes a waiting worker if it has something to take without a packet: limits, a snapshot, a
 * specimen, or the stop. Does nothing for a worker that only pauses. Control.
 */
void worker_wake(const struct worker *worker);

#endif
