/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Suggests the right word for a wrong one. Pure.
 */
#ifndef WEIR_JSON_SUGGEST_H
#define WEIR_JSON_SUGGEST_H

#include <stdint.h>

struct suggestion {
	const char *word;
	unsigned best; /* edits from it; set by the first offer */
};

#define SUGGEST_MAX 32 /* characters of a word that is compared */

/*
 * Returns the mistakes (characters inserted, dropped, replaced, neighbours swapped) between two
 * words; UINT_MAX if one is longer than SUGGEST_MAX.
 */
unsigned suggest_distance(const char *a, const char *b);

/*
 * Offers a word that `text` could mean; any number of words, one after another. Ignores words that
 * are not printable ASCII.
 */
void suggest_offer(struct suggestion *suggestion, const char *text, const char *word);

/* Offers each word of a list such as "central, static, fps", and keeps it in `word`. */
#define SUGGEST_WORD_MAX 32
const char *suggest_of_list(const char *list, const char *text, char word[SUGGEST_WORD_MAX]);

#define SUGGEST_REMEDY_MAX 128

/* Writes `did you mean "WORD"?` to buf and returns it; NULL if the word is NULL. */
const char *suggest_remedy(const char *word, char buf[SUGGEST_REMEDY_MAX]);

/*
 * Like suggest_remedy(), with a quantity that `parse` accepts (returns 0) for one that it rejected:
 * "10Mbps", "1,5Gbit/s", "50 msec". NULL if there is none.
 */
const char *suggest_quantity(int (*parse)(const char *text, uint64_t *out), const char *text,
	char buf[SUGGEST_REMEDY_MAX]);

#endif
