/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sockets of DPDK's drivers af_packet and af_xdp: packets that the kernel drops because a socket
 * has no room, sockets that have lost their interface, and descriptors to wait at. The drivers
 * report none of these. The drivers open the sockets, so the program has a bind() of its own, which
 * libraries call too. It remembers these sockets.
 */
#ifndef WEIR_DRIVERS_KERNEL_MISSED_H
#define WEIR_DRIVERS_KERNEL_MISSED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the packets that the kernel has dropped at the sockets of an interface since they were
 * bound. Only one thread may call this, because a read resets the kernel's count.
 */
uint64_t kernel_missed(unsigned interface);

/*
 * Returns true once a socket has lost this interface: it is deleted or was moved to another network
 * namespace, even if it is back now. The same thread.
 */
bool kernel_unbound(unsigned interface);

/*
 * Returns the descriptor of the AF_XDP socket at this receive queue of an interface, or -1. Its
 * driver owns the descriptor. The same thread.
 */
int kernel_xdp_socket(unsigned interface, unsigned queue);

/* Forgets the sockets of an interface. The same thread, before their driver closes them. */
void kernel_forget(unsigned interface);

#endif
