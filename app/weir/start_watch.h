/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * SIGTERM and SIGINT during a start. Both are blocked for control's loop, which runs later. A start
 * looks for them between its steps. If a step hangs, a thread ends the process.
 */
#ifndef WEIR_APP_START_WATCH_H
#define WEIR_APP_START_WATCH_H

#include <stdbool.h>

#include <pthread.h>

struct start_watch {
	pthread_t thread;
	int signals, ended; /* descriptors */
	bool runs;
};

/* Main thread, which blocks the signals already. 0, or a negative errno and no thread. */
int start_watch_begin(struct start_watch *watch);

/* The start has ended, well or not. Waits for the thread. */
void start_watch_end(struct start_watch *watch);

#endif
