/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers that wait at the sockets of their ports while no packets come (rx_wait.h). Only workers
 * with "idle": "sleep" do, and only if all their ports are of AF_XDP.
 */
#ifndef WEIR_APP_WAITS_H
#define WEIR_APP_WAITS_H

struct instance;

/*
 * The module. Workers have their paths, and ports are started. A worker that cannot wait pauses as
 * with other ports. 0 or a negative errno. Control.
 */
int waits_start(struct instance *inst);
void waits_stop(struct instance *inst);

/* Wakes the workers that wait and have something to take. Control. */
void waits_wake(struct instance *inst);

#endif
