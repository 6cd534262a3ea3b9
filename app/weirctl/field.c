/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "field.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <libsmartcols.h>

#include "human.h"

#define MEMBER_MAX 64

const json_t *field_at(const json_t *json, const char *path)
{
	while (json && *path) {
		size_t len = strcspn(path, ".");
		char member[MEMBER_MAX];

		snprintf(member, sizeof(member), "%.*s", (int)len, path);
		json = json_object_get(json, member);
		path += len + (path[len] == '.');
	}
	return json_is_null(json) ? NULL : json;
}

double field_number(const json_t *json, const char *path)
{
	return json_number_value(field_at(json, path));
}

static const json_t *with_suffix(const json_t *json, const char *path, const char *suffix)
{
	char name[MEMBER_MAX];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return field_at(json, name);
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

/* Adds a part behind what is there, as far as there is room. */
static void append_part(char text[FIELD_TEXT_MAX], size_t *used, const char *name, const char *part)
{
	size_t room = FIELD_TEXT_MAX - *used;
	int n = snprintf(
		text + *used, room, "%s%s%s%s", *used ? ", " : "", name, *name ? " " : "", part);

	*used += (size_t)n < room ? (size_t)n : room - 1;
}

/* A list by its members; an object by names and members, but for what is "any": a match. */
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
}

static void as_rate(const json_t *json, const char *path, char *text)
{
	const json_t *bits = with_suffix(json, path, "_bps");
	const json_t *units = with_suffix(json, path, "_per_s");

	if (json_is_number(bits))
		human_amount(json_number_value(bits), "bit/s", text);
	else if (json_is_string(field_at(json, path))) /* as it was written */
		as_scalar(field_at(json, path), text);
	else if (json_is_number(units))
		human_amount(json_number_value(units), "/s", text);
}

static void as_units(const json_t *json, const char *path, char *text)
{
	const json_t *bytes = with_suffix(json, path, "_bytes"), *units = field_at(json, path);

	if (json_is_number(bytes))
		human_amount(json_number_value(bytes), "B", text);
	else if (json_is_number(units))
		human_amount(json_number_value(units), "", text);
}

static void as_number(double value, enum kind kind, char *text)
{
	switch (kind) {
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
	default:
		snprintf(text, FIELD_TEXT_MAX, "%.3g", value);
	}
}

char *field_text(const json_t *json, const struct field *field, char text[FIELD_TEXT_MAX])
{
	const json_t *value = field_at(json, field->path);

	snprintf(text, FIELD_TEXT_MAX, "-");
	if (field->kind == KIND_RATE)
		as_rate(json, field->path, text);
	else if (field->kind == KIND_UNITS)
		as_units(json, field->path, text);
	else if (value && (field->kind == KIND_TEXT || field->kind == KIND_COUNT))
		as_text(value, text);
	else if (json_is_number(value))
		as_number(json_number_value(value), field->kind, text);
	return text;
}

/* Columns of which none is cut: on a terminal too a line is as long as what is in it. */
static struct libscols_table *open_table(unsigned n, const struct field *fields, FILE *out)
{
	struct libscols_table *table = scols_new_table();
	bool failed = !table || scols_table_set_column_separator(table, "  ");

	for (unsigned i = 0; i < n && !failed; i++) {
		bool right = fields && fields[i].kind != KIND_TEXT;

		failed = !scols_table_new_column(table, NULL, 0, right ? SCOLS_FL_RIGHT : 0);
	}
	if (failed) {
		scols_unref_table(table);
		return NULL;
	}
	scols_table_enable_noheadings(table, 1);
	scols_table_enable_minout(table, 1);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_stream(table, out);
	return table;
}

/* NULL: there is no memory, or there was none for the table. */
static struct libscols_line *add_line(struct libscols_table *table)
{
	return table ? scols_table_new_line(table, NULL) : NULL;
}

/* The text is copied. True: there was no memory, now or for the line. */
static bool set_cell(struct libscols_line *line, unsigned column, const char *text)
{
	return !line || scols_line_set_data(line, column, text);
}

/* Prints it, unless something has failed. 0 or -ENOMEM. */
static int close_table(struct libscols_table *table, bool failed)
{
	int ret = failed || scols_print_table(table) ? -ENOMEM : 0;

	scols_unref_table(table);
	return ret;
}

int fields_list(const json_t *rows, const struct field *fields, unsigned n, FILE *out)
{
	struct libscols_table *table = open_table(n, fields, out);
	struct libscols_line *line = add_line(table);
	char text[FIELD_TEXT_MAX];
	bool failed = !line;
	const json_t *row;
	size_t i;

	for (unsigned c = 0; c < n; c++)
		failed |= set_cell(line, c, fields[c].head);
	json_array_foreach (rows, i, row) {
		line = add_line(table);
		for (unsigned c = 0; c < n; c++)
			failed |= set_cell(line, c, field_text(row, &fields[c], text));
	}
	return close_table(table, failed);
}

int fields_detail(const json_t *json, const struct field *fields, unsigned n, FILE *out)
{
	struct libscols_table *table = open_table(2, NULL, out);
	char text[FIELD_TEXT_MAX];
	bool failed = !table;

	for (unsigned i = 0; i < n; i++) {
		struct libscols_line *line = add_line(table);

		failed |= set_cell(line, 0, fields[i].head);
		failed |= set_cell(line, 1, field_text(json, &fields[i], text));
	}
	return close_table(table, failed);
}

int fields_lines(const json_t *texts, FILE *out)
{
	struct libscols_table *table = open_table(1, NULL, out);
	bool failed = !table;
	const json_t *text;
	size_t i;

	json_array_foreach (texts, i, text) {
		const char *line = json_string_value(text);

		failed |= set_cell(add_line(table), 0, line ? line : "?");
	}
	return close_table(table, failed);
}
