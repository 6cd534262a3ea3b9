/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Offloads of a kernel interface that change packets before an af_packet or af_xdp port receives
 * them. The kernel merges packets into one that was not on the wire (GRO, LRO), and removes VLAN
 * tags. The other end of a veth in this namespace leaves segmentation and checksums to a device
 * that does not exist. Depending on a port's "offloads" key, these are switched off while Weir
 * runs, or prevent a start, or are only reported.
 *
 * Before a feature is switched off, it is recorded in a file next to the control socket. If Weir is
 * killed, the file remains. The next Weir with that socket restores the features when it ends. An
 * interface that was created again in the meantime counts as another one.
 */
#ifndef WEIR_DRIVERS_WIRE_OFFLOADS_H
#define WEIR_DRIVERS_WIRE_OFFLOADS_H

#include <stddef.h>

#include "policy/config.h"

#define WIRE_OFFLOADS_NEWS 512 /* bytes of a line */

struct wire_offloads;

/*
 * Checks the offloads, and switches them off. Before the ports are started, while no packet flows.
 * Returns 0, -EPERM, or another negative errno. -EPERM: an offload must not be on and was not
 * switched off. The log has a command for each, and all changes are undone. *out is NULL if no port
 * has a kernel interface.
 */
int wire_offloads_start(const struct config *config, struct wire_offloads **out);

/*
 * Reports the offloads that wire_offloads_start() would refuse or, depending on the port, warn of;
 * changes nothing. For each interface, `found` gets the port, the names of the features with a
 * blank before each, and the arguments of `ethtool -K` that switch them off. Returns 0 or -ENOMEM.
 */
typedef void (*wire_offloads_found)(void *context, unsigned port, const char *interface,
	const char *names, const char *command);
int wire_offloads_foresee(const struct config *config, wire_offloads_found found, void *context);

/*
 * Restores the features, except those that a kernel program still needs. After a failed start it
 * restores only those that it switched off, because the program of an earlier process can still
 * run. The record keeps the others for the next start. NULL does nothing.
 */
void wire_offloads_stop(struct wire_offloads *offloads, bool failed);

/*
 * Replaces a port's interface, which is missing, by one that now has its configured name, with this
 * index. The next check covers the new one and its other end. Not during a check.
 */
void wire_offloads_renew(struct wire_offloads *offloads, unsigned port, unsigned interface);

/*
 * Checks again and acts as at the start, except that it refuses nothing. Waits for the kernel, so
 * it needs its own thread; one call at a time. Writes one line about the first port with news,
 * without a line end, and returns true. Call again for the next port. Returns false if there is no
 * news.
 */
bool wire_offloads_look(struct wire_offloads *offloads, char news[WIRE_OFFLOADS_NEWS]);

/*
 * Writes the offloads that are on at a port and must not be, as of the last check: names separated
 * by blanks, or "". Not during a check.
 */
void wire_offloads_at_work(
	const struct wire_offloads *offloads, unsigned port, char *names, size_t size);

#endif
