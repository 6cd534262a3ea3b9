/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The columns of a list of subscribers, by its header line. Private to this room.
 */
#ifndef WEIR_IMPORT_COLUMNS_H
#define WEIR_IMPORT_COLUMNS_H

#include "import/csv.h"
#include "json/diagnostics.h"

/* What a column holds, in either format. */
enum column {
	COLUMN_NAME,
	COLUMN_ADDRESSES,
	COLUMN_ADDRESSES6, /* LibreQoS has a column for each family */
	COLUMN_LIMIT,
	COLUMN_GUARANTEED,
	COLUMN_PARENT,
	COLUMN_NOTE,
	COLUMN_BURST,
	COLUMN_WEIGHT,
	COLUMN_ACCOUNTING,
	COLUMN_ACTION,
	COLUMNS,
};

struct columns {
	bool libreqos;
	unsigned n;                 /* fields of a line */
	int at[COLUMNS];            /* field; -1: there is no such column */
	const char *title[COLUMNS]; /* as the header has it; borrowed of the csv */
};

/* 0; or -EINVAL, and every mistake is told. */
int columns_find(const struct csv_row *header, bool upload, const char *file,
	struct diagnostics *diagnostics, struct columns *columns);

/* The field of a row, or "" where there is none. */
const char *columns_field(
	const struct columns *columns, const struct csv_row *row, enum column column);

#endif
