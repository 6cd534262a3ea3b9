/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files with several values: their mistakes, and the lines of both. Then the detection of files
 * that have changed since they were read.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json/seen.h"
#include "json/values.h"

#define PATH "values.json"

static const struct {
	const char *text, *values, *said;
} files[] = {
	{"", "[]", ""},
	{" \n", "[]", ""},
	{"[1, 2]", "[[1,2]]", ""},
	{"{\"a\": 1}\n{\"b\": 2}\n", "[{\"a\":1},{\"b\":2}]", ""},
	{"{\"a\": 1}{\"b\":\n2}[]", "[{\"a\":1},{\"b\":2},[]]", ""},
	{"// of tonight\n{\"a\": 1} /* and */\n{\"b\": 2}", "[{\"a\":1},{\"b\":2}]", ""},
	{"{\"a\": 1}\n{\"b\": 2,}\n", NULL, "values.json:2:"},
	{"{\"a\": 1}\n\n{\"b\" 2}\n", NULL, "values.json:3:"},
	{"{\"a\": 1},\n{\"b\": 2}\n", NULL, "values.json:1:"},
	{"{\"a\": 1}\n{\"b\": 2", NULL, "values.json:2:"},
	{"{\"a\": 1}\n{\"b\": 2, \"b\": 3}\n", NULL, "values.json:2:13: duplicate key"},
	{"{\"a\": 1} /* for ever", NULL, "a comment that nothing closes"},
	{"{\"a\": \"\xff\"}", NULL, "values.json:1:"},
};

/* Lines of the values, or of the elements of one array. */
static const struct {
	const char *text, *lines;
} lined[] = {
	{"", "[]"},
	{"{\"a\": 1}\n{\"b\": 2}\n", "[1,2]"},
	{"\n\n{\"a\":\n1} {\"b\": 2}\n[\n]\n", "[3,4,5]"},
	{"[1, 2]", "[1,1]"},
	{"// night\n[\n{\"a\": [1,\n2]},\n\n7 ,\"]\\\"\",\n[]\n]\n", "[3,6,6,7]"},
	{"[]", "[]"},
	{"[1]\n[2]", "[1,2]"},
};

static void write_file(const char *text)
{
	FILE *out = fopen(PATH, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static int load(const char *path, char **said, json_t **values)
{
	struct diagnostics diagnostics;
	size_t size;
	FILE *err = open_memstream(said, &size);
	int rc;

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	rc = json_values_load(path, &diagnostics, values);
	fclose(err);
	return rc;
}

TEST(each_file)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		json_t *values, *want;
		char *said;
		int rc;

		write_file(files[i].text);
		rc = load(PATH, &said, &values);
		if (rc != (files[i].values ? 0 : -EINVAL) || !strstr(said, files[i].said) ||
			(!files[i].said[0] && said[0]))
			fail_msg("file %zu: %d, %s", i, rc, said);
		assert_true((values == NULL) == (files[i].values == NULL));
		want = files[i].values ? json_loads(files[i].values, 0, NULL) : NULL;
		assert_true(values == NULL || json_equal(values, want));
		json_decref(want);
		json_decref(values);
		free(said);
	}
}

TEST(each_line)
{
	for (size_t i = 0; i < COUNT(lined); i++) {
		struct diagnostics diagnostics;
		json_t *values, *lines, *want = json_loads(lined[i].lines, 0, NULL);

		write_file(lined[i].text);
		diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
		assert_int_equal(json_values_load_lines(PATH, &diagnostics, &values, &lines), 0);
		if (!json_equal(lines, want))
			fail_msg("file %zu: %s", i, json_dumps(lines, 0));
		json_decref(want);
		json_decref(lines);
		json_decref(values);
	}
}

/* The lowest free descriptor. */
static int free_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

/* A file of any length is read completely, and closed. */
TEST(each_length)
{
	static const size_t lengths[] = {2, 4094, 4095, 4096, 4097, 8191, 8192, 8193, 70000};
	int descriptor = free_descriptor();

	for (size_t i = 0; i < COUNT(lengths); i++) {
		char *text = malloc(lengths[i] + 1), *said;
		json_t *values;

		assert_non_null(text);
		memset(text, ' ', lengths[i]);
		memcpy(text + lengths[i] - 2, "[]", 3);
		write_file(text);
		assert_int_equal(load(PATH, &said, &values), 0);
		assert_int_equal(free_descriptor(), descriptor);
		assert_int_equal(json_array_size(values), 1);
		json_decref(values);
		free(said);
		free(text);
	}
}

TEST(no_file)
{
	json_t *values;
	char *said;

	assert_int_equal(load("nowhere.json", &said, &values), -ENOENT);
	assert_null(values);
	assert_string_equal(said, "nowhere.json: No such file or directory: is the path right?\n");
	free(said);
	assert_int_equal(load(".", &said, &values), -EISDIR);
	assert_null(values);
	assert_string_equal(said, ".: Is a directory: name a file in it\n");
	free(said);
}

static void see(struct seen **seen, const char *path)
{
	struct stat state;

	assert_int_equal(stat(path, &state), 0);
	assert_int_equal(seen_note(seen, path, &state), 0);
}

/* Sets the time of the last write, in seconds before now. */
static void set_age(struct stat *state, time_t s)
{
	state->st_mtim.tv_sec = state->st_ctim.tv_sec = time(NULL) - s;
}

TEST(changes_are_seen)
{
	static const char *const texts[] = {"12", "123"};
	struct seen *seen = NULL;

	assert_true(seen_unchanged(seen));
	write_file("1");
	see(&seen, PATH);
	see(&seen, ".");
	assert_true(seen_unchanged(seen));
	for (unsigned i = 0; i < 2; i++) {
		write_file(texts[i]);
		assert_false(seen_unchanged(seen));
		seen_free(seen);
		seen = NULL;
		see(&seen, PATH);
		assert_true(seen_unchanged(seen));
	}
	assert_int_equal(rename(PATH, "other.json"), 0);
	assert_false(seen_unchanged(seen));
	assert_int_equal(rename("other.json", PATH), 0);
	seen_free(seen);
}

/* Each member alone is enough to detect another file. */
TEST(each_difference_is_seen)
{
	struct stat was[5];

	write_file("1");
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(stat(PATH, &was[i]), 0);
	was[0].st_size++;
	was[1].st_ino++;
	was[2].st_dev++;
	was[3].st_mtim.tv_nsec ^= 1;
	was[4].st_ctim.tv_nsec ^= 1;
	for (unsigned i = 0; i < 5; i++) {
		struct seen *seen = NULL;

		assert_int_equal(seen_note(&seen, PATH, &was[i]), 0);
		assert_false(seen_unchanged(seen));
		seen_free(seen);
	}
}

/* Every file of many is checked, also the last. */
TEST(many_files)
{
	struct seen *seen = NULL;

	for (unsigned i = 0; i < 40; i++)
		see(&seen, ".");
	write_file("1");
	see(&seen, PATH);
	see(&seen, ".");
	assert_true(seen_unchanged(seen));
	write_file("12");
	assert_false(seen_unchanged(seen));
	seen_free(seen);
}

/* At most 2 s ago, within one second of the clock. */
static bool tells_of_age(time_t s)
{
	struct seen *seen;
	struct stat file;
	time_t now;
	bool tells;

	assert_int_equal(stat(PATH, &file), 0);
	do {
		now = time(NULL);
		seen = NULL;
		set_age(&file, s);
		assert_int_equal(seen_note(&seen, PATH, &file), 0);
		tells = seen_is_reliable(seen);
		seen_free(seen);
	} while (time(NULL) != now);
	return tells;
}

/* A later write is sure to be seen only if the file is old enough. */
TEST(will_tell)
{
	struct seen *seen = NULL;
	struct stat file;

	assert_false(seen_is_reliable(NULL));
	write_file("1");
	assert_int_equal(stat(PATH, &file), 0);
	set_age(&file, 10);
	assert_int_equal(seen_note(&seen, PATH, &file), 0);
	assert_true(seen_is_reliable(seen));
	assert_false(tells_of_age(2));
	assert_true(tells_of_age(3));
	for (unsigned i = 0; i < 2; i++) {
		struct seen *young = NULL;

		set_age(&file, 10);
		*(i ? &file.st_mtim.tv_sec : &file.st_ctim.tv_sec) += 9;
		assert_int_equal(seen_note(&young, PATH, &file), 0);
		assert_false(seen_is_reliable(young));
		seen_free(young);
	}
	seen_free(seen);
	seen = NULL;
	set_age(&file, 10);
	file.st_mode = S_IFIFO;
	assert_int_equal(seen_note(&seen, "-", &file), 0);
	assert_false(seen_is_reliable(seen));
	assert_true(seen_unchanged(seen));
	seen_free(seen);
}

static int enter_directory(void **state)
{
	static char directory[] = "/tmp/weir-values-XXXXXX";

	*state = mkdtemp(directory);
	return *state && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
	unlink(PATH);
	return rmdir(*state);
}

TEST_GROUP(enter_directory, leave_directory)
