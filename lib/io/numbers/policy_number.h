/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers of a policy by name: the rows of number_table.h, and the names that follow from a
 * row. Constant data; any thread.
 */
#ifndef WEIR_NUMBERS_POLICY_NUMBER_H
#define WEIR_NUMBERS_POLICY_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "numbers/number_table.h"

#define NUMBER_UNIT(unit, suffix, words) UNIT_##unit,
enum number_unit { NUMBER_UNITS_TABLE(NUMBER_UNIT) NUMBER_UNITS };
#undef NUMBER_UNIT

#define NUMBER_APPLIES(applies, ...) APPLIES_##applies,
enum number_applies { NUMBER_APPLIES_TABLE(NUMBER_APPLIES) NUMBER_APPLIES_KINDS };
#undef NUMBER_APPLIES

enum number_kind { NUMBER_GAUGE, NUMBER_COUNTER, NUMBER_INFO, NUMBER_TEXT };

/* The outputs that show a number, in addition to its path in /weir/policy. */
enum number_shown { NUMBER_ALL, NUMBER_COLUMN, NUMBER_METRIC, NUMBER_DETAIL, NUMBER_GIVEN };

enum number_zero { NUMBER_SHOWN, NUMBER_HIDDEN };

/* The index of a row: NUMBER_limit_RATE. */
#define NUMBER_ID(stem, unit, ...) NUMBER_##stem##_##unit,
enum policy_number_id { POLICY_NUMBERS(NUMBER_ID) POLICY_NUMBER_ROWS };
#undef NUMBER_ID

struct policy_number {
	const char *stem, *path, *label, *head, *help; /* see number_table.h */
	uint8_t unit, kind, applies, shown, zero;
};

extern const struct policy_number policy_numbers[POLICY_NUMBER_ROWS];

/* A previous name of a number. */
struct number_previous {
	enum policy_number_id number;
	struct policy_number names; /* "" if the name was the same */
};

extern const struct number_previous policy_numbers_previous[];
extern const unsigned policy_numbers_previous_rows;

#define NUMBER_NAME_MAX 64

/* Returns true if /weir/policy_stats has a column of the number. */
static inline bool number_has_column(const struct policy_number *number)
{
	return number->shown <= NUMBER_METRIC;
}

/* Writes the name of the column and returns it. */
const char *number_column(const struct policy_number *number, char name[NUMBER_NAME_MAX]);

/*
 * Writes the path of the number in /weir/policy of a policy that counts `count` ("bytes", "packets"
 * or "flows") and returns it. NULL: the reply of such a policy does not have it.
 */
const char *number_path(
	const struct policy_number *number, const char *count, char name[NUMBER_NAME_MAX]);

/* Adds a value at a path of objects and a member; makes the objects that are missing or null. */
void number_put(json_t *json, const char *path, json_t *value);

/* Writes each row as a line of JSON, for the manual (tools/keys). Returns 0 or -EIO. */
int numbers_print(FILE *out);

#endif
