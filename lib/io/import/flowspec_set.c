/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/flowspec_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"

#define WORD_MOST 64

enum { LESS = 1, EQUAL = 2, GREATER = 4 };

/* In an order in which none is the beginning of a later one. */
static const struct {
	const char *text;
	unsigned takes;
	bool of_a_number;
} operators[] = {
	{"true", LESS | EQUAL | GREATER, false},
	{"false", 0, false},
	{"!=", LESS | GREATER, true},
	{"<=", LESS | EQUAL, true},
	{">=", GREATER | EQUAL, true},
	{"<", LESS, true},
	{">", GREATER, true},
	{"=", EQUAL, true},
};

#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static int number_of(const char *word, number_named_fn named)
{
	char *end;
	unsigned long number;

	if (word[0] < '0' || word[0] > '9')
		return named != NULL ? named(word) : -1;
	number = strtoul(word, &end, 10);
	return *end == '\0' && number <= INT32_MAX ? (int)number : -1;
}

static void clear_range(struct number_set *set, unsigned from, unsigned to)
{
	while (from < to && from < set->n) {
		bool word = from % 64 == 0 && from + 64 <= to;

		if (word)
			set->bits[from / 64] = 0;
		else
			bitmap_clear(set->bits, from);
		from += word ? 64 : 1;
	}
}

static void intersect_set(struct number_set *set, unsigned takes, unsigned number)
{
	if (!(takes & LESS))
		clear_range(set, 0, number);
	if (!(takes & EQUAL))
		clear_range(set, number, number + 1);
	if (!(takes & GREATER))
		clear_range(set, number + 1, set->n);
}

/* One comparison: ">8080" */
static int read_comparison(struct number_set *set, const char *text, number_named_fn named)
{
	unsigned i = 0;
	int number = 0;

	while (i < OPERATORS && strncmp(text, operators[i].text, strlen(operators[i].text)) != 0)
		i++;
	if (i == OPERATORS)
		return -EINVAL;
	text += strlen(operators[i].text);
	if (operators[i].of_a_number)
		number = number_of(text, named);
	else if (*text != '\0')
		return -EINVAL;
	if (number < 0)
		return -EINVAL;
	intersect_set(set, operators[i].takes, (unsigned)number);
	return 0;
}

static void fill_set(struct number_set *set, unsigned n)
{
	memset(set, 0, sizeof(*set));
	set->n = n;
	memset(set->bits, 0xff, n / 8);
}

/* Those that all comparisons of a text take. */
static int read_conjunction(
	struct number_set *set, unsigned n, const char *text, number_named_fn named)
{
	char word[WORD_MOST];
	int ret = 0;

	fill_set(set, n);
	for (bool more = true; more && ret == 0;) {
		size_t len = strcspn(text, "&");

		if (len >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, len);
		word[len] = '\0';
		ret = read_comparison(set, word, named);
		more = text[len] == '&';
		text += len + more;
	}
	return ret;
}

int number_set_read(struct number_set *set, unsigned n, const json_t *list, number_named_fn named)
{
	struct number_set one;
	const json_t *element;
	size_t i;

	memset(set, 0, sizeof(*set));
	set->n = n;
	json_array_foreach (list, i, element) {
		const char *text = json_string_value(element);

		if (text == NULL || read_conjunction(&one, n, text, named) < 0)
			return -EINVAL;
		for (unsigned word = 0; word < bitmap_words(n); word++)
			set->bits[word] |= one.bits[word];
	}
	return json_array_size(list) > 0 ? 0 : -EINVAL;
}

bool number_set_has(const struct number_set *set, unsigned number)
{
	return bitmap_has(set->bits, number);
}

bool number_set_is_whole(const struct number_set *set)
{
	unsigned first, last;

	return number_set_next(set, 0, &first, &last) && first == 0 && last == set->n - 1;
}

bool number_set_next(const struct number_set *set, unsigned from, unsigned *first, unsigned *last)
{
	*first = from < set->n ? bitmap_next(set->bits, set->n, from) : set->n;
	if (*first == set->n)
		return false;
	*last = *first;
	while (*last + 1 < set->n && bitmap_has(set->bits, *last + 1))
		++*last;
	return true;
}
