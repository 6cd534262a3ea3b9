/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What of a reply is looked at, and as what it is shown. A value that is not there is shown as "-":
 * servers may be older than this program, or newer.
 */
#ifndef WEIR_WEIRCTL_FIELD_H
#define WEIR_WEIRCTL_FIELD_H

#include <jansson.h>

#include "view.h"

enum kind {
	KIND_TEXT,    /* as it is: also of true ("yes") and false ("no"), lists, objects */
	KIND_COUNT,   /* a number, all of its digits */
	KIND_REAL,    /* three digits of it */
	KIND_BITS,    /* bit/s */
	KIND_MBITS,   /* 10^6 bit/s; as DPDK has the speed of a link, where 2^32 - 1 is unknown */
	KIND_PACKETS, /* packets a second */
	KIND_RATE,    /* the member NAME_bps, or else NAME_per_s */
	KIND_UNITS,   /* the member NAME_bytes, or else NAME, a number */
	KIND_US,      /* microseconds */
	KIND_MS,      /* milliseconds */
	KIND_SECONDS,
	KIND_SHARE, /* from 0 to 1, shown in percent */
};

/* A column that a terminal may have no room for: of the highest number they are left out first. */
#define OPTIONAL(rank) ((unsigned)(rank) << 8)

#define FIELD_TEXT_MAX VIEW_CELL_MAX

/* One thing to be shown: of each row of a list, or of one object. */
struct field {
	const char *head;
	const char *path; /* members, from the outermost: "dropped.packets" */
	unsigned kind;    /* enum kind, and OPTIONAL() */
};

/* The number that the path leads to, or 0. */
double field_number(const json_t *json, const char *path);

/* What is shown for it; at most FIELD_TEXT_MAX bytes, returned. */
char *field_text(const json_t *json, const struct field *field, char text[FIELD_TEXT_MAX]);

/* Adds a table: a line of heads and one for each member of the array. 0 or -ENOMEM. */
int fields_list(const json_t *rows, const struct field *fields, unsigned n, struct view *view);

/* Adds a table: a line for each field. 0 or -ENOMEM. */
int fields_detail(const json_t *json, const struct field *fields, unsigned n, struct view *view);

/* Adds a line for each text of the array, at its whole length. 0 or -ENOMEM. */
int fields_lines(const json_t *texts, struct view *view);

#define FIELDS(array) (array), sizeof(array) / sizeof(*(array))

#endif
