/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of one secret each: 32 bytes as 64 hexadecimal digits in one line.
 */
#include "secret/secret_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "secret/trusted.h"

#define FOUND_MAX (PATH_MAX + 256)       /* one path and words */
#define SAID_MAX  (PATH_MAX + FOUND_MAX) /* in addition the file's own path */

/* Reports `PATH: WHAT`. Returns the error. */
static int refuse_secret(const struct secret_file *file, int error, const char *what,
	const char *expected, const char *remedy)
{
	char found[SAID_MAX];

	snprintf(found, sizeof(found), "%s: %s", file->path, what);
	complaint_write(file->to, &(struct complaint){.place = file->place,
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

/*
 * Reports a failed open; for a missing file with its source. A new key would separate this limiter
 * from a group that has one, and a new identity needs the rosters of all limiters.
 */
static int refuse_open(const struct secret_file *file, int error)
{
	char remedy[FOUND_MAX];

	if (error != ENOENT)
		return refuse_errno(file, error);
	if (strstr(file->place, "key_file"))
		snprintf(remedy, sizeof(remedy),
			"copy it from another limiter of the group; only for a new group: "
			"weir --new-key %s",
			file->path);
	else
		snprintf(remedy, sizeof(remedy),
			"weir --new-identity %s; its public key belongs in the roster of all "
			"limiters",
			file->path);
	return refuse_secret(file, -error, strerror(error), "a file of one key", remedy);
}

uid_t secret_checked_user(void)
{
	const struct passwd *service = geteuid() == 0 ? getpwnam(SERVICE_USER) : NULL;

	return service ? service->pw_uid : geteuid();
}

static int check_file(const struct secret_file *file, int fd)
{
	struct trusted_refusal refusal = {0};
	struct stat st;
	int ret;

	if (fstat(fd, &st))
		return refuse_errno(file, errno);
	if (!S_ISREG(st.st_mode))
		return refuse_secret(file, -EINVAL,
			S_ISDIR(st.st_mode) ? "a directory" : "no regular file", "a regular file",
			NULL);
	ret = trusted_status(file->path, &st, file->user, S_IRWXG | S_IRWXO, &refusal);
	if (ret == 0)
		ret = trusted_parents(file->path, file->user, &refusal);
	if (ret == -EPERM)
		return refuse_secret(file, ret, refusal.what, refusal.expected, refusal.remedy);
	return ret ? refuse_errno(file, -ret) : 0;
}

/* Parses one line, with or without its newline. */
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
	errno = EIO; /* for a write that is cut short */
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
