/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Suggestions for a misspelt word: the distance, the choice among several, and quantities.
 */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "json/suggest.h"

#define LETTERS31 "abcdefghijklmnopqrstuvwxyz01234"

/* Letters inserted, omitted, changed, or two swapped: at most two of these, in a long word. */
TEST(test_near)
{
	static const struct {
		const char *text, *word;
		bool meant;
	} rows[] = {
		{"limit", "limit", true},
		{"limi", "limit", true},
		{"imit", "limit", true},
		{"liit", "limit", true},
		{"limits", "limit", true},
		{"xlimit", "limit", true},
		{"limmit", "limit", true},
		{"limix", "limit", true},
		{"ximit", "limit", true},
		{"ilmit", "limit", true},
		{"limti", "limit", true},
		{"lmiit", "limit", true},
		{"limitxy", "limit", true},
		{"lim", "limit", true},
		{"xlimity", "limit", true},
		{"ilmti", "limit", true},
		{"ilmitx", "limit", true},
		{"limitxyz", "limit", false},
		{"li", "limit", false},
		{"ximyz", "limit", false},
		{"ilmtix", "limit", false},
		{"utilisatiyz", "utilisation", true},
		{"utilisatxyz", "utilisation", false},
		/* Letters two apart are not swapped. */
		{"milit", "limit", true},
		{"timil", "limit", true},
		{"tmiil", "limit", false},
		/* Less than half of a word differs. */
		{"abxy", "abcd", false},
		{"abcx", "abcd", true},
		{"axxde", "abcde", true},
		{"ax", "ab", false},
		{"axc", "abc", true},
		{"x", "a", false},
		{"", "a", false},
		{"", "", false},
		{"A", "a", true},
		{"LIMIT", "limit", true},
		{"LIMIx", "limit", false},
		/* The maximum length, and one more. */
		{LETTERS31 "5", LETTERS31 "6", true},
		{LETTERS31 "56", LETTERS31 "5", false},
		{LETTERS31 "5", LETTERS31 "56", false},
		/* A text with control characters is no suggestion. */
		{"a b~", "a b~", true},
		{"limit\x1f", "limit\x1f", false},
		{"limit\x7f", "limit\x7f", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct suggestion meant = {0};

		suggest_offer(&meant, rows[i].text, rows[i].word);
		if (meant.word != (rows[i].meant ? rows[i].word : NULL))
			fail_msg("%s, %s", rows[i].text, rows[i].word);
	}
}

TEST(test_lists)
{
	static const struct {
		const char *list, *text, *meant;
	} rows[] = {
		{"central, static, fps", "static", "static"},
		{"central, static, fps", "fsp", "fps"},
		{"central, static, fps", "quota", NULL},
		{"", "static", NULL},
		{"fps", "fps", "fps"},
		/* The closest, and the first of equally close ones. */
		{"limits, limit", "limit", "limit"},
		{"limit, limits", "limits", "limits"},
		{"limita, limitb, limitc", "limitx", "limita"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char word[SUGGEST_WORD_MAX];
		const char *meant = suggest_of_list(rows[i].list, rows[i].text, word);

		if (rows[i].meant == NULL)
			assert_null(meant);
		else
			assert_string_equal(meant, rows[i].meant);
	}
}

/* Takes "1.5Mbit/s", "1bit/s" and "7ms", and no other unit; but any number, and none. */
static int parse(const char *text, uint64_t *out)
{
	const char *unit = text + strspn(text, "0123456789.");

	*out = 1;
	return strcmp(unit, "Mbit/s") == 0 || strcmp(unit, "bit/s") == 0 || strcmp(unit, "ms") == 0
		       ? 0
		       : -EINVAL;
}

TEST(test_quantities)
{
	static const struct {
		const char *text, *remedy;
	} rows[] = {
		{"1.5Mbit/s", "did you mean \"1.5Mbit/s\"?"},
		{"1,5 Mbit/s", "did you mean \"1.5Mbit/s\"?"},
		{" 1 5 m s ", "did you mean \"15ms\"?"},
		{"10Mbps", "did you mean \"10Mbit/s\"?"},
		{"10MBITS", "did you mean \"10Mbit/s\"?"},
		{"7bit", "did you mean \"7bit/s\"?"},
		{"3m", "did you mean \"3Mbit/s\"?"},
		{"50 msec", "did you mean \"50ms\"?"},
		{"50 sec", NULL},
		{"50 weeks", NULL},
		{"Mbit/s", NULL},
		{"", NULL},
		{"000000000000000000000000010Mbps",
			"did you mean \"000000000000000000000000010Mbit/s\"?"},
		{"0000000000000000000000000010Mbps", NULL},
	};
	char buf[SUGGEST_REMEDY_MAX];

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *remedy = suggest_quantity(parse, rows[i].text, buf);

		if (rows[i].remedy == NULL)
			assert_null(remedy);
		else
			assert_string_equal(remedy, rows[i].remedy);
	}
	assert_null(suggest_remedy(NULL, buf));
}
