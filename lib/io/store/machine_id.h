/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The machine that a store belongs to.
 */
#ifndef WEIR_STORE_MACHINE_ID_H
#define WEIR_STORE_MACHINE_ID_H

#include <stdint.h>

/*
 * Returns a hash of /etc/machine-id, which does not reveal the ID, or 0 if this machine has
 * none, such as some containers. Any thread; it reads a file.
 */
uint64_t store_machine(void);

#endif
