/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Queries limiters for a command, and writes their answers: tables, with a column for the limiter
 * if there are several, or one JSON document.
 */
#ifndef WEIR_WEIRCTL_ANSWERS_H
#define WEIR_WEIRCTL_ANSWERS_H

#include "ask/targets.h"
#include "ctl_options.h"

/*
 * Finds all limiters that the options name, to query them for the command. Returns false if some
 * were not found, which is reported on standard error.
 */
bool answers_find(const struct options *options, struct targets *targets);

/* Writes why the command failed, for targets.h; the context is the options. */
void answers_explain(struct target *target, const void *context, FILE *out);

/*
 * Writes the answers to `out`, `width` columns wide, or as JSON. Reports missing answers on
 * standard error. Returns the exit status: 1 for a limiter that failed or refused, otherwise the
 * verdict on its document. The worst of all limiters counts; 1 is worse than another.
 */
int answers_write(
	const struct targets *targets, const struct options *options, FILE *out, unsigned width);

/* Returns the document for programs: a new reference. NULL: the only limiter has none. */
json_t *answers_json(const struct targets *targets);

/* Returns 0 or a negative errno. */
int answers_write_json(const json_t *document, FILE *out);

/* Writes the document for programs, if there is any. Returns 0 or a negative errno. */
int answers_write_documents(const struct targets *targets, FILE *out);

/* Writes the tables of all limiters that have answered. Returns 0 or a negative errno. */
int answers_write_tables(
	const struct targets *targets, const struct options *options, FILE *out, unsigned width);

/* Reports on standard error why the last request of the limiter failed. */
void answers_complain(struct target *target, const struct options *options);

/* Writes a line with a text of a limiter, whose control characters are escaped. */
void complain_of(const char *why, const char *before, FILE *err);

/* Ends the output to standard output; returns the exit status. */
int answers_end(int status, int error);

#endif
