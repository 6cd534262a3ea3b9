/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reads and validates a limiter's configuration file. Control thread.
 */
#ifndef WEIR_CONFIG_LOAD_H
#define WEIR_CONFIG_LOAD_H

#include <jansson.h>

#include "json/read.h"
#include "policy/complaint.h"
#include "policy/config.h"

struct seen;

/* Parameters of reading a configuration; NULL members are not used. */
struct config_load {
	const char *path; /* "-" is standard input */
	const char *text; /* the document in memory; `path` is its name in messages */
	size_t len;
	const struct config *running;
	struct diagnostics *diagnostics;
	/* An additional check, for a configuration without errors; reports to the reader. */
	void (*also)(const struct config *config, struct reader *reader, void *context);
	void *context;
	unsigned *n_files;  /* number of files read */
	json_t **document;  /* all files as one, without "include"; a new reference, if valid */
	struct seen **seen; /* states of the files (json/seen.h) for seen_free(), or NULL */
};

/* Reports a complaint to a reader, the context, as an error of the line that it refers to. */
void config_complain(void *reader, const struct complaint *complaint);

/* Like config_load(), but reports to load->diagnostics. */
int config_load_with(const struct config_load *load, struct config **out);

/*
 * Reads and validates the file, and included files. Writes each error to err as one line,
 * `FILE:LINE: policies[3] "name".limit: "10Mbit": expected bit/s such as "10Mbit/s"`. Warnings have
 * `warning: ` after the line number. Returns 0 and a config for config_free(), -EINVAL (rejected),
 * -ENOMEM, or the negative errno of reading the file (also reported to err).
 */
int config_load(const char *path, FILE *err, struct config **out);

/*
 * Like config_load(), for policies that a running limiter will use. Rejects differences that cannot
 * change while it runs. Warnings refer to the resources of that limiter. `running` is the
 * configuration that it started with; NULL: none runs.
 */
int config_load_for_running(
	const char *path, const struct config *running, FILE *err, struct config **out);

/* Like config_load(), from memory; `name` stands for the file in messages. */
int config_parse(const char *text, size_t len, const char *name, FILE *err, struct config **out);

/* Reads a document in the same way. `running` is as in config_load_for_running(), or NULL. */
int config_read_document(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out);

/*
 * Returns in *out a new reference to the JSON of the file and the included files, whether or not it
 * is a valid configuration. Returns 0, -EINVAL (no JSON), or the negative errno of reading, which
 * is reported. `seen` is as in struct config_load.
 */
int config_load_document(
	const char *path, struct diagnostics *diagnostics, json_t **out, struct seen **seen);

void config_free(struct config *config);

#endif
