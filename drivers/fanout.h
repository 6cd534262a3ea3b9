/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The fanout groups that DPDK's af_packet driver has the kernel make of a port's sockets, and which
 * cannot be changed once they are made. Two things that it asks for are not as they should be:
 * - PACKET_FANOUT_FLAG_DEFRAG, always. The kernel then holds the fragments of an IPv4 packet back
 *   until all of them are there, and hands over one frame that never was on the wire, longer than
 *   the other side takes, or nothing at all if this is not the way of all of them;
 * - a number made of the process and the interface, which another process may have.
 * So the program that is linked with this has a setsockopt() of its own, which libraries call, too:
 * it leaves that flag out, and has the kernel choose the number. All else is as the C library has
 * it.
 */
#ifndef WEIR_DRIVERS_FANOUT_H
#define WEIR_DRIVERS_FANOUT_H

#include <stdbool.h>

/*
 * Whether a packet socket of this process has the kernel put fragments together: its libraries do
 * not call the setsockopt() that is here. Main thread, any time.
 */
bool fanout_defragments(void);

/*
 * Forgets the groups of the ports that are open: before one is opened again, because its new group
 * can have the same number. Main thread.
 */
void fanout_forget(void);

#endif
