/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A configuration as an operator has it, read where he is, with what it includes.
 */
#ifndef WEIR_WEIRCTL_LOAD_FILE_H
#define WEIR_WEIRCTL_LOAD_FILE_H

#include <stdio.h>

#include <jansson.h>

/* All files as one, of a good one; NULL: it is refused, and that is said on err. */
json_t *load_checked(const char *path, FILE *err);

#endif
