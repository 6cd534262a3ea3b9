/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shows the numbers of a policy (numbers/policy_number.h) as fields: one policy in detail, or a row
 * of a list (field.h).
 */
#include "field.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BITS 8

static const enum kind kinds[NUMBER_UNITS] = {
	[UNIT_RATE] = KIND_RATE,
	[UNIT_UNITS] = KIND_UNITS,
	[UNIT_VOLUME] = KIND_COUNT,
	[UNIT_PACKETS] = KIND_PACKET_COUNT,
	[UNIT_BYTES] = KIND_BYTES,
	[UNIT_COUNT] = KIND_COUNT,
	[UNIT_REAL] = KIND_REAL,
	[UNIT_RATIO] = KIND_SHARE,
	[UNIT_US] = KIND_US,
	[UNIT_MS] = KIND_MS,
	[UNIT_SECONDS] = KIND_SECONDS,
	[UNIT_FLAG] = KIND_TEXT,
	[UNIT_TEXT] = KIND_TEXT,
	[UNIT_OTHER] = KIND_TEXT,
};

/* A list has the rate of a counter in the place of its volume. */
struct field number_field(enum policy_number_id id)
{
	const struct policy_number *number = &policy_numbers[id];
	struct field field = {number->head, number->stem, kinds[number->unit]};

	if (number->unit == UNIT_VOLUME)
		field.kind = KIND_RATE;
	if (number->unit == UNIT_PACKETS)
		field = (struct field){number->head, number->path, KIND_COUNT};
	return field;
}

#define ROW(stem, unit, ...) [NUMBER_##stem##_##unit] = {"", #stem "_pps", KIND_PACKETS},
const struct field number_pps_fields[POLICY_NUMBER_ROWS] = {POLICY_NUMBERS(ROW)};
#undef ROW

/* --- one policy ------------------------------------------------------------------------------ */

/* The texts of a row, which follow from the units that the policy counts. */
struct detail_texts {
	char label[NUMBER_NAME_MAX], path[NUMBER_NAME_MAX];
};

/* Returns false for a number that has no row. */
static bool detail_field(const struct policy_number *number, const char *count,
	struct detail_texts *texts, struct field *field)
{
	bool volume = number->unit == UNIT_VOLUME;

	if (!*number->label || !number_path(number, count, texts->path))
		return false;
	snprintf(texts->label, sizeof(texts->label), "%s%s%s", number->label, volume ? " " : "",
		volume ? count : "");
	*field = (struct field){
		texts->label, volume ? texts->path : number->path, kinds[number->unit]};
	if (volume && strcmp(count, "bytes") == 0)
		field->kind = KIND_BYTES;
	if (number->zero == NUMBER_HIDDEN)
		field->kind |= NONZERO;
	return true;
}

int numbers_detail(const json_t *policy, struct view *view)
{
	struct detail_texts texts[POLICY_NUMBER_ROWS];
	struct field fields[POLICY_NUMBER_ROWS];
	const char *count = json_string_value(json_object_get(policy, "count"));
	unsigned n = 0;

	if (!count)
		count = "bytes";
	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		n += detail_field(&policy_numbers[id], count, &texts[n], &fields[n]);
	return fields_detail(policy, fields, n, view);
}

/* --- rows of many policies ------------------------------------------------------------------- */

static void put_number(
	json_t *policy, const json_t *row, const struct policy_number *number, const char *count)
{
	/* "parent" is a text here, and a column alone has its stem. */
	bool flat = !*number->path || strncmp(number->path, "parent.", 7) == 0;
	const struct policy_number names = {
		.path = flat ? number->stem : number->path, .unit = number->unit};
	double scale = strcmp(count, "bytes") == 0 ? BITS : 1;
	char column[NUMBER_NAME_MAX], name[NUMBER_NAME_MAX];
	json_t *value = json_object_get(row, number_column(number, column));
	const char *path = number_path(&names, count, name);
	/* Every policy has these members, null if they do not apply. */
	const bool is_common = number->applies == APPLIES_ALWAYS ||
			       number->applies == APPLIES_LIMITED ||
			       number->applies == APPLIES_GROUP || number->unit == UNIT_TEXT;

	if (!path || (!is_common && (!value || json_is_null(value))))
		return;
	if (number->unit != UNIT_RATE)
		number_put(policy, path, json_incref(value));
	else
		number_put(policy, path,
			json_is_number(value) ? json_real(json_number_value(value) * scale)
					      : json_null());
}

json_t *numbers_of_row(const json_t *row)
{
	const char *count = json_string_value(json_object_get(row, "count"));
	json_t *policy = json_object();

	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		if (number_has_column(&policy_numbers[id]))
			put_number(policy, row, &policy_numbers[id], count ? count : "packets");
	return policy;
}
