/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json/text_lines.h"

/* A member of the root a line, and of an array there: what is deeper is in the line. */
static void lines(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
