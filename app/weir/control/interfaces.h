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

#endif
