/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The scanner of JSON text: the tokens of any bytes, with their places. Never fails or allocates,
 * and reads each byte once. Values come from the parser; places and hints come from here. Pure; any
 * thread.
 */
#ifndef WEIR_JSON_SCAN_H
#define WEIR_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum json_token_kind {
	TOKEN_END,
	TOKEN_COMMA,
	TOKEN_COLON,
	TOKEN_CLOSE,
	TOKEN_OPEN,
	TOKEN_STRING, /* from quote to quote, or to the end of its line */
	TOKEN_WORD,   /* other bytes up to a blank or another token: a number, `true`, a mistake */
	TOKEN_COMMENT
};

struct json_token {
	enum json_token_kind kind;
	bool closed; /* false: a string without its last quote, a comment without its last slash */
	size_t begin, end; /* offsets in the text */
	size_t depth;      /* open brackets around it; both brackets of a pair have the same */
};

/* The caller sets `text`, `len` and `comments`. It can set `at` and `depth` to start inside. */
struct json_scan {
	const char *text;
	size_t len;    /* bytes */
	bool comments; /* two slashes, and slash-star, begin a comment; false: a word */
	size_t at;     /* offset of the next byte */
	size_t depth;  /* open brackets around it */
};

/* Stores the next token. Returns false at the end of the text, with TOKEN_END at depth 0. */
bool json_scan_next(struct json_scan *scan, struct json_token *token);

/*
 * Stores the next value of the container whose content has this depth (from 1), and its key:
 * TOKEN_END for an element of an array. Skips the content of the previous value. Returns false at
 * the end of the container. The text has no comments.
 */
bool json_scan_member(
	struct json_scan *scan, size_t depth, struct json_token *key, struct json_token *value);

/*
 * Replaces the bytes of comments by blanks, except tabs and ends of lines, so that the rest keeps
 * its place. Returns the length, or the offset of a comment that does not end and stays as it is.
 */
size_t json_blank_comments(char *text, size_t len);

#endif
