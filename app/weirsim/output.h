/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Results that are files, or standard output where the path is "-". A full disk is an error.
 */
#ifndef WEIR_SIM_OUTPUT_H
#define WEIR_SIM_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

bool output_is_standard(const char *path);

/* Ends what is written to a file; 0 or a negative errno. */
int output_flush(FILE *out);

/* Writes a file by `write`; 0 or a negative errno, which is said. */
int output_write(const char *path, int (*write)(const void *what, FILE *out), const void *what);

/* For output_write(): a json_t. */
int output_json(const void *what, FILE *out);

#endif
