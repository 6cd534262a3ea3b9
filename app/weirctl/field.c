/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "field.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"
#include "human.h"

#define MEMBER_MAX 64

double field_number(const json_t *json, const char *path)
{
	return json_number_value(member_at(json, path));
}

json_t *field_row(const json_t *columns, const json_t *row)
{
	json_t *object = json_object(), *value;
	size_t i;

	json_array_foreach (row, i, value) {
		const char *name = json_string_value(json_array_get(columns, i));

		if (name)
			json_object_set(object, name, value);
	}
	return object;
}

static const json_t *with_suffix(const json_t *json, const char *path, const char *suffix)
{
	char name[MEMBER_MAX];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return member_at(json, name);
}

static void as_scalar(const json_t *value, char text[FIELD_TEXT_MAX])
{
	if (json_is_string(value))
		snprintf(text, FIELD_TEXT_MAX, "%s", json_string_value(value));
	else if (json_is_boolean(value))
		snprintf(text, FIELD_TEXT_MAX, json_is_true(value) ? "yes" : "no");
	else if (json_is_integer(value))
		snprintf(text, FIELD_TEXT_MAX, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(text, FIELD_TEXT_MAX, "%.4g", json_real_value(value));
	else
		snprintf(text, FIELD_TEXT_MAX, "-");
}

/* Appends a part after ", " as far as the room allows. */
static void append_part(char text[FIELD_TEXT_MAX], size_t *used, const char *name, const char *part)
{
	size_t room = FIELD_TEXT_MAX - *used;
	int n = snprintf(
		text + *used, room, "%s%s%s%s", *used ? ", " : "", name, *name ? " " : "", part);

	*used += (size_t)n < room ? (size_t)n : room - 1;
}

/*
 * Writes the members of a list, or the names and members of an object. An object is a match: its
 * "any" members are left out, and a match of nothing else is "any".
 */
static void as_text(const json_t *value, char text[FIELD_TEXT_MAX])
{
	char one[FIELD_TEXT_MAX];
	const json_t *member;
	const char *name;
	size_t used = 0, i;

	as_scalar(value, text);
	json_array_foreach (value, i, member) {
		as_scalar(member, one);
		append_part(text, &used, "", one);
	}
	json_object_foreach ((json_t *)value, name, member) {
		as_scalar(member, one);
		if (strcmp(one, "any") != 0)
			append_part(text, &used, name, one);
	}
	if (json_object_size(value) > 0 && used == 0)
		snprintf(text, FIELD_TEXT_MAX, "any");
}

/* Returns the short name of the units that a policy counts: "pkt", "flows", or "" without one. */
static const char *counted_unit(const json_t *json)
{
	const char *count = json_string_value(json_object_get(json, "count"));

	if (!count || strcmp(count, "bytes") == 0)
		return "";
	return strcmp(count, "packets") == 0 ? "pkt" : count;
}

static void as_rate(const json_t *json, const char *path, char *text)
{
	const json_t *bits = with_suffix(json, path, "_bps");
	const json_t *units = with_suffix(json, path, "_per_s");
	char unit[MEMBER_MAX];

	snprintf(unit, sizeof(unit), "%s/s", counted_unit(json));
	if (json_is_number(bits))
		human_amount(json_number_value(bits), "bit/s", text);
	else if (json_is_string(member_at(json, path))) /* the configuration's own text */
		as_scalar(member_at(json, path), text);
	else if (json_is_number(units))
		human_amount(json_number_value(units), unit, text);
}

static void as_units(const json_t *json, const char *path, char *text)
{
	const json_t *bytes = with_suffix(json, path, "_bytes"), *units = member_at(json, path);

	if (json_is_number(bytes))
		human_amount(json_number_value(bytes), "B", text);
	else if (json_is_number(units))
		human_amount(json_number_value(units), counted_unit(json), text);
}

static void as_number(double value, unsigned kind, char *text)
{
	switch (kind) {
	case KIND_PACKET_COUNT:
		snprintf(text, FIELD_TEXT_MAX, "%.0f %s", value, value == 1 ? "packet" : "packets");
		break;
	case KIND_BYTES:
		human_amount(value, "B", text);
		break;
	case KIND_MEMORY:
		human_memory(value, text);
		break;
	case KIND_BITS:
		human_amount(value, "bit/s", text);
		break;
	case KIND_MBITS:
		if (value > 0 && value < UINT32_MAX)
			human_amount(value * 1e6, "bit/s", text);
		break;
	case KIND_PACKETS:
		human_amount(value, "pkt/s", text);
		break;
	case KIND_US:
		human_seconds(value / 1e6, text);
		break;
	case KIND_MS:
		human_seconds(value / 1e3, text);
		break;
	case KIND_SECONDS:
		human_seconds(value, text);
		break;
	case KIND_SHARE:
		snprintf(text, FIELD_TEXT_MAX, "%.1f %%", value * 100);
		break;
	default:
		snprintf(text, FIELD_TEXT_MAX, "%.3g", value);
	}
}

static enum kind kind_of(const struct field *field)
{
	return (enum kind)(field->kind & (OPTIONAL(1) - 1));
}

char *field_text(const json_t *json, const struct field *field, char text[FIELD_TEXT_MAX])
{
	const json_t *value = member_at(json, field->path);
	enum kind kind = kind_of(field);

	snprintf(text, FIELD_TEXT_MAX, "-");
	if (kind == KIND_RATE)
		as_rate(json, field->path, text);
	else if (kind == KIND_UNITS)
		as_units(json, field->path, text);
	else if (value && (kind == KIND_TEXT || kind == KIND_COUNT))
		as_text(value, text);
	else if (json_is_number(value))
		as_number(json_number_value(value), kind, text);
	return text;
}

int fields_list(const json_t *rows, const struct field *fields, unsigned n, struct view *view)
{
	struct column columns[VIEW_COLUMNS];
	char text[VIEW_COLUMNS][FIELD_TEXT_MAX];
	const char *cells[VIEW_COLUMNS];
	const json_t *row;
	size_t i;

	for (unsigned c = 0; c < n; c++) {
		columns[c] = (struct column){.head = fields[c].head,
			.rank = (fields[c].kind & ~NONZERO) / OPTIONAL(1),
			.right = kind_of(&fields[c]) != KIND_TEXT};
		cells[c] = text[c];
	}
	view_table(view, TABLE_LIST, columns, n);
	json_array_foreach (rows, i, row) {
		for (unsigned c = 0; c < n; c++)
			field_text(row, &fields[c], text[c]);
		view_row(view, cells);
	}
	return view_error(view);
}

int fields_detail(const json_t *json, const struct field *fields, unsigned n, struct view *view)
{
	static const struct column columns[2];
	char text[FIELD_TEXT_MAX];
	unsigned shown = 0;

	view_table(view, TABLE_DETAIL, columns, 2);
	for (unsigned i = 0; i < n; i++) {
		const json_t *value = member_at(json, fields[i].path);
		const bool is_hidden_zero = fields[i].kind & NONZERO && json_is_number(value) &&
					    json_number_value(value) == 0;

		field_text(json, &fields[i], text);
		if (is_hidden_zero || !text[0] || strcmp(text, "-") == 0)
			continue;
		view_row(view, (const char *[]){fields[i].head, text});
		shown++;
	}
	if (shown == 0) /* an empty output could pass for success */
		view_row(view, (const char *[]){fields[0].head, "unknown"});
	return view_error(view);
}

int fields_lines(const json_t *texts, struct view *view)
{
	static const struct column columns[1];
	const json_t *text;
	size_t i;

	view_table(view, TABLE_LINES, columns, 1);
	json_array_foreach (texts, i, text) {
		const char *line = json_string_value(text);

		view_row(view, &(const char *){line ? line : "?"});
	}
	return view_error(view);
}

/* --- order ----------------------------------------------------------------------------------- */

struct field_orders {
	const struct field_order *by;
	unsigned n;
};

static int compare_rows(const void *a, const void *b, void *context)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	const char *name = json_string_value(json_object_get(left, "name"));
	const char *other = json_string_value(json_object_get(right, "name"));
	const struct field_orders *orders = context;

	for (unsigned i = 0; i < orders->n; i++) {
		const struct field_order *by = &orders->by[i];
		double l = field_number(left, by->path) + field_number(left, by->other);
		double r = field_number(right, by->path) + field_number(right, by->other);

		if (l != r)
			return l < r ? 1 : -1;
	}
	return strcmp(name ? name : "", other ? other : "");
}

json_t *fields_sort(json_t *rows, const struct field_order *by, unsigned n, size_t most)
{
	struct field_orders orders = {by, n};
	json_t **each = calloc(json_array_size(rows) + 1, sizeof(*each));
	json_t *sorted = each ? json_array() : NULL;

	for (size_t i = 0; sorted && i < json_array_size(rows); i++)
		each[i] = json_array_get(rows, i);
	if (sorted && by)
		qsort_r(each, json_array_size(rows), sizeof(*each), compare_rows, &orders);
	for (size_t i = 0; sorted && i < json_array_size(rows) && i < most; i++)
		json_array_append(sorted, each[i]);
	free(each);
	json_decref(rows);
	return sorted;
}
