/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Comma-separated values, record by record, and what is none.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/csv.h"

#define BOM "\xef\xbb\xbf"

struct csv_case {
	const char *text;
	const char
		*want; /* "LINE[field|field]", or "LINE!words" of a mistake, one behind another */
};

static const struct csv_case cases[] = {
	{"", ""},
	{"\n\r\n\n", ""},
	{"a", "1[a]"},
	{"a\n", "1[a]"},
	{"a,b\nc,d\n", "1[a|b]2[c|d]"},
	{"a,b\r\nc,d\r\n", "1[a|b]2[c|d]"},
	{",\n,,\n", "1[|]2[||]"},
	{"a,\n", "1[a|]"},
	{BOM "a,b\n", "1[a|b]"},
	{"a" BOM "\n", "1[a" BOM "]"},
	{"# no record\na\n#\n\n# \"\nb\n", "2[a]6[b]"},
	{"a#b,#c\n", "1[a#b|#c]"},
	{"\"a\",\"\",\"b,c\"\n", "1[a||b,c]"},
	{"\"#a\"\n", "1[#a]"},
	{"\"a\"\"b\"\"\"\n", "1[a\"b\"]"},
	{"\"a\nb\r\nc\",d\ne\n", "1[a\nb\r\nc|d]4[e]"},
	{"a\rb,c\n", "1[a\rb|c]"},
	{"\"a\"", "1[a]"},
	{"\"a\"\r\n\"b\"\r\n", "1[a]2[b]"},
	{"a\n\"b", "1[a]2!nothing closes"},
	{"a\n\"b\n\nc,d", "1[a]2!nothing closes"},
	{"\"a\" ,b\nc\n", "1!more than a comma2[c]"},
	{"\"a\"b\nc\n", "1!more than a comma2[c]"},
	{"a\"b\"\nc\n", "1!within a field2[c]"},
	{"a,b \"c\"\nd\n", "1!within a field2[d]"},
	{"\"\"\"", "1!nothing closes"},
};

/* Whether the next thing wanted is this one, and passes over it. */
static void expect_row(const char **want, const struct csv_row *row, const char *text)
{
	char got[256];
	int len = snprintf(got, sizeof(got), "%u[", row->line);

	for (unsigned i = 0; i < row->n; i++)
		len += snprintf(
			got + len, sizeof(got) - (size_t)len, "%s%s", i ? "|" : "", row->field[i]);
	len += snprintf(got + len, sizeof(got) - (size_t)len, "]");
	if (strncmp(*want, got, (size_t)len) != 0)
		fail_msg("\"%s\": got %s, expected %s", text, got, *want);
	*want += len;
}

static void expect_mistake(
	const char **want, const struct csv_row *row, const char *why, const char *text)
{
	char *words;
	size_t len;
	unsigned line = (unsigned)strtoul(*want, &words, 10);
	char expected[64];

	if (*words != '!' || line != row->line)
		fail_msg("\"%s\": line %u: %s, expected %s", text, row->line, why, *want);
	len = strcspn(words + 1, "0123456789");
	snprintf(expected, sizeof(expected), "%.*s", (int)len, words + 1);
	if (!strstr(why, expected))
		fail_msg("\"%s\": %s, expected %s", text, why, expected);
	*want = words + 1 + len;
}

static void each_record(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *want = cases[i].want, *why;
		struct csv_row row;
		struct csv csv;
		int ret;

		assert_int_equal(csv_init(&csv, cases[i].text, strlen(cases[i].text)), 0);
		while ((ret = csv_next(&csv, &row, &why)) != 0) {
			if (ret == 1)
				expect_row(&want, &row, cases[i].text);
			else
				expect_mistake(&want, &row, why, cases[i].text);
		}
		if (*want)
			fail_msg("\"%s\": nothing in place of %s", cases[i].text, want);
		csv_free(&csv);
	}
}

static void as_many_columns_as_there_may_be(void **state)
{
	char text[2 * CSV_FIELDS_MOST + 8];
	const char *why;
	struct csv_row row;
	struct csv csv;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		size_t n = CSV_FIELDS_MOST - 1 + more;

		memset(text, ',', n);
		strcpy(text + n, "\nb\n");
		assert_int_equal(csv_init(&csv, text, strlen(text)), 0);
		assert_int_equal(csv_next(&csv, &row, &why), more ? -EINVAL : 1);
		assert_int_equal(csv_next(&csv, &row, &why), 1);
		assert_string_equal(row.field[0], "b");
		csv_free(&csv);
	}
}

static void what_is_no_text(void **state)
{
	struct csv csv;

	(void)state;
	assert_int_equal(csv_init(&csv, "a\0b", 3), -EILSEQ);
	csv_free(&csv);
	assert_int_equal(csv_init(&csv, NULL, 0), 0);
	csv_free(&csv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record),
		cmocka_unit_test(as_many_columns_as_there_may_be),
		cmocka_unit_test(what_is_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
