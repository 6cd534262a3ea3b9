/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether the workers come round. A worker whose turn has not ended from one look to the next but
 * one is stuck: it is held up in a driver, or has no CPU. That is said, its flows go to the others
 * where a wire is distributed, and after the configured time the process ends, so that whoever
 * started it starts it again. Where control itself has stood still nothing is known of workers, and
 * they are looked at anew. The service manager's watchdog is fed at looks that find none of them
 * stuck. Control.
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

/* A worker that has stood for so long is given nothing any more that others can take. */
#define WATCH_BY_FAR_NS (200 * MS_NS)

/* If a check comes later than this, control has stalled itself. */
#define WATCH_LATE_NS (45 * MS_NS)

/* What has come of one thread; control reads and writes. */
struct watch_stalls {
	uint64_t n;          /* that have begun */
	uint64_t longest_ns; /* of those that have ended */
};

/* How long a worker that is stuck has stood, or 0. */
uint64_t watch_standing(const struct instance *inst, unsigned worker, uint64_t now_ns);

struct watch_stalls watch_worker_stalls(const struct instance *inst, unsigned worker);
struct watch_stalls watch_control_stalls(const struct instance *inst);

/* The module, and the task. Start returns 0 or -ENOMEM. */
int watch_start(struct instance *inst);
void watch_stop(struct instance *inst);
uint64_t watch_next(const struct instance *inst);
bool watch_run(struct instance *inst, uint64_t now_ns);

#endif
