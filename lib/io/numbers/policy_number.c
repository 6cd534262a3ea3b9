/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers of a policy by name: the rows of number_table.h, and the names that follow from a
 * row.
 */
#include "numbers/policy_number.h"

#include <errno.h>
#include <string.h>

#define UNIT_SUFFIX(unit, suffix, words) [UNIT_##unit] = suffix,
static const char *const suffixes[] = {NUMBER_UNITS_TABLE(UNIT_SUFFIX)};
#undef UNIT_SUFFIX

#define UNIT_WORDS(unit, suffix, words) [UNIT_##unit] = words,
static const char *const unit_words[] = {NUMBER_UNITS_TABLE(UNIT_WORDS)};
#undef UNIT_WORDS

#define APPLIES_WORDS(applies, condition, words) [APPLIES_##applies] = words,
static const char *const applies_words[] = {NUMBER_APPLIES_TABLE(APPLIES_WORDS)};
#undef APPLIES_WORDS

#define ROW(stem_, unit_, kind_, applies_, shown_, path_, zero_, label_, head_, value_, help_) \
	[NUMBER_##stem_##_##unit_] = {.stem = #stem_,                                          \
		.path = path_,                                                                 \
		.label = label_,                                                               \
		.head = head_,                                                                 \
		.help = help_,                                                                 \
		.unit = UNIT_##unit_,                                                          \
		.kind = NUMBER_##kind_,                                                        \
		.applies = APPLIES_##applies_,                                                 \
		.shown = NUMBER_##shown_,                                                      \
		.zero = NUMBER_##zero_},
const struct policy_number policy_numbers[POLICY_NUMBER_ROWS] = {POLICY_NUMBERS(ROW)};
#undef ROW

#define COLUMN(stem_, unit_, kind_, applies_, column_, metric_) \
	{NUMBER_##stem_##_##unit_,                              \
		{.stem = column_, .path = "", .unit = UNIT_##unit_, .kind = NUMBER_##kind_}},
#define PATH(stem_, unit_, path_) \
	{NUMBER_##stem_##_##unit_, {.stem = "", .path = path_, .unit = UNIT_##unit_}},
const struct number_previous policy_numbers_previous[] = {
	POLICY_COLUMNS_PREVIOUS(COLUMN) POLICY_PATHS_PREVIOUS(PATH)};
#undef COLUMN
#undef PATH

const unsigned policy_numbers_previous_rows = sizeof(policy_numbers_previous) /
					      sizeof(*policy_numbers_previous);

const char *number_column(const struct policy_number *number, char name[NUMBER_NAME_MAX])
{
	snprintf(name, NUMBER_NAME_MAX, "%s%s", number->stem, suffixes[number->unit]);
	return name;
}

const char *number_path(
	const struct policy_number *number, const char *count, char name[NUMBER_NAME_MAX])
{
	bool bytes = strcmp(count, "bytes") == 0;
	const char *suffix = "";
	int stem = (int)strcspn(number->path, "*");

	if (stem == 0)
		return NULL;
	if (number->unit == UNIT_VOLUME)
		suffix = count;
	else if (number->unit == UNIT_RATE)
		suffix = bytes ? "_bps" : "_per_s";
	else if (number->unit == UNIT_UNITS && bytes)
		suffix = "_bytes";
	snprintf(name, NUMBER_NAME_MAX, "%.*s%s", stem, number->path, suffix);
	return number->unit == UNIT_VOLUME && strcmp(count, "packets") == 0 ? NULL : name;
}

void number_put(json_t *json, const char *path, json_t *value)
{
	char key[NUMBER_NAME_MAX];

	for (size_t n = strcspn(path, "."); path[n]; n = strcspn(path, ".")) {
		json_t *inside;

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		inside = json_object_get(json, key);
		if (!json_is_object(inside)) {
			inside = json_object();
			json_object_set_new(json, key, inside);
		}
		json = inside;
		path += n + 1;
	}
	json_object_set_new(json, path, value);
}

static json_t *previous_json(enum policy_number_id id)
{
	json_t *json = json_array();
	char name[NUMBER_NAME_MAX];

	for (unsigned i = 0; i < policy_numbers_previous_rows; i++) {
		const struct number_previous *previous = &policy_numbers_previous[i];

		if (previous->number != id)
			continue;
		if (*previous->names.stem)
			json_array_append_new(
				json, json_string(number_column(&previous->names, name)));
		if (number_path(&previous->names, "bytes", name))
			json_array_append_new(json, json_string(name));
	}
	return json;
}

static json_t *number_json(enum policy_number_id id)
{
	const struct policy_number *number = &policy_numbers[id];
	char column[NUMBER_NAME_MAX], path[NUMBER_NAME_MAX];
	const char *at = number_path(number, "bytes", path);

	return json_pack("{s:s*, s:s*, s:s, s:s, s:s, s:s*, s:b, s:s*, s:o}", "column",
		number_has_column(number) ? number_column(number, column) : NULL, "path", at,
		"unit", unit_words[number->unit], "applies", applies_words[number->applies], "help",
		number->help, "label", *number->label ? number->label : NULL, "hidden_at_0",
		number->zero == NUMBER_HIDDEN, "head", *number->head ? number->head : NULL,
		"former", previous_json(id));
}

int numbers_print(FILE *out)
{
	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++) {
		json_t *json = number_json(id);
		int rc = json_dumpf(json, out, JSON_COMPACT);

		json_decref(json);
		if (rc < 0 || fputc('\n', out) == EOF)
			return -EIO;
	}
	return 0;
}
