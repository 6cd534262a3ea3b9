/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel's interfaces that ports stand on. Weir switches off what they do to packets while it
 * runs (wire_offloads.h), and restores it. Every few seconds a thread looks for anything else that
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

/* The module of start-up, before the ports': 0 or a negative errno, the cause on stderr. */
int interfaces_start(struct instance *inst);

/* After the ports are closed. */
void interfaces_stop(struct instance *inst);

/* What becomes readable when a look has ended, or -1. */
int interfaces_fd(const struct instance *inst);

/* When the next look is due; UINT64_MAX while there is one, or no interface. */
uint64_t interfaces_next(const struct instance *inst);

/* Begins a look that is due, and says what one has found that has ended. Never leaves news. */
bool interfaces_run(struct instance *inst, uint64_t now_ns);

/* The interface's name of the last look; "": the port has none. */
const char *interfaces_name(const struct instance *inst, unsigned port);

/*
 * Writes the names of anything of this machine that gets the packets of a port too or can alter
 * them, as of the last look. Returns false
 * if nothing does.
 */
bool interfaces_altered(const struct instance *inst, unsigned port, char *text, size_t size);

/* Returns true, and the configured name, if the interface was renamed. */
bool interfaces_renamed(const struct instance *inst, unsigned port, char configured[IFNAMSIZ]);

/* See wire_offloads_at_work(): as last looked at. */
void interfaces_at_work(const struct instance *inst, unsigned port, char *names, size_t size);

#endif
