/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files from which a secret is read. As root the test includes files of other users, otherwise only
 * files that its own user can make.
 */
#include "check.h"

#include <signal.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <sodium.h>

#include "secret/secret_file.h"

#define SOMEBODY 12345

static char directory[64], said[1024];

static const char *path_in(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Reads as a process that accepts files of root and of this user. */
static int read_as(const char *path, uid_t user)
{
	uint8_t secret[SECRET_BYTES];
	FILE *err = fmemopen(said, sizeof(said), "w");
	const struct complaint_sink to = complaint_sink_of(err);
	int ret;

	memset(said, 0, sizeof(said));
	ret = secret_file_read(&(struct secret_file){"gossip.key_file", path, user, &to}, secret);
	fclose(err);
	if (ret == 0)
		for (unsigned i = 0; i < SECRET_BYTES; i++)
			assert_int_equal(secret[i], 0x5a);
	return ret;
}

static int read_it(const char *path)
{
	return read_as(path, geteuid());
}

/* Checks a refusal, whose message has the key, the path and the problem. */
static void assert_refused(const char *path, int want, const char *words)
{
	int ret = read_it(path);

	if (ret != want)
		fail_msg("%s: %d, expected %d: %s", path, ret, want, said);
	if (strncmp(said, "gossip.key_file: ", 17) != 0 || !strstr(said, path) ||
		!strstr(said, words))
		fail_msg("%s: \"%s\" does not say \"%s\"", path, said, words);
}

#define GOOD_LINE "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"

static int make_directory(void **state)
{
	snprintf(directory, sizeof(directory), "/tmp/test_secret_XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

TEST(test_contents)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{GOOD_LINE "\n", 0},
		{GOOD_LINE, 0},
		{GOOD_LINE "\n\n", -EINVAL},
		{GOOD_LINE "a", -EINVAL},
		{GOOD_LINE "\nmore", -EINVAL},
		{"", -EINVAL},
		{"5a5a\n", -EINVAL},
		{"zz5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\n", -EINVAL},
	};
	const char *path = path_in("contents");

	for (unsigned i = 0; i < COUNT(cases); i++) {
		put_file(path, cases[i].text, 0600);
		if (cases[i].want)
			assert_refused(path, cases[i].want, "64 hexadecimal digits");
		else
			assert_int_equal(read_it(path), 0);
	}
}

TEST(test_modes)
{
	static const mode_t bad[] = {0640, 0604, 0620, 0602, 0610, 0601, 0666};
	const char *path = path_in("modes");

	put_file(path, GOOD_LINE, 0400);
	assert_int_equal(read_it(path), 0);
	for (unsigned i = 0; i < COUNT(bad); i++) {
		put_file(path, GOOD_LINE, bad[i]);
		assert_refused(path, -EPERM, "chmod 600");
	}
}

TEST(test_owner)
{
	const char *path = path_in("owner");

	if (geteuid() != 0)
		skip();
	put_file(path, GOOD_LINE, 0600);
	assert_int_equal(chown(path, SOMEBODY, 0), 0);
	assert_refused(path, -EPERM, "owned by user 12345");
	assert_int_equal(seteuid(SOMEBODY), 0); /* its owner, in root's directory */
	assert_refused(path, -EACCES, "Permission denied");
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(seteuid(SOMEBODY), 0);
	assert_int_equal(read_it(path), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(directory, 0700), 0);
}

/* Root only checks: files of the user that will run, and of no other. */
TEST(test_owner_checked)
{
	const char *path = path_in("checked");

	if (geteuid() != 0)
		skip();
	put_file(path, GOOD_LINE, 0600);
	assert_int_equal(chown(path, SOMEBODY, 0), 0);
	assert_int_equal(read_as(path, SOMEBODY), 0);
	assert_int_equal(read_as(path, SOMEBODY + 1), -EPERM);
	assert_non_null(strstr(said, "expected root or the user that runs weir, 12346: chown"));
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(read_as(path, SOMEBODY), -EPERM);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(chown(directory, SOMEBODY, 0), 0);
	assert_int_equal(read_as(path, SOMEBODY), 0);
	assert_int_equal(read_as(path, SOMEBODY + 1), -EPERM);
	assert_int_equal(chown(directory, 0, 0), 0);
}

TEST(test_directories)
{
	static const struct {
		mode_t mode;
		uid_t owner;
		int want;
	} cases[] = {
		{0755, 0, 0},
		{0775, 0, -EPERM},
		{0757, 0, -EPERM},
		{0777, 0, -EPERM},
		{01777, 0, 0},
		{0700, SOMEBODY, -EPERM},
		{01777, SOMEBODY, -EPERM},
	};
	char outer[96], inner[112], path[128], words[512];

	snprintf(outer, sizeof(outer), "%s/outer", directory);
	snprintf(inner, sizeof(inner), "%s/inner", outer);
	snprintf(path, sizeof(path), "%s/key", inner);
	assert_int_equal(mkdir(outer, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	put_file(path, GOOD_LINE, 0600);
	for (unsigned above = 0; above < 2; above++)
		for (unsigned i = 0; i < COUNT(cases); i++) {
			const char *at = above ? outer : inner;

			if (cases[i].owner != 0 && geteuid() != 0)
				continue;
			assert_int_equal(chmod(at, cases[i].mode), 0);
			if (geteuid() == 0)
				assert_int_equal(chown(at, cases[i].owner, 0), 0);
			snprintf(words, sizeof(words),
				"others may write to %s: expected a directory of root or of the "
				"user that runs weir: chmod go-w %s, or chown it\n",
				at, at);
			if (cases[i].want)
				assert_refused(path, cases[i].want, words);
			else
				assert_int_equal(read_it(path), 0);
			if (geteuid() == 0)
				assert_int_equal(chown(at, 0, 0), 0);
			assert_int_equal(chmod(at, 0700), 0);
		}
}

/* A user who may change a link chooses the key, wherever the link leads. */
TEST(test_links)
{
	char where[96], link[128];
	const char *key = path_in("linked");

	put_file(key, GOOD_LINE, 0600);
	snprintf(where, sizeof(where), "%s/links", directory);
	snprintf(link, sizeof(link), "%s/key", where);
	assert_int_equal(mkdir(where, 0755), 0);
	assert_int_equal(symlink("../linked", link), 0);
	assert_int_equal(read_it(link), 0);
	assert_int_equal(chmod(where, 0777), 0);
	assert_refused(link, -EPERM, "others may write to");
}

TEST(test_no_files)
{
	const char *path = path_in("fifo");
	uint8_t secret[SECRET_BYTES];
	FILE *err = fmemopen(said, sizeof(said), "w");
	const struct complaint_sink to = complaint_sink_of(err);
	const struct secret_file identity = {"gossip.identity_file", "/nowhere", geteuid(), &to};

	assert_refused("/nowhere/at/all", -ENOENT, "No such file");
	assert_string_equal(said, "gossip.key_file: /nowhere/at/all: No such file or directory: "
				  "expected a file of one key: copy it from another limiter of the "
				  "group; only for a new group: weir --new-key /nowhere/at/all\n");
	assert_int_equal(secret_file_read(&identity, secret), -ENOENT);
	fclose(err);
	assert_string_equal(said,
		"gossip.identity_file: /nowhere: No such file or directory: expected a file of one "
		"key: weir --new-identity /nowhere; its public key belongs in the roster of all "
		"limiters\n");
	assert_refused(directory, -EINVAL, "a directory: expected a regular file");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, -EINVAL, "no regular file");
}

TEST(test_written)
{
	uint8_t secret[SECRET_BYTES];
	const char *path = path_in("written");
	const struct complaint_sink to = complaint_sink_of(stderr);
	const struct secret_file file = {"x", path, geteuid(), &to};
	mode_t mask = umask(0);
	int descriptor = dup(STDERR_FILENO);
	struct complaint_sink again;
	const struct secret_file others[] = {
		{"x", path, geteuid(), &again}, {"x", "/nowhere/key", geteuid(), &again}};
	struct stat st;
	FILE *err;

	close(descriptor);
	memset(secret, 0x5a, sizeof(secret));
	assert_int_equal(secret_file_write(&file, secret), 0);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, SECRET_DIGITS + 1);
	assert_int_equal(read_it(path), 0);
	memset(secret, 0, sizeof(secret));
	for (unsigned i = 0; i < 2; i++) {
		char expected[192];

		memset(said, 0, sizeof(said));
		err = fmemopen(said, sizeof(said), "w");
		again = complaint_sink_of(err);
		assert_int_equal(secret_file_write(&others[i], secret), i ? -ENOENT : -EEXIST);
		fclose(err);
		snprintf(expected, sizeof(expected), "x: %s: %s\n", others[i].path,
			i ? "No such file or directory"
			  : "is there already, and stays: name another file");
		assert_string_equal(said, expected);
	}
	assert_int_equal(read_it(path), 0);
	assert_int_equal(dup(STDERR_FILENO), descriptor); /* all are closed */
	close(descriptor);
}

/* If the disk has no room, there is no file, and a message. */
TEST(test_no_room)
{
	FILE *err = fmemopen(said, sizeof(said), "w");
	const struct complaint_sink to = complaint_sink_of(err);
	const struct secret_file file = {"x", path_in("none"), geteuid(), &to};
	const uint8_t secret[SECRET_BYTES] = {0};
	struct rlimit all, few;
	struct stat st;
	int ret;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	few = (struct rlimit){SECRET_DIGITS, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	ret = secret_file_write(&file, secret);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	fclose(err);
	assert_int_equal(ret, -EIO);
	assert_non_null(strstr(said, "/none: Input/output error\n"));
	assert_int_equal(stat(file.path, &st), -1);
}

TEST_GROUP(make_directory, remove_directory)
