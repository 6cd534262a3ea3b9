/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * `weir --check`: reads and checks configurations and the files that they name, without a start.
 */
#ifndef WEIR_CHECK_FILES_H
#define WEIR_CHECK_FILES_H

#include <stdbool.h>

struct check_options {
	bool quiet;        /* prints only errors */
	bool strict;       /* warnings are errors */
	bool json;         /* prints only JSON, a line per error, to standard output */
	const char *state; /* --state: a directory whose members are compared; NULL: none */
};

/*
 * Checks a file; "-" is standard input. Errors go to standard error, a line about a good file to
 * standard output. Returns 0, -EINVAL if the file is refused, or another negative errno, reported.
 */
int check_config_file(const char *file, const struct check_options *options);

struct config;
struct reader;

/* For config_load.also: reports files that others can change. */
void check_config_files(const struct config *config, struct reader *reader, void *context);

/* Describes a limiter with this file in words. Returns as check_config_file(). */
int describe_config_file(const char *file);

#endif
