/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How to sleep until a packet arrives. The drivers of kernel interfaces (af_packet, af_xdp) offer
 * no receive interrupt, but each holds a socket, and a socket can be polled. A timer that looks for
 * packets every 100 µs instead costs 10–20 % of a core in a virtual machine with nothing to do.
 */
#ifndef WEIR_EMU_WAKE_H
#define WEIR_EMU_WAKE_H

#include <poll.h>

#define WAKE_FDS_MAX 128

/*
 * Fills fds with the packet sockets that this process has open and returns their number, or 0 if
 * there are fewer than n_ports: then some port can only be looked at from time to time.
 */
unsigned wake_find(struct pollfd *fds, unsigned n_ports);

/* Clears what would wake poll() for ever: an error that a driver does not ask for. */
void wake_clear_errors(const struct pollfd *fds, unsigned n);

#endif
