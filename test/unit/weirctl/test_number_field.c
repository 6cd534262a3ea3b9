/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Each row of the table of numbers in the views of weirctl, for a policy that has all numbers.
 */
#include <stdlib.h>

#include "ask/source.h"
#include "check.h"
#include "field.h"

static const char *const counts[] = {"bytes", "packets", "flows"};

/* Each row has a different value. */
static json_t *value_of(enum policy_number_id id)
{
	switch (policy_numbers[id].unit) {
	case UNIT_TEXT:
	case UNIT_OTHER:
		return json_sprintf("text-%u", id);
	case UNIT_FLAG:
		return json_true();
	default:
		return json_integer(100 + id);
	}
}

static void put(json_t *json, const char *path, json_t *value)
{
	char key[NUMBER_NAME_MAX];

	for (size_t n = strcspn(path, "."); path[n]; n = strcspn(path, ".")) {
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		if (!json_object_get(json, key))
			json_object_set_new(json, key, json_object());
		json = json_object_get(json, key);
		path += n + 1;
	}
	json_object_set_new(json, path, value);
}

/* The reply of /weir/policy. */
static json_t *whole_policy(const char *count)
{
	json_t *json = json_object();
	char name[NUMBER_NAME_MAX];

	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		if (number_path(&policy_numbers[id], count, name))
			put(json, name, value_of(id));
	json_object_set_new(json, "count", json_string(count));
	return json;
}

static char *print_policy(const json_t *policy)
{
	struct view *view = view_new();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(numbers_detail(policy, view), 0);
	assert_int_equal(view_print(view, out, 0), 0);
	fclose(out);
	view_free(view);
	return text;
}

/* Returns the line that begins with the label, or NULL. */
static const char *find_line(const char *text, const char *label)
{
	size_t n = strlen(label);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, label, n) == 0 && strncmp(line + n, "  ", 2) == 0)
			return line;
	}
	return NULL;
}

/* Each label has a line with a value, and no line is there twice. */
TEST(test_labels)
{
	for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		json_t *policy = whole_policy(counts[c]);
		char *text = print_policy(policy), name[NUMBER_NAME_MAX], label[NUMBER_NAME_MAX];

		for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++) {
			const struct policy_number *number = &policy_numbers[id];
			bool volume = number->unit == UNIT_VOLUME;
			const char *line;

			if (!*number->label || !number_path(number, counts[c], name))
				continue;
			snprintf(label, sizeof(label), "%s%s%s", number->label, volume ? " " : "",
				volume ? counts[c] : "");
			print_message("%s: %s\n", counts[c], label);
			line = find_line(text, label);
			assert_non_null(line);
			assert_null(find_line(line + 1, label));
		}
		free(text);
		json_decref(policy);
	}
}

/* A row of /weir/policy_stats has the members of /weir/policy. */
TEST(test_rows)
{
	for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		json_t *row = json_object(), *policy;
		double scale = c == 0 ? 8 : 1;
		char name[NUMBER_NAME_MAX];

		for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
			if (number_has_column(&policy_numbers[id]))
				json_object_set_new(row, number_column(&policy_numbers[id], name),
					value_of(id));
		json_object_set_new(row, "count", json_string(counts[c]));
		policy = numbers_of_row(row);
		for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++) {
			const struct policy_number *number = &policy_numbers[id];
			const json_t *member;

			if (!number_has_column(number) || number->unit == UNIT_TEXT ||
				!number_path(number, counts[c], name) || id == NUMBER_share_RATE)
				continue;
			print_message("%s: %s\n", counts[c], name);
			member = member_at(policy, name);
			assert_non_null(member);
			assert_true(fabs(json_number_value(member) -
					    (100 + id) * (number->unit == UNIT_RATE ? scale : 1)) <
				    1e-9);
		}
		json_decref(policy);
		json_decref(row);
	}
}

/* A number without a value is left out, unless all policies have it. */
TEST(test_null)
{
	json_t *row = json_pack("{s:s, s:s, s:n, s:n, s:n}", "name", "p", "count", "bytes",
		"limit_per_s", "trial_limit_per_s", "quota_units");
	json_t *policy = numbers_of_row(row);

	assert_true(json_is_null(json_object_get(policy, "limit_bps")));
	assert_null(json_object_get(policy, "trial"));
	assert_null(json_object_get(policy, "quota"));
	json_decref(policy);
	json_decref(row);
}

TEST_GROUP(NULL, NULL)
