/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/slips.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json/locate.h"
#include "json/scan.h"

#define DEPTH_MAX 2048 /* JSON_PARSER_MAX_DEPTH of jansson */
#define MARK      7    /* characters of a merge conflict marker */

enum expects { EXPECTS_KEY, EXPECTS_COLON, EXPECTS_VALUE, EXPECTS_COMMA };

/* State of the grammar at the parser's position: all tokens before the last are valid. */
struct walk {
	const char *text;
	size_t len;
	struct json_token last, previous; /* TOKEN_END: there is none */
	enum expects expects;             /* expected as the last token */
	size_t open[DEPTH_MAX + 1];       /* offsets of the open brackets */
	unsigned depth;
};

static void say_slip(struct slip *slip, size_t offset, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void say_slip(struct slip *slip, size_t offset, const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(slip->found, sizeof(slip->found), format, args);
	va_end(args);
	slip->offset = offset;
	slip->remedy = remedy;
}

static bool begins_with(const char *text, size_t len, const char *with, size_t n)
{
	return len >= n && memcmp(text, with, n) == 0;
}

bool slip_of_encoding(const char *text, size_t len, struct slip *slip)
{
	static const char bom_remedy[] = "save it as UTF-8 without a byte order mark";
	static const char utf8[] = "save it as UTF-8";

	if (begins_with(text, len, "\xef\xbb\xbf", 3))
		say_slip(slip, 0, bom_remedy, "a byte order mark (BOM)");
	else if (begins_with(text, len, "\xff\xfe\0\0", 4) ||
		 begins_with(text, len, "\0\0\xfe\xff", 4) ||
		 (len >= 4 && text[0] && !text[1] && !text[2] && !text[3]))
		say_slip(slip, 0, utf8, "UTF-32");
	else if (begins_with(text, len, "\xff\xfe", 2) || begins_with(text, len, "\xfe\xff", 2) ||
		 (len >= 2 && (text[0] == '\0') != (text[1] == '\0')))
		say_slip(slip, 0, utf8, "UTF-16");
	else if (begins_with(text, len, "\x1f\x8b", 2))
		say_slip(slip, 0, "unpack it with gunzip", "a file that gzip has packed");
	else
		return false;
	return true;
}

bool slip_of_nul(const char *text, size_t len, struct slip *slip)
{
	const char *at = memchr(text, '\0', len);

	if (at == NULL)
		return false;
	say_slip(slip, (size_t)(at - text), "take it away", "a NUL character");
	return true;
}

static bool in_object(const struct walk *w)
{
	return w->depth > 0 && w->text[w->open[w->depth - 1]] == '{';
}

/* Sets the token expected after the last one, which was valid. */
static void take_token(struct walk *w)
{
	switch (w->last.kind) {
	case TOKEN_OPEN:
		if (w->depth <= DEPTH_MAX)
			w->open[w->depth++] = w->last.begin;
		w->expects = in_object(w) ? EXPECTS_KEY : EXPECTS_VALUE;
		return;
	case TOKEN_CLOSE:
		w->depth -= w->depth > 0;
		w->expects = EXPECTS_COMMA;
		return;
	case TOKEN_COMMA:
		w->expects = in_object(w) ? EXPECTS_KEY : EXPECTS_VALUE;
		return;
	case TOKEN_COLON:
		w->expects = EXPECTS_VALUE;
		return;
	default:
		w->expects = w->expects == EXPECTS_KEY ? EXPECTS_COLON : EXPECTS_COMMA;
	}
}

/* Walks to the last token that begins before the parser's position, or at its start. */
static void walk_to(struct walk *w, size_t position)
{
	struct json_scan scan = {.text = w->text, .len = w->len};
	struct json_token token;

	while (json_scan_next(&scan, &token)) {
		if (w->last.kind != TOKEN_END) {
			if (token.begin >= position)
				return;
			take_token(w);
		}
		w->previous = w->last;
		w->last = token;
	}
}

static bool is_mark(const struct walk *w)
{
	static const char *const marks[] = {"<<<<<<<", "=======", ">>>>>>>", "|||||||"};
	const char *at = w->text + w->last.begin;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (begins_with(at, w->len - w->last.begin, marks[i], MARK) &&
			(w->last.begin == 0 || at[-1] == '\n'))
			return true;
	}
	return false;
}

static unsigned line_of(const struct walk *w, size_t offset)
{
	return json_line_at(w->text, w->len, offset).line;
}

/* Explains a bracket or a comma where a key has no value yet. */
static bool explain_key_alone(const struct walk *w, struct slip *slip)
{
	bool colon = w->previous.kind == TOKEN_COLON;

	if (colon || w->expects == EXPECTS_COLON)
		say_slip(slip, w->last.begin,
			colon ? "write a value before it" : "write a colon and a value",
			"a key without a value");
	return colon || w->expects == EXPECTS_COLON;
}

/* Explains a bracket that closes another kind of bracket, or closes too early. */
static void explain_closing(const struct walk *w, struct slip *slip)
{
	char c = w->text[w->last.begin];

	if (w->depth == 0)
		say_slip(slip, w->last.begin, NULL, "a \"%c\" without one that opens", c);
	else if (w->previous.kind == TOKEN_COMMA)
		say_slip(slip, w->previous.begin, "take the comma away",
			"a trailing comma, before \"%c\"", c);
	else if (!explain_key_alone(w, slip))
		say_slip(slip, w->last.begin, NULL, "a \"%c\" for the \"%c\" of line %u", c,
			w->text[w->open[w->depth - 1]], line_of(w, w->open[w->depth - 1]));
}

static void explain_comma(const struct walk *w, struct slip *slip)
{
	if (w->previous.kind == TOKEN_COMMA || w->previous.kind == TOKEN_OPEN)
		say_slip(slip, w->last.begin, "take it away", "a comma too many");
	else if (!explain_key_alone(w, slip))
		say_slip(slip, w->last.begin, NULL, "a comma after the end");
}

/* Explains the first invalid byte in a string. */
static bool explain_string(const struct walk *w, struct slip *slip)
{
	for (size_t at = w->last.begin + 1; at < w->last.end; at++) {
		unsigned char c = (unsigned char)w->text[at];

		if (c == '\\' && at + 1 < w->last.end && strchr("\"\\/bfnrtu", w->text[at + 1])) {
			at++;
		} else if (c == '\\') {
			say_slip(slip, at, "write \\\\ for one", "a backslash alone in a text");
			return true;
		} else if (c < ' ') {
			say_slip(slip, at, c == '\t' ? "write \\t, or a blank" : NULL,
				c == '\t' ? "a tab in a text" : "control character %u in a text",
				c);
			return true;
		}
	}
	if (w->last.closed)
		return false;
	say_slip(slip, w->last.begin, "write a \" at its end",
		"a text that its line does not close");
	return true;
}

static bool is_word(const struct walk *w, const char *words)
{
	char word[16];
	size_t n = w->last.end - w->last.begin;

	if (n >= sizeof(word) - 2)
		return false;
	word[0] = ' ';
	for (size_t i = 0; i < n; i++)
		word[i + 1] = (char)tolower((unsigned char)w->text[w->last.begin + i]);
	word[n + 1] = ' ';
	word[n + 2] = '\0';
	return strstr(words, word) != NULL;
}

/* Explains a word in place of a key or a value. */
static void explain_word(const struct walk *w, struct slip *slip)
{
	const char *at = w->text + w->last.begin, *quotes = "write it in \"double quotes\"";
	unsigned char next = at[0] != '\0' ? (unsigned char)at[1] : '\0';
	size_t n = w->last.end - w->last.begin, start = w->last.begin;

	if (at[n - 1] == ';')
		say_slip(slip, w->last.end - 1, "write a comma", "a semicolon");
	else if (w->expects == EXPECTS_KEY)
		say_slip(slip, start, quotes, "a key without double quotes");
	else if (is_word(w, " true false yes no on off "))
		say_slip(slip, start, "write true or false", "a word that is no JSON");
	else if (is_word(w, " none nil null undefined nan inf infinity "))
		say_slip(slip, start, "leave the key out", "a word that is no JSON");
	else if (n > 1 && strspn(at, "0123456789") == n)
		say_slip(slip, start, "take the zero away", "a number that begins with 0");
	else if (isdigit((unsigned char)at[0]))
		say_slip(slip, start, quotes, "a number with more behind it, and no double quotes");
	else if (strchr("+-.", at[0]) && (isdigit(next) || next == '.'))
		say_slip(slip, start, "write it as 0.5, 1 or -1", "a number in another form");
	else
		say_slip(slip, start, quotes, "a text without double quotes");
}

/* Explains characters that look like others, or belong to another language. */
static bool explain_character(const struct walk *w, struct slip *slip)
{
	static const struct {
		const char *bytes;
		const char *found, *remedy;
	} rows[] = {
		{"'", "single quotes", "write \"double quotes\""},
		{"\xe2\x80\x98", "typographic quotes", "write \"double quotes\""},
		{"\xe2\x80\x99", "typographic quotes", "write \"double quotes\""},
		{"\xe2\x80\x9c", "typographic quotes", "write \"double quotes\""},
		{"\xe2\x80\x9d", "typographic quotes", "write \"double quotes\""},
		{"\xe2\x80\x9e", "typographic quotes", "write \"double quotes\""},
		{"\xc2\xab", "typographic quotes", "write \"double quotes\""},
		{"`", "backquotes", "write \"double quotes\""},
		{"\xc2\xa0", "a blank that is none (U+00A0)", "write a blank"},
		{"\xe2\x80\x8b", "a character that is not seen (U+200B)", "take it away"},
		{"\xef\xbb\xbf", "a byte order mark (BOM)", "take it away"},
		{"#", "a comment with \"#\"", "write // or /* */"},
		{";", "a semicolon", "write a comma"},
		{"=", "an equals sign", "write a colon"},
		{"/", "a slash that begins no comment", "write // or /* */"},
	};
	size_t left = w->len - w->last.begin;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!begins_with(
			    w->text + w->last.begin, left, rows[i].bytes, strlen(rows[i].bytes)))
			continue;
		say_slip(slip, w->last.begin, rows[i].remedy, "%s", rows[i].found);
		return true;
	}
	return false;
}

static void explain_token(const struct walk *w, struct slip *slip)
{
	const struct json_token *last = &w->last;
	bool text = last->kind == TOKEN_STRING;

	if (is_mark(w))
		say_slip(slip, last->begin, "resolve the conflict", "a mark that a merge left");
	else if (explain_character(w, slip) || (text && explain_string(w, slip)))
		return;
	else if (text && (w->expects == EXPECTS_KEY || w->expects == EXPECTS_VALUE))
		say_slip(slip, last->begin, "write \\uXXXX with four digits, or a pair of them",
			"an escape that is no character");
	else if (last->kind == TOKEN_CLOSE)
		explain_closing(w, slip);
	else if (last->kind == TOKEN_COMMA)
		explain_comma(w, slip);
	else if (w->expects == EXPECTS_COLON)
		say_slip(slip, w->previous.end, "write a colon",
			"a colon that is missing after a key");
	else if (w->expects == EXPECTS_COMMA && last->kind != TOKEN_COLON)
		say_slip(slip, w->previous.end, "write a comma", "a comma that is missing");
	else if (last->kind == TOKEN_COLON)
		say_slip(slip, last->begin, NULL, "a colon that follows no key");
	else if (w->expects == EXPECTS_KEY && last->kind == TOKEN_OPEN)
		say_slip(slip, last->begin, "write a key and a colon before it",
			"a \"%c\" without a key", w->text[last->begin]);
	else
		explain_word(w, slip);
}

static void explain_end(const struct walk *w, struct slip *slip)
{
	if (w->last.kind == TOKEN_STRING && !w->last.closed)
		say_slip(
			slip, w->last.begin, "write a \" at its end", "a text that nothing closes");
	else if (w->depth > 0 || w->last.end > 0)
		say_slip(slip, w->last.end, NULL,
			"the end of the file, but the \"%c\" of line %u is open",
			w->depth > 0 ? w->text[w->open[w->depth - 1]] : '{',
			w->depth > 0 ? line_of(w, w->open[w->depth - 1]) : 1);
	else
		say_slip(slip, w->len, NULL, "the end of the file");
}

void slip_explain(const char *text, size_t len, const json_error_t *error, struct slip *slip)
{
	size_t position = error->position > 0 ? (size_t)error->position : 0;
	struct walk w = {.text = text, .len = len, .expects = EXPECTS_VALUE};

	walk_to(&w, position);
	switch (json_error_code(error)) {
	case json_error_premature_end_of_input:
		if (slip_of_nul(text, len, slip))
			return;
		take_token(&w);
		explain_end(&w, slip);
		return;
	case json_error_invalid_utf8:
		say_slip(slip, position, "save the file as UTF-8", "a byte that is no UTF-8");
		return;
	case json_error_stack_overflow:
		say_slip(slip, w.last.begin, NULL, "more than %d brackets open", DEPTH_MAX);
		return;
	case json_error_numeric_overflow:
		say_slip(slip, w.last.begin, NULL, "a number that is too large");
		return;
	case json_error_null_character:
	case json_error_null_byte_in_key:
		say_slip(slip, w.last.begin, NULL, "a NUL character in a text");
		return;
	case json_error_end_of_input_expected:
		if (is_mark(&w) || explain_character(&w, slip))
			explain_token(&w, slip);
		else
			say_slip(slip, w.last.begin, NULL, "more after the end of the document");
		return;
	default:
		explain_token(&w, slip);
	}
}
