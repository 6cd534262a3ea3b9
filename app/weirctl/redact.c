/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json/scan.h"

#define BLANKS " \t\r\n"

/* Shorter words of a file are no secrets, and longer runs of digits no identities. */
#define WORD_LEAST 6
#define HEX_LEAST  40

/* Returns true if a token is the name of a member, and moves the scan from its end to the value. */
static bool skip_colon(struct json_scan *scan, const struct json_token *name)
{
	struct json_token colon;

	if (name->kind != TOKEN_STRING || !name->closed || !json_scan_next(scan, &colon))
		return false;
	scan->at += strspn(scan->text + scan->at, BLANKS);
	return colon.kind == TOKEN_COLON;
}

/* Returns the end of the value at the scan. A string without an end ends with its line. */
static size_t find_end(struct json_scan scan)
{
	size_t begin = scan.at;
	struct json_token token;

	json_scan_next(&scan, &token);
	if (token.kind == TOKEN_STRING)
		return token.end;
	if (token.kind != TOKEN_OPEN)
		return begin + strcspn(scan.text + begin, ",]}" BLANKS);
	while (scan.depth > 0 && json_scan_next(&scan, &token))
		;
	return scan.at;
}

/* Whether a name, with its quotes, has the word somewhere. */
static bool has_word(const char *name, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 1; i + n < len; i++)
		if (strncasecmp(name + i, word, n) == 0)
			return true;
	return false;
}

static bool ends_in(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n + 2 && strncasecmp(name + len - 1 - n, end, n) == 0;
}

/* What has a path is no secret. */
static bool is_secret_name(const char *name, size_t len)
{
	static const char *const words[] = {
		"password", "passwd", "passphrase", "secret", "token", "credential", "private"};

	if (ends_in(name, len, "_file") || ends_in(name, len, "_files"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (has_word(name, len, words[i]))
			return true;
	return false;
}

/* The length of a secret that begins here; 0: none does. */
static size_t secret_length(const char *text, const json_t *secrets)
{
	const json_t *secret;
	size_t i, longest = 0;

	json_array_foreach (secrets, i, secret) {
		size_t n = json_string_length(secret);

		if (n > longest && strncmp(text, json_string_value(secret), n) == 0)
			longest = n;
	}
	return longest;
}

/* The user and password of a URL whose "://" begins here. */
static size_t userinfo_length(const char *text)
{
	size_t n;

	if (strncmp(text, "://", 3) != 0)
		return 0;
	n = strcspn(text + 3, "/@\"'" BLANKS);
	return text[3 + n] == '@' ? n : 0;
}

/* Writes one thing, and moves the scan behind it. */
static void redact_one(struct json_scan *scan, bool begins, const json_t *secrets, FILE *out)
{
	const char *text = scan->text + scan->at;
	size_t n = secret_length(text, secrets);
	struct json_scan value = *scan;
	struct json_token name;

	if (n == 0 && begins) {
		n = strspn(text, "0123456789abcdefABCDEF");
		n = n >= HEX_LEAST ? n : 0;
	}
	scan->at += n;
	if (n) {
		fputs(REDACTED, out);
		return;
	}
	n = userinfo_length(text);
	if (n) {
		fputs("://" REDACTED, out);
		scan->at += n + 3;
		return;
	}
	if (*text == '"' && json_scan_next(&value, &name) && skip_colon(&value, &name) &&
		is_secret_name(text, name.end - name.begin)) {
		fprintf(out, "%.*s\"%s\"", (int)(value.at - scan->at), text, REDACTED);
		scan->at = find_end(value);
		return;
	}
	fputc(*text, out);
	scan->at++;
}

char *redact_text(const char *text, const json_t *secrets)
{
	struct json_scan scan = {.text = text, .len = strlen(text)};
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);

	if (!out)
		return NULL;
	while (scan.at < scan.len) {
		bool begins = scan.at == 0 || !isalnum((unsigned char)text[scan.at - 1]);

		redact_one(&scan, begins, secrets, out);
	}
	if (fclose(out)) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* Adds a string, or each of a list; what JSON escapes no path has. */
static void add_strings(json_t *array, struct json_scan scan)
{
	struct json_token token;

	scan.depth = 0;
	while (json_scan_next(&scan, &token)) {
		if (token.kind == TOKEN_STRING && token.closed && token.end - token.begin > 2)
			json_array_append_new(array, json_stringn(scan.text + token.begin + 1,
							     token.end - token.begin - 2));
		if (scan.depth == 0)
			return;
	}
}

typedef bool (*is_wanted)(const char *name, size_t len, const char *word);

static json_t *values_of(const char *text, is_wanted wanted, const char *word)
{
	struct json_scan scan = {.text = text, .len = strlen(text)}, ahead;
	json_t *array = json_array();
	struct json_token token;

	while (json_scan_next(&scan, &token)) {
		ahead = scan;
		if (skip_colon(&ahead, &token) &&
			wanted(text + token.begin, token.end - token.begin, word))
			add_strings(array, ahead);
	}
	return array;
}

static bool is_named(const char *name, size_t len, const char *word)
{
	return len == strlen(word) + 2 && strncmp(name + 1, word, len - 2) == 0;
}

json_t *redact_values(const char *text, const char *name)
{
	return values_of(text, is_named, name);
}

/* The key of a certificate is a file that is called nothing more. */
static bool names_a_file(const char *name, size_t len, const char *word)
{
	return ends_in(name, len, "_file") || ends_in(name, len, "_files") ||
	       is_named(name, len, word);
}

json_t *redact_files(const char *text)
{
	return values_of(text, names_a_file, "key");
}

void redact_learn(json_t *secrets, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, BLANKS);

		if (n >= WORD_LEAST)
			json_array_append_new(secrets, json_stringn(text, n));
		text += n;
		text += strspn(text, BLANKS);
	}
}
