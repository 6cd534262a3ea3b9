/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Corrects the fanout groups of a port's sockets that DPDK's af_packet driver creates. A group
 * cannot be changed later. Two of the driver's parameters are wrong:
 * - PACKET_FANOUT_FLAG_DEFRAG, always. The kernel then holds the fragments of an IPv4 packet until
 *   all have come, and passes one frame that never was on the wire. It can be longer than the other
 *   side accepts. If not all fragments take this path, none passes;
 * - a number derived from the process and the interface, which another process can have.
 * So a program that is linked with this has its own setsockopt(), which libraries call, too. It
 * clears that flag, and lets the kernel choose the number. All other calls are as in the C library.
 */
#ifndef WEIR_DRIVERS_FANOUT_H
#define WEIR_DRIVERS_FANOUT_H

#include <stdbool.h>

/*
 * Returns whether the kernel reassembles fragments for a packet socket of this process. If so, its
 * libraries do not call the setsockopt() defined here. Main thread, any time.
 */
bool fanout_defragments(void);

/*
 * Forgets the groups of the open ports. To be called before one is opened again, because its new
 * group can have the same number. Main thread.
 */
void fanout_forget(void);

#endif
