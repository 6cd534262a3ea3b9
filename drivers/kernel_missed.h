/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that the kernel drops because a socket of DPDK's drivers af_packet and af_xdp has no
 * room. The drivers do not count them. The sockets are theirs, so the program has a bind() of its
 * own, which libraries call too. It remembers these sockets.
 */
#ifndef WEIR_DRIVERS_KERNEL_MISSED_H
#define WEIR_DRIVERS_KERNEL_MISSED_H

#include <stdint.h>

/*
 * Packets that the kernel has dropped at the sockets of an interface since they were bound. One
 * thread calls this, as a read resets the count of the kernel.
 */
uint64_t kernel_missed(unsigned interface);

#endif
