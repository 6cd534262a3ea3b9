/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <string.h>

#include "book/book.h"

#define DIGITS      (BOOK_IDENTITY_TEXT - 1)
#define WORD_DIGITS (DIGITS / 2)

static void write_word(uint64_t word, char *text)
{
	for (int i = WORD_DIGITS - 1; i >= 0; i--, word >>= 4)
		text[i] = "0123456789abcdef"[word & 15];
}

void book_identity_write(struct book_identity identity, char text[BOOK_IDENTITY_TEXT])
{
	write_word(identity.high, text);
	write_word(identity.low, text + WORD_DIGITS);
	text[DIGITS] = '\0';
}

/* Returns false if one is no digit. */
static bool read_word(const char *text, uint64_t *word)
{
	static const char digits[] = "0123456789abcdefABCDEF";

	*word = 0;
	for (unsigned i = 0; i < WORD_DIGITS; i++) {
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;
		uint64_t digit = at ? (uint64_t)(at - digits) : 0;

		if (!at)
			return false;
		*word = *word << 4 | (digit < 16 ? digit : digit - 6);
	}
	return true;
}

bool book_identity_read(const char *text, struct book_identity *identity)
{
	return strlen(text) == DIGITS && read_word(text, &identity->high) &&
	       read_word(text + WORD_DIGITS, &identity->low) && book_identity_known(*identity);
}
