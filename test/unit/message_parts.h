/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares messages by their parts: place, problem and action. In a pattern * stands for any text
 * within a line, so that tests do not depend on the words between the parts.
 */
#ifndef WEIR_TEST_MESSAGE_PARTS_H
#define WEIR_TEST_MESSAGE_PARTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Returns true if the text fits the pattern, or if it begins with the pattern. */
static inline bool parts_fit_to(const char *text, const char *pattern, bool begins)
{
	const char *star = NULL, *retry = NULL; /* the last *, and the text to try it at */

	while (*text != '\0' && !(begins && *pattern == '\0')) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL && *retry != '\n') {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/* Returns true if the whole text fits the pattern. */
static inline bool parts_fit(const char *text, const char *pattern)
{
	return parts_fit_to(text, pattern, false);
}

/* Returns true if a part of the text fits the pattern. */
static inline bool has_parts(const char *text, const char *pattern)
{
	while (*text != '\0' && !parts_fit_to(text, pattern, true))
		text++;
	return *text != '\0';
}

static inline void assert_parts(const char *text, const char *pattern)
{
	if (!parts_fit(text, pattern))
		fail_msg("got:\n%s\nexpected the parts:\n%s", text, pattern);
}

#endif
