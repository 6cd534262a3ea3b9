/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet that an operator wants to probe.
 */
#include "probe/probe.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/config.h"
#include "policy/value.h"

#define LENGTH_MAX UINT16_MAX
#define WORD_MAX   4000

void probe_init(struct probe_packet *probe)
{
	*probe = (struct probe_packet){.direction = DIRECTION_ANY, .worker = PROBE_ANY};
}

static int refuse_word(
	char why[PROBE_WHY], const char *what, const char *found, const char *expected)
{
	snprintf(why, PROBE_WHY, "%s: \"%.40s\": expected %s", what, found, expected);
	return -EINVAL;
}

static int set_number(const char *what, const char *text, unsigned long most, unsigned long *out,
	char why[PROBE_WHY])
{
	char expected[32], *end;

	snprintf(expected, sizeof(expected), "0 to %lu", most);
	errno = 0;
	*out = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || *out > most)
		return refuse_word(why, what, text, expected);
	return 0;
}

static int set_wire(struct probe_packet *probe, const char *text, char why[PROBE_WHY])
{
	if (!name_valid(text))
		return refuse_word(why, "wire", text, "a wire's name");
	snprintf(probe->wire, sizeof(probe->wire), "%s", text);
	return 0;
}

static int set_direction(struct probe_packet *probe, const char *text, char why[PROBE_WHY])
{
	if (strcmp(text, direction_name(DIRECTION_A_TO_B)) == 0)
		probe->direction = DIRECTION_A_TO_B;
	else if (strcmp(text, direction_name(DIRECTION_B_TO_A)) == 0)
		probe->direction = DIRECTION_B_TO_A;
	else
		return refuse_word(why, "direction", text, "a-to-b or b-to-a");
	return 0;
}

static int set_worker(struct probe_packet *probe, const char *text, char why[PROBE_WHY])
{
	unsigned long number;
	int ret = set_number("worker", text, CONFIG_WORKERS_MAX - 1, &number, why);

	if (ret == 0)
		probe->worker = (int)number;
	return ret;
}

static int set_length(struct probe_packet *probe, const char *text, char why[PROBE_WHY])
{
	unsigned long number;
	int ret = set_number("length", text, LENGTH_MAX, &number, why);

	if (ret == 0)
		probe->len = (uint32_t)number;
	return ret;
}

static const struct {
	const char *name;
	int (*set)(struct probe_packet *probe, const char *text, char why[PROBE_WHY]);
} words_of[] = {
	{"wire=", set_wire},
	{"direction=", set_direction},
	{"worker=", set_worker},
	{"length=", set_length},
};

int probe_set(struct probe_packet *probe, const char *word, char why[PROBE_WHY])
{
	for (size_t i = 0; i < sizeof(words_of) / sizeof(*words_of); i++) {
		size_t n = strlen(words_of[i].name);

		if (strncmp(word, words_of[i].name, n) == 0)
			return words_of[i].set(probe, word + n, why);
	}
	return -ENOENT;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int probe_add_hex(struct probe_packet *probe, const char *text, char why[PROBE_WHY])
{
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	while (*text) {
		int high, low;

		if (isspace((unsigned char)*text) || *text == ':' || *text == '-') {
			text++;
			continue;
		}
		high = digit_of(text[0]);
		low = high < 0 ? -1 : digit_of(text[1]);
		if (low < 0)
			return refuse_word(
				why, "hex", text, "two hexadecimal digits for each byte");
		if (probe->bytes == PROBE_FRAME)
			return refuse_word(
				why, "hex", text, "at most 1900 bytes; use length= for more");
		probe->frame[probe->bytes++] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return 0;
}

/* Sets the length if it was not given; it is at least the number of given bytes. */
static int settle_length(struct probe_packet *probe, char why[PROBE_WHY])
{
	char text[16];

	if (probe->bytes == 0)
		return refuse_word(why, "hex", "", "a frame");
	if (probe->len == 0)
		probe->len = probe->bytes;
	if (probe->len >= probe->bytes)
		return 0;
	snprintf(text, sizeof(text), "%u", probe->len);
	return refuse_word(why, "length", text, "no less than the bytes that are there");
}

static int take_word(struct probe_packet *probe, const char *word, char why[PROBE_WHY])
{
	int ret;

	if (strncmp(word, "hex=", 4) == 0)
		return probe_add_hex(probe, word + 4, why);
	ret = probe_set(probe, word, why);
	if (ret == -ENOENT)
		ret = refuse_word(why, "word", word, "wire=, direction=, worker=, length= or hex=");
	return ret;
}

int probe_parse(const char *text, struct probe_packet *probe, char why[PROBE_WHY])
{
	char word[WORD_MAX + 1];
	int ret = 0;

	probe_init(probe);
	while (ret == 0 && *(text += strspn(text, " "))) {
		size_t n = strcspn(text, " ");

		if (n > WORD_MAX)
			return refuse_word(why, "word", text, "a shorter one");
		memcpy(word, text, n);
		word[n] = '\0';
		text += n;
		ret = take_word(probe, word, why);
	}
	return ret ? ret : settle_length(probe, why);
}

/* Appends to a text that ends at *at. The caller has checked that the room suffices. */
__attribute__((format(printf, 3, 4))) static void add_text(
	char **at, const char *end, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	*at += vsnprintf(*at, (size_t)(end - *at), format, ap);
	va_end(ap);
}

bool probe_format(const struct probe_packet *probe, char *text, size_t room)
{
	const char *end = text + room;
	char *at = text;

	if (room < PROBE_REQUEST || (size_t)probe->bytes > PROBE_FRAME)
		return false;
	if (probe->wire[0])
		add_text(&at, end, "wire=%s ", probe->wire);
	if (probe->direction != DIRECTION_ANY)
		add_text(&at, end, "direction=%s ", direction_name(probe->direction));
	if (probe->worker != PROBE_ANY)
		add_text(&at, end, "worker=%d ", probe->worker);
	add_text(&at, end, "length=%u hex=", probe->len);
	for (uint32_t i = 0; i < probe->bytes; i++)
		add_text(&at, end, "%02x", probe->frame[i]);
	return true;
}
