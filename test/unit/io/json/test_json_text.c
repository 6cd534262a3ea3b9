/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The text of documents is what the library writes, in each form and in pieces.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json/json_text.h"

#define MANY 3000

static const char *const texts[] = {
	"{}",
	"[]",
	"null",
	"[true,false,null,0,-1,9223372036854775807,-9223372036854775808]",
	"[1.5,-0.1,1e300,2.0,1e-7]",
	"{\"b\":1,\"a\":{\"d\":[],\"c\":{}},\"\":\"\"}",
	"{\"ab\":1,\"a\":2,\"abc\":3,\"B\":4,\"\xc3\xa4\":5,\"b\":6}",
	"[\"\\\" \\\\ / \\b \\f \\n \\r \\t \\u0001 \\u001f \\u007f \\u00e4 \\u20ac \\ud83d\\ude00\"]",
	"{\"\\n\":\"key\",\"\\u0010\":[{\"x\":[[1]]}]}",
};

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

	if (json == NULL)
		fail_msg("no JSON: %s", text);
	return json;
}

struct taken {
	char *text;
	size_t len, pieces;
};

static void take(void *context, const char *text, size_t len)
{
	struct taken *taken = context;

	taken->text = realloc(taken->text, taken->len + len + 1);
	memcpy(taken->text + taken->len, text, len);
	taken->len += len;
	taken->text[taken->len] = '\0';
	taken->pieces++;
}

/* As json_dumps() has it; returns the pieces that it came in. */
static size_t expect_text(const json_t *json, enum json_text_form form, size_t flags)
{
	char *want = json_dumps(json, flags | JSON_COMPACT | JSON_ENCODE_ANY), *got;
	struct taken taken = {0};
	size_t len;

	got = json_text(json, form, &len);
	assert_non_null(got);
	assert_string_equal(got, want);
	assert_int_equal(len, strlen(want));
	assert_int_equal(json_text_to(json, form, take, &taken), 0);
	assert_string_equal(taken.text, want);
	free(taken.text);
	free(want);
	free(got);
	return taken.pieces;
}

static void each_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_t *json = parse(texts[i]);

		expect_text(json, JSON_TEXT_PLAIN, 0);
		expect_text(json, JSON_TEXT_SORTED, JSON_SORT_KEYS);
		json_decref(json);
	}
}

/* Longer than any buffer; with more keys than are sorted in place; and one text that is long. */
static void large(void **state)
{
	json_t *json = json_object(), *list = json_array();
	char *whole = malloc(MANY * 40);
	char key[16];

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "k%u", i * 7919 % MANY);
		json_object_set_new(json, key, json_pack("{s:i, s:s}", "n", (int)i, "b", "x\"y"));
		json_array_append_new(list, json_integer(i));
	}
	memset(whole, '\n', MANY * 40 - 1);
	whole[MANY * 40 - 1] = '\0';
	json_object_set_new(json, "list", list);
	json_object_set_new(json, "whole", json_string(whole));
	assert_true(expect_text(json, JSON_TEXT_PLAIN, 0) > 4);
	expect_text(json, JSON_TEXT_SORTED, JSON_SORT_KEYS);
	json_decref(json);
	free(whole);
}

/* A member of the root a line, and of an array there: what is deeper is in the line. */
static void lines(void **state)
{
	static const char *const rows[][2] = {
		{"{}", "{\n}"},
		{"{\"a\":1,\"p\":[{\"n\":[1,2]},{}],\"o\":{\"x\":[3]}}",
			"{\n\"a\":1,\n\"p\":[\n{\"n\":[1,2]},\n{}\n],\n\"o\":{\"x\":[3]}\n}"},
		{"[1,[2,3]]", "[\n1,\n[\n2,\n3\n]\n]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *json = parse(rows[i][0]), *again;
		size_t len;
		char *got = json_text(json, JSON_TEXT_LINES, &len);

		assert_string_equal(got, rows[i][1]);
		again = parse(got);
		assert_true(json_equal(json, again));
		json_decref(again);
		json_decref(json);
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text),
		cmocka_unit_test(large),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
