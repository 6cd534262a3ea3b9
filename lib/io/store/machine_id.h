/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The machine that a store belongs to.
 */
#ifndef WEIR_STORE_MACHINE_ID_H
#define WEIR_STORE_MACHINE_ID_H

#include <stdint.h>

/*
 * Sets a hash of /etc/machine-id, which does not reveal the ID, or 0 if this machine has none, such
 * as some containers. Returns 0, or the negative errno of opening it. Any thread; it reads a file.
 */
int store_machine(uint64_t *machine);

#endif
