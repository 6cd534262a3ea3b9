/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * If the process ends at any step, and the disk loses any data, the last good configuration is
 * there, complete. The journal has all lines that were reported as durable.
 */
#include "check.h"
#include "scope.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sodium.h>

#include "change/keep.h"

END_POINTER(keep_close, struct keep *)

#define STEPS_MOST 1000 /* per script */

static char directory[64];

static int setup(void **state)
{
	snprintf(directory, sizeof(directory), "/tmp/weir-keep-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct keep *open_keep(void)
{
	struct keep *keep;

	assert_int_equal(keep_open(directory, NULL, &keep), 0);
	return keep;
}

static bool no_sync, no_file_sync; /* fsync() fails: of directories, of files */

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !(S_ISDIR(st.st_mode) ? no_sync : no_file_sync))
		return __real_fsync(fd);
	errno = EIO;
	return -1;
}

static int write_one(struct keep *keep, int value, uint64_t *number)
{
	json_t *about = json_pack("{s:i}", "about", value);
	json_t *configuration = json_pack("{s:i, s:s}", "value", value, "text", "x\ny // \" */");
	int rc = keep_write(keep, about, configuration, number);

	json_decref(about);
	json_decref(configuration);
	return rc;
}

/* Returns the value in the newest readable good configuration; 0: there is none. */
static int good_value(const struct keep *keep)
{
	for (uint64_t n = UINT64_MAX; (n = keep_good_below(keep, n)) > 0;) {
		struct keep_record record;
		int value;

		if (keep_read(keep, n, &record) != 0)
			continue;
		value = (int)json_integer_value(json_object_get(record.configuration, "value"));
		assert_int_equal(json_integer_value(json_object_get(record.about, "about")), value);
		keep_record_free(&record);
		return value;
	}
	return 0;
}

static void keep_good(struct keep *keep, int value)
{
	uint64_t number;

	assert_int_equal(write_one(keep, value, &number), 0);
	assert_int_equal(keep_confirm(keep, number), 0);
}

TEST_WITH(newest_is_good, setup, teardown)
{
	struct keep *keep = open_keep(), *other;
	uint64_t number, second;

	assert_int_equal(good_value(keep), 0);
	assert_int_equal(keep_unconfirmed(keep), 0);
	keep_good(keep, 1);
	assert_int_equal(write_one(keep, 2, &number), 0);
	assert_int_equal(good_value(keep), 1); /* the other is unconfirmed */
	assert_int_equal(keep_unconfirmed(keep), number);
	assert_int_equal(keep_forget(keep, number), 0);
	assert_int_equal(keep_forget(keep, number), 0);
	assert_int_equal(keep_unconfirmed(keep), 0);
	assert_int_equal(keep_confirm(keep, number), -ENOENT);
	assert_int_equal(write_one(keep, 3, &second), 0);
	assert_int_equal(keep_confirm(keep, second), 0);
	assert_int_equal(keep_confirm(keep, second), 0); /* is good already */
	assert_int_equal(good_value(keep), 3);
	assert_int_equal(keep_open(directory, NULL, &other), -EBUSY);
	keep_close(keep);
	keep = open_keep();
	assert_int_equal(good_value(keep), 3);
	keep_close(keep);
	assert_int_equal(keep_open("/nonexistent/state", NULL, &keep), -ENOENT);
}

static void make_file(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* Each number is above all others, of both kinds; files with other names have none. */
TEST_WITH(numbers_ascend, setup, teardown)
{
	static const char *const others[] = {"99.good.json", "0000000099.good.json~",
		"0000000099.good", "+000000099.good.json", " 000000099.good.json",
		"0000000099.bad.json", "new", "history.jsonl"};
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	uint64_t number;

	for (size_t i = 0; i < COUNT(others); i++)
		make_file(others[i]);
	assert_int_equal(keep_good_below(keep, UINT64_MAX), 0);
	assert_int_equal(write_one(keep, 1, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(write_one(keep, 2, &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(keep_confirm(keep, 1), 0);
	assert_int_equal(write_one(keep, 3, &number), 0);
	assert_int_equal(number, 3);
	assert_int_equal(keep_confirm(keep, 3), 0);
	assert_int_equal(write_one(keep, 4, &number), 0);
	assert_int_equal(number, 4);
	assert_int_equal(keep_unconfirmed(keep), 4);
	assert_int_equal(keep_good_below(keep, UINT64_MAX), 3);
	assert_int_equal(keep_good_below(keep, 4), 3);
	assert_int_equal(keep_good_below(keep, 3), 1);
	assert_int_equal(keep_good_below(keep, 1), 0);
	make_file("0123456789.trial.json");
	assert_int_equal(keep_unconfirmed(keep), 123456789);
}

TEST_WITH(oldest_go, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	uint64_t number = UINT64_MAX;
	unsigned n = 0;

	for (int i = 1; i <= 3 * KEEP_MOST; i++)
		keep_good(keep, i);
	assert_int_equal(good_value(keep), 3 * KEEP_MOST);
	while ((number = keep_good_below(keep, number)) > 0)
		n++;
	assert_int_equal(n, KEEP_MOST);
}

/* The disk has lost data of the newest file: each byte is cut off, or changed. */
TEST_WITH(damage_is_seen, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	char path[128], text[1024];
	ssize_t len;
	int fd;

	keep_good(keep, 1);
	keep_good(keep, 2);
	snprintf(path, sizeof(path), "%s/%010d.good.json", directory, 2);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	len = read(fd, text, sizeof(text));
	assert_in_range(len, 100, sizeof(text) - 1);
	for (off_t at = 0; at < len; at++) {
		char other = (char)(text[at] ^ 1);

		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		if (good_value(keep) != 1)
			fail_msg("another byte at %lld is not seen", (long long)at);
		assert_int_equal(pwrite(fd, text + at, 1, at), 1);
		assert_int_equal(ftruncate(fd, at), 0);
		if (good_value(keep) != 1)
			fail_msg("an end at %lld is not seen", (long long)at);
		assert_int_equal(pwrite(fd, text, (size_t)len, 0), len);
	}
	assert_int_equal(good_value(keep), 2);
	close(fd);
}

/* Writes a file of that number with a valid digest of any body. */
static void write_record(uint64_t number, const char *body)
{
	unsigned char hash[crypto_generichash_BYTES];
	char hex[2 * sizeof(hash) + 1], path[128];
	FILE *file;

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)body, strlen(body), NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(path, sizeof(path), "%s/%010d.good.json", directory, (int)number);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "// weir kept this; digest of what follows: %s\n%s", hex, body);
	assert_int_equal(fclose(file), 0);
}

/* A complete file that is no record: each part is required. */
TEST_WITH(no_record, setup, teardown)
{
	static const struct {
		const char *body;
		int ret;
	} rows[] = {
		{"// {\"about\": 7}\n{\"value\": 7}", 0},
		{"// {\"about\": 7}\n{\"value\": 7}\n", 0},
		{"", -EBADMSG},
		{"// {\"about\": 7}", -EBADMSG},
		{"//\t{\"about\": 7}\n{\"value\": 7}", -EBADMSG},
		{"// 7\n{\"value\": 7}", -EBADMSG},
		{"// {\"about\": 7}\n[7]", -EBADMSG},
		{"// {\"about\": 7}\n", -EBADMSG},
		{"// {\"about\": 7\n{\"value\": 7}", -EBADMSG},
	};
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct keep_record record;
		int ret;

		write_record(7, rows[i].body);
		ret = keep_read(keep, 7, &record);
		if (ret != rows[i].ret)
			fail_msg("%s: %d, not %d", rows[i].body, ret, rows[i].ret);
		if (ret == 0)
			assert_int_equal(good_value(keep), 7);
		if (ret == 0)
			keep_record_free(&record);
	}
}

static unsigned steps_left;

static void die_at_step(void *context)
{
	if (steps_left-- == 0)
		_exit(1);
}

/* A change as weir makes it: 10 is the last good one; 11 is written, confirmed and reported. */
static void script(int say)
{
	const struct keep_hooks hooks = {.step = die_at_step};
	struct keep *keep;
	uint64_t number;
	json_t *line = json_pack("{s:i}", "value", 11);
	int rc = keep_open(directory, &hooks, &keep);

	rc = rc ? rc : write_one(keep, 11, &number);
	rc = rc ? rc : keep_confirm(keep, number);
	rc = rc ? rc : journal_add(keep, line);
	json_decref(line);
	if (rc == 0 && write(say, "", 1) < 0)
		_exit(3);
	_exit(rc ? 2 : 0);
}

/* Runs the script up to a step; returns how it ended, and sets whether it answered. */
static int run_to_step(unsigned step, bool *answered)
{
	int pipe_fds[2], status;
	char byte;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		steps_left = step;
		script(pipe_fds[1]);
	}
	close(pipe_fds[1]);
	*answered = read(pipe_fds[0], &byte, 1) == 1;
	close(pipe_fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void check_after_kill(unsigned step, bool answered)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	json_t *lines = journal_last(keep, 1);
	int value = good_value(keep);
	json_int_t said = json_integer_value(json_object_get(json_array_get(lines, 0), "value"));

	if ((value != 10 && value != 11) || (answered && value != 11))
		fail_msg("killed at step %u: %d is the last good one", step, value);
	if (said == 11 && value != 11)
		fail_msg("killed at step %u: the journal knows of what is not so", step);
	if (answered && said != 11)
		fail_msg("killed at step %u: the journal does not know", step);
	/* Changes are possible afterwards. */
	keep_good(keep, 12);
	assert_int_equal(good_value(keep), 12);
	json_decref(lines);
}

TEST_WITH(each_kill, setup, teardown)
{
	int status = 1;
	unsigned step;

	for (step = 0; status != 0 && step < STEPS_MOST; step++) {
		struct keep *keep = open_keep();
		bool answered;

		for (int i = KEEP_MOST; i > 0; i--)
			keep_good(keep, 100);
		keep_good(keep, 10);
		keep_close(keep);
		status = run_to_step(step, &answered);
		assert_int_not_equal(status, 2);
		assert_int_equal(answered, status == 0);
		check_after_kill(step, answered);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
	assert_int_equal(status, 0);
	assert_in_range(step, 12, STEPS_MOST); /* at least so many steps to end at */
}

/* Limits the size of files, so that writes fail as on a full disk. */
static void run_full(rlim_t bytes)
{
	const struct rlimit limit = {bytes, bytes};
	json_t *line = json_pack("{s:i}", "value", 11);
	struct keep *keep;
	uint64_t number;
	int rc = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) || keep_open(directory, NULL, &keep))
		_exit(3);
	rc = write_one(keep, 11, &number);
	if (rc == 0 || number != 0 || keep_unconfirmed(keep) != 0)
		_exit(1);
	rc = bytes ? 0 : journal_add(keep, line);
	json_decref(line);
	_exit(bytes || rc ? 0 : 2);
}

TEST_WITH(full_disk, setup, teardown)
{
	struct keep *keep;

	for (rlim_t bytes = 0; bytes < 200; bytes += 40) {
		int status;
		pid_t child;

		keep = open_keep();
		keep_good(keep, 10);
		keep_close(keep);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			run_full(bytes);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("%u bytes: status %x", (unsigned)bytes, (unsigned)status);
		keep = open_keep();
		assert_int_equal(good_value(keep), 10);
		keep_good(keep, 11);
		assert_int_equal(good_value(keep), 11);
		keep_close(keep);
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

/* If the directory cannot be listed, no number is taken, because it may be in use. */
TEST_WITH(cannot_be_listed, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	struct rlimit all, none;
	uint64_t number = 7;
	int rc;

	keep_good(keep, 10);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = all;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rc = write_one(keep, 11, &number);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(rc, -EMFILE);
	assert_int_equal(number, 0);
	assert_int_equal(keep_unconfirmed(keep), 0);
	assert_int_equal(good_value(keep), 10);
}

static void add_number(const struct keep *keep, int value, size_t pad)
{
	ENDED_BY(free_at) char *text = calloc(pad + 1, 1);
	json_t *line;

	memset(text, 'x', pad);
	line = json_pack("{s:i, s:s}", "value", value, "pad", text);
	assert_int_equal(journal_add(keep, line), 0);
	json_decref(line);
}

static json_int_t value_at(const json_t *lines, size_t i)
{
	return json_integer_value(json_object_get(json_array_get(lines, i), "value"));
}

/* Only the process may write the files, and only its group may read them. */
TEST_WITH(who_may_read, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep;
	mode_t old = umask(0);
	uint64_t number;
	struct stat st;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/state", directory);
	assert_int_equal(keep_open(path, NULL, &keep), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(write_one(keep, 1, &number), 0);
	fd = keep_file(keep, number);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	close(fd);
	add_number(keep, 1, 0);
	assert_int_equal(fstatat(keep_directory(keep), "history.jsonl", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(keep_file(keep, number + 1), -ENOENT);
	umask(old);
}

/* The journal is bounded, and its last lines are found across files. */
TEST_WITH(journal_turns, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	const size_t pad = 1 << 19;
	const int n = (JOURNAL_FILES + 2) * JOURNAL_FILE_MOST / (1 << 19);
	json_t *lines;
	char path[128];
	struct stat st;

	for (int i = 1; i <= n; i++)
		add_number(keep, i, pad);
	lines = journal_last(keep, 12);
	assert_int_equal(json_array_size(lines), 12);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(value_at(lines, i), n - 11 + (int)i);
	json_decref(lines);
	for (unsigned age = 1; age < JOURNAL_FILES; age++) {
		snprintf(path, sizeof(path), "%s/history.%u.jsonl", directory, age);
		assert_int_equal(stat(path, &st), 0);
		assert_in_range(st.st_size, 1, JOURNAL_FILE_MOST + 2 * pad);
	}
	snprintf(path, sizeof(path), "%s/history.%u.jsonl", directory, JOURNAL_FILES);
	assert_int_not_equal(stat(path, &st), 0);
}

/* A full journal that cannot be rotated fails, and loses no lines. */
TEST_WITH(journal_cannot_turn, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	json_t *line = json_pack("{s:i}", "value", JOURNAL_FILES), *lines;
	char path[128];

	for (int i = 1; i < JOURNAL_FILES; i++)
		add_number(keep, i, JOURNAL_FILE_MOST);
	snprintf(path, sizeof(path), "%s/history.%u.jsonl", directory, JOURNAL_FILES - 1);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(journal_add(keep, line), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	for (int n = JOURNAL_FILES - 1; n <= JOURNAL_FILES; n++) {
		lines = journal_last(keep, 9);
		assert_int_equal(json_array_size(lines), n);
		for (int i = 0; i < n; i++)
			assert_int_equal(value_at(lines, (size_t)i), i + 1);
		json_decref(lines);
		if (n < JOURNAL_FILES)
			assert_int_equal(journal_add(keep, line), 0);
	}
	json_decref(line);
}

/* The requested number of newest lines, in order, and no others. */
TEST_WITH(journal_ends_with, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();

	for (int i = 1; i <= 5; i++)
		add_number(keep, i, 0);
	for (size_t most = 0; most < 8; most++) {
		json_t *lines = journal_last(keep, most);
		size_t n = most < 5 ? most : 5;

		assert_int_equal(json_array_size(lines), n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(value_at(lines, i), 6 - n + i);
		json_decref(lines);
	}
}

TEST_WITH(journal_after_a_cut, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	char path[128];
	json_t *lines;
	int fd;

	add_number(keep, 1, 0);
	snprintf(path, sizeof(path), "%s/history.jsonl", directory);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"value\":2", 10), 10);
	close(fd);
	add_number(keep, 3, 0);
	lines = journal_last(keep, 9);
	assert_int_equal(json_array_size(lines), 2);
	assert_int_equal(value_at(lines, 0), 1);
	assert_int_equal(value_at(lines, 1), 3);
	json_decref(lines);
}

/* A change that the directory did not store fails, and is reported so. */
TEST_WITH(names_not_kept, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	uint64_t good, number = 7;

	assert_int_equal(write_one(keep, 1, &good), 0);
	no_sync = true;
	assert_int_equal(keep_confirm(keep, good), -EIO);
	assert_int_equal(write_one(keep, 2, &number), -EIO);
	assert_int_equal(number, 0);
	assert_int_equal(keep_unconfirmed(keep), 0);
	no_sync = false;
	assert_int_equal(keep_confirm(keep, good), 0); /* renamed by the first attempt */
	assert_int_equal(write_one(keep, 3, &number), 0);
	no_sync = true;
	assert_int_equal(keep_forget(keep, number), -EIO);
	no_sync = false;
}

/* A line that is not on the disk fails as well. */
TEST_WITH(journal_not_kept, setup, teardown)
{
	ENDED_BY(keep_close_at) struct keep *keep = open_keep();
	json_t *line = json_pack("{s:i}", "value", 1);

	no_file_sync = true;
	assert_int_equal(journal_add(keep, line), -EIO);
	no_file_sync = false;
	assert_int_equal(journal_add(keep, line), 0);
	json_decref(line);
}
