/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wires that outlive this process (drivers/xdp/bypass.h), and the packets that bypassed it on them.
 * Control.
 */
#ifndef WEIR_APP_BYPASSES_H
#define WEIR_APP_BYPASSES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "bypass.h"

struct instance;

/*
 * Start-up module, before those of the ports and workers. Returns 0 or a negative errno, with the
 * cause on stderr.
 */
int bypasses_start(struct instance *inst);
void bypasses_stop(struct instance *inst);

/*
 * Start-up module, when workers run: replaces the programs of a previous process. Returns 0 or a
 * negative errno, logged.
 */
int bypasses_take_over(struct instance *inst);

/* Lets packets bypass the process while workers send their last ones, so that a stop loses none. */
void bypasses_settle(struct instance *inst, const struct timespec *until);

/* After a failed start of ports: reports on stderr that another process serves one of them. */
void bypasses_explain(const struct instance *inst);

/* The task. */
uint64_t bypasses_next(const struct instance *inst);
bool bypasses_run(struct instance *inst, uint64_t now_ns);

/* Returns the word that shows a worker's turns to the kernel, or NULL. */
uint32_t *bypasses_beat(const struct instance *inst, unsigned worker);

/* Returns a negative errno while pins of the programs are missing and cannot be restored, or 0. */
int bypasses_pins(const struct instance *inst);

/*
 * Sets the bytes of the longest frame that a port's program sends to the other port; 0: none,
 * because that is down or gone. Does nothing to a port without a program.
 */
void bypasses_set_frame(const struct instance *inst, unsigned port, uint32_t bytes);

/* Returns true if packets of a port bypassed the process within the last seconds. */
bool bypasses_are_used(const struct instance *inst, unsigned port);

/*
 * Returns the packets that bypassed the process since the start; zeros for a port without a
 * program. Reads them from the kernel.
 */
struct bypass_past bypasses_past(const struct instance *inst, unsigned port);

#endif
