/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The end of a worker, after its loop.
 */
#ifndef WEIR_APP_WORKER_STOP_H
#define WEIR_APP_WORKER_STOP_H

struct worker;

/*
 * Notes that this worker has ended. If it owns shared queues, it transmits the packets that other
 * workers return until all have ended, or for a time, and then drops the rest. The worker.
 */
void worker_drain(struct worker *worker);

#endif
