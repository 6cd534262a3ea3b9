/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The appliance's start-up and its end. Control.
 */
#ifndef WEIR_APP_START_H
#define WEIR_APP_START_H

#include "instance.h"

/*
 * Brings everything up, in order, and on failure takes down what was up. EAL is running; signals
 * are blocked. `file` is what the configuration was read from, for reloads, and NULL if it cannot
 * be read again; `kept` is what kept_choose() has chosen it of (NULL: nothing is kept), which must
 * outlive the box. The service manager (NULL: there is none) is told of reloads and of stuck
 * workers, but not of the start and the end. Returns 0 or a negative errno, logged.
 */
int instance_start(struct instance *inst, const struct config *config, const char *file,
	struct kept *kept, struct notify *notify);

/*
 * Prepares all, but no worker runs yet and no control socket is open: for benchmarks, which turn
 * the workers themselves. instance_stop() ends it. Boxes that take turns may stand on the same
 * ports: on those of a box that was prepared before and is stopped after (`ports`, in the
 * configured order; NULL: bring up its own).
 */
int instance_prepare(struct instance *inst, const struct config *config, const struct port *ports);

/* The control loop, until SIGTERM or SIGINT comes by signal_fd. Returns the signal. */
int instance_run(struct instance *inst, int signal_fd);

/* Stops the workers, closes the ports, removes the sockets. */
void instance_stop(struct instance *inst);

#endif
