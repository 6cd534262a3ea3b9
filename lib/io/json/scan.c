/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/scan.h"

#include <stdint.h>
#include <string.h>

#define BLANK 0xff

/* The kind of token that begins at a byte; 0: a word. */
static const uint8_t kinds[256] = {
	[' '] = BLANK,
	['\t'] = BLANK,
	['\r'] = BLANK,
	['\n'] = BLANK,
	[','] = TOKEN_COMMA,
	[':'] = TOKEN_COLON,
	['}'] = TOKEN_CLOSE,
	[']'] = TOKEN_CLOSE,
	['{'] = TOKEN_OPEN,
	['['] = TOKEN_OPEN,
	['"'] = TOKEN_STRING,
	['/'] = TOKEN_COMMENT,
};

static inline uint8_t kind_at(const struct json_scan *scan, size_t at)
{
	uint8_t kind = kinds[(unsigned char)scan->text[at]];
	char next;

	if (kind != TOKEN_COMMENT)
		return kind;
	next = at + 1 < scan->len ? scan->text[at + 1] : '\0';
	return scan->comments && (next == '/' || next == '*') ? TOKEN_COMMENT : 0;
}

static void end_string(const struct json_scan *scan, struct json_token *token)
{
	const char *text = scan->text;
	size_t at = token->begin + 1, len = scan->len;

	for (; at < len && text[at] != '"' && text[at] != '\n'; at++)
		at += text[at] == '\\' && at + 1 < len;
	token->closed = at < len && text[at] == '"';
	token->end = at + token->closed;
}

static void end_comment(const struct json_scan *scan, struct json_token *token)
{
	const char *from = scan->text + token->begin, *end;
	bool line = from[1] == '/';
	size_t left = scan->len - token->begin - 2;

	end = line ? memchr(from + 2, '\n', left) : memmem(from + 2, left, "*/", 2);
	token->closed = line || end != NULL;
	token->end = end != NULL ? (size_t)(end - scan->text) + (line ? 0 : 2) : scan->len;
}

static void end_token(struct json_scan *scan, struct json_token *token)
{
	switch (token->kind) {
	case TOKEN_STRING:
		end_string(scan, token);
		return;
	case TOKEN_COMMENT:
		end_comment(scan, token);
		return;
	case TOKEN_OPEN:
		scan->depth++;
		return;
	case TOKEN_CLOSE:
		scan->depth -= scan->depth > 0;
		token->depth = scan->depth;
		return;
	case TOKEN_WORD:
		while (token->end < scan->len && kind_at(scan, token->end) == 0)
			token->end++;
		return;
	default:
		return;
	}
}

bool json_scan_next(struct json_scan *scan, struct json_token *token)
{
	size_t at = scan->at;

	while (at < scan->len && kinds[(unsigned char)scan->text[at]] == BLANK)
		at++;
	token->begin = scan->at = at;
	token->end = at + (at < scan->len);
	token->closed = true;
	token->kind = TOKEN_END;
	token->depth = at < scan->len ? scan->depth : 0;
	if (at == scan->len)
		return false;
	token->kind = kind_at(scan, at);
	if (token->kind == TOKEN_END)
		token->kind = TOKEN_WORD;
	end_token(scan, token);
	scan->at = token->end;
	return true;
}

bool json_scan_member(
	struct json_scan *scan, size_t depth, struct json_token *key, struct json_token *value)
{
	struct json_scan ahead;
	struct json_token colon;

	*key = (struct json_token){0};
	do
		json_scan_next(scan, value);
	while (value->depth > depth || (value->depth == depth && value->kind < TOKEN_OPEN));
	if (value->depth < depth)
		return false;
	ahead = *scan;
	if (value->kind != TOKEN_STRING || !json_scan_next(&ahead, &colon) ||
		colon.kind != TOKEN_COLON)
		return true;
	*key = *value;
	*scan = ahead;
	json_scan_next(scan, value);
	return true;
}

size_t json_blank_comments(char *text, size_t len)
{
	struct json_scan scan = {.text = text, .len = len, .comments = true};
	struct json_token token;

	while (json_scan_next(&scan, &token)) {
		if (token.kind != TOKEN_COMMENT)
			continue;
		if (!token.closed)
			return token.begin;
		for (size_t at = token.begin; at < token.end; at++) {
			if (strchr("\n\r\t", text[at]) == NULL || text[at] == '\0')
				text[at] = ' ';
		}
	}
	return len;
}
