/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configurations of several files: how they are joined, their order, and the file and line of an
 * error. In files too ' stands for ".
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_cases.h"
#include "json/include.h"
#include "json/line_list.h"

#define MAIN(members) "{'limiter': 'me', " PORTS WIRES members "}"
#define P(name, vlan) "{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '1Mbit/s'}"

struct file {
	const char *name, *text;
};

/* The test runs in its own directory, so messages have the file names used here. */
static int open_directory(void **state)
{
	char path[] = "/tmp/weir-include-XXXXXX";

	if (mkdtemp(path) == NULL || chdir(path) < 0)
		return -1;
	*state = strdup(path);
	return mkdir("d", 0700);
}

static int close_directory(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "/bin/rm -r '%s'", (char *)*state);
	if (chdir("/") < 0)
		return -1;
	free(*state);
	return pclose(popen(command, "r"));
}

static void write_file(const struct file *file)
{
	char *text = with_quotes(file->text);
	FILE *out = fopen(file->name, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	free(text);
}

static char *load_saying(struct config **config)
{
	char *messages;
	size_t size;
	FILE *err = open_memstream(&messages, &size);

	assert_non_null(err);
	config_load("w.json", err, config);
	fclose(err);
	return messages;
}

/* Writes the files, the last of which is "w.json", and loads that. */
static void expect_policies(const struct file *files, size_t n, const char *names)
{
	char found[256] = "", *messages;
	struct config *config;

	for (size_t i = 0; i < n; i++)
		write_file(&files[i]);
	messages = load_saying(&config);
	assert_string_equal(messages, "");
	assert_non_null(config);
	for (unsigned i = 0; i < config->n_policies; i++) {
		size_t len = strlen(found);

		snprintf(found + len, sizeof(found) - len, "%s%s", i > 0 ? " " : "",
			config->policies[i].name);
	}
	assert_string_equal(found, names);
	for (size_t i = 0; i < n; i++)
		unlink(files[i].name);
	config_free(config);
	free(messages);
}

static void expect_refused(const struct file *files, size_t n, const char *words)
{
	char *expected = with_quotes(words), *messages;
	struct config *config;

	for (size_t i = 0; i < n; i++)
		write_file(&files[i]);
	messages = load_saying(&config);
	assert_null(config);
	for (char *caret = messages; (caret = strchr(caret, '^')) != NULL;)
		*caret = '~'; /* the expected text uses ^ differently */
	assert_parts(messages, expected);
	for (size_t i = 0; i < n; i++)
		unlink(files[i].name);
	free(messages);
	free(expected);
}

#define EXPECT_POLICIES(names, ...)                         \
	expect_policies((const struct file[]){__VA_ARGS__}, \
		sizeof((const struct file[]){__VA_ARGS__}) / sizeof(struct file), names)
#define EXPECT_REFUSED(words, ...)                         \
	expect_refused((const struct file[]){__VA_ARGS__}, \
		sizeof((const struct file[]){__VA_ARGS__}) / sizeof(struct file), words)

static void test_joined(void **state)
{
	(void)state;
	EXPECT_POLICIES("a", {"x.json", "{'policies': [" P("a", "1") "]} // y"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	/* A file's own policies come first, then those of included files, in order. */
	EXPECT_POLICIES("c b a", {"x.json", "{'policies': [" P("a", "1") "]}"},
		{"y.json", "{'note': 'n', 'policies': [" P("b", "2") "]}"},
		{"w.json",
			MAIN(", 'include': ['y.json', 'x.json'], 'policies': [" P("c", "3") "]")});
	/* Reads "*.json" of a directory in the order of their names. */
	EXPECT_POLICIES("a b", {"d/2.json", "{'policies': [" P("b", "2") "]}"},
		{"d/10.json", "{'policies': [" P("a", "1") "]}"}, {"d/3.json~", "nonsense"},
		{"d/.4.json", "nonsense"}, {"w.json", MAIN(", 'include': 'd', 'policies': []")});
	EXPECT_POLICIES("a b c d e f", {"d/c.json", "{'policies': [" P("c", "3") "]}"},
		{"d/f.json", "{'policies': [" P("f", "6") "]}"},
		{"d/a.json", "{'policies': [" P("a", "1") "]}"},
		{"d/e.json", "{'policies': [" P("e", "5") "]}"},
		{"d/b.json", "{'policies': [" P("b", "2") "]}"},
		{"d/d.json", "{'policies': [" P("d", "4") "]}"},
		{"w.json", MAIN(", 'include': 'd'")});
	/* Relative to the file with the "include". */
	EXPECT_POLICIES("a b", {"d/x.json", "{'policies': [" P("a", "1") "], 'include': 'y.json'}"},
		{"d/y.json", "{'policies': [" P("b", "2") "]}"},
		{"w.json", MAIN(", 'include': 'd/x.json'")});
	/* A shared file can have other keys than policies. */
	EXPECT_POLICIES("a",
		{"x.json", "{'unparsed': 'drop', 'gossip': {'insecure': true, 'roster': "
			   "[{'name': 'me', 'address': '10.0.0.1:1'}]}}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
}

static void test_places(void **state)
{
	(void)state;
	/* The index is that in its file. */
	EXPECT_REFUSED("x.json:2: policies[0] 'b'.limit: '1Mbit': " MEANT_RATE("1Mbit/s"),
		{"x.json",
			"{'policies': [\n{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Mbit'}]}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:2: policies[1] 'a'.name: same*policies[0] 'a' (w.json:1)*unique*\n",
		{"x.json", "{'policies': [" P("b", "2") ",\n" P("a", "3") "]}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:3: idle: 'nap': expected 'poll' or 'sleep'\n",
		{"x.json", "{\n\n'idle': 'nap'}"}, {"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED(
		"x.json:2: idle: a second one: expected it in one of the files: idle (w.json:1)\n",
		{"x.json", "{\n'idle': 'poll'}"},
		{"w.json", MAIN(", 'include': 'x.json', 'idle': 'poll'")});
	/* An error in a member or an element of the other file, at any index. */
	EXPECT_REFUSED("x.json:2: tunnels.vxlan-port: 0: expected a whole number from 1 to 65535\n",
		{"x.json", "{'tunnels': {'classify': 'inner',\n'vxlan-port': 0}}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:2: workers[0]: -1: expected a CPU number from 0 to 1023\n",
		{"x.json", "{'workers': [\n-1]}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:1:16: a trailing comma, before ']': take the comma away\n",
		{"x.json", "{'policies': [1,]}"}, {"w.json", MAIN(", 'include': 'x.json'")});
	/* Another file by mistake, such as one of passwords: no message repeats it. */
	EXPECT_REFUSED("x.json:1:1: a text without double quotes: write it in 'double quotes'\n",
		{"x.json", "root:secret:19000:"}, {"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: a value: expected an object\n", {"x.json", "'secret'"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: idle: duplicate key: expected it once: line 1 has it too\n",
		{"x.json", "{'idle': 'poll', 'idle': 'poll'}"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: an empty array: expected an object\n", {"x.json", "[]"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("y.json:3: idle: 'nap': expected 'poll' or 'sleep'\n"
		       "y.json:2: policies[0] 'b'.limit: '1Mbit': " MEANT_RATE("1Mbit/s"),
		{"x.json", "{'policies': [" P("a", "1") ", " P("c", "3") "]}"},
		{"y.json", "{'policies': [\n{'name': 'b', 'match': {'vlan': 2}, 'limit': "
			   "'1Mbit'}],\n'idle': 'nap'}"},
		{"w.json",
			MAIN(", 'include': ['x.json', 'y.json'], 'policies': [" P("d", "4") "]")});
	EXPECT_REFUSED("x.json:1: policies: 3: expected an array\n", {"x.json", "{'policies': 3}"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: plicies: unknown key: did you mean 'policies'?\n",
		{"x.json", "{'plicies': []}"}, {"w.json", MAIN(", 'include': 'x.json'")});
}

static void test_not_included(void **state)
{
	(void)state;
	EXPECT_REFUSED(
		"w.json:2: include[1]: x.json: expected a file or a directory: No such file or "
		"directory\n",
		{"y.json", "{}"}, {"w.json", MAIN(", 'include': ['y.json',\n'x.json']")});
	/* Errors of the joined document. */
	EXPECT_REFUSED("w.json:1: include: x.json: expected a file or a directory: No such file or "
		       "directory\n"
		       "w.json:1: idle: 'nap': expected 'poll' or 'sleep'\n",
		{"w.json", MAIN(", 'include': 'x.json', 'idle': 'nap'")});
	EXPECT_REFUSED("w.json:1: include: 3: expected the path of a file or of a directory\n",
		{"w.json", MAIN(", 'include': 3")});
	EXPECT_REFUSED("w.json:1: include: '': expected the path of a file or of a directory\n",
		{"w.json", MAIN(", 'include': ''")});
	EXPECT_REFUSED("w.json:1: include: /dev/null: expected a regular file or a directory\n",
		{"w.json", MAIN(", 'include': '/dev/null'")});
	EXPECT_REFUSED("w.json:1: include[1]: 3: expected the path of a file or of a directory\n"
		       "w.json:1: include[2]: '\\n': expected the path of a file or of a "
		       "directory\n",
		{"x.json", "{}"}, {"w.json", MAIN(", 'include': ['x.json', 3, '\\n']")});
	/* Also in a directory. */
	assert_int_equal(mkdir("d/a.json", 0700), 0);
	assert_int_equal(symlink("nowhere", "d/b.json"), 0);
	EXPECT_REFUSED("w.json:1: include: d/a.json: expected a regular file\n"
		       "w.json:1: include: d/b.json: expected a file: No such file or directory\n",
		{"d/c.json", "{}"}, {"w.json", MAIN(", 'include': 'd'")});
	assert_int_equal(rmdir("d/a.json"), 0);
	assert_int_equal(unlink("d/b.json"), 0);
	/* A circle, a file in itself, and a file twice. */
	EXPECT_REFUSED("x.json:1: include: w.json: expected each file once: it is read already\n",
		{"x.json", "{'include': 'w.json'}"}, {"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED(
		"w.json:1: include: d/../w.json: expected each file once: it is read already\n",
		{"w.json", MAIN(", 'include': 'd/../w.json'")});
	EXPECT_REFUSED(
		"w.json:1: include[1]: x.json: expected each file once: it is read already\n",
		{"x.json", "{}"}, {"w.json", MAIN(", 'include': ['x.json', 'x.json']")});
	EXPECT_REFUSED("3.json:1: include: 4.json: expected files no more than 3 deep\n",
		{"4.json", "{}"}, {"3.json", "{'include': '4.json'}"},
		{"2.json", "{'include': '3.json'}"}, {"1.json", "{'include': '2.json'}"},
		{"w.json", MAIN(", 'include': '1.json'")});
}

/* The most files of a configuration, with the first one. */
#define FILES_MOST 4096

/* Returns the messages about a chain of three files, the last of which includes n others. */
static char *include_many(unsigned n)
{
	const struct file chain[] = {{"w.json", MAIN(", 'include': '1.json'")},
		{"1.json", "{'include': '2.json'}"}, {"2.json", "{'include': 'd'}"}};
	struct diagnostics diagnostics;
	struct reader reader;
	char name[32], *said;
	size_t size;
	FILE *out = open_memstream(&said, &size);

	for (unsigned i = 0; i < 3; i++)
		write_file(&chain[i]);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d/%04u.json", i);
		write_file(&(struct file){name, "{}"});
	}
	diagnostics_init(&diagnostics, out, DIAGNOSTICS_TEXT);
	assert_int_equal(reader_open(&reader, "w.json", &diagnostics), 0);
	assert_int_equal(reader_include(&reader, "include", "policies"), 0);
	reader_finish(&reader);
	fclose(out);
	for (unsigned i = 0; i < 3; i++)
		unlink(chain[i].name);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d/%04u.json", i);
		unlink(name);
	}
	return said;
}

/* At the largest depth, too many files have a message about their number, not their depth. */
static void test_many(void **state)
{
	char *said = include_many(FILES_MOST - 3);

	(void)state;
	assert_string_equal(said, "");
	free(said);
	said = include_many(FILES_MOST - 2);
	assert_string_equal(said, "2.json:1: include: d/4093.json: expected at most 4096 files\n");
	free(said);
}

/* After a write between the reading of two files all files are read again. */
static void test_written_meanwhile(void **state)
{
	const struct file x = {"x.json", "{}"}, w = {"w.json", MAIN(", 'include': 'x.json'")},
			  y = {"w.json", MAIN(", 'include': 'x.json', 'idle': 'poll'")};
	struct diagnostics diagnostics;
	struct reader reader;

	(void)state;
	write_file(&x);
	write_file(&w);
	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	assert_int_equal(reader_open(&reader, w.name, &diagnostics), 0);
	assert_int_equal(reader_include(&reader, "include", "policies"), 0);
	assert_int_equal(reader_finish(&reader), 0);
	assert_int_equal(reader_open(&reader, w.name, &diagnostics), 0);
	write_file(&y);
	assert_int_equal(reader_include(&reader, "include", "policies"), -EAGAIN);
	assert_int_equal(reader_finish(&reader), 0);
	unlink(x.name);
	unlink(w.name);
}

/* An added file in a directory also changes the configuration. */
static void test_added(void **state)
{
	static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	const struct file x = {"d/x.json", "{}"}, w = {"w.json", MAIN(", 'include': 'd'")},
			  y = {"d/y.json", "{}"};
	struct diagnostics diagnostics;
	struct reader reader;

	(void)state;
	write_file(&x);
	write_file(&w);
	assert_int_equal(utimensat(AT_FDCWD, "d", long_ago, 0), 0);
	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	assert_int_equal(reader_open(&reader, w.name, &diagnostics), 0);
	assert_int_equal(reader_include(&reader, "include", "policies"), 0);
	assert_true(reader_is_up_to_date(&reader));
	write_file(&y);
	assert_false(reader_is_up_to_date(&reader));
	assert_int_equal(reader_finish(&reader), 0);
	unlink(x.name);
	unlink(y.name);
	unlink(w.name);
}

/* Text that is not from a file has no directory for relative paths. */
static void test_from_memory(void **state)
{
	static const struct config_case cases[] = {
		{DOC(", 'include': 'x.json'"),
			"w.json:1: include: 'x.json': expected no 'include' in a document that is not a file\n"},
		{0},
	};

	(void)state;
	run_cases(cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_not_included),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_written_meanwhile),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_from_memory),
	};

	return cmocka_run_group_tests(tests, open_directory, close_directory);
}
