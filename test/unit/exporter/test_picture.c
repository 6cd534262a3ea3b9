/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The page's data, computed from two gatherings.
 */
#include "check.h"
#include "scope.h"

#include "answer_of.h"
#include "picture.h"

END_POINTER(picture_free, struct picture *)

#define COLUMNS                                                                                \
	"'columns': ['name', 'count', 'limit_per_s', 'local_limit_per_s', 'demand_per_s', "    \
	"'passed_units', 'passed_packets', 'dropped_units', 'dropped_packets', 'over_units', " \
	"'quota_remaining_units', 'quota_units', 'quota_used_units'], "

/* A limiter's document, with ' for ". */
static json_t *document_of(const char *text)
{
	char *copy = strdup(text);
	json_t *json;

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	json = json_loads(copy, 0, NULL);
	free(copy);
	assert_non_null(json);
	return json;
}

static struct boxes *boxes_of(unsigned n, const char *const *documents)
{
	struct boxes *boxes = calloc(1, sizeof(*boxes));

	assert_non_null(boxes);
	for (unsigned i = 0; i < n; i++) {
		json_t *document = document_of(documents[i]);

		snprintf(boxes->names[i], sizeof(boxes->names[i]), "box%u", i);
		boxes->of[i] = (struct metrics_of){
			boxes->names[i], document, policies_of(document)};
	}
	boxes->n = n;
	return boxes;
}

/* A limiter's document with the policies' rows at a time. */
#define LIMITER(name, at, rows)                                                    \
	"{'up': true, 'process': {'limiter': '" name "'}, " COLUMNS "'at_ms': " at \
	", 'policies': [" rows "]}"

static double number_at(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	assert_true(json_is_number(value));
	return json_number_value(value);
}

static void check_null(const json_t *json, const char *key)
{
	assert_true(json_is_null(json_object_get(json, key)));
}

static const char *name_of(const json_t *json)
{
	return json_string_value(json_object_get(json, "name"));
}

#define A_THEN  "['a', 'bytes', 1000, 600, 900, 100, 1, 50, 5, 0, null, null, null]"
#define A_NOW   "['a', 'bytes', 1000, 600, 900, 1300, 1, 250, 9, 0, null, null, null]"
#define B_THEN  "['b', 'packets', 10, 10, 2, 7, 7, 0, 0, 0, 70, 100, 30]"
#define B_NOW   "['b', 'packets', 10, 10, 2, 27, 27, 100, 100, 0, 60, 100, 40]"
#define A2_THEN "['a', 'bytes', 1000, 400, 100, 0, 0, 0, 0, 0, null, null, null]"
#define A2_NOW  "['a', 'bytes', 1000, 400, 100, 50, 1, 0, 0, 0, null, null, null]"

/* Rates are per time on the limiter's own clock, also if rows have moved. */
TEST(test_rates)
{
	static const char *const then[] = {
		LIMITER("one", "1000", A_THEN ", " B_THEN), LIMITER("two", "77000", A2_THEN)};
	static const char *const now[] = {
		LIMITER("one", "3000", B_NOW ", " A_NOW), LIMITER("two", "77500", A2_NOW)};
	ENDED_BY(picture_free_at) struct picture *picture = picture_new();
	json_t *json, *limiters;

	picture_take(picture, boxes_of(2, then));
	assert_false(picture_has_rates(picture));
	json = picture_policy(picture, "a");
	check_null(json_array_get(json_object_get(json, "limiters"), 0), "passed");
	json_decref(json);
	picture_take(picture, boxes_of(2, now));
	assert_true(picture_has_rates(picture));
	json = picture_policy(picture, "a");
	limiters = json_object_get(json, "limiters");
	assert_int_equal(json_array_size(limiters), 2);
	assert_string_equal(name_of(json_array_get(limiters, 0)), "one");
	assert_true(number_at(json_array_get(limiters, 0), "passed") == 600);
	assert_true(number_at(json_array_get(limiters, 0), "dropped") == 100);
	assert_true(number_at(json_array_get(limiters, 0), "dropped_packets") == 2);
	assert_true(number_at(json_array_get(limiters, 1), "passed") == 100);
	assert_true(number_at(json_array_get(limiters, 1), "may") == 400);
	check_null(json, "total");
	json_decref(json);
	json = picture_policy(picture, "b");
	assert_true(number_at(json, "left") == 60 && number_at(json, "spent") == 40);
	json_decref(json);
	json = picture_policy(picture, "c");
	assert_true(json_is_null(json));
	json_decref(json);
}

/* The policy with most drops is first, and drops of all limiters are added. */
TEST(test_held)
{
	static const char *const then[] = {
		LIMITER("one", "1000", A_THEN ", " B_THEN), LIMITER("two", "77000", A2_THEN)};
	static const char *const now[] = {
		LIMITER("one", "3000", A_NOW ", " B_NOW), LIMITER("two", "77500", A2_NOW)};
	ENDED_BY(picture_free_at) struct picture *picture = picture_new();
	json_t *group, *held, *found;

	assert_null(picture_choice(picture));
	picture_take(picture, boxes_of(2, then));
	assert_false(picture_is_dropping(picture, "b"));
	picture_take(picture, boxes_of(2, now));
	assert_string_equal(picture_choice(picture), "b");
	assert_true(picture_is_dropping(picture, "a") && picture_is_dropping(picture, "b"));
	group = picture_group(picture);
	held = json_object_get(group, "held");
	assert_true(number_at(group, "policies") == 2 && number_at(group, "dropping") == 2);
	assert_int_equal(json_array_size(held), 2);
	assert_string_equal(name_of(json_array_get(held, 0)), "b");
	assert_true(number_at(json_array_get(held, 0), "dropped_packets") == 50);
	assert_true(number_at(json_array_get(held, 1), "passed") == 700);
	assert_true(number_at(json_array_get(held, 1), "demand") == 1000);
	json_decref(group);
	found = picture_find(picture, "A", 5);
	assert_int_equal(json_array_size(found), 1);
	json_decref(found);
	found = picture_find(picture, "", 1);
	assert_string_equal(name_of(json_array_get(found, 0)), "b");
	json_decref(found);
	picture_forget(picture);
	assert_false(picture_has_rates(picture));
}

/* A restarted limiter has no rates once, and one that does not answer has none. */
TEST(test_restart)
{
	static const char *const then[] = {LIMITER("one", "1000", A_NOW), LIMITER("two", "1", "")};
	static const char *const now[] = {
		LIMITER("one", "3000", A_THEN), "{'up': false, 'took_s': 4}"};
	ENDED_BY(picture_free_at) struct picture *picture = picture_new();
	json_t *json, *group;

	picture_take(picture, boxes_of(2, then));
	picture_take(picture, boxes_of(2, now));
	json = picture_policy(picture, "a");
	assert_int_equal(json_array_size(json_object_get(json, "limiters")), 1);
	check_null(json_array_get(json_object_get(json, "limiters"), 0), "passed");
	json_decref(json);
	group = picture_group(picture);
	json = json_array_get(json_object_get(group, "limiters"), 1);
	assert_true(json_is_false(json_object_get(json, "up")));
	assert_string_equal(name_of(json), "box1");
	check_null(json, "rx_pps");
	json_decref(group);
}

/* Invalid rows are left out, and nothing else is read from them. */
TEST(test_nonsense)
{
	static const char *const odd[] = {"{'up': true, " COLUMNS "'policies': [[1, 2], ['x']], "
					  "'at_ms': 'x', 'drops': {"
					  "'limit': 'many'}, 'workers': 3, 'peers': [4, {}]}",
		"{'up': true, 'policies': {'a': 1}, 'columns': 5}", "[]"};
	ENDED_BY(picture_free_at) struct picture *picture = picture_new();
	json_t *group;

	picture_take(picture, boxes_of(3, odd));
	picture_take(picture, boxes_of(3, odd));
	group = picture_group(picture);
	assert_int_equal(json_array_size(json_object_get(group, "limiters")), 3);
	assert_true(number_at(group, "policies") == 0);
	json_decref(group);
}

/* Limiters that do not answer have the values that a peer reports; others have none of those. */
TEST(test_told)
{
	static const char *const one[] = {
		"{'up': true, 'process': {'limiter': 'one'}, " COLUMNS
		"'at_ms': 1, 'policies': [" A_NOW "], 'shares': {'a': "
		"{'limiters': [{'name': 'one', 'self': true, 'demand_bps': 8000, 'weight': 1}, "
		"{'name': 'two', 'self': false, 'demand_bps': 16000, 'weight': 3}, "
		"{'name': 'gone', 'self': false}]}}}"};
	ENDED_BY(picture_free_at) struct picture *picture = picture_new();
	json_t *json, *told;

	picture_take(picture, boxes_of(1, one));
	json = picture_policy(picture, "a");
	told = json_object_get(json, "told");
	assert_int_equal(json_array_size(told), 2);
	assert_string_equal(name_of(json_array_get(told, 0)), "two");
	assert_true(number_at(json_array_get(told, 0), "demand") == 2000);
	assert_true(number_at(json_array_get(told, 0), "may") == 750);
	assert_true(number_at(json_array_get(told, 0), "about") == 750);
	check_null(json_array_get(told, 1), "about");
	json_decref(json);
}
