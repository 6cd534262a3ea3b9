/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Long values, shortened around their first difference.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "human.h"

#define LETTERS 6
#define MOST    160

/* Appends random characters of one to three bytes, at least until the text has `len` bytes. */
static void append_random(struct prng *rng, char *text, size_t len)
{
	static const char *const letters[LETTERS] = {
		"a", "b", "{", "\"", "\xc3\xa4", "\xe2\x82\xac"};

	while (strlen(text) < len)
		strcat(text, letters[prng_below(rng, LETTERS)]);
}

static bool is_utf8(const char *text)
{
	json_t *value = json_string(text);
	bool good = value != NULL;

	json_decref(value);
	return good;
}

/* Removes the dots of both sides, which no random text has. */
static char *without_dots(char *text)
{
	size_t len = strlen(text);

	if (len >= 3 && strcmp(text + len - 3, "...") == 0)
		text[len - 3] = '\0';
	return strncmp(text, "...", 3) == 0 ? text + 3 : text;
}

static void check_shortened(const char *text, size_t at, size_t room)
{
	char *got = shorten(text, at, room), *part;

	assert_non_null(got);
	assert_true(is_utf8(got));
	if (strlen(got) > (room > SHORTEN_LEAST ? room : SHORTEN_LEAST))
		fail_msg("%s: %zu bytes, room for %zu", got, strlen(got), room);
	if (strlen(text) <= room)
		assert_string_equal(got, text);
	part = without_dots(got);
	assert_non_null(strstr(text, part));
	free(got);
}

/*
 * Random pairs with a common beginning. The shortened texts are parts of them, fit, have whole
 * characters, and differ if the pair does.
 */
TEST(test_pairs)
{
	struct prng rng;

	prng_seed(&rng, 11);
	for (unsigned round = 0; round < 20000; round++) {
		char a[2 * MOST + 8] = "", b[2 * MOST + 8], *x, *y;
		size_t room = prng_below(&rng, 90), at;

		append_random(&rng, a, prng_below(&rng, MOST));
		strcpy(b, a);
		append_random(&rng, a, strlen(a) + prng_below(&rng, MOST - 4));
		append_random(&rng, b, strlen(b) + prng_below(&rng, MOST - 4));
		at = first_difference(a, b);
		assert_memory_equal(a, b, at);
		check_shortened(a, at, room);
		check_shortened(b, at, room);
		x = shorten(a, at, room);
		y = shorten(b, at, room);
		if ((strcmp(a, b) == 0) != (strcmp(x, y) == 0))
			fail_msg("%s | %s: %s | %s, room for %zu", a, b, x, y, room);
		free(x);
		free(y);
	}
}

/* The two rosters of an operator: a port of the third limiter differs. */
TEST(test_rosters)
{
#define BEFORE \
	"[{\"name\":\"lim-1\",\"address\":\"10.9.0.1:7946\"},{\"name\":\"lim-2\",\"address\":"
	char *old = shorten(BEFORE "\"10.9.0.2:7946\"}]", strlen(BEFORE) + 9, 40);
	char *new = shorten(BEFORE "\"10.9.0.4:7946\"}]", strlen(BEFORE) + 9, 40);

	assert_string_equal(old, "...\":\"lim-2\",\"address\":\"10.9.0.2:7946\"}]");
	assert_string_equal(new, "...\":\"lim-2\",\"address\":\"10.9.0.4:7946\"}]");
	free(old);
	free(new);
}

TEST_GROUP(NULL, NULL)
