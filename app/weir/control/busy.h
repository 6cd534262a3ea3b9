/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The uptime of the process, and how busy its threads are. A worker counts cycles from a burst's
 * arrival to its departure. Control sleeps when it has nothing to do, so the kernel's CPU time is
 * used for it. Both are read once a second, which costs packets nothing. Control.
 */
#ifndef WEIR_APP_BUSY_H
#define WEIR_APP_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct instance;

/* Least time that a share covers; it is longer if control is late. */
#define BUSY_PERIOD_NS SECOND_NS

/* One thread. */
struct busy_share {
	uint64_t busy_ns; /* since the start */
	double share;     /* in the last period, from 0 to 1; NAN before its end */
};

/* Returns the time since control's start, suspends included. */
uint64_t busy_uptime_ns(const struct instance *inst);

struct busy_share busy_worker(const struct instance *inst, unsigned worker);

/* Called by control's own thread, whose CPU time it reads. */
struct busy_share busy_control(const struct instance *inst);

/* The module, and the task. Start returns 0 or -ENOMEM. */
int busy_start(struct instance *inst);
void busy_stop(struct instance *inst);
uint64_t busy_next(const struct instance *inst);
bool busy_run(struct instance *inst, uint64_t now_ns);

#endif
