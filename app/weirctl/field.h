/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shows members of a reply as text: each with a label and a unit. A server can be older or newer
 * than this program, so any member can be missing. A list shows "-" for it; a detail view leaves
 * its row out.
 */
#ifndef WEIR_WEIRCTL_FIELD_H
#define WEIR_WEIRCTL_FIELD_H

#include <jansson.h>

#include "numbers/policy_number.h"
#include "view.h"

enum kind {
	KIND_TEXT,  /* text of the reply; true is "yes", false is "no"; also lists and objects */
	KIND_COUNT, /* number, all digits */
	KIND_PACKET_COUNT, /* "3190 packets", all digits */
	KIND_REAL,         /* number, three digits */
	KIND_BITS,         /* bit/s */
	KIND_MBITS,        /* 10^6 bit/s; DPDK reports a link of unknown speed as 0 or 2^32 - 1 */
	KIND_PACKETS,      /* packets per second */
	KIND_RATE,         /* member NAME_bps, or NAME_per_s in units of the member "count" */
	KIND_UNITS,        /* member NAME_bytes, or NAME in units of the member "count" */
	KIND_BYTES,        /* "3.19 MB" */
	KIND_MEMORY,       /* bytes, "216 MiB" */
	KIND_US,           /* microseconds */
	KIND_MS,           /* milliseconds */
	KIND_SECONDS,
	KIND_SHARE, /* from 0 to 1, shown in percent */
};

/* Rank of a column: a narrow terminal drops the highest rank first. */
#define OPTIONAL(rank) ((unsigned)(rank) << 8)

/* A detail view leaves the row out while the number is 0: counters of faults and rare events. */
#define NONZERO (1U << 16)

#define FIELD_TEXT_MAX VIEW_CELL_MAX

/* One member: a column of a list, or a row of a detail view. */
struct field {
	const char *head;
	const char *path; /* members, from the outermost: "dropped.packets" */
	unsigned kind;    /* enum kind | OPTIONAL() | NONZERO */
};

/* Returns the number at the path, or 0. */
double field_number(const json_t *json, const char *path);

/* Converts a row, an array, to an object with the names of the columns. */
json_t *field_row(const json_t *columns, const json_t *row);

/* Writes the text of the field, "-" without a value, and returns it. */
char *field_text(const json_t *json, const struct field *field, char text[FIELD_TEXT_MAX]);

/*
 * Each function below adds a table. An error stays for view_error(), so the next table can follow
 * without a check.
 */

/* Adds a table: a line of heads and one for each member of the array. 0 or -ENOMEM. */
int fields_list(const json_t *rows, const struct field *fields, unsigned n, struct view *view);

/* Adds a table: a row for each field with a value, or one "unknown". 0 or -ENOMEM. */
int fields_detail(const json_t *json, const struct field *fields, unsigned n, struct view *view);

/* Adds a line for each text of the array, at its whole length. 0 or -ENOMEM. */
int fields_lines(const json_t *texts, struct view *view);

/* A sort key: the sum of the numbers at two paths, largest first. */
struct field_order {
	const char *path, *other; /* "": none */
};

/*
 * Sorts rows by each order, then by their "name", unless `by` is NULL. Takes the rows over; returns
 * the first `most`. NULL: no memory.
 */
json_t *fields_sort(json_t *rows, const struct field_order *by, unsigned n, size_t most);

#define FIELDS(array) (array), sizeof(array) / sizeof(*(array))

/*
 * Numbers of a policy (numbers/number_table.h) as columns of lists and rows of detail views:
 * number_field.c.
 */

/* The column of a number in a list of policies, with its head in the table. */
struct field number_field(enum policy_number_id number);

/* The rate of a counter of packets, "passed_pps": its head is empty, next to the rate in units. */
extern const struct field number_pps_fields[POLICY_NUMBER_ROWS];

/* Adds a table: the numbers of one policy, with their labels. 0 or -ENOMEM. */
int numbers_detail(const json_t *policy, struct view *view);

/*
 * Converts a row of /weir/policy_stats, with the names of its columns, to the members that
 * /weir/policy has. An object has only its own name there: "parent" is a text.
 */
json_t *numbers_of_row(const json_t *row);

#endif
