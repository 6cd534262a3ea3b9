/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What somebody meant who wrote another word: the nearest of those that there are. Pure.
 */
#ifndef WEIR_JSON_SUGGEST_H
#define WEIR_JSON_SUGGEST_H

#include <stdint.h>

struct suggestion {
	const char *word;
	unsigned best; /* edits from it; set by the first offer */
};

/*
 * Offers a word that could have been meant by `text`; any number of words, one after another. What
 * is not printable ASCII is no suggestion.
 */
void suggest_offer(struct suggestion *suggestion, const char *text, const char *word);

/* Offers each word of a list such as "central, static, fps", and keeps it in `word`. */
#define SUGGEST_WORD_MAX 32
const char *suggest_of_list(const char *list, const char *text, char word[SUGGEST_WORD_MAX]);

#define SUGGEST_REMEDY_MAX 128

/* `did you mean "WORD"?` in buf, or NULL when nothing is near enough, or the word is NULL. */
const char *suggest_remedy(const char *word, char buf[SUGGEST_REMEDY_MAX]);

/*
 * As suggest_remedy() with a quantity that `parse` takes (returns 0) and that is what was meant by
 * one that it did not take: "10Mbps", "1,5Gbit/s", "50 msec".
 */
const char *suggest_quantity(int (*parse)(const char *text, uint64_t *out), const char *text,
	char buf[SUGGEST_REMEDY_MAX]);

#endif
