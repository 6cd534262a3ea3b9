/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wires that outlive this process (drivers/xdp/bypass.h), and what has gone past it on them.
 * Control.
 */
#ifndef WEIR_APP_BYPASSES_H
#define WEIR_APP_BYPASSES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "bypass.h"

struct instance;

/* The module, before the ports' and the workers'. 0 or a negative errno, the cause on stderr. */
int bypasses_start(struct instance *inst);
void bypasses_stop(struct instance *inst);

/*
 * The module, when workers run: programs of a former process give way to this one's. 0 or a
 * negative errno, logged.
 */
int bypasses_take_over(struct instance *inst);

/* Lets packets go past while workers still send on what they have: none is lost by the stop. */
void bypasses_settle(struct instance *inst, const struct timespec *until);

/* After a failed start of ports: reports on stderr that another process serves one of them. */
void bypasses_explain(const struct instance *inst);

/* The task. */
uint64_t bypasses_next(const struct instance *inst);
bool bypasses_run(struct instance *inst, uint64_t now_ns);

/* Where a worker tells the kernel its turns, or NULL. */
uint32_t *bypasses_beat(const struct instance *inst, unsigned worker);

/* A negative errno while pins of the programs are missing and cannot be made again, or 0. */
int bypasses_pins(const struct instance *inst);

/*
 * Sets the bytes of the longest frame that a port's program sends to the other port; 0: none,
 * because that is down or gone. Does nothing to a port without a program.
 */
void bypasses_set_frame(const struct instance *inst, unsigned port, uint32_t bytes);

/* Whether packets of a port went past within the last seconds. */
bool bypasses_are_used(const struct instance *inst, unsigned port);

/* What has gone past since the start; zeros of a port that has no program. Asks the kernel. */
struct bypass_past bypasses_past(const struct instance *inst, unsigned port);

#endif
