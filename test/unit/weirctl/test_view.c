/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tables for the width of a terminal, and for several limiters.
 */
#include "check.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* --- names ----------------------------------------------------------------------------------- */

static void shortened(void **state)
{
	static const struct {
		const char *text;
		unsigned width;
		const char *want;
	} cases[] = {
		{"customer-1001", 13, "customer-1001"},
		{"customer-1001", 12, "custom" ELLIPSIS "-1001"},
		{"customer-1001", 9, "cust" ELLIPSIS "1001"},
		{"customer-1001", 3, "c" ELLIPSIS "1"},
		{"customer-1001", 1, ELLIPSIS},
		{"customer-1001", 0, ""},
		{"", 0, ""},
		/* Characters stay whole: of two bytes, of two columns, of none. */
		{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5,
			"\xc3\xa9\xc3\xa9" ELLIPSIS "\xc3\xa9\xc3\xa9"},
		{"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97", 6,
			"\xe6\xbc\xa2" ELLIPSIS "\xe5\xad\x97"},
		/* An escape written as \x1b takes four columns. */
		{"a\033b", 6, "a\033b"},
		{"a\033b", 5, "a" ELLIPSIS "b"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char out[VIEW_CELL_MAX];

		assert_string_equal(
			view_shorten(cases[i].text, cases[i].width, out), cases[i].want);
		assert_true(view_width(out) <= cases[i].width);
	}
}

/* --- width ----------------------------------------------------------------------------------- */

static const struct field wide[] = {
	{"POLICY", "name", KIND_TEXT},
	{"LIMIT", "limit", KIND_COUNT},
	{"SECOND", "limit", KIND_COUNT | OPTIONAL(2)},
	{"FIRST", "limit", KIND_COUNT | OPTIONAL(3)},
	{"NOTE", "note", KIND_TEXT | OPTIONAL(1)},
};

static char *list_at(unsigned width, const char *json)
{
	json_t *rows = json_loads(json, 0, NULL);
	struct view *view = view_new();
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(rows);
	assert_int_equal(fields_list(rows, FIELDS(wide), view), 0);
	assert_int_equal(view_print(view, out, width), 0);
	fclose(out);
	view_free(view);
	json_decref(rows);
	return text;
}

#define ONE_ROW \
	"[{\"name\": \"a-policy-with-a-long-name\", \"limit\": 1000000, \"note\": \"something\"}]"

static void columns_that_fit(void **state)
{
	static const struct {
		unsigned width;
		const char *want;
	} cases[] = {
		{0, "POLICY                       LIMIT   SECOND    FIRST  NOTE\n"
		    "a-policy-with-a-long-name  1000000  1000000  1000000  something\n"},
		{63, "POLICY                       LIMIT   SECOND    FIRST  NOTE\n"
		     "a-policy-with-a-long-name  1000000  1000000  1000000  something\n"},
		/* The name is shortened first, as long as enough of it remains. */
		{62, "POLICY                      LIMIT   SECOND    FIRST  NOTE\n"
		     "a-policy-wit" ELLIPSIS "a-long-name"
		     "  1000000  1000000  1000000  something\n"},
		{51, "POLICY           LIMIT   SECOND    FIRST  NOTE\n"
		     "a-poli" ELLIPSIS "g-name  1000000  1000000  1000000  something\n"},
		{50, "POLICY                   LIMIT   SECOND  NOTE\n"
		     "a-policy-w" ELLIPSIS "-long-name  1000000  1000000  something\n"
		     "(1 more column: --wide)\n"},
		{22, "POLICY           LIMIT\n"
		     "a-poli" ELLIPSIS "g-name  1000000\n"
		     "(3 more columns: --wide)\n"},
		{12, "P" ELLIPSIS "Y    LIMIT\n"
		     "a" ELLIPSIS "e  1000000\n"
		     "(3 more columns: --wide)\n"},
		{11, "P" ELLIPSIS "Y\n"
		     "a" ELLIPSIS "e\n"
		     "(4 more columns: --wide)\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *got = list_at(cases[i].width, ONE_ROW);

		assert_string_equal(got, cases[i].want);
		free(got);
	}
}

/* No line is wider than the terminal, for any names, unless there is no room for numbers. */
static void never_wider(void **state)
{
	char name[200] = "", json[600];

	(void)state;
	for (unsigned len = 0; len < 190; len += 7) {
		memset(name, 'n', len);
		snprintf(json, sizeof(json),
			"[{\"name\": \"%s\", \"limit\": 123456789, \"note\": \"%s\"}]", name, name);
		for (unsigned width = 8; width < 230; width++) {
			char *got = list_at(width, json), *line = got;

			for (unsigned i = 0; i < 2; i++) {
				size_t n = strcspn(line, "\n");

				line[n] = '\0';
				assert_true(view_width(line) <= width);
				line += n + 1;
			}
			free(got);
		}
	}
}

/* Values continue on the next line, below themselves; words of messages stay whole. */
static void lines_that_go_on(void **state)
{
	static const struct field fields[] = {{"alarms", "a", KIND_TEXT}, {"b", "b", KIND_TEXT}};
	json_t *json = json_loads(
		       "{\"a\": \"one two three four\", \"b\": \"0123456789abcdef\"}", 0, NULL),
	       *lines = json_loads("[\"one two three\", \"/a/very/long/path\"]", 0, NULL);
	struct view *view = view_new();
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fields_detail(json, FIELDS(fields), view);
	fields_lines(lines, view);
	assert_int_equal(view_print(view, out, 16), 0);
	fclose(out);
	assert_string_equal(text, "alarms  one two\n"
				  "        three\n"
				  "        four\n"
				  "b       0123" ELLIPSIS "def\n"
				  "\n"
				  "one two three\n"
				  "/a/very/long/path\n");
	free(text);
	view_free(view);
	json_decref(json);
	json_decref(lines);
}

/* --- boxes ----------------------------------------------------------------------------------- */

/* Each limiter has its own tables, with common columns, also if one lacks a table. */
static void boxes(void **state)
{
	static const struct field one[] = {{"state", "s", KIND_TEXT}};
	static const struct field rows[] = {{"NAME", "n", KIND_TEXT}, {"N", "c", KIND_COUNT}};
	static const struct field more[] = {{"OTHER", "n", KIND_TEXT}};
	json_t *a = json_loads("{\"s\": \"good\", \"r\": [{\"n\": \"x\", \"c\": 5}]}", 0, NULL);
	json_t *b = json_loads(
		"{\"s\": \"bad\", \"r\": [{\"n\": \"longer\", \"c\": 1234}]}", 0, NULL);
	struct view *view = view_new();
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	view_of_box(view, "ams");
	fields_detail(a, FIELDS(one), view);
	fields_list(json_object_get(a, "r"), FIELDS(more), view);
	view_of_box(view, "fra-1");
	fields_detail(b, FIELDS(one), view);
	fields_list(json_object_get(b, "r"), FIELDS(rows), view);
	view_of_box(view, "lon");
	fields_list(json_object_get(a, "r"), FIELDS(rows), view);
	assert_int_equal(view_print(view, out, 0), 0);
	fclose(out);
	assert_string_equal(text, "ams    state  good\n"
				  "fra-1  state  bad\n"
				  "\n"
				  "BOX  OTHER\n"
				  "ams  x\n"
				  "\n"
				  "BOX    NAME       N\n"
				  "fra-1  longer  1234\n"
				  "lon    x          5\n");
	free(text);
	view_free(view);
	json_decref(a);
	json_decref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shortened),
		cmocka_unit_test(columns_that_fit),
		cmocka_unit_test(never_wider),
		cmocka_unit_test(lines_that_go_on),
		cmocka_unit_test(boxes),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
