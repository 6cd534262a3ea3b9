/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Explains why a text is not JSON, in common terms: an extra comma, single quotes, a merge conflict
 * marker. It only explains errors of a parser, and rejects nothing itself. Pure.
 */
#ifndef WEIR_JSON_SLIPS_H
#define WEIR_JSON_SLIPS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct slip {
	size_t offset;      /* position of the caret */
	char found[96];     /* for people: `a comma before "}"` */
	const char *remedy; /* correction; NULL: no advice */
};

/* Returns true if the text does not begin like the UTF-8 text that JSON requires. */
bool slip_of_encoding(const char *text, size_t len, struct slip *slip);

/* Returns true if there is a NUL in the text. The parser misses some of them. */
bool slip_of_nul(const char *text, size_t len, struct slip *slip);

/* Explains an error of the parser. Comments in the text are blanks. */
void slip_explain(const char *text, size_t len, const json_error_t *error, struct slip *slip);

#endif
