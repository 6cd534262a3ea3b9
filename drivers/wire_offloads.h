/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the kernel does to packets before an af_packet or af_xdp port sees them, and must not: it
 * merges some into one that is none of the wire's (GRO, LRO), takes VLAN tags off, and at the other
 * end of a veth in this namespace leaves segments and checksums for a device to make that is none.
 * By "offloads" of each port that is switched off for as long as Weir runs, or Weir is not started,
 * or it is only said.
 *
 * What was switched off stands in a file beside the control socket, before it is: a Weir that is
 * killed leaves it there, and the next one with that socket puts it back when that ends. An
 * interface that was made anew meanwhile is another one.
 */
#ifndef WEIR_DRIVERS_WIRE_OFFLOADS_H
#define WEIR_DRIVERS_WIRE_OFFLOADS_H

#include <stddef.h>

#include "policy/config.h"

#define WIRE_OFFLOADS_NEWS 512 /* bytes of a line */

struct wire_offloads;

/*
 * Before the ports are started, and while no packet flows. 0; -EPERM if there is something that
 * must not be and was not switched off, each with the command that does so in the log, and then all
 * is as it was; or another negative errno. *out is NULL if no port has a kernel interface.
 */
int wire_offloads_start(const struct config *config, struct wire_offloads **out);

/*
 * What wire_offloads_start() would refuse, or warn of where that is wished for; nothing is changed.
 * For each interface `found` gets the port, the names of the features with a blank before each, and
 * the command that switches them off. 0 or -ENOMEM.
 */
typedef void (*wire_offloads_found)(void *context, unsigned port, const char *interface,
	const char *names, const char *command);
int wire_offloads_foresee(const struct config *config, wire_offloads_found found, void *context);

/*
 * Restores the features, except those that a program of the kernel still needs. After a failed
 * start it restores only those that it switched off, because the program of an earlier process can
 * still run. The record keeps the others for the next start. NULL does nothing.
 */
void wire_offloads_stop(struct wire_offloads *offloads, bool failed);

/*
 * Another interface, of this index, has the configured name of a port whose own is gone: the next
 * look is at that, and at its other end. Not during a look.
 */
void wire_offloads_renew(struct wire_offloads *offloads, unsigned port, unsigned interface);

/*
 * Looks again, and does as at the start, but that nothing is refused. Waits for the kernel: a
 * thread of its own, one call at a time. Writes what is new of the first port that has any news,
 * one line without its end, and returns whether there was any: call again for the next.
 */
bool wire_offloads_look(struct wire_offloads *offloads, char news[WIRE_OFFLOADS_NEWS]);

/*
 * Writes what is at work at a port and must not be, as the last look found it: names with blanks
 * between them, or "". Not during a look.
 */
void wire_offloads_at_work(
	const struct wire_offloads *offloads, unsigned port, char *names, size_t size);

#endif
