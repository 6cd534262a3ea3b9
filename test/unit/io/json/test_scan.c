/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The scanner on texts that a builder makes token by token: it is the oracle. Then the members
 * of random documents: the parser is the oracle.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/prng.h"
#include "json/scan.h"

#define TEXTS       ROUNDS(20000)
#define TOKENS_MOST 24
#define TEXT_MOST   (TOKENS_MOST * 32)

struct built {
	struct prng *prng;
	bool comments;
	char text[TEXT_MOST];
	size_t len, depth;
	struct json_token tokens[TOKENS_MOST];
	unsigned n;
};

static void put(struct built *b, const char *bytes)
{
	memcpy(b->text + b->len, bytes, strlen(bytes));
	b->len += strlen(bytes);
}

/* Puts `n` of the bytes; a backslash has a byte of its own after it. */
static void put_random(struct built *b, uint32_t n, const char *bytes)
{
	while (n-- > 0) {
		b->text[b->len++] = bytes[prng_below(b->prng, (uint32_t)strlen(bytes))];
		if (b->text[b->len - 1] == '\\')
			b->text[b->len++] = "\"\\n\n\0/"[prng_below(b->prng, 6)];
	}
}

static void put_some(struct built *b, const char *bytes)
{
	put_random(b, prng_below(b->prng, 4), bytes);
}

/* Puts a string; returns whether it is closed. */
static bool put_string(struct built *b)
{
	bool closed = prng_percent(b->prng, 80);

	put(b, "\"");
	put_some(b, "a/*{}[]:, \t\r\x01\xff\\");
	put(b, closed ? "\"" : "");
	return closed;
}

/* Puts a comment; returns whether it is closed. The last one might be open. */
static bool put_comment(struct built *b, bool last)
{
	bool line = prng_percent(b->prng, 50), closed = line || !last || prng_percent(b->prng, 50);

	put(b, line ? "//" : "/*");
	put_some(b, "/\"{]:,\t\r x\xff");
	put_some(b, line ? "*" : "*\n");
	put(b, !line && closed ? "*/" : "");
	return closed;
}

static void put_token(struct built *b, bool last)
{
	static const char *const bytes[] = {[TOKEN_COMMA] = ",",
		[TOKEN_COLON] = ":",
		[TOKEN_CLOSE] = "]}",
		[TOKEN_OPEN] = "[{"};
	enum json_token_kind kind = TOKEN_COMMA + prng_below(b->prng, b->comments ? 7 : 6);
	struct json_token *token = &b->tokens[b->n++];

	put(b, kind == TOKEN_WORD ? " " : ""); /* after another word */
	*token = (struct json_token){kind, true, b->len, 0, b->depth};
	if (kind == TOKEN_STRING)
		token->closed = put_string(b);
	else if (kind == TOKEN_COMMENT)
		token->closed = put_comment(b, last);
	else if (kind == TOKEN_WORD)
		put_random(b, 1 + prng_below(b->prng, 4), b->comments ? "*1tr'-" : "/*1\x01\xff");
	else
		put_random(b, 1, bytes[kind]);
	token->end = b->len;
	b->depth += kind == TOKEN_OPEN;
	if (kind == TOKEN_CLOSE && b->depth > 0)
		token->depth = --b->depth;
	if (kind == TOKEN_COMMENT || !token->closed) /* a line ends it */
		put(b, last ? "" : "\n");
}

static void build(struct built *b, struct prng *prng, bool comments)
{
	uint32_t n = prng_below(prng, TOKENS_MOST);

	*b = (struct built){.prng = prng, .comments = comments};
	while (b->n < n) {
		put_some(b, " \t\r\n");
		put_token(b, b->n + 1 == n);
	}
}

static void assert_next(struct json_scan *scan, struct json_token want, const struct built *b)
{
	struct json_token got;
	bool more = json_scan_next(scan, &got);

	if (got.kind != want.kind || got.begin != want.begin || got.end != want.end ||
		got.depth != want.depth || got.closed != want.closed ||
		more != (want.kind != TOKEN_END))
		fail_msg("got %d %zu-%zu at %zu, expected %d %zu-%zu at %zu in <%.*s>", got.kind,
			got.begin, got.end, got.depth, want.kind, want.begin, want.end, want.depth,
			(int)b->len, b->text);
}

TEST(each_token)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < TEXTS; i++) {
		struct built b;
		struct json_scan scan = {.comments = i % 2 > 0};

		build(&b, &prng, scan.comments);
		scan.text = b.text;
		scan.len = b.len;
		for (unsigned t = 0; t < b.n; t++)
			assert_next(&scan, b.tokens[t], &b);
		for (unsigned again = 0; again < 2; again++)
			assert_next(
				&scan, (struct json_token){TOKEN_END, true, b.len, b.len, 0}, &b);
	}
}

/* Comments become blanks, up to one that does not end. */
TEST(each_comment)
{
	struct prng prng;

	prng_seed(&prng, 2);
	for (unsigned i = 0; i < TEXTS; i++) {
		struct built b, want;
		size_t len;

		build(&b, &prng, true);
		want = b;
		len = b.len;
		for (const struct json_token *token = b.tokens; token < b.tokens + b.n; token++) {
			if (token->kind == TOKEN_COMMENT && !token->closed)
				len = token->begin;
			for (size_t at = token->begin; at < token->end; at++)
				if (token->kind == TOKEN_COMMENT && token->closed &&
					strchr("\n\r\t", b.text[at]) == NULL)
					want.text[at] = ' ';
		}
		assert_int_equal(json_blank_comments(b.text, b.len), len);
		assert_memory_equal(b.text, want.text, b.len);
	}
}

static json_t *random_value(struct prng *prng, unsigned depth)
{
	static const char *const texts[] = {"", "a", "[", "}:,", "\"", "\\", "\n/*", "\xc3\xa4"};
	uint32_t kind = prng_below(prng, depth > 0 ? 4 : 2), n = prng_below(prng, 4);
	json_t *value;

	if (kind < 2)
		return kind ? json_integer(n) : json_string(texts[prng_below(prng, 8)]);
	value = kind == 2 ? json_object() : json_array();
	while (n-- > 0) {
		json_t *member = random_value(prng, depth - 1);

		if (kind == 2)
			json_object_set_new(value, texts[prng_below(prng, 8)], member);
		else
			json_array_append_new(value, member);
	}
	return value;
}

static json_t *parse_at(const char *text, struct json_token token)
{
	return json_loadb(text + token.begin, token.end - token.begin,
		JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
}

/* Compares the scanner's members of a container with the parser's, and the members inside. */
static void check_members(struct json_scan *scan, const json_t *container, bool all)
{
	size_t n = json_object_size(container) + json_array_size(container), depth = scan->depth;
	struct json_token key, value;

	for (size_t i = 0; i < n; i++) {
		const json_t *want = json_array_get(container, i);
		json_t *name, *got;

		assert_true(json_scan_member(scan, depth, &key, &value));
		name = parse_at(scan->text, key);
		if (want == NULL)
			want = json_object_get(container, json_string_value(name));
		assert_int_equal(key.kind, json_is_array(container) ? TOKEN_END : TOKEN_STRING);
		assert_int_equal(value.depth, depth);
		got = value.kind == TOKEN_OPEN ? json_incref((json_t *)want)
					       : parse_at(scan->text, value);
		assert_true(json_equal(got, want));
		if (value.kind == TOKEN_OPEN && all)
			check_members(scan, want, all);
		json_decref(name);
		json_decref(got);
	}
	assert_false(json_scan_member(scan, depth, &key, &value));
}

TEST(each_member)
{
	struct prng prng;

	prng_seed(&prng, 3);
	for (unsigned i = 0; i < TEXTS; i++) {
		json_t *root = random_value(&prng, 5);
		char *text = json_dumps(root, JSON_ENCODE_ANY | JSON_INDENT(i % 3));
		struct json_scan scan = {.text = text, .len = strlen(text)};

		if (json_scan_next(&scan, &(struct json_token){0}) && scan.depth > 0)
			check_members(&scan, root, prng_percent(&prng, 50));
		json_decref(root);
		free(text);
	}
}
