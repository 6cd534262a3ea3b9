/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The places in messages: lines, names of policies, comments, and the form for programs.
 */
#include "check.h"

#include "config_cases.h"

#include "json/diagnostics.h"
#include "json/json_path.h"
#include "json/json_place.h"
#include "json/locate.h"
#include "json/read.h"

TEST(test_lines)
{
	static const struct config_case cases[] = {
		{"// a group\n{\n'limiter': 'me', /* two\nlines */ 'idle': 'nap'}",
			"4: idle: wrong_choice"},
		{"{'limiter': 'me',\n'policies': [\n{'name': 'a', 'limit': '1Mbit/s'},\n"
		 "{'name': 'b', 'match': {'vlan': 1},\n\n'limit': 3}]}",
			"6: p1.limit: wrong_value"},
		/* The line of a missing key is that of its object. */
		{"{\n'limiter': 'me',\n'policies': [\n\n{\n'name': 'b'}]}",
			"5: p0.limit: wrong_value"},
		{"\n\n{}", "3: limiter: wrong_name"},
		{"{'limiter': 'me',\n'workers': [\n0,\n-1]}", "4: workers[1]: cpu_range: 1023"},
		/* With escapes in a key, and any text before it. */
		{"{'limiter': 'me', 'eal': ['}', '{', '\\\\', '\\'', ','],\n'\\u0069dle': 3}",
			"2: idle: wrong_choice"},
		{"{'idle': 'poll',\n'limiter': 'me',\n'idle': 'nap'}", "3: idle: duplicate_key\n"
								       "3: idle: wrong_choice"},
		{"{'limiter': 'me',\n'policies': [{'name': 'a b'}]}", "2: p0.name: wrong_name\n"
								      "2: p0.limit: wrong_value"},
		{0},
	};

	run_cases(cases);
}

/* Places in messages exist in the document. */
TEST(test_named)
{
	static const struct {
		const char *name, *at;
	} cases[] = {
		{"a", "1"},
		{"b.c", "2"},
		{"b.d[1]", "4"},
		{"b.d[2].e", "5"},
		{"b.x.y", "6"},
		{"b.x.z", NULL},
		{"b.d[9]", NULL},
		{"a.b.c.d.e.f.g.h.i.j", NULL},
		{".", NULL},
	};
	json_t *root = json_loads("{\"a\": 1, \"b\": {\"c\": 2, \"d\": [3, 4, {\"e\": 5}], "
				  "\"x.y\": 6}}",
		0, NULL);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json_named named;
		const json_t *value = json_path_find(
			root, json_path_named(root, cases[i].name, &named));

		if (!cases[i].at)
			assert_null(value);
		else
			assert_int_equal(json_integer_value(value), strtol(cases[i].at, NULL, 10));
	}
	json_decref(root);
}

/* The words for a place, and the policy that contains it. */
TEST(test_place_of)
{
	static const char text[] = "{\"policies\": [{\"name\": \"p\", \"a\": [1]},\n"
				   "{\"name\": \"a b\"}, 7, {\"name\": \"" NAME63 "\"},\n"
				   "{\"name\": \"" NAME63 "x\"}, {\"name\": \"\"}],\n"
				   "\"wires\": [{\"name\": \"w\"}]}";
	static const struct {
		const char *name, *words, *policy;
		unsigned line;
	} rows[] = {
		{"policies", "policies", NULL, 1},
		{"policies[0]", "policies[0] \"p\"", "p", 1},
		{"policies[0].a[0]", "policies[0] \"p\".a[0]", "p", 1},
		{"policies[1]", "policies[1]", NULL, 2},
		{"policies[2].x", "policies[2].x", NULL, 2},
		{"policies[3].name", "policies[3] \"" NAME63 "\".name", NAME63, 2},
		{"policies[4].name", "policies[4].name", NULL, 3},
		{"policies[5].name", "policies[5].name", NULL, 3},
		{"policies[6].name", "policies[6].name", NULL, 1},
		{"policies.name", "policies.name", NULL, 1},
		{"wires[0].name", "wires[0] \"w\".name", NULL, 4},
		{"wires", "wires", NULL, 4},
	};
	struct reader reader;

	assert_int_equal(reader_parse(&reader, text, strlen(text), "w.json", stderr), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct json_named named;
		struct json_place place = json_place_of(
			&reader, json_path_named(reader.root, rows[i].name, &named));

		assert_string_equal(place.file, "w.json");
		assert_string_equal(place.path, rows[i].name);
		assert_string_equal(place.words, rows[i].words);
		assert_int_equal(place.line, rows[i].line);
		if (rows[i].policy)
			assert_string_equal(place.policy, rows[i].policy);
		else
			assert_null(place.policy);
		json_place_free(&place);
	}
	assert_int_equal(reader_finish(&reader), 0);
}

/* Each object can have a "$schema" and a "note". */
TEST(test_remarks)
{
	static const struct config_case cases[] = {
		{"{'$schema': 'weir.schema.json', 'note': 'n', 'limiter': 'me', 'ports': {'note': 'n', "
		 "'lan': {'device': 'net_null0', 'note': 'n'}, 'wan': {'device': 'net_null1'}}, "
		 "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wan', 'note': ['n', 'm']}], "
		 "'control': {'note': 'n'}, 'tunnels': {'note': 'n'}, 'shape': {'note': 'n'}, "
		 "'gossip': {'note': 'n', 'insecure': true, 'roster': [{'name': 'me', 'note': 'n', "
		 "'address': '10.0.0.1:1'}]}, 'ledger': {'note': 'n', 'overlay': {'note': 'n', "
		 "'degree': 2}, 'tree': {'note': 'n'}}, 'policies': [{'name': 'p', 'note': 'n', "
		 "'limit': '1Mbit/s', 'match': {'note': 'n', 'vlan': 1}, 'meter': 'phantom', "
		 "'classes': {'by': 'dscp', 'note': 'n', 'weights': {'note': 'n', '46': 2}}}]}",
			""},
		/* A port with that name is a port. */
		{"{'limiter': 'me', 'ports': {'note': {'device': 'net_null0'}, 'b': {'device': "
		 "'net_null1'}}, 'wires': [{'name': 'w', 'a': 'note', 'b': 'b'}], 'policies': "
		 "[{'name': 'p', 'limit': '10Mbit/s'}]}",
			""},
		{DOC(", 'note': 3"), "note: note_type"},
		{DOC(", 'note': ['a', 3]"), "note: note_type"},
		{DOC(", '$schema': 3"), "['$schema']: schema_type"},
		{DOC(", 'notes': 'n'"), "notes: unknown_key: *see*"},
		{LIMITED(", 'note': {}"), "p0.note: note_type"},
		{0},
	};

	run_cases(cases);
}

TEST(test_meant)
{
#define LIMIT_MEANT(text, right)                                            \
	{                                                                   \
		POLICY(", 'limit': '" text "'"),                            \
			"p0.limit: wrong_value: *did you mean '" right "'?" \
	}
	static const struct config_case cases[] = {
		LIMIT_MEANT("10Mbps", "10Mbit/s"),
		LIMIT_MEANT("10mbit/s", "10Mbit/s"),
		LIMIT_MEANT("1,5Gbit/s", "1.5Gbit/s"),
		LIMIT_MEANT("10 Mbit /s", "10Mbit/s"),
		LIMIT_MEANT("2 gbps", "2Gbit/s"),
		LIMIT_MEANT("3K", "3kbit/s"),
		LIMIT_MEANT("4TBPS", "4Tbit/s"),
		LIMIT_MEANT("9000000 b/s", "9000000bit/s"),
		LIMIT_MEANT("00000000000000000000000001Gbps", "00000000000000000000000001Gbit/s"),
		LIMIT_MEANT("000000000000000000000000001Gbps", "000000000000000000000000001Gbit/s"),
		{POLICY(", 'limit': '0000000000000000000000000001Gbps'"), "p0.limit: wrong_value"},
		{POLICY(", 'limit': 'Gbps'"), "p0.limit: wrong_value"},
		{POLICY(", 'limit': ''"), "p0.limit: wrong_value"},
		{LIMITED(", 'interval': '5 m'"), "p0.interval: wrong_value: *did you mean '5min'?"},
		{POLICY(", 'limit': '10MB/s'"), "p0.limit: wrong_value: *did you mean '80Mbit/s'?"},
		{LIMITED(", 'burst': '64M'"), "p0.burst: wrong_value: *did you mean '64MB'?"},
		{LIMITED(", 'interval': '50 msec'"),
			"p0.interval: wrong_value: *did you mean '50ms'?"},
		{LIMITED(", 'action': 'dorp'"), "p0.action: wrong_choice: *did you mean 'drop'?"},
		{NET(PORTS "'wires': [{'name': 'w', 'a': 'lan', 'b': 'wna'}]"),
			"wires[0].b: no_such_port: did you mean 'wan'?"},
		{0},
	};

	run_cases(cases);
}

/* Makes a document with n invalid policies, each on its own line. */
static char *make_wrong(unsigned n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fputs("{\"limiter\": \"me\", \"policies\": [\n", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "{\"name\": \"p%u\", \"limit\": \"1Mbit/s\", \"idle\": 3}%s\n", i,
			i + 1 < n ? "," : "");
	fputs("]}", out);
	fclose(out);
	return text;
}

TEST(test_cap)
{
	char *text = make_wrong(DIAGNOSTICS_MOST), expected[2048] = "";

	/* Each policy has the same match as the first. */
	for (unsigned i = 0; i < DIAGNOSTICS_MOST; i++)
		sprintf(expected + strlen(expected), "%u: p%u.idle: unknown_key: *top level\n",
			i + 2, i);
	strcat(expected, "more_errors: 19, s, 39");
	expect_messages(text, strlen(text), expected);
	free(text);
	text = make_wrong(1);
	expect_messages(
		text, strlen(text), "2: p0.idle: unknown_key: 'idle' belongs at the top level");
	free(text);
}

/* Each line is an object with all parts of the line for people. */
TEST(test_for_programs)
{
	char path[] = "/tmp/weir-places-XXXXXX", *messages;
	static const char text[] =
		"{\"limiters\": 1,\n\"policies\": [{\"name\": \"p\", \"a\": 3}]}";
	struct diagnostics diagnostics;
	struct reader reader;
	int fd = mkstemp(path);
	size_t size;
	FILE *out = open_memstream(&messages, &size);
	json_t *line;

	assert_true(fd >= 0 && out);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	diagnostics_init(&diagnostics, out, DIAGNOSTICS_JSON);
	assert_int_equal(reader_open(&reader, path, &diagnostics), 0);
	reader_report(&reader,
		&(struct json_path){
			.parent = &(
				struct json_path){.parent = &(struct json_path){.key = "policies"},
				.index = 0},
			.key = "a"},
		MESSAGE(WRONG_VALUE), "true or false", "write true");
	assert_int_equal(reader_finish(&reader), -EINVAL);
	fclose(out);
	line = json_loads(messages, 0, NULL);
	assert_non_null(line);
	assert_string_equal(json_string_value(json_object_get(line, "severity")), "error");
	assert_string_equal(json_string_value(json_object_get(line, "id")), "wrong_value");
	assert_int_equal(json_array_size(json_object_get(line, "arguments")), 2);
	assert_string_equal(json_string_value(json_object_get(line, "file")), path);
	assert_int_equal(json_integer_value(json_object_get(line, "line")), 2);
	assert_string_equal(json_string_value(json_object_get(line, "path")), "policies[0].a");
	assert_string_equal(json_string_value(json_object_get(line, "policy")), "p");
	assert_string_equal(json_string_value(json_object_get(line, "found")), "3");
	assert_string_equal(json_string_value(json_object_get(line, "expected")), "true or false");
	assert_string_equal(json_string_value(json_object_get(line, "remedy")), "write true");
	assert_non_null(strstr(json_string_value(json_object_get(line, "message")),
		":2: policies[0] \"p\".a: 3: expected true or false: write true"));
	json_decref(line);
	free(messages);
	unlink(path);
}

/* A key is found in any spelling. */
TEST(test_escapes)
{
	static const struct {
		const char *key, *text;
		bool equal;
	} cases[] = {
		{"\"\"", "", true},
		{"\"\"", "a", false},
		{"\"a\"", "", false},
		{"\"ab\"", "a", false},
		{"\"ab\"", "abc", false},
		{"\"ab\"", "ab", true},
		{"\"a\\u0062\"", "ab", true},
		{"\"a\\u0062\"", "abc", false},
		{"\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\b\f\n\r\t\"\\/", true},
		{"\"\\ud800\\udc00x\"", "\xf0\x90\x80\x80x", true},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json_path path = {.key = cases[i].text};
		bool exact;
		char *text;

		assert_true(asprintf(&text, "{%s: 7}", cases[i].key) > 0);
		json_locate(text, &path, &exact);
		if (exact != cases[i].equal)
			fail_msg("%s", text);
		free(text);
	}
}

/* Offsets in the text: of a value, or of the nearest object that could have it. */
TEST(test_locate)
{
	static const char text[] = " {\"a\" : [ 10, [], {\"b\":\"x]\\\"}\" , \"c\": -1e3}, null ], "
				   "\"d\":{\"e\":{}}, \"a\": [7]}";
	static const struct {
		const char *name, *first, *last;
	} cases[] = {
		{"a", "[ 10", "[7]"},
		{"a[0]", "10,", "7]"},
		{"a[1]", "[],", "[7]"},
		{"a[2]", "{\"b\"", "[7]"},
		{"a[2].b", "\"x]", "[7]"},
		{"a[2].c", "-1e3", "[7]"},
		{"a[3]", "null", "[7]"},
		{"a[4]", "[ 10", "[7]"},
		{"a.b", "[ 10", "[7]"},
		{"d", "{\"e\"", "{\"e\""},
		{"d.e", "{}", "{}"},
		{"d.e.f", "{}", "{}"},
		{"d[0]", "{\"e\"", "{\"e\""},
		{"x", "{\"a\" :", "{\"a\" :"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json_named named;
		const struct json_path *path = json_path_named(NULL, cases[i].name, &named);
		const char *first = text + json_locate_first(text, path);
		const char *last = text + json_locate(text, path, NULL);

		if (strncmp(first, cases[i].first, strlen(cases[i].first)) != 0 ||
			strncmp(last, cases[i].last, strlen(cases[i].last)) != 0)
			fail_msg("%s: %s, %s", cases[i].name, first, last);
	}
}

TEST(test_line_at)
{
	static const char text[] = "ab\n\ncd\r\n\r\ne";
	static const struct {
		size_t offset;
		unsigned line, column;
		size_t from, len;
	} rows[] = {
		{0, 1, 1, 0, 2},
		{1, 1, 2, 0, 2},
		{2, 1, 3, 0, 2},
		{3, 2, 1, 3, 0},
		{4, 3, 1, 4, 2},
		{6, 3, 3, 4, 2},
		{7, 3, 4, 4, 2},
		{8, 4, 1, 8, 0},
		{10, 5, 1, 10, 1},
		{11, 5, 2, 10, 1},
		{12, 5, 2, 10, 1},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct json_line line = json_line_at(text, sizeof(text) - 1, rows[i].offset);

		assert_int_equal(line.line, rows[i].line);
		assert_int_equal(line.column, rows[i].column);
		assert_int_equal(line.text - text, rows[i].from);
		assert_int_equal(line.len, rows[i].len);
	}
}

struct found_keys {
	char text[64];
};

static void add_found(const struct json_path *path, void *context)
{
	struct found_keys *found = context;

	strcat(found->text, path->key);
	strcat(found->text, " ");
}

/* Repeated keys of each object, in the order of the text. */
TEST(test_duplicates)
{
	static const struct {
		const char *text, *found;
	} cases[] = {
		{"{}", ""},
		{"{'a': 1, 'b': {'a': 1}, 'c': [{'a': 1}, {'a': 1}]}", ""},
		{"{'b': 1, 'a': 1, 'a': 2}", "a "},
		{"{'b': 1, 'a': {'c': 1, 'c': 1}, 'b': 2, 'a': 3, 'b': 4}", "c b a b "},
		{"{'a': ['b', {'b': 'a'}, 'b'], 'b': 'b', 'c': [], 'b': [['a', 'a']]}", "b "},
		{"[[{'a': ':', 'a': ','}], {'a': {}, 'b': [{}, {}], 'b': {}}]", "a b "},
		{"'a'", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct found_keys found = {""};
		char *text = strdup(cases[i].text);

		for (char *c = text; *c; c++)
			*c = *c == '\'' ? '"' : *c;
		assert_int_equal(json_find_duplicates(text, strlen(text), add_found, &found), 0);
		assert_string_equal(found.text, cases[i].found);
		free(text);
	}
}
