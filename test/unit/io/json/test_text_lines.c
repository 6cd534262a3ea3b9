/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json/text_lines.h"

/*
 * A line for each member of the root, and for each element of an array there; deeper values stay in
 * the line.
 */
TEST(lines)
{
	static const char *const rows[][2] = {
		{"{}", "{\n}"},
		{"[]", "[]"},
		{"{\"p\":[]}", "{\n\"p\":[]\n}"},
		{"{\"a\":1,\"p\":[{\"n\":[1,2]},{}],\"o\":{\"x\":[3]}}",
			"{\n\"a\":1,\n\"p\":[\n{\"n\":[1,2]},\n{}\n],\n\"o\":{\"x\":[3]}\n}"},
		{"{\"\\\"\\n\":\"\\u0001\xc3\xa4\"}", "{\n\"\\\"\\n\":\"\\u0001\xc3\xa4\"\n}"},
		{"[1,[2,3]]", "[\n1,\n[2,3]\n]"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = json_loads(rows[i][0], 0, NULL), *again;
		size_t len;
		char *got = json_text_lines(json, &len);

		assert_non_null(got);
		assert_string_equal(got, rows[i][1]);
		assert_int_equal(len, strlen(got));
		again = json_loads(got, 0, NULL);
		assert_true(json_equal(json, again));
		json_decref(again);
		json_decref(json);
		free(got);
	}
}

/* Writes the text that Jansson writes: each kind of value, keys and strings with escapes, depth. */
TEST(one_line)
{
	static const char *const rows[] = {
		"{}",
		"[]",
		"[[],{},[{}],[[]]]",
		"{\"a\":1,\"b\":-2.5,\"c\":true,\"d\":false,\"e\":null,\"f\":\"\"}",
		"{\"a\":[1,{\"b\":[2,[3]]},\"c\"],\"d\":{\"e\":{\"f\":[]}}}",
		"[\"\\\"\",\"\\\\\",\"\\u001f\",\" \",\"/\",\"\x7f\",\"a\\\"b\",\"a\\n\"]",
		"{\"\\\"\":1,\"\\\\\":2,\"\\u001f\":3,\" \":4,\"a\\tb\":5}",
		"[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\",9007199254740993,0.1,1e300]",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = json_loads(rows[i], 0, NULL);
		char *expected = json_dumps(json, JSON_COMPACT), *got;
		size_t len;

		assert_non_null(json);
		got = json_text_line(json, &len);
		assert_string_equal(got, expected);
		assert_int_equal(len, strlen(got));
		json_decref(json);
		free(expected);
		free(got);
	}
}

/* Texts around the first buffer size, with each kind of last value. */
TEST(room)
{
	static const char *const ends[] = {"1", "\"x\"", "\"\\n\"", "[]", "{\"x\":{}}"};

	for (size_t n = 4070; n < 4110; n++)
		for (size_t i = 0; i < COUNT(ends); i++) {
			json_t *json = json_array(), *end;
			char *expected, *got, *x = calloc(1, n + 1);
			size_t len;

			memset(x, 'x', n);
			json_array_append_new(json, json_string(x));
			end = json_loads(ends[i], JSON_DECODE_ANY, NULL);
			json_array_append_new(json, end);
			expected = json_dumps(json, JSON_COMPACT);
			got = json_text_line(json, &len);
			assert_string_equal(got, expected);
			assert_int_equal(len, strlen(expected));
			json_decref(json);
			free(expected);
			free(got);
			free(x);
		}
}
