/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sleeping until a packet arrives. The drivers of kernel interfaces (af_packet, af_xdp) offer no
 * receive interrupt, but each has a socket, which can be polled. A timer that polls every 100 µs
 * would cost 10–20 % of a core in an idle virtual machine.
 */
#ifndef WEIR_EMU_WAKE_H
#define WEIR_EMU_WAKE_H

#include <poll.h>

#define WAKE_FDS_MAX 128

/*
 * Fills fds with the packet sockets that this process has open and returns their number. Returns 0
 * if there are fewer than n_ports: then some ports can only be polled periodically.
 */
unsigned wake_find(struct pollfd *fds, unsigned n_ports);

/* Clears pending errors, which drivers do not read and which would wake poll() forever. */
void wake_clear_errors(const struct pollfd *fds, unsigned n);

#endif
