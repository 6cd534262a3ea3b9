/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lists of overrides: their bounds, and their files.
 */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fault.h"
#include "timed.h"

static struct override made(const char *policy, int64_t until)
{
	struct override override = {.until = until, .uid = 7};

	snprintf(override.policy, sizeof(override.policy), "%s", policy);
	snprintf(override.terms, sizeof(override.terms), "{\"limit\":\"5Mbit/s\"}");
	return override;
}

static void put(struct overrides *overrides, const char *policy, int64_t until)
{
	const struct override override = made(policy, until);

	assert_int_equal(overrides_put(overrides, &override), 0);
}

TEST(test_list)
{
	struct overrides overrides = {0};
	struct override more;
	char name[16];

	put(&overrides, "a", 100);
	put(&overrides, "b", 200);
	put(&overrides, "a", 300); /* replaces the first */
	assert_int_equal(overrides.n, 2);
	assert_int_equal(overrides_find(&overrides, "a")->until, 300);
	assert_null(overrides_find(&overrides, "c"));
	assert_false(overrides_end(&overrides, 199));
	assert_true(overrides_end(&overrides, 200)); /* exactly at its end */
	assert_null(overrides_find(&overrides, "b"));
	assert_true(overrides_drop(&overrides, "a"));
	assert_false(overrides_drop(&overrides, "a"));
	assert_null(overrides_find(&overrides, "a"));
	for (unsigned i = 0; i < OVERRIDES_MOST; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		put(&overrides, name, 100);
	}
	more = made("more", 100);
	assert_int_equal(overrides_put(&overrides, &more), -ENOSPC);
	put(&overrides, "p3", 500);
	put(&overrides, "p63", 500);
	assert_true(overrides_end(&overrides, 499));
	assert_int_equal(overrides.n, 2);
	assert_int_equal(overrides_find(&overrides, "p3")->until, 500);
	assert_int_equal(overrides_find(&overrides, "p63")->uid, 7);
}

static void write_text(const char *folder, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/overrides.json", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void unlink_all(const char *folder)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

TEST(test_disk)
{
	static const char *const damaged[] = {"", "{", "[]", "{\"overrides\": 3}",
		"{\"overrides\": [{\"policy\": \"a\"}]}",
		("{\"overrides\": [{\"policy\": \"a\", \"terms\": \"{}\", \"until\": \"x\", "
		 "\"uid\": 1}]}")};
	char top[] = "/tmp/weir-overrides-XXXXXX", folder[64];
	struct overrides overrides = {0}, back = {.n = 3};

	assert_non_null(mkdtemp(top));
	snprintf(folder, sizeof(folder), "%s/store", top);
	assert_int_equal(overrides_load(folder, &back), 0); /* there is no file yet */
	assert_int_equal(back.n, 0);
	put(&overrides, "a", INT64_C(1) << 40);
	put(&overrides, "b", 200);
	assert_int_equal(overrides_save(folder, &overrides), 0); /* creates the folder */
	assert_int_equal(overrides_load(folder, &back), 0);
	assert_int_equal(back.n, 2);
	assert_int_equal(overrides_find(&back, "a")->until, INT64_C(1) << 40);
	assert_int_equal(overrides_find(&back, "b")->uid, 7);
	assert_string_equal(overrides_find(&back, "b")->terms, "{\"limit\":\"5Mbit/s\"}");
	for (size_t i = 0; i < COUNT(damaged); i++) {
		write_text(folder, damaged[i]);
		assert_int_equal(overrides_load(folder, &back), -EBADMSG);
	}
	assert_int_equal(overrides_save("/proc/none", &overrides), -ENOENT);
	unlink_all(top);
}

/* Writes n overrides, with names and terms of these lengths. */
static void write_overrides(const char *folder, unsigned n, unsigned name, unsigned terms)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/overrides.json", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "{\"overrides\": [");
	for (unsigned i = 0; i < n; i++)
		fprintf(file,
			"%s{\"policy\": \"%0*u\", \"terms\": \"%0*u\", \"until\": 9, \"uid\": 8}",
			i ? ", " : "", (int)name, i, (int)terms, i);
	fprintf(file, "]}");
	fclose(file);
}

/* The largest number and the longest strings are accepted, and one more is rejected. */
TEST(test_most)
{
	enum {
		NAME = sizeof(((struct override *)0)->policy),
		TERMS = sizeof(((struct override *)0)->terms)
	};
	static const struct {
		unsigned n, name, terms;
		int rc;
	} rows[] = {
		{OVERRIDES_MOST, 4, 4, 0},
		{OVERRIDES_MOST + 1, 4, 4, -EBADMSG},
		{1, NAME - 1, 4, 0},
		{1, NAME, 4, -EBADMSG},
		{1, 4, TERMS - 1, 0},
		{1, 4, TERMS, -EBADMSG},
	};
	char folder[] = "/tmp/weir-overrides-XXXXXX";

	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct overrides back;

		write_overrides(folder, rows[i].n, rows[i].name, rows[i].terms);
		assert_int_equal(overrides_load(folder, &back), rows[i].rc);
		if (rows[i].rc)
			continue;
		assert_int_equal(back.n, rows[i].n);
		assert_int_equal(strlen(back.list[0].policy), rows[i].name);
		assert_int_equal(strlen(back.list[0].terms), rows[i].terms);
	}
	unlink_all(folder);
}

/* An obstacle in place of the file is reported, and the old file stays. */
TEST(test_in_the_way)
{
	static const struct {
		const char *before, *after; /* commands, in the folder */
		int load, save;
	} rows[] = {
		{"true", "true", 0, 0},
		{"umask 077; head -c 9999 /dev/zero > overrides.json.new", "true", 0, 0},
		{"ln -s overrides.json.new overrides.json.new", "rm overrides.json.new", 0, -ELOOP},
		{"mkdir overrides.json.new", "rmdir overrides.json.new", 0, -EISDIR},
		{"mv overrides.json kept && ln -s overrides.json overrides.json",
			"mv -T kept overrides.json", -ELOOP, 0},
		{"mv overrides.json kept && mkdir overrides.json",
			"rmdir overrides.json && mv kept overrides.json", -EBADMSG, -EISDIR},
	};
	char folder[] = "/tmp/weir-overrides-XXXXXX", path[64], command[256];
	struct overrides overrides = {0}, back;
	struct stat file;

	assert_non_null(mkdtemp(folder));
	put(&overrides, "a", 100);
	assert_int_equal(overrides_save(folder, &overrides), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(command, sizeof(command), "cd %s && %s", folder, rows[i].before);
		assert_int_equal(system(command), 0);
		assert_int_equal(overrides_load(folder, &back), rows[i].load);
		assert_int_equal(overrides_save(folder, &overrides), rows[i].save);
		snprintf(command, sizeof(command), "cd %s && %s", folder, rows[i].after);
		assert_int_equal(system(command), 0);
		assert_int_equal(overrides_load(folder, &back), 0);
		assert_int_equal(back.n, 1);
	}
	snprintf(path, sizeof(path), "%s/overrides.json", folder);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_int_equal(overrides_load(path, &back), 0); /* not a folder: no file */
	assert_int_equal(overrides_save(path, &overrides), -ENOTDIR);
	unlink_all(folder);
}

TEST(test_too_long)
{
	static char folder[8192];
	struct overrides back = {.n = 1};

	memset(folder, 'x', sizeof(folder) - 1);
	assert_int_equal(overrides_load(folder, &back), -ENAMETOOLONG);
	assert_int_equal(back.n, 0);
}

/* The disk is full in the middle of a write. */
TEST(test_full)
{
	char folder[] = "/tmp/weir-overrides-XXXXXX";
	struct overrides overrides = {0}, back;
	struct rlimit usual, little;

	assert_non_null(mkdtemp(folder));
	put(&overrides, "a", 100);
	assert_int_equal(overrides_save(folder, &overrides), 0);
	put(&overrides, "b", 100);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	little = (struct rlimit){.rlim_cur = 10, .rlim_max = usual.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(overrides_save(folder, &overrides), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	assert_int_equal(overrides_load(folder, &back), 0);
	assert_int_equal(back.n, 1);
	unlink_all(folder);
}

static int load(const void *argument)
{
	struct overrides back;
	int rc = overrides_load(argument, &back);

	if (rc == 0)
		assert_int_equal(back.n, 2);
	return rc;
}

/* Overrides with their folder, and the size of their file. */
struct kept_overrides {
	char folder[64];
	const struct overrides *overrides;
	off_t size;
};

static off_t size_of_file(const char *folder)
{
	char path[128];
	struct stat file;

	snprintf(path, sizeof(path), "%s/overrides.json", folder);
	assert_int_equal(stat(path, &file), 0);
	return file.st_size;
}

/* After a successful save the file is complete, and only the owner can enter the folder. */
static int save(const void *argument)
{
	const struct kept_overrides *kept = argument;
	struct stat folder;
	int rc = overrides_save(kept->folder, kept->overrides);

	if (rc == 0) {
		assert_int_equal(size_of_file(kept->folder), kept->size);
		assert_int_equal(stat(kept->folder, &folder), 0);
		assert_int_equal(folder.st_mode & 0777, 0700);
	}
	if (access(kept->folder, F_OK) == 0)
		unlink_all(kept->folder);
	return rc;
}

/* Each failed call during saving or loading is reported. */
TEST(test_refused)
{
	char top[] = "/tmp/weir-overrides-XXXXXX";
	struct overrides overrides = {0};
	struct kept_overrides kept = {.overrides = &overrides};

	assert_non_null(mkdtemp(top));
	put(&overrides, "a", 100);
	put(&overrides, "b", 100);
	assert_int_equal(overrides_save(top, &overrides), 0);
	fault_try(&(struct fault_subject){.name = "load",
		.run = load,
		.argument = top,
		.kinds = FAULT_KERNEL,
		.at_least = 1});
	kept.size = size_of_file(top);
	snprintf(kept.folder, sizeof(kept.folder), "%s/store", top);
	fault_take_json();
	fault_try(&(struct fault_subject){.name = "save",
		.run = save,
		.argument = &kept,
		.kinds = FAULT_KERNEL,
		.at_least = 6}); /* two files, both to the disk, a new directory, a new name */
	fault_try(&(struct fault_subject){.name = "text",
		.run = save,
		.argument = &kept,
		.kinds = FAULT_MEMORY,
		.at_least = 12});
	unlink_all(top);
}
