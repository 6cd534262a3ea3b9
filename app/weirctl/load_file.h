/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Loads a configuration file of the operator's machine, with its includes.
 */
#ifndef WEIR_WEIRCTL_LOAD_FILE_H
#define WEIR_WEIRCTL_LOAD_FILE_H

#include <stdio.h>

#include <jansson.h>

/* Returns all files as one document; NULL: refused, reported on err. */
json_t *load_checked(const char *path, FILE *err);

#endif
