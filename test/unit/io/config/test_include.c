/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Configurations of several files: how they are joined, their order, and the file and line of an
 * error. In files too ' stands for ".
 */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>

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
	struct message_lines lines;
	struct config_load load = {.path = "w.json", .diagnostics = message_lines_begin(&lines)};

	config_load_with(&load, config);
	return message_lines_end(&lines);
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
	char *messages;
	struct config *config;

	for (size_t i = 0; i < n; i++)
		write_file(&files[i]);
	messages = load_saying(&config);
	assert_null(config);
	assert_lines(messages, words);
	for (size_t i = 0; i < n; i++)
		unlink(files[i].name);
	free(messages);
}

#define EXPECT_POLICIES(names, ...)                         \
	expect_policies((const struct file[]){__VA_ARGS__}, \
		sizeof((const struct file[]){__VA_ARGS__}) / sizeof(struct file), names)
#define EXPECT_REFUSED(words, ...)                         \
	expect_refused((const struct file[]){__VA_ARGS__}, \
		sizeof((const struct file[]){__VA_ARGS__}) / sizeof(struct file), words)

TEST(test_joined)
{
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

TEST(test_places)
{
	/* The index is that in its file. */
	EXPECT_REFUSED("x.json:2: p0.limit: wrong_value: *did you mean '1Mbit/s'?",
		{"x.json",
			"{'policies': [\n{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Mbit'}]}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:2: p1.name: not_unique: name, *policies[0] 'a' (w.json:1)",
		{"x.json", "{'policies': [" P("b", "2") ",\n" P("a", "3") "]}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:3: idle: wrong_choice", {"x.json", "{\n\n'idle': 'nap'}"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:2: idle: key_in_two_files: idle (w.json:1)",
		{"x.json", "{\n'idle': 'poll'}"},
		{"w.json", MAIN(", 'include': 'x.json', 'idle': 'poll'")});
	/* An error in a member or an element of the other file, at any index. */
	EXPECT_REFUSED("x.json:2: tunnels.vxlan-port: integer_range: 1, 65535",
		{"x.json", "{'tunnels': {'classify': 'inner',\n'vxlan-port': 0}}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:2: workers[0]: cpu_range: 1023", {"x.json", "{'workers': [\n-1]}"},
		{"w.json", MAIN(", 'include': 'x.json', 'policies': [" P("a", "1") "]")});
	EXPECT_REFUSED("x.json:1: not_json: take the comma away, a trailing comma, before ']'",
		{"x.json", "{'policies': [1,]}"}, {"w.json", MAIN(", 'include': 'x.json'")});
	/* Another file by mistake, such as one of passwords: no message repeats it. */
	EXPECT_REFUSED(
		"x.json:1: not_json: write it in 'double quotes', a text without double quotes",
		{"x.json", "root:secret:19000:"}, {"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: include_not_object: a value", {"x.json", "'secret'"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: idle: duplicate_key",
		{"x.json", "{'idle': 'poll', 'idle': 'poll'}"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: include_not_object: an empty array", {"x.json", "[]"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("y.json:3: idle: wrong_choice\n"
		       "y.json:2: p0.limit: wrong_value: *did you mean '1Mbit/s'?",
		{"x.json", "{'policies': [" P("a", "1") ", " P("c", "3") "]}"},
		{"y.json", "{'policies': [\n{'name': 'b', 'match': {'vlan': 2}, 'limit': "
			   "'1Mbit'}],\n'idle': 'nap'}"},
		{"w.json",
			MAIN(", 'include': ['x.json', 'y.json'], 'policies': [" P("d", "4") "]")});
	EXPECT_REFUSED("x.json:1: policies: include_not_array: 3", {"x.json", "{'policies': 3}"},
		{"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("x.json:1: plicies: unknown_key: did you mean 'policies'?",
		{"x.json", "{'plicies': []}"}, {"w.json", MAIN(", 'include': 'x.json'")});
}

TEST(test_not_included)
{
	EXPECT_REFUSED("2: include[1]: include_missing: No such file or directory, x.json",
		{"y.json", "{}"}, {"w.json", MAIN(", 'include': ['y.json',\n'x.json']")});
	/* Errors of the joined document. */
	EXPECT_REFUSED("include: include_missing: No such file or directory, x.json\n"
		       "idle: wrong_choice",
		{"w.json", MAIN(", 'include': 'x.json', 'idle': 'nap'")});
	EXPECT_REFUSED("include: include_path: 3", {"w.json", MAIN(", 'include': 3")});
	EXPECT_REFUSED("include: include_path: ''", {"w.json", MAIN(", 'include': ''")});
	EXPECT_REFUSED("include: include_not_regular: /dev/null",
		{"w.json", MAIN(", 'include': '/dev/null'")});
	EXPECT_REFUSED("include[1]: include_path: 3\n"
		       "include[2]: include_path: '\\n'",
		{"x.json", "{}"}, {"w.json", MAIN(", 'include': ['x.json', 3, '\\n']")});
	/* Also in a directory. */
	assert_int_equal(mkdir("d/a.json", 0700), 0);
	assert_int_equal(symlink("nowhere", "d/b.json"), 0);
	EXPECT_REFUSED("include: entry_not_regular: d/a.json\n"
		       "include: entry_missing: No such file or directory, d/b.json",
		{"d/c.json", "{}"}, {"w.json", MAIN(", 'include': 'd'")});
	assert_int_equal(rmdir("d/a.json"), 0);
	assert_int_equal(unlink("d/b.json"), 0);
	/* A circle, a file in itself, and a file twice. */
	EXPECT_REFUSED("x.json:1: include: include_twice: w.json",
		{"x.json", "{'include': 'w.json'}"}, {"w.json", MAIN(", 'include': 'x.json'")});
	EXPECT_REFUSED("include: include_twice: d/../w.json",
		{"w.json", MAIN(", 'include': 'd/../w.json'")});
	EXPECT_REFUSED("include[1]: include_twice: x.json", {"x.json", "{}"},
		{"w.json", MAIN(", 'include': ['x.json', 'x.json']")});
	EXPECT_REFUSED("3.json:1: include: include_too_deep: 3, 4.json", {"4.json", "{}"},
		{"3.json", "{'include': '4.json'}"}, {"2.json", "{'include': '3.json'}"},
		{"1.json", "{'include': '2.json'}"}, {"w.json", MAIN(", 'include': '1.json'")});
}

/* The most files of a configuration, with the first one. */
#define FILES_MOST 4096

/* Returns the messages about a chain of three files, the last of which includes n others. */
static char *include_many(unsigned n)
{
	const struct file chain[] = {{"w.json", MAIN(", 'include': '1.json'")},
		{"1.json", "{'include': '2.json'}"}, {"2.json", "{'include': 'd'}"}};
	struct reader reader;
	char name[32];
	struct message_lines lines;

	for (unsigned i = 0; i < 3; i++)
		write_file(&chain[i]);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d/%04u.json", i);
		write_file(&(struct file){name, "{}"});
	}
	assert_int_equal(reader_open(&reader, "w.json", message_lines_begin(&lines)), 0);
	assert_int_equal(reader_include(&reader, "include", "policies"), 0);
	reader_finish(&reader);
	for (unsigned i = 0; i < 3; i++)
		unlink(chain[i].name);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d/%04u.json", i);
		unlink(name);
	}
	return message_lines_end(&lines);
}

/* A directory without configurations. */
TEST(test_empty_directory)
{
	const struct file w = {"w.json", MAIN(", 'include': 'd'")};
	struct config *config;
	char *messages;

	write_file(&w);
	messages = load_saying(&config);
	assert_lines(
		messages, "warning: include: directory_empty: d\nwarning: policies: no_policies");
	unlink(w.name);
	config_free(config);
	free(messages);
}

/* At the largest depth, too many files have a message about their number, not their depth. */
TEST(test_many)
{
	char *said = include_many(FILES_MOST - 3);

	assert_string_equal(said, "");
	free(said);
	said = include_many(FILES_MOST - 2);
	assert_lines(said, "2.json:1: include: include_too_many: 4096, d/4093.json");
	free(said);
}

/* After a write between the reading of two files all files are read again. */
TEST(test_written_meanwhile)
{
	const struct file x = {"x.json", "{}"}, w = {"w.json", MAIN(", 'include': 'x.json'")},
			  y = {"w.json", MAIN(", 'include': 'x.json', 'idle': 'poll'")};
	struct diagnostics diagnostics;
	struct reader reader;

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
TEST(test_added)
{
	static const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	const struct file x = {"d/x.json", "{}"}, w = {"w.json", MAIN(", 'include': 'd'")},
			  y = {"d/y.json", "{}"};
	struct diagnostics diagnostics;
	struct reader reader;

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
TEST(test_from_memory)
{
	static const struct config_case cases[] = {
		{DOC(", 'include': 'x.json'"), "include: include_not_in_file"},
		{0},
	};

	run_cases(cases);
}

TEST_GROUP(open_directory, close_directory)
