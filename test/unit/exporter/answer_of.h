/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The policies of one page, and the metrics of limiters as one text.
 */
#ifndef WEIR_TEST_ANSWER_OF_H
#define WEIR_TEST_ANSWER_OF_H

#include "check.h"

#include "metrics.h"

#define PART_MOST 65536 /* bytes */

/* Returns the policies of a document, which has "columns", "policies" and "at_ms" of one page. */
static inline struct policy_pages policies_of(const json_t *document)
{
	struct policy_pages policies = {0};

	policies.whole = policy_pages_add(&policies, document, SIZE_MAX) == 0;
	return policies;
}

/* Returns the whole text; each part is bounded, so that an answer needs little memory. */
static inline char *text_of(enum text_format format, const struct metrics_of *of, size_t n)
{
	struct metrics_cursor cursor;
	struct text text = {0};
	size_t before = 0;

	metrics_begin(&cursor, format, of, n);
	while (metrics_next(&cursor, &text)) {
		assert_in_range(text.length - before, 0, PART_MOST);
		before = text.length;
	}
	assert_false(text.failed || metrics_next(&cursor, &text));
	return text.bytes;
}

#endif
