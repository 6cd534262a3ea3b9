/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's configuration file, read and judged. Control thread.
 */
#ifndef WEIR_CONFIG_LOAD_H
#define WEIR_CONFIG_LOAD_H

#include <jansson.h>

#include "json/read.h"
#include "policy/complaint.h"
#include "policy/config.h"

struct seen;

/* How a configuration is read; what is NULL is not asked for. */
struct config_load {
	const char *path; /* "-" is standard input */
	const struct config *running;
	struct diagnostics *diagnostics;
	/* What else is to be true of a configuration without errors; reports to the reader. */
	void (*also)(const struct config *config, struct reader *reader, void *context);
	void *context;
	unsigned *n_files;  /* so many were read */
	json_t **document;  /* of a good one: all files as one, without "include"; a reference */
	struct seen **seen; /* and what they were (json/seen.h); for seen_free(), or NULL */
};

/* Takes complaints to a reader, which is the context, as errors of the line that they are about. */
void config_complain(void *reader, const struct complaint *complaint);

/* As config_load(), to diagnostics. */
int config_load_with(const struct config_load *load, struct config **out);

/*
 * Reads and validates the file, and those that it includes. Every error found is written to err,
 * one a line, in the form
 * `FILE:LINE: policies[3] "name".limit: "10Mbit": expected bit/s such as "10Mbit/s"`; warnings
 * likewise with `warning: ` after the line. Returns 0 and a config for config_free(), or -EINVAL
 * (refused), -ENOMEM, or the negative errno of reading the file (also reported to err).
 */
int config_load(const char *path, FILE *err, struct config **out);

/*
 * Like config_load(), of one whose policies are to come into a limiter that runs: what differs and
 * cannot change any more is refused, and warnings are of what that limiter has. `running` is as it
 * was started with; NULL: none runs.
 */
int config_load_beside(
	const char *path, const struct config *running, FILE *err, struct config **out);

/* Like config_load(), from memory; `name` stands for the file in messages. */
int config_parse(const char *text, size_t len, const char *name, FILE *err, struct config **out);

/* Reads a document so, beside one that runs (NULL: none). */
int config_read_document(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out);

/*
 * What the file and those that it includes hold together, as JSON, whether or not it is a good
 * configuration. A new reference. 0, -EINVAL (no JSON), or the negative errno of reading, reported.
 * `seen`: as of struct config_load.
 */
int config_load_document(
	const char *path, struct diagnostics *diagnostics, json_t **out, struct seen **seen);

void config_free(struct config *config);

#endif
