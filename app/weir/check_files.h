/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What `weir --check` does: configurations are read and judged, with the files that they name, and
 * nothing is started.
 */
#ifndef WEIR_CHECK_FILES_H
#define WEIR_CHECK_FILES_H

#include <stdbool.h>

struct check_options {
	bool quiet;  /* neither warnings nor a line about what is good */
	bool strict; /* a warning refuses */
	bool json;   /* what is wrong as lines of JSON on standard output, and nothing else */
};

/*
 * A file, "-" for standard input; what is wrong goes to standard error, one line about what is good
 * to standard output. Returns 0, -EINVAL when it is refused, or another negative errno, reported.
 */
int check_config_file(const char *file, const struct check_options *options);

struct config;
struct reader;

/* For config_load.also: reports files that others can change. */
void check_config_files(const struct config *config, struct reader *reader, void *context);

/* Says in words what a limiter with this file would do. Returns as check_config_file(). */
int describe_config_file(const char *file);

#endif
