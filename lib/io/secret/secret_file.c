/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "secret/secret_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define FOUND_MAX (PATH_MAX + 256)       /* one path and words */
#define SAID_MAX  (PATH_MAX + FOUND_MAX) /* and the file's own */

/* Says `PATH: WHAT`; returns the error. */
static int refuse_secret(const struct secret_file *file, int error, const char *what,
	const char *expected, const char *remedy)
{
	char found[SAID_MAX];

	snprintf(found, sizeof(found), "%s: %s", file->path, what);
	complaint_tell(file->to, &(struct complaint){.place = file->place,
					 .found = found,
					 .expected = expected,
					 .remedy = remedy,
					 .absent = error == -ENOENT});
	return error;
}

static int refuse_errno(const struct secret_file *file, int error)
{
	return refuse_secret(file, -error, strerror(error), NULL, NULL);
}

/* With what makes one that is not there. */
static int refuse_open(const struct secret_file *file, int error)
{
	const char *command = strstr(file->place, "key_file") ? "--new-key" : "--new-identity";
	char remedy[FOUND_MAX];

	if (error != ENOENT)
		return refuse_errno(file, error);
	snprintf(remedy, sizeof(remedy), "weir %s %s", command, file->path);
	return refuse_secret(file, -error, strerror(error), "a file of one key", remedy);
}

uid_t secret_checked_user(void)
{
	const struct passwd *service = geteuid() == 0 ? getpwnam(SERVICE_USER) : NULL;

	return service ? service->pw_uid : geteuid();
}

static bool trusted_owner(const struct stat *st, uid_t user)
{
	return st->st_uid == 0 || st->st_uid == user;
}

/* Only root, the user himself, and where each has what is his (a sticky directory) others. */
static bool directory_trusted(const char *path, uid_t user)
{
	struct stat st;

	return stat(path, &st) == 0 && trusted_owner(&st, user) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

/* All directories above a path without links; `path` is cut to the one that is not, or to "". */
static bool parents_trusted(char *path, uid_t user)
{
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (!directory_trusted(*path ? path : "/", user))
			return false;
	}
	return true;
}

/* `directory` is cut to the one that others may write to. */
static int refuse_directory(const struct secret_file *file, const char *directory)
{
	char what[FOUND_MAX], remedy[FOUND_MAX];

	snprintf(what, sizeof(what), "others may write to %s", directory);
	snprintf(remedy, sizeof(remedy), "chmod go-w %s, or chown it", directory);
	return refuse_secret(
		file, -EPERM, what, "a directory of root or of the user that runs weir", remedy);
}

/* Those above the file, or above a link to it, whose text is freed. */
static int check_above(const struct secret_file *file, char *real, bool itself)
{
	int ret = 0;

	if (!real)
		return refuse_errno(file, errno);
	if ((itself && !directory_trusted(real, file->user)) || !parents_trusted(real, file->user))
		ret = refuse_directory(file, *real ? real : "/");
	free(real);
	return ret;
}

/* Where the file lies, and where a link to it does. */
static int check_parents(const struct secret_file *file)
{
	const char *slash = strrchr(file->path, '/');
	char directory[PATH_MAX];
	int ret = check_above(file, realpath(file->path, NULL), false);

	if (ret)
		return ret;
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - file->path) + 1 : 1,
		slash ? file->path : ".");
	return check_above(file, realpath(directory, NULL), true);
}

static int refuse_owner(const struct secret_file *file, uid_t owner)
{
	char what[64], expected[64], remedy[FOUND_MAX];

	snprintf(what, sizeof(what), "owned by user %u", (unsigned)owner);
	snprintf(expected, sizeof(expected), "root or the user that runs weir, %u",
		(unsigned)file->user);
	snprintf(remedy, sizeof(remedy), "chown %u %s", (unsigned)file->user, file->path);
	return refuse_secret(file, -EPERM, what, expected, remedy);
}

static int check_file(const struct secret_file *file, int fd)
{
	char remedy[FOUND_MAX];
	struct stat st;

	if (fstat(fd, &st))
		return refuse_errno(file, errno);
	if (!S_ISREG(st.st_mode))
		return refuse_secret(file, -EINVAL,
			S_ISDIR(st.st_mode) ? "a directory" : "no regular file", "a regular file",
			NULL);
	if (!trusted_owner(&st, file->user))
		return refuse_owner(file, st.st_uid);
	snprintf(remedy, sizeof(remedy), "chmod 600 %s", file->path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return refuse_secret(
			file, -EPERM, "others may read it", "mode 0600, or 0400", remedy);
	return 0;
}

/* One line, with or without its end. */
static int parse_secret(
	const struct secret_file *file, const char *text, size_t len, uint8_t secret[SECRET_BYTES])
{
	const char *end = NULL;
	size_t bytes = 0;

	if (len == SECRET_DIGITS + 1 && text[SECRET_DIGITS] == '\n')
		len--;
	if (len != SECRET_DIGITS ||
		sodium_hex2bin(secret, SECRET_BYTES, text, len, NULL, &bytes, &end) ||
		bytes != SECRET_BYTES)
		return refuse_secret(file, -EINVAL, "no key in it",
			"64 hexadecimal digits, as written by weir --new-key or --new-identity",
			NULL);
	return 0;
}

int secret_file_read(const struct secret_file *file, uint8_t secret[SECRET_BYTES])
{
	char text[SECRET_DIGITS + 2];
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	ssize_t n;

	if (fd < 0)
		return refuse_open(file, errno);
	ret = check_file(file, fd);
	if (ret == 0)
		ret = check_parents(file);
	n = ret ? 0 : read(fd, text, sizeof(text));
	if (n < 0)
		ret = refuse_errno(file, errno);
	if (ret == 0)
		ret = parse_secret(file, text, (size_t)n, secret);
	close(fd);
	sodium_memzero(text, sizeof(text));
	return ret;
}

static int write_secret(int fd, const uint8_t secret[SECRET_BYTES])
{
	char text[SECRET_DIGITS + 1];
	ssize_t n;

	sodium_bin2hex(text, sizeof(text), secret, SECRET_BYTES);
	text[SECRET_DIGITS] = '\n';
	errno = EIO; /* of a write that is cut short */
	n = write(fd, text, sizeof(text));
	sodium_memzero(text, sizeof(text));
	return n == (ssize_t)sizeof(text) && fchmod(fd, 0600) == 0 && fsync(fd) == 0 ? 0 : -errno;
}

int secret_file_write(const struct secret_file *file, const uint8_t secret[SECRET_BYTES])
{
	int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), ret;

	if (fd < 0 && errno == EEXIST)
		return refuse_secret(file, -EEXIST,
			"is there already, and stays: name another file", NULL, NULL);
	if (fd < 0)
		return refuse_errno(file, errno);
	ret = write_secret(fd, secret);
	close(fd);
	if (ret) {
		refuse_errno(file, -ret);
		unlink(file->path);
	}
	return ret;
}
