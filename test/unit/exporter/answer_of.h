/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A page of policies as the text that a limiter sends, and the metrics of limiters as one text.
 */
#ifndef WEIR_TEST_ANSWER_OF_H
#define WEIR_TEST_ANSWER_OF_H

#include "check.h"

#include <stdint.h>
#include <stdlib.h>

#include "metrics.h"

#define PART_MOST 65536 /* bytes */

/* Returns the reply with that page, whose "policies" come last; null for NULL. For free(). */
static inline char *answer_of(const json_t *page)
{
	json_t *copy = page ? json_copy((json_t *)page) : json_null();
	json_t *rows = json_incref(json_object_get(copy, "policies")), *reply;
	char *text;

	json_object_del(copy, "policies");
	if (rows)
		json_object_set_new(copy, "policies", rows);
	reply = json_pack("{s:o}", "/weir/policy_stats", copy);
	text = json_dumps(reply, JSON_COMPACT);
	json_decref(reply);
	assert_non_null(text);
	return text;
}

/* Returns the policies of a document, which has "columns", "policies" and "at_ms" of one page. */
static inline struct policy_pages policies_of(const json_t *document)
{
	struct policy_pages policies = {0};
	char *text = answer_of(document);
	const char *rows;
	json_t *head;

	if (policy_answer_read(text, &head, &rows) == 0 &&
		policy_pages_add(&policies, head, rows, SIZE_MAX) == 0)
		policies.whole = true;
	json_decref(head);
	free(text);
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
