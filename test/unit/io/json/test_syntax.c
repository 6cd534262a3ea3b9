/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Text that is no JSON, or more than JSON means: one clean line each.
 */
#include "config_cases.h"

static void test_duplicate_keys(void **state)
{
#define DUPLICATE ": duplicate key: expected it once\n"
	static const struct config_case cases[] = {
		{DOC(", 'idle': 'poll', 'idle': 'sleep'"), "w.json: idle" DUPLICATE},
		{DOC(", 'idle': 'poll', 'idle': 'poll', 'idle': 'poll'"),
			"w.json: idle" DUPLICATE "w.json: idle" DUPLICATE},
		{LIMITED(", 'limit': '10Mbit/s'"), "w.json: policies[0].limit" DUPLICATE},
		/* However it is spelt. */
		{LIMITED(", 'l\\u0069mit': '10Mbit/s'"), "w.json: policies[0].limit" DUPLICATE},
		{LIMITED(", 'a\\/\\n\\u00e9\\ud83d\\ude00': 1, 'a/\\u000a\xc3\xa9\xf0\x9f\x98\x80': 1"),
			"w.json: policies[0]['a/\\n\\u00E9\\uD83D\\uDE00']" DUPLICATE
			"w.json: policies[0]['a/\\n\\u00E9\\uD83D\\uDE00']: unknown key\n"},
		{DOC(", 'gossip': {'roster': [{'name': 'me', 'address': '10.0.0.1:1'}, "
		     "{'name': 'me', 'name': 'you', 'address': '10.0.0.2:1'}], 'key_file': 'k', "
		     "'key_file': 'k'}, 'eal': ['name', 'name', ',', '{', ':'], 'eal': []"),
			"w.json: gossip.roster[1].name" DUPLICATE
			"w.json: gossip.key_file" DUPLICATE "w.json: eal" DUPLICATE},
		{DOC(", 'x': [[{}, {'y': [1, 2, {'z': 1, 'z': 'z'}]}]]"),
			"w.json: x[0][1].y[2].z" DUPLICATE "w.json: x: unknown key\n"},
		{NET("'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}, "
		     "'lan': {'device': 'net_null2'}}, " WIRES),
			"w.json: ports.lan" DUPLICATE},
		{"[{'a': 1, 'a': 2}]",
			"w.json: [0].a" DUPLICATE "w.json: an array: expected an object\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

/* Nothing but one clean line, with a place, for what is not JSON. */
static void refuse_syntax(const char *text, size_t len, const char *start)
{
	struct config *config;
	char *messages;

	assert_int_equal(parse_config_case(text, len, &messages, &config), -EINVAL);
	if (strncmp(messages, start, strlen(start)) != 0)
		fail_msg("got %s, expected %s", messages, start);
	assert_ptr_equal(strchr(messages, '\n'), messages + strlen(messages) - 1);
	for (const char *at = messages; *at != '\n'; at++)
		assert_in_range(*at, ' ', '~');
	free(messages);
}

static void test_syntax(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *start;
	} cases[] = {
#define SYNTAX(text, start) {text, sizeof(text) - 1, start}
		SYNTAX("{", "w.json:1:1: "),
		SYNTAX("{\"a\": 1,\n \"b\" 2}", "w.json:2:6: "),
		SYNTAX("{\"limiter\": \"a\",}", "w.json:1:17: "),
		SYNTAX("{} {}", "w.json:1:4: "),
		SYNTAX("{\"a\": 'b'}", "w.json:1:7: "),
		SYNTAX("{\"a\": \"\x1b[2J\"}", "w.json:1:"),
		SYNTAX("\x1b[2J", "w.json:1:"),
		SYNTAX("{\"a\": \"\xff\xfe\"}", "w.json:1:"),
		SYNTAX("{\"a\": \"\xed\xa0\x80\"}", "w.json:1:"),
		SYNTAX("{\"a\": \"\\ud800\"}", "w.json:1:"),
		SYNTAX("{\"a\": \"x\\u0000y\"}", "w.json:1:"),
		SYNTAX("{\"a\\u0000b\": 1}", "w.json:1:"),
		SYNTAX("{\"a\": \"x\0y\"}", "w.json:1:"),
		SYNTAX("\0", "w.json:1:"),
		SYNTAX("{}\0", "w.json:1:"),
		SYNTAX("{\"a\": 99999999999999999999}", "w.json:1:"),
		SYNTAX("{\"a\": 1e999}", "w.json:1:"),
		SYNTAX("\xef\xbb\xbf{}", "w.json:1:"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse_syntax(cases[i].text, cases[i].len, cases[i].start);
}

static void test_deep_nesting(void **state)
{
	size_t len = 1000000;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, '[', len);
	refuse_syntax(text, len, "w.json:1:");
	free(text);
}

/* As deep as the parser goes: the scanner and the paths must go there too. */
static void test_deep_duplicate(void **state)
{
	enum { DEPTH = 1000 };
	char *text = NULL, *messages;
	struct config *config;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (int i = 0; i < DEPTH; i++)
		fputs("{\"a\":[", out);
	fputs("{\"b\":1,\"b\":2}", out);
	for (int i = 0; i < DEPTH; i++)
		fputs("]}", out);
	fclose(out);
	assert_int_equal(parse_config_case(text, size, &messages, &config), -EINVAL);
	assert_non_null(strstr(messages, "a[0].a[0].b: duplicate key: expected it once\n"));
	free(messages);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duplicate_keys),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_deep_duplicate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
