/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Text that is no JSON, or is more than JSON allows: one clear line each.
 */
#include "check.h"

#include "config_cases.h"

TEST(test_duplicate_keys)
{
	static const struct config_case cases[] = {
		{DOC(", 'idle': 'poll', 'idle': 'sleep'"), "idle: duplicate_key"},
		{DOC(", 'idle': 'poll', 'idle': 'poll', 'idle': 'poll'"), "idle: duplicate_key\n"
									  "idle: duplicate_key"},
		{LIMITED(", 'limit': '10Mbit/s'"), "p0.limit: duplicate_key"},
		/* With any spelling. */
		{LIMITED(", 'l\\u0069mit': '10Mbit/s'"), "p0.limit: duplicate_key"},
		{LIMITED(", 'a\\/\\n\\u00e9\\ud83d\\ude00': 1, 'a/\\u000a\xc3\xa9\xf0\x9f\x98\x80': 1"),
			"p0['a/\\n\\u00E9\\uD83D\\uDE00']: duplicate_key\n"
			"p0['a/\\n\\u00E9\\uD83D\\uDE00']: unknown_key: *see*"},
		{DOC(", 'gossip': {'roster': [{'name': 'me', 'address': '10.0.0.1:1'}, "
		     "{'name': 'me', 'name': 'you', 'address': '10.0.0.2:1'}], 'key_file': 'k', "
		     "'key_file': 'k'}, 'eal': ['name', 'name', ',', '{', ':'], 'eal': []"),
			"gossip.roster[1].name: duplicate_key\n"
			"gossip.key_file: duplicate_key\n"
			"eal: duplicate_key"},
		{DOC(", 'x': [[{}, {'y': [1, 2, {'z': 1, 'z': 'z'}]}]]"),
			"x[0][1].y[2].z: duplicate_key\n"
			"x: unknown_key: *see*"},
		{NET("'ports': {'lan': {'device': 'net_null0'}, 'wan': {'device': 'net_null1'}, "
		     "'lan': {'device': 'net_null2'}}, " WIRES),
			"ports.lan: duplicate_key"},
		{"[{'a': 1, 'a': 2}]", "[0].a: duplicate_key\n"
				       "not_object"},
		{0},
	};

	run_cases(cases);
}

/* One line with the place of the error, and two with the source and a caret. */
static void refuse_syntax(const char *text, size_t len, const char *start)
{
	struct config *config;
	unsigned lines = 0;
	char *messages;
	size_t size;
	FILE *err = open_memstream(&messages, &size);

	assert_int_equal(config_parse(text, len, "w.json", err, &config), -EINVAL);
	fclose(err);
	if (strncmp(messages, start, strlen(start)) != 0)
		fail_msg("got %s, expected %s", messages, start);
	for (const char *at = messages; *at != '\0'; at++) {
		lines += *at == '\n';
		if (*at != '\n')
			assert_in_range(*at, ' ', '~');
	}
	assert_int_equal(lines, 3);
	assert_int_equal(messages[strlen(messages) - 1], '\n');
	assert_int_equal(messages[strlen(messages) - 2], '^');
	free(messages);
}

TEST(test_syntax)
{
	static const struct {
		const char *text;
		size_t len;
		const char *start;
	} cases[] = {
#define SYNTAX(text, start) {text, sizeof(text) - 1, start}
		SYNTAX("{", "w.json:1:2: the end of the file, but the \"{\" of line 1 is open\n"),
		SYNTAX("{\"a\": {\n\"b\": [1\n\n",
			"w.json:2:8: the end of the file, but the \"[\" of line 2 is open\n"),
		SYNTAX("{\"a\": \"b",
			"w.json:1:7: a text that nothing closes: write a \" at its end\n"),
		SYNTAX("{\"a\": 1,\n \"b\" 2}",
			"w.json:2:5: a colon that is missing after a key: write a colon\n     2 |  \"b\" 2}\n       |     ^\n"),
		SYNTAX("{\"limiter\": \"a\",}",
			"w.json:1:16: a trailing comma, before \"}\": take the comma away\n"),
		SYNTAX("{\"a\": [1, 2,\n]}",
			"w.json:1:12: a trailing comma, before \"]\": take the comma away\n"),
		SYNTAX("{\"a\": [1,, 2]}", "w.json:1:10: a comma too many: take it away\n"),
		SYNTAX("{, \"a\": 1}", "w.json:1:2: a comma too many: take it away\n"),
		SYNTAX("{\"a\": 1\n\"b\": 2}",
			"w.json:1:8: a comma that is missing: write a comma\n"),
		SYNTAX("{\"a\": [1 2]}", "w.json:1:9: a comma that is missing: write a comma\n"),
		SYNTAX("{\"a\": [{} {}]}", "w.json:1:10: a comma that is missing: write a comma\n"),
		SYNTAX("{\"a\": [1}", "w.json:1:9: a \"}\" for the \"[\" of line 1\n"),
		SYNTAX("{\"a\": 1]", "w.json:1:8: a \"]\" for the \"{\" of line 1\n"),
		SYNTAX("}", "w.json:1:1: a \"}\" without one that opens\n"),
		SYNTAX("{\"a\":}", "w.json:1:6: a key without a value: write a value before it\n"),
		SYNTAX("{\"a\"}", "w.json:1:5: a key without a value: write a colon and a value\n"),
		SYNTAX("{\"a\":, \"b\": 1}",
			"w.json:1:6: a key without a value: write a value before it\n"),
		SYNTAX("{\"a\", \"b\": 1}",
			"w.json:1:5: a key without a value: write a colon and a value\n"),
		SYNTAX("{} {}", "w.json:1:4: more after the end of the document\n"),
		SYNTAX("{},", "w.json:1:3: more after the end of the document\n"),
		SYNTAX("{\"a\": 'b'}", "w.json:1:7: single quotes: write \"double quotes\"\n"),
		SYNTAX("{'a': 1}", "w.json:1:2: single quotes: write \"double quotes\"\n"),
		SYNTAX("{\xe2\x80\x9c"
		       "a\xe2\x80\x9d: 1}",
			"w.json:1:2: typographic quotes: write \"double quotes\"\n"),
		SYNTAX("{a: 1}",
			"w.json:1:2: a key without double quotes: write it in \"double quotes\"\n"),
		SYNTAX("limiter: me", "w.json:1:1: a text without double quotes"),
		SYNTAX("{\"a\" = 1}", "w.json:1:6: an equals sign: write a colon\n"),
		SYNTAX("{\"a\": 1; \"b\": 2}", "w.json:1:8: a semicolon: write a comma\n"),
		SYNTAX("{\"a\": [] ; \"b\": 2}", "w.json:1:10: a semicolon: write a comma\n"),
		SYNTAX("{\"a\": True}",
			"w.json:1:7: a word that is no JSON: write true or false\n"),
		SYNTAX("{\"a\": yes}", "w.json:1:7: a word that is no JSON: write true or false\n"),
		SYNTAX("{\"a\": None}", "w.json:1:7: a word that is no JSON: leave the key out\n"),
		SYNTAX("{\"a\": OFF}", "w.json:1:7: a word that is no JSON: write true or false\n"),
		SYNTAX("{\"a\": -infinity}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": Infinity}",
			"w.json:1:7: a word that is no JSON: leave the key out\n"),
		SYNTAX("{\"a\": es}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": tru}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": undefinedvalu}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": undefinedvalue}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": undefinedvalues}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": 00}",
			"w.json:1:7: a number that begins with 0: take the zero away\n"),
		SYNTAX("{\"a\": 0x1}",
			"w.json:1:7: a number with more behind it, and no double quotes"),
		SYNTAX("{\"a\": -.5}",
			"w.json:1:7: a number in another form: write it as 0.5, 1 or -1\n"),
		SYNTAX("{\"a\": -x}", "w.json:1:7: a text without double quotes"),
		SYNTAX("{\"a\": \"\n\"}",
			"w.json:1:7: a text that its line does not close: write a \" at its end\n"),
		SYNTAX("{\"a\": \"\x1f\"}", "w.json:1:8: control character 31 in a text\n"),
		SYNTAX("{\"a\": 10Mbit/s}",
			"w.json:1:7: a number with more behind it, and no double quotes: write it in \"double quotes\"\n"),
		SYNTAX("{\"a\": 007}",
			"w.json:1:7: a number that begins with 0: take the zero away\n"),
		SYNTAX("{\"a\": +1}",
			"w.json:1:7: a number in another form: write it as 0.5, 1 or -1\n"),
		SYNTAX("{\"a\": .5}",
			"w.json:1:7: a number in another form: write it as 0.5, 1 or -1\n"),
		SYNTAX("{\"a\": drop}",
			"w.json:1:7: a text without double quotes: write it in \"double quotes\"\n"),
		SYNTAX("{\"a\": \"b\nc\"}",
			"w.json:1:7: a text that its line does not close: write a \" at its end\n"),
		SYNTAX("{\"a\": \"b\tc\"}", "w.json:1:9: a tab in a text: write \\t, or a blank\n"),
		SYNTAX("{\"a\": \"C:\\x\"}",
			"w.json:1:10: a backslash alone in a text: write \\\\ for one\n"),
		SYNTAX("{\"a\":\xc2\xa0"
		       "1}",
			"w.json:1:6: a blank that is none (U+00A0): write a blank\n"),
		SYNTAX("# no\n{}", "w.json:1:1: a comment with \"#\": write // or /* */\n"),
		SYNTAX("{\"a\": 1 / 2}",
			"w.json:1:9: a slash that begins no comment: write // or /* */\n"),
		SYNTAX("{} /* x",
			"w.json:1:4: a comment that nothing closes: write */ at its end\n"),
		SYNTAX("<<<<<<< HEAD\n{}",
			"w.json:1:1: a mark that a merge left: resolve the conflict\n"),
		SYNTAX("{\"a\": 1,\n=======\n\"a\": 2}",
			"w.json:2:1: a mark that a merge left: resolve the conflict\n"),
		SYNTAX("{\"a\": 1}\n>>>>>>> b",
			"w.json:2:1: a mark that a merge left: resolve the conflict\n"),
		SYNTAX("{\"a\": \"\x1b[2J\"}", "w.json:1:8: control character 27 in a text\n"),
		SYNTAX("\x1b[2J", "w.json:1:1: a text without"),
		SYNTAX("{\"a\": \"\xff\xfe\"}",
			"w.json:1:8: a byte that is no UTF-8: save the file as UTF-8\n"),
		SYNTAX("{\"a\": \"\xed\xa0\x80\"}", "w.json:1:8: a byte that is no UTF-8"),
		SYNTAX("{\"a\": \"\\ud800\"}", "w.json:1:7: an escape that is no character"),
		SYNTAX("{\"a\": \"\\u12\"}", "w.json:1:7: an escape that is no character"),
		SYNTAX("{\"a\": \"x\\u0000y\"}", "w.json:1:7: a NUL character in a text\n"),
		SYNTAX("{\"a\\u0000b\": 1}", "w.json:1:2: a NUL character in a text\n"),
		SYNTAX("{\"a\": \"x\0y\"}", "w.json:1:9: control character 0 in a text\n"),
		SYNTAX("\0", "w.json:1:1: a NUL character: take it away\n"),
		SYNTAX("{}\0", "w.json:1:3: more after the end of the document\n"),
		SYNTAX("{\0\"\0a\0", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("\xff\xfe{\0}\0", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("\xfe\xff\0{\0}", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("\xff\xfe\0\0{\0\0\0", "w.json:1:1: UTF-32: save it as UTF-8\n"),
		SYNTAX("\xff\xfe\0\0", "w.json:1:1: UTF-32: save it as UTF-8\n"),
		SYNTAX("\0\0\xfe\xff", "w.json:1:1: UTF-32: save it as UTF-8\n"),
		SYNTAX("{\0\0\0", "w.json:1:1: UTF-32: save it as UTF-8\n"),
		/* Texts shorter than a character of UTF-16, or with more in them. */
		SYNTAX("\xff\xfe\0", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("{\0\0", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("{\0\0x", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("{\0x\0", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("{x\0\0", "w.json:1:2: a key without double quotes"),
		SYNTAX("\0\0\0\0", "w.json:1:1: a NUL character: take it away\n"),
		SYNTAX("\0\0\0x", "w.json:1:1: a NUL character: take it away\n"),
		SYNTAX("\xff\xfe", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("\xfe\xff", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("{\0", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("\0{", "w.json:1:1: UTF-16: save it as UTF-8\n"),
		SYNTAX("\xff{}", "w.json:1:1: a byte that is no UTF-8: save the file as UTF-8\n"),
		SYNTAX("\xfe{}", "w.json:1:1: a byte that is no UTF-8: save the file as UTF-8\n"),
		SYNTAX("\xef\xbb{}",
			"w.json:1:1: a byte that is no UTF-8: save the file as UTF-8\n"),
		SYNTAX("\x1f\x8b\x08",
			"w.json:1:1: a file that gzip has packed: unpack it with gunzip\n"),
		SYNTAX("\x1f\x8b",
			"w.json:1:1: a file that gzip has packed: unpack it with gunzip\n"),
		SYNTAX("\x1f{}", "w.json:1:1: a text without double quotes"),
		SYNTAX("{\"a\": 99999999999999999999}", "w.json:1:7: a number that is too large\n"),
		SYNTAX("{\"a\": 1e999}", "w.json:1:7: a number that is too large\n"),
		SYNTAX("\xef\xbb\xbf{}",
			"w.json:1:1: a byte order mark (BOM): save it as UTF-8 without a byte order mark\n"),
		SYNTAX("\xef\xbb\xbf",
			"w.json:1:1: a byte order mark (BOM): save it as UTF-8 without a byte order mark\n"),
		SYNTAX("[\xef\xbb\xbf]", "w.json:1:2: a byte order mark (BOM): take it away\n"),
		SYNTAX("[\xe2\x80\x8b]",
			"w.json:1:2: a character that is not seen (U+200B): take it away\n"),
		SYNTAX("[`a`]", "w.json:1:2: backquotes: write \"double quotes\"\n"),
		SYNTAX("[\xe2\x80\x98]",
			"w.json:1:2: typographic quotes: write \"double quotes\"\n"),
		SYNTAX("[\xe2\x80\x99]",
			"w.json:1:2: typographic quotes: write \"double quotes\"\n"),
		SYNTAX("[\xe2\x80\x9d]",
			"w.json:1:2: typographic quotes: write \"double quotes\"\n"),
		SYNTAX("[\xe2\x80\x9e]",
			"w.json:1:2: typographic quotes: write \"double quotes\"\n"),
		SYNTAX("[\xc2\xab]", "w.json:1:2: typographic quotes: write \"double quotes\"\n"),
		/* An escaped quote does not end a text, and the column is right after it. */
		SYNTAX("{\"a\\\"b\": 1,}",
			"w.json:1:11: a trailing comma, before \"}\": take the comma away\n"),
		SYNTAX("{\"a\\\\\": 1,}",
			"w.json:1:10: a trailing comma, before \"}\": take the comma away\n"),
		SYNTAX("{\"a\": \"\\\"", "w.json:1:7: a text that nothing closes"),
		SYNTAX("[\"b\\\"\n]", "w.json:1:2: a text that its line does not close"),
		SYNTAX("{\"a\": \"b\\", "w.json:1:9: a backslash alone in a text"),
		SYNTAX("{\"a\": \"b\\\nc\"}", "w.json:1:9: a backslash alone in a text"),
		SYNTAX("{\"a\": \"b\\\"c\x01\"}", "w.json:1:12: control character 1 in a text\n"),
		/* Closed brackets no longer count. */
		SYNTAX("{\"a\": [{\"x\": 1}, b]}", "w.json:1:18: a text without double quotes"),
		SYNTAX("{\"a\": [1], b: 2}", "w.json:1:12: a key without double quotes"),
		SYNTAX("{\"a\": [{\"b\": 1}}", "w.json:1:16: a \"}\" for the \"[\" of line 1\n"),
		SYNTAX("[\n{}",
			"w.json:2:3: the end of the file, but the \"[\" of line 1 is open\n"),
		SYNTAX("[1: 2]", "w.json:1:3: a colon that follows no key"),
		SYNTAX("[:]", "w.json:1:2: a colon that follows no key\n"),
		SYNTAX("{:}", "w.json:1:2: a colon that follows no key\n"),
		SYNTAX("{\"a\": 1:}", "w.json:1:8: a colon that follows no key\n"),
		SYNTAX("{{}}",
			"w.json:1:2: a \"{\" without a key: write a key and a colon before it\n"),
		SYNTAX("{[]}",
			"w.json:1:2: a \"[\" without a key: write a key and a colon before it\n"),
		SYNTAX("{1}", "w.json:1:2: a key without double quotes"),
		SYNTAX("[,]", "w.json:1:2: a comma too many: take it away\n"),
		SYNTAX(",", "w.json:1:1: a comma after the end\n"),
		SYNTAX("]", "w.json:1:1: a \"]\" without one that opens\n"),
		SYNTAX("[1\n=======\n]", "w.json:2:1: a mark that a merge left"),
		SYNTAX("[1\n|||||||\n]", "w.json:2:1: a mark that a merge left"),
		SYNTAX("[ =======]", "w.json:1:3: an equals sign: write a colon\n"),
		SYNTAX("[\n======]", "w.json:2:1: an equals sign: write a colon\n"),
		SYNTAX("{} =======", "w.json:1:4: an equals sign: write a colon\n"),
		SYNTAX("{} x", "w.json:1:4: more after the end of the document\n"),
		SYNTAX("[0, 01]", "w.json:1:5: a number that begins with 0: take the zero away\n"),
		SYNTAX("[-01]", "w.json:1:2: a number in another form"),
		SYNTAX("[1.]", "w.json:1:2: a number with more behind it"),
		SYNTAX("[-]", "w.json:1:2: a text without double quotes"),
		SYNTAX("[..5]", "w.json:1:2: a number in another form"),
		SYNTAX("[a;]", "w.json:1:3: a semicolon: write a comma\n"),
		SYNTAX("[\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u00e4\\q\"]",
			"w.json:1:25: a backslash alone in a text: write \\\\ for one\n"),
		SYNTAX("[\"\x1f\", \" \"]", "w.json:1:3: control character 31 in a text\n"),
		SYNTAX("[1,\n\"a]", "w.json:2:1: a text that nothing closes"),
		SYNTAX("{\n\"a\": [1}", "w.json:2:8: a \"}\" for the \"[\" of line 2\n"),
		SYNTAX("[\"\\\\x\t\"]", "w.json:1:6: a tab in a text: write \\t, or a blank\n"),
		SYNTAX("[\"", "w.json:1:2: a text that nothing closes"),
		SYNTAX("/* x */ {\"a\": 1,} // y",
			"w.json:1:16: a trailing comma, before \"}\": take the comma away\n"),
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		refuse_syntax(cases[i].text, cases[i].len, cases[i].start);
}

TEST(test_deep_nesting)
{
	size_t len = 1000000;
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, '[', len);
	refuse_syntax(text, len, "w.json:1:2049: more than 2048 brackets open\n");
	free(text);
}

/* The scanner and the paths must go as deep as the parser. */
TEST(test_deep_duplicate)
{
	enum { DEPTH = 1000 };
	char *text = NULL, *messages;
	struct config *config;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (int i = 0; i < DEPTH; i++)
		fputs("{\"a\":[", out);
	fputs("{\"b\":1,\"b\":2}", out);
	for (int i = 0; i < DEPTH; i++)
		fputs("]}", out);
	fclose(out);
	assert_int_equal(parse_config_case(text, size, &messages, &config), -EINVAL);
	assert_non_null(strstr(messages, "a[0].a[0].b: duplicate_key: 1\n"));
	free(messages);
	free(text);
}
