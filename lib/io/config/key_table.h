/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of a configuration, for programs.
 */
#ifndef WEIR_CONFIG_KEY_TABLE_H
#define WEIR_CONFIG_KEY_TABLE_H

#include <stdio.h>

/*
 * Writes each key as a line of JSON: its path, type, range, default, meaning, relations to other
 * keys, and the effect of another value at a reload. The keys of an object follow it. Returns 0,
 * -ENOMEM or -EIO. Any thread.
 */
int config_print_keys(FILE *out);

#endif
