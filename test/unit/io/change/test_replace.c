/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A replaced file has its old content or its new one. The process ends at each step, each call of
 * the kernel fails, and the disk is full after each byte.
 */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "change/replace.h"
#include "fault.h"

#define OLD "the old content, which is longer than the other"

static int directory;
static struct iovec parts[] = {
	{(char[]){"one, "}, 5}, {(char[]){"two, "}, 5}, {(char[]){"new"}, 3}};
static const char new_text[] = "one, two, new";
static unsigned steps_left;

static void die_at_step(void *context)
{
	(void)context;
	if (steps_left-- == 0)
		_exit(1);
}

static int replace(void (*step)(void *context))
{
	const struct replacement file = {
		.directory = directory, .name = "f", .aside = "f.new", .mode = 0600, .step = step};

	return replace_file(&file, parts, COUNT(parts));
}

/* Reads a file without the functions that the linker replaces. Returns bytes; -1: it is absent. */
static ssize_t read_text(const char *name, char text[128])
{
	int fd = (int)syscall(SYS_openat, directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, 127);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return n;
}

static void put_old(void)
{
	int fd = (int)syscall(
		SYS_openat, directory, "f", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, OLD, strlen(OLD)), strlen(OLD));
	close(fd);
}

/* Returns true for the new content, and fails the test for a mixture. */
static bool has_new(void)
{
	char text[128];

	assert_true(read_text("f", text) > 0);
	if (strcmp(text, OLD) != 0)
		assert_string_equal(text, new_text);
	return strcmp(text, OLD) != 0;
}

static void expect_nothing_aside(void)
{
	char text[128];

	assert_int_equal(read_text("f.new", text), -1);
}

TEST(test_ends_at_each_step)
{
	int status = 1;
	bool was_new = false;

	for (unsigned step = 0; status; step++) {
		pid_t child;

		put_old();
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			steps_left = step;
			_exit(replace(die_at_step) ? 2 : 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		if (has_new() < was_new)
			fail_msg("step %u: the old content is back", step);
		was_new = has_new();
		assert_true(step >= 6 || status);
	}
	assert_true(was_new);
	expect_nothing_aside();
}

static int replace_once(const void *argument)
{
	int ret = replace(NULL);

	(void)argument;
	if (ret == 0)
		assert_true(has_new());
	has_new();
	expect_nothing_aside();
	return ret;
}

TEST(test_each_call_fails)
{
	const struct fault_subject subject = {
		.name = "replace", .run = replace_once, .kinds = FAULT_KERNEL, .at_least = 4};

	put_old();
	fault_try(&subject);
	assert_true(has_new());
}

TEST(test_full_after_each_byte)
{
	struct rlimit unlimited, limited;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	limited = unlimited;
	signal(SIGXFSZ, SIG_IGN);
	put_old();
	for (limited.rlim_cur = 0; limited.rlim_cur <= strlen(new_text); limited.rlim_cur++) {
		bool room = limited.rlim_cur == strlen(new_text);
		int ret;

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
		ret = replace(NULL);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
		assert_int_equal(ret, room ? 0 : -EFBIG);
		assert_int_equal(has_new(), room);
		expect_nothing_aside();
	}
}

static int make_directory(void **state)
{
	static char path[] = "/tmp/weir-replace-XXXXXX";

	*state = mkdtemp(path);
	directory = *state ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return directory < 0;
}

static int remove_directory(void **state)
{
	unlinkat(directory, "f", 0);
	unlinkat(directory, "f.new", 0);
	close(directory);
	return rmdir(*state);
}

TEST_GROUP(make_directory, remove_directory)
