/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The pause of a worker without packets: it polls, sleeps, or waits at its sockets (rx_wait.h).
 */
#ifndef WEIR_APP_WORKER_SLEEP_H
#define WEIR_APP_WORKER_SLEEP_H

struct worker;

/*
 * Pauses at most until a waiting packet is due. Takes the limits that control has sent meanwhile.
 * Called after a turn without work. The worker.
 */
void worker_sleep(struct worker *worker);

/*
 * Wakes a waiting worker if it has something to take without a packet: limits, a snapshot, a
 * specimen, or the stop. Does nothing for a worker that only pauses. Control.
 */
void worker_wake(const struct worker *worker);

#endif
