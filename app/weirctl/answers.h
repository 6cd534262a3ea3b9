/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What boxes have answered, written: tables with a column for the box where there are several, or
 * one JSON document.
 */
#ifndef WEIR_WEIRCTL_ANSWERS_H
#define WEIR_WEIRCTL_ANSWERS_H

#include "ask_boxes.h"

/*
 * Writes the answers to `out`, `width` columns wide, or as JSON; and to standard error why there
 * is none of others. The exit status: 1 for a box that failed, or refused, or what the command
 * makes of its document; the worst of all boxes, where 1 is worse than another.
 */
int answers_write(
	const struct boxes *boxes, const struct options *options, FILE *out, unsigned width);

/* The document that is written for programs: a new reference. NULL: the only box has none. */
json_t *answers_json(const struct boxes *boxes);

/* Writes it. 0 or a negative errno. */
int answers_write_json(const json_t *document, FILE *out);

/* Adds the tables of all boxes that have answered. 0 or -ENOMEM. */
int answers_view(const struct boxes *boxes, const struct options *options, struct view *view);

/* Writes a line with a text of a limiter, whose control characters are escaped. */
void complain_of(const char *why, const char *before, FILE *err);

/* Ends what is written to standard output: the exit status. */
int answers_end(int status, int error);

#endif
