/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's configuration file, read and judged. Control thread.
 */
#ifndef WEIR_CONFIG_LOAD_H
#define WEIR_CONFIG_LOAD_H

#include "policy/config.h"

/*
 * Reads and validates the file. Every error found is written to err, one a line, in the form
 * `FILE: policies[3].limit: "10Mbit": expected bit/s such as "10Mbit/s"`; warnings likewise with
 * `warning: ` after the file. Returns 0 and a config for config_free(), or -EINVAL (refused),
 * -ENOMEM, or the negative errno of reading the file (also reported to err).
 */
int config_load(const char *path, FILE *err, struct config **out);

/*
 * Like config_load(), of one whose policies are to come into a limiter that runs: warnings are of
 * what that has, which cannot change any more. `running` is as it was started with; NULL: none
 * runs.
 */
int config_load_beside(
	const char *path, const struct config *running, FILE *err, struct config **out);

/* Like config_load(), from memory; `name` stands for the file in messages. */
int config_parse(const char *text, size_t len, const char *name, FILE *err, struct config **out);

void config_free(struct config *config);

#endif
