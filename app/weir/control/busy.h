/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How long the process has run, and how busy its threads are: a worker by the cycles that it counts
 * from a burst's arrival to its departure, control by the CPU time that the kernel has given it,
 * since control sleeps when it has nothing to do. Looked at once a second, so that it costs packets
 * nothing. Control.
 */
#ifndef WEIR_APP_BUSY_H
#define WEIR_APP_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct instance;

/* What shares are of, at least: a control loop that is late makes it longer. */
#define BUSY_PERIOD_NS SECOND_NS

/* One thread. */
struct busy_share {
	uint64_t busy_ns; /* since the start */
	double share;     /* of the last period, from 0 to 1; NAN before its end */
};

/* Since the start of this process's control, suspends included. */
uint64_t busy_uptime_ns(const struct instance *inst);

struct busy_share busy_worker(const struct instance *inst, unsigned worker);

/* To be called by control's own thread, whose CPU time it reads. */
struct busy_share busy_control(const struct instance *inst);

/* The module, and the task. Start returns 0 or -ENOMEM. */
int busy_start(struct instance *inst);
void busy_stop(struct instance *inst);
uint64_t busy_next(const struct instance *inst);
bool busy_run(struct instance *inst, uint64_t now_ns);

#endif
