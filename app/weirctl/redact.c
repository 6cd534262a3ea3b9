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

#define BLANKS " \t\r\n"

/* Shorter words of a file are no secrets, and longer runs of digits no identities. */
#define WORD_LEAST 6
#define HEX_LEAST  40

/* A JSON string that begins here, quotes and all: its length; 0: there is none that ends. */
static size_t string_length(const char *text)
{
	size_t n = 1;

	if (*text != '"')
		return 0;
	while (text[n] && text[n] != '"' && text[n] != '\n')
		n += text[n] == '\\' && text[n + 1] ? 2 : 1;
	return text[n] == '"' ? n + 1 : 0;
}

/* Where the value of a member begins whose name begins here: bytes; 0: it is no name. */
static size_t value_offset(const char *text, size_t *name)
{
	size_t at;

	*name = string_length(text);
	if (!*name)
		return 0;
	at = *name + strspn(text + *name, BLANKS);
	if (text[at] != ':')
		return 0;
	at++;
	return at + strspn(text + at, BLANKS);
}

/* A scalar, or a list to its end. */
static size_t value_length(const char *text)
{
	size_t n = 0;

	if (*text == '"')
		return string_length(text);
	if (*text != '[' && *text != '{')
		return strcspn(text, ",]}" BLANKS);
	while (text[n] && text[n] != ']' && text[n] != '}')
		n += text[n] == '"' && string_length(text + n) ? string_length(text + n) : 1;
	return text[n] ? n + 1 : n;
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

/* Writes one thing, and returns how many bytes of the text it was. */
static size_t redact_one(const char *text, bool begins, const json_t *secrets, FILE *out)
{
	size_t n = secret_length(text, secrets), name, value;

	if (n == 0 && begins) {
		n = strspn(text, "0123456789abcdefABCDEF");
		n = n >= HEX_LEAST ? n : 0;
	}
	if (n) {
		fputs(REDACTED, out);
		return n;
	}
	n = userinfo_length(text);
	if (n) {
		fputs("://" REDACTED, out);
		return n + 3;
	}
	value = value_offset(text, &name);
	if (value && is_secret_name(text, name)) {
		fprintf(out, "%.*s\"%s\"", (int)value, text, REDACTED);
		return value + value_length(text + value);
	}
	fputc(*text, out);
	return 1;
}

char *redact_text(const char *text, const json_t *secrets)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);
	bool begins = true;

	if (!out)
		return NULL;
	while (*text) {
		size_t n = redact_one(text, begins, secrets, out);

		begins = !isalnum((unsigned char)text[n - 1]);
		text += n;
	}
	if (fclose(out)) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* Adds a string, or each of a list; what JSON escapes no path has. */
static void add_strings(json_t *array, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = string_length(text + at);

		if (n > 2)
			json_array_append_new(array, json_stringn(text + at + 1, n - 2));
		at += n ? n : 1;
	}
}

typedef bool (*is_wanted)(const char *name, size_t len, const char *word);

static json_t *values_of(const char *text, is_wanted wanted, const char *word)
{
	json_t *array = json_array();

	while (*text) {
		size_t name, value = value_offset(text, &name);

		if (value && wanted(text, name, word))
			add_strings(array, text + value, value_length(text + value));
		text += name ? name : 1;
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
