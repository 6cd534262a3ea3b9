/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Corrects the sockets that DPDK's drivers af_packet and af_xdp open. The drivers report no losses
 * of the kernel, choose wrong groups, and change tags.
 */
#ifndef WEIR_DRIVERS_KERNEL_SOCKETS_H
#define WEIR_DRIVERS_KERNEL_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sockets of DPDK's drivers af_packet and af_xdp: packets that the kernel drops because a socket
 * has no room, sockets that have lost their interface, and descriptors to wait at. The drivers
 * report none of these. The drivers open the sockets, so the program has a bind() of its own, which
 * libraries call too. It remembers these sockets.
 */

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

/* --- fanout groups ---------------------------------------------------------------------------- */

/*
 * Corrects the fanout groups of a port's sockets that DPDK's af_packet driver creates. A group
 * cannot be changed later. Two of the driver's parameters are wrong:
 * - PACKET_FANOUT_FLAG_DEFRAG, always. The kernel then holds the fragments of an IPv4 packet until
 *   all have come, and passes one frame that never was on the wire. It can be longer than the other
 *   side accepts. If not all fragments take this path, none passes;
 * - a number derived from the process and the interface, which another process can have.
 * So a program that is linked with this has its own setsockopt(), which libraries call, too. It
 * clears that flag, and lets the kernel choose the number. All other calls are as in the C library.
 */

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

/* --- tags ------------------------------------------------------------------------------------- */

/*
 * The outermost VLAN tag on ports of DPDK's af_packet driver. The kernel removes the tag from a
 * frame. The driver restores it as 802.1Q (0x8100), even if it was 802.1ad (0x88a8).
 */

/*
 * Preserves the type of outermost tags that the first `queues` queues of a port receive from now
 * on. Main thread, after the port is started. Returns 0, or -ENOTSUP if the driver's structure
 * differs.
 */
int af_packet_keep_tags(uint16_t port, uint16_t queues);

#endif
