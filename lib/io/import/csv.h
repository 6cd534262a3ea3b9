/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Comma-separated values as RFC 4180 has them, one record after another: quoted fields with commas,
 * quotes and line ends in them; lines that end in LF or CRLF. A mark of the byte order before the
 * first, empty lines and lines that begin with "#" are passed over. Pure; one thread each.
 */
#ifndef WEIR_IMPORT_CSV_H
#define WEIR_IMPORT_CSV_H

#include <stddef.h>

#define CSV_FIELDS_MOST 64

struct csv {
	char *text; /* a copy, in which fields are unquoted where they stand */
	char *at, *end;
	unsigned line; /* that `at` is in, from 1 */
};

struct csv_row {
	unsigned line; /* that it begins in */
	unsigned n;
	const char *field[CSV_FIELDS_MOST]; /* until the csv is freed */
};

/* Takes a copy. 0; -EILSEQ: it has NUL characters, as UTF-16 has; -ENOMEM. */
int csv_init(struct csv *csv, const char *text, size_t len);
void csv_free(struct csv *csv);

/*
 * The next record: 1; 0: there is none; -EINVAL: it is none, as *why says in words, of row->line;
 * the next call goes on behind the line that it broke off in.
 */
int csv_next(struct csv *csv, struct csv_row *row, const char **why);

#endif
