/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The control loop, on EAL's main lcore: waits for the next tick, a datagram, a client or a signal.
 */
#ifndef WEIR_APP_CONTROL_H
#define WEIR_APP_CONTROL_H

struct box;

/* Runs until SIGTERM or SIGINT arrives at signal_fd. Returns the signal. */
int control_run(struct box *box, int signal_fd);

#endif
