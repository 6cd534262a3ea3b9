/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/suggest.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SUGGEST_DISTANCE 2 /* most edits between a typing error and the right word */

static unsigned min_of_three(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/*
 * Returns the edits (insert, delete, replace, swap two neighbours) between two words of at most
 * SUGGEST_MAX.
 */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned cost[SUGGEST_MAX + 1][SUGGEST_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	for (unsigned i = 0; i <= n; i++) {
		for (unsigned j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				cost[i][j] = i + j;
				continue;
			}
			cost[i][j] = min_of_three(cost[i - 1][j] + 1, cost[i][j - 1] + 1,
				cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost[i][j] = min_of_three(
					cost[i][j], cost[i][j], cost[i - 2][j - 2] + 1);
		}
	}
	return cost[n][m];
}

unsigned suggest_distance(const char *a, const char *b)
{
	if (strlen(a) > SUGGEST_MAX || strlen(b) > SUGGEST_MAX)
		return UINT_MAX;
	return edit_distance(a, b);
}

/* Two edits in a word of four letters make another word. Letters of another case cost nothing. */
void suggest_offer(struct suggestion *suggestion, const char *text, const char *word)
{
	const char *end = word;
	unsigned distance;

	if (suggestion->word == NULL)
		suggestion->best = SUGGEST_DISTANCE + 1;
	while (*end >= ' ' && *end <= '~') /* control characters could change a terminal */
		end++;
	if (*end != '\0' || strlen(text) > SUGGEST_MAX || strlen(word) > SUGGEST_MAX)
		return;
	distance = strcasecmp(text, word) == 0 ? 0 : edit_distance(text, word);
	if (distance < suggestion->best && 2 * distance < strlen(word)) {
		suggestion->best = distance;
		suggestion->word = word;
	}
}

const char *suggest_of_list(const char *list, const char *text, char word[SUGGEST_WORD_MAX])
{
	static const char between[] = ", ";
	struct suggestion meant = {0};
	char each[SUGGEST_WORD_MAX];

	while (*list != '\0') {
		size_t len = strcspn(list, between);

		snprintf(each, sizeof(each), "%.*s", (int)len, list);
		suggest_offer(&meant, text, each);
		if (meant.word == each) {
			memcpy(word, each, sizeof(each));
			meant.word = word;
		}
		list += len;
		list += strspn(list, between);
	}
	return meant.word;
}

const char *suggest_remedy(const char *word, char buf[SUGGEST_REMEDY_MAX])
{
	if (word == NULL)
		return NULL;
	snprintf(buf, SUGGEST_REMEDY_MAX, "did you mean \"%s\"?", word);
	return buf;
}

/* Other tools' words for units, compared without case. */
static const struct {
	const char *word, *unit;
} words_of_units[] = {
	{"bit", "bit/s"},
	{"bits", "bit/s"},
	{"bps", "bit/s"},
	{"b/s", "bit/s"},
	{"kb/s", "kbit/s"},
	{"mb/s", "Mbit/s"},
	{"gb/s", "Gbit/s"},
	{"tb/s", "Tbit/s"},
	{"bit/s", "bit/s"},
	{"bits/s", "bit/s"},
	{"k", "kbit/s"},
	{"kbit", "kbit/s"},
	{"kbps", "kbit/s"},
	{"kbit/s", "kbit/s"},
	{"m", "Mbit/s"},
	{"mbit", "Mbit/s"},
	{"mbps", "Mbit/s"},
	{"mbits", "Mbit/s"},
	{"mbit/s", "Mbit/s"},
	{"mbits/s", "Mbit/s"},
	{"mbitps", "Mbit/s"},
	{"g", "Gbit/s"},
	{"gbit", "Gbit/s"},
	{"gbps", "Gbit/s"},
	{"gbits", "Gbit/s"},
	{"gbit/s", "Gbit/s"},
	{"tbps", "Tbit/s"},
	{"tbit/s", "Tbit/s"},
	{"b", "B"},
	{"byte", "B"},
	{"bytes", "B"},
	{"k", "kB"},
	{"kb", "kB"},
	{"kbyte", "kB"},
	{"kib", "KiB"},
	{"m", "MB"},
	{"mb", "MB"},
	{"mbyte", "MB"},
	{"mib", "MiB"},
	{"g", "GB"},
	{"gb", "GB"},
	{"gib", "GiB"},
	{"t", "TB"},
	{"tb", "TB"},
	{"terabyte", "TB"},
	{"tib", "TiB"},
	{"pb", "PB"},
	{"nsec", "ns"},
	{"usec", "us"},
	{"\xc2\xb5s", "us"},
	{"msec", "ms"},
	{"millis", "ms"},
	{"ms", "ms"},
	{"sec", "s"},
	{"secs", "s"},
	{"second", "s"},
	{"seconds", "s"},
	{"s", "s"},
	{"m", "min"},
	{"min", "min"},
	{"mins", "min"},
	{"minute", "min"},
	{"minutes", "min"},
	{"h", "h"},
	{"hr", "h"},
	{"hour", "h"},
	{"hours", "h"},
	{"k", "k"},
	{"m", "M"},
	{"g", "G"},
};

/* Makes "1.5Gbps" of "1,5 Gbps". Returns the length of its number, or 0 without one. */
static size_t tidy_quantity(const char *text, char *out, size_t size)
{
	size_t n = 0, number;

	for (; *text != '\0' && n + 1 < size; text++) {
		if (*text != ' ')
			out[n++] = *text == ',' ? '.' : *text;
	}
	out[n] = '\0';
	number = strspn(out, "0123456789.");
	return n < SUGGEST_MAX ? number : 0;
}

/* Makes "80Mbit/s" of "10MB/s" or "10MBps", in which bytes have a capital letter. */
static bool bits_of_bytes(const char *tidy, size_t number, char *meant, size_t size)
{
	const char *prefix = tidy + number;
	const char *unit = strchr(prefix, 'B');

	if (unit == NULL || (strcmp(unit, "B/s") != 0 && strcmp(unit, "Bps") != 0))
		return false;
	snprintf(meant, size, "%.12g%.*sbit/s", 8 * strtod(tidy, NULL), (int)(unit - prefix),
		prefix);
	return true;
}

const char *suggest_quantity(int (*parse)(const char *text, uint64_t *out), const char *text,
	char buf[SUGGEST_REMEDY_MAX])
{
	char tidy[2 * SUGGEST_MAX], meant[4 * SUGGEST_MAX];
	size_t number = tidy_quantity(text, tidy, sizeof(tidy));
	uint64_t value;

	if (number == 0)
		return NULL;
	if (parse(tidy, &value) == 0)
		return suggest_remedy(tidy, buf);
	if (bits_of_bytes(tidy, number, meant, sizeof(meant)))
		return parse(meant, &value) == 0 ? suggest_remedy(meant, buf) : NULL;
	for (size_t i = 0; i < sizeof(words_of_units) / sizeof(words_of_units[0]); i++) {
		if (strcasecmp(tidy + number, words_of_units[i].word) != 0)
			continue;
		snprintf(meant, sizeof(meant), "%.*s%s", (int)number, tidy, words_of_units[i].unit);
		if (parse(meant, &value) == 0)
			return suggest_remedy(meant, buf);
	}
	return NULL;
}
