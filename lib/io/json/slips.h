/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a writer got wrong where a text is no JSON, by the name that people have for it: a comma too
 * many, single quotes, a mark that a merge left. It explains what a parser refused, and judges
 * nothing itself. Pure.
 */
#ifndef WEIR_JSON_SLIPS_H
#define WEIR_JSON_SLIPS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct slip {
	size_t offset;      /* of the caret */
	char found[96];     /* as for people: `a comma before "}"` */
	const char *remedy; /* what to write; NULL: nothing to advise */
};

/* Whether the bytes are no UTF-8 text as JSON needs it, seen from how they begin. */
bool slip_of_encoding(const char *text, size_t len, struct slip *slip);

/* Whether there is a NUL in the text, of which the parser overlooks some. */
bool slip_of_nul(const char *text, size_t len, struct slip *slip);

/* Why the parser refused the text (comments are blanks in it). */
void slip_explain(const char *text, size_t len, const json_error_t *error, struct slip *slip);

#endif
