/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rights of a process that the ports and wires of a configuration need. Any thread.
 */
#ifndef WEIR_DRIVERS_RIGHTS_H
#define WEIR_DRIVERS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/config.h"

#define RIGHTS_REMEDY      "start weir with systemd (weir@.service) or sudo"
#define RIGHTS_LOCK_REMEDY "ulimit -l unlimited; in a systemd unit: LimitMEMLOCK=infinity"

/* A right that a port needs: any bit of `any` grants it. */
struct right {
	bool (*needed)(const struct port_config *port); /* NULL: for wires with XDP programs */
	uint64_t any;
	const char *name, *why;
};

/* Ends with an entry without a name. */
extern const struct right rights[];

bool right_is_needed(const struct config *config, const struct right *right);

/* Returns true if these capabilities permit to lock the memory of all ports that need it. */
bool rights_lock(const struct config *config, uint64_t effective);

/* 0, or -EPERM and a line on stderr for each right that this process lacks. */
int rights_check(const struct config *config);

#endif
