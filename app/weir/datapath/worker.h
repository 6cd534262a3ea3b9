/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The loop of a worker lcore: receive a burst, decide, send.
 */
#ifndef WEIR_APP_WORKER_H
#define WEIR_APP_WORKER_H

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

#endif
