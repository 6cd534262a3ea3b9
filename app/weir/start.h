/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Start and end of the appliance. Control thread.
 */
#ifndef WEIR_APP_START_H
#define WEIR_APP_START_H

#include <stdbool.h>

#include <pthread.h>

#include "instance.h"

/*
 * Starts all modules in order; a failure undoes the steps before it. EAL runs; signals are blocked.
 * `file` is the file of the configuration, for reloads; NULL if it cannot be read again. `kept` is
 * the state from which kept_choose() chose the configuration; NULL: none. It must outlive the
 * instance. `notify` (NULL: no service manager) gets reloads and stuck workers; the caller reports
 * the start and the end. The roster of the configuration changes with the group. Returns 0 or a
 * negative errno, logged.
 */
int instance_start(struct instance *inst, struct config *config, const char *file,
	struct kept *kept, struct notify *notify);

/*
 * Prepares an instance without running workers and without a control socket, for benchmarks, which
 * call the workers themselves. End it with instance_stop(). Instances that take turns can share
 * ports: `ports` are those of an instance that was prepared before and is stopped later, in the
 * configured order. NULL: open its own.
 */
int instance_prepare(struct instance *inst, const struct config *config, const struct port *ports);

/* Runs the control loop until signal_fd has SIGTERM or SIGINT. Returns the signal. */
int instance_run(struct instance *inst, int signal_fd);

/* Stops the workers, closes the ports, removes the sockets. */
void instance_stop(struct instance *inst);

/* --- signals during the start ----------------------------------------------------------------- */

/*
 * SIGTERM and SIGINT during a start. Both are blocked for control's loop, which runs later. A start
 * looks for them between its steps. If a step hangs, a thread ends the process.
 */
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
