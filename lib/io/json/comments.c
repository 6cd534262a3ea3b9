/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/comments.h"

#include <stdbool.h>

/* The end of a string whose quote is at `at`; one that is not closed ends with its line. */
static size_t skip_quoted(const char *text, size_t at, size_t len)
{
	for (at++; at < len && text[at] != '"' && text[at] != '\n'; at++)
		at += text[at] == '\\' && at + 1 < len && text[at + 1] != '\n';
	return at < len ? at + 1 : len;
}

static size_t line_comment_end(const char *text, size_t at, size_t len)
{
	while (at < len && text[at] != '\n')
		at++;
	return at;
}

/* 0: it never ends. */
static size_t block_comment_end(const char *text, size_t at, size_t len)
{
	for (at += 2; at + 1 < len; at++) {
		if (text[at] == '*' && text[at + 1] == '/')
			return at + 2;
	}
	return 0;
}

static void blank_out(char *text, size_t from, size_t to)
{
	for (; from < to; from++) {
		if (text[from] != '\n' && text[from] != '\r' && text[from] != '\t')
			text[from] = ' ';
	}
}

size_t json_blank_comments(char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		bool slash = text[at] == '/' && at + 1 < len;
		size_t end = at + 1;

		if (text[at] == '"') {
			end = skip_quoted(text, at, len);
		} else if (slash && text[at + 1] == '/') {
			end = line_comment_end(text, at, len);
			blank_out(text, at, end);
		} else if (slash && text[at + 1] == '*') {
			end = block_comment_end(text, at, len);
			if (end == 0)
				return at;
			blank_out(text, at, end);
		}
		at = end;
	}
	return len;
}
