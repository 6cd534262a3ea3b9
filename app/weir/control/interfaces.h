/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel's interfaces of the ports. Weir switches off their offloads while it runs
 * (wire_offloads.h), and restores them. Every few seconds a thread looks for anything else that
 * gets their packets or can alter them. An interface that was removed and is back is opened again.
 * Control.
 */
#ifndef WEIR_APP_INTERFACES_H
#define WEIR_APP_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <net/if.h>

struct instance;

/* Start-up module, before the ports'. Returns 0 or a negative errno, with the cause on stderr. */
int interfaces_start(struct instance *inst);

/* Called after the ports are closed. */
void interfaces_stop(struct instance *inst);

/* Returns the descriptor that becomes readable when a look has ended, or -1. */
int interfaces_fd(const struct instance *inst);

/* Returns when the next look is due; UINT64_MAX during a look, or without interfaces. */
uint64_t interfaces_next(const struct instance *inst);

/* Begins a look that is due, and reports the results of one that has ended. Returns false. */
bool interfaces_run(struct instance *inst, uint64_t now_ns);

/* Returns the interface's name at the last look; "" if the port has none. */
const char *interfaces_name(const struct instance *inst, unsigned port);

/*
 * Writes the names of anything on this machine that also gets the packets of a port or can alter
 * them, by the last look. Returns false if there is nothing.
 */
bool interfaces_altered(const struct instance *inst, unsigned port, char *text, size_t size);

/* Returns true, and the configured name, if the interface was renamed. */
bool interfaces_renamed(const struct instance *inst, unsigned port, char configured[IFNAMSIZ]);

/* Writes the names of wire_offloads_at_work(), by the last look. */
void interfaces_at_work(const struct instance *inst, unsigned port, char *names, size_t size);

/* --- lengths of frames ------------------------------------------------------------------------ */

/*
 * The longest frame that a wire takes. Limits are the "mtu" of both ports, and the MTU that the far
 * port's interface in the kernel has now. Workers and XDP programs drop longer frames before they
 * charge any policy.
 */

/* The module, after the workers' memory and the XDP programs. 0 or a negative errno. */
int lengths_start(struct instance *inst);
void lengths_stop(struct instance *inst);

/* The task: the kernel reports each change of an interface, and it looks every few seconds. */
int lengths_fd(const struct instance *inst);
void lengths_read(struct instance *inst);
uint64_t lengths_next(const struct instance *inst);
bool lengths_run(struct instance *inst, uint64_t now_ns);

/*
 * Bytes of the longest frame that a port transmits now, without FCS; 0 of an interface that is
 * down. An af_packet port takes 4 bytes more if the outermost tag is 802.1Q (0x8100).
 */
uint32_t lengths_max(const struct instance *inst, unsigned port);

#endif
