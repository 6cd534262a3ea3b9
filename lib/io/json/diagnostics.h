/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is wrong with documents, one thing after another: as lines for people, or as lines of JSON
 * for programs. So many errors and so many warnings of a document are written, the rest are
 * counted. One thread each.
 */
#ifndef WEIR_JSON_DIAGNOSTICS_H
#define WEIR_JSON_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define DIAGNOSTICS_MOST 20 /* errors, and warnings, that are written of one document */

enum diagnostics_form { DIAGNOSTICS_TEXT, DIAGNOSTICS_JSON };

struct diagnostics {
	FILE *out; /* NULL: nothing is written, all is counted */
	enum diagnostics_form form;
	bool errors_only;                    /* warnings are counted, and not written */
	unsigned errors, warnings;           /* so far, of all documents */
	unsigned told_errors, told_warnings; /* of those before this document */
};

/* A line of the file, and the column at which something is wrong with it. */
struct diagnostic_source {
	const char *text;
	size_t len;
	unsigned column; /* from 1 */
};

/* What is NULL or 0 is not said. */
struct diagnostic {
	bool warning;
	const char *file;
	unsigned line, column;
	const char *path;  /* `policies[3].limit` */
	const char *place; /* what people read for it: `policies[3] "customer-7".limit` */
	const char *policy;
	const char *found, *expected, *remedy;
	const char *text; /* what there is to say that is neither found nor expected */
	const struct diagnostic_source *source;
};

void diagnostics_init(struct diagnostics *d, FILE *out, enum diagnostics_form form);

/* Whether one more would be written, or only counted. */
bool diagnostics_shows(const struct diagnostics *d, bool warning);

/* Counts one. Whether it is to be written: then diagnostic_write() is to follow. */
bool diagnostics_count(struct diagnostics *d, bool warning);

/* `FILE:LINE: PLACE: FOUND: expected WHAT: REMEDY`, and the source line with a caret below. */
void diagnostic_write(struct diagnostics *d, const struct diagnostic *what);

/* Says how many more there were of this document, if any were not written. Begins another one. */
void diagnostics_rest(struct diagnostics *d, const char *file);

#endif
