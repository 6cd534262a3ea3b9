/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Detects stalled workers. A worker is stalled if its turn has not ended from one check to the next
 * but one: it is blocked in a driver, or has no CPU. The watch reports it, and on a wire with
 * "distribute" its flows go to other workers. After the configured time the process exits, so that
 * the service manager starts it again. If control itself has stalled, the state of the workers is
 * unknown, and the checks begin again. A check that finds no stalled worker feeds the service
 * manager's watchdog. Control.
 */
#ifndef WEIR_APP_WATCH_H
#define WEIR_APP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct config;
struct instance;

/*
 * Times between two checks. A stall is seen after two to three of them. Only on a wire with
 * "distribute" do other workers take the packets of a stalled one, which needs fast checks.
 * Otherwise a check can wait for a wake-up that control has anyway.
 */
struct watch_pace {
	uint64_t least_ns, most_ns;
};
struct watch_pace watch_pace(const struct config *config);

/* A worker that has stalled for this time gets no more packets that others can take. */
#define WATCH_BY_FAR_NS (200 * MS_NS)

/* If a check comes later than this, control has stalled itself. */
#define WATCH_LATE_NS (45 * MS_NS)

/* Stalls of one thread; control reads and writes. */
struct watch_stalls {
	uint64_t n;          /* stalls that have begun */
	uint64_t longest_ns; /* longest of the stalls that have ended */
};

/* Returns the time for which a worker has stalled, or 0. */
uint64_t watch_standing(const struct instance *inst, unsigned worker, uint64_t now_ns);

struct watch_stalls watch_worker_stalls(const struct instance *inst, unsigned worker);
struct watch_stalls watch_control_stalls(const struct instance *inst);

/* The module, and the task. Start returns 0 or -ENOMEM. */
int watch_start(struct instance *inst);
void watch_stop(struct instance *inst);
uint64_t watch_next(const struct instance *inst);
bool watch_run(struct instance *inst, uint64_t now_ns);

#endif
