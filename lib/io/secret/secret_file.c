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
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

static int complain_secret(
	FILE *err, const char *place, const char *path, const char *what, int error)
{
	fprintf(err, "%s: %s: %s\n", place, path, what);
	return error;
}

/* A place that says what it is of says, too, what makes one. */
static int complain_open(FILE *err, const char *place, const char *path, int error)
{
	const char *command = strstr(place, "identity") ? "--new-identity" : "--new-key";

	if (error == ENOENT)
		fprintf(err, "%s: %s: %s: make one with weir %s %s\n", place, path, strerror(error),
			command, path);
	else
		fprintf(err, "%s: %s: %s\n", place, path, strerror(error));
	return -error;
}

static bool trusted_owner(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Only root, the user himself, and where each has what is his (a sticky directory) others. */
static bool directory_trusted(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && trusted_owner(&st) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

/* All directories above a path without links; `path` is cut to the one that is not, or to "". */
static bool parents_trusted(char *path)
{
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (!directory_trusted(*path ? path : "/"))
			return false;
	}
	return true;
}

/* Where the file lies, and where a link to it does. */
static int check_parents(const char *place, const char *path, FILE *err)
{
	char *real = realpath(path, NULL), directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	bool trusted;

	if (!real)
		return complain_secret(err, place, path, strerror(errno), -errno);
	trusted = parents_trusted(real);
	if (!trusted)
		fprintf(err, "%s: %s: others may write to %s: chmod go-w, or chown to this user\n",
			place, path, *real ? real : "/");
	free(real);
	if (!trusted)
		return -EPERM;
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		slash ? path : ".");
	real = realpath(directory, NULL);
	if (real && directory_trusted(real) && parents_trusted(real)) {
		free(real);
		return 0;
	}
	free(real);
	return complain_secret(err, place, path,
		"others may write to the directories above: chmod go-w, or chown to this user",
		-EPERM);
}

static int check_file(const char *place, const char *path, int fd, FILE *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return complain_secret(err, place, path, strerror(errno), -errno);
	if (!S_ISREG(st.st_mode))
		return complain_secret(err, place, path,
			S_ISDIR(st.st_mode) ? "no regular file, but a directory: name a file in it"
					    : "no regular file",
			-EINVAL);
	if (!trusted_owner(&st)) {
		fprintf(err, "%s: %s: owned by user %u: expected root or the user that runs weir\n",
			place, path, (unsigned)st.st_uid);
		return -EPERM;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return complain_secret(err, place, path,
			"others may read it: expected mode 0600: chmod 600, or 400", -EPERM);
	return 0;
}

/* One line, with or without its end. */
static int parse_secret(const char *place, const char *path, const char *text, size_t len,
	uint8_t secret[SECRET_BYTES], FILE *err)
{
	const char *end = NULL;
	size_t bytes = 0;

	if (len == SECRET_DIGITS + 1 && text[SECRET_DIGITS] == '\n')
		len--;
	if (len != SECRET_DIGITS ||
		sodium_hex2bin(secret, SECRET_BYTES, text, len, NULL, &bytes, &end) ||
		bytes != SECRET_BYTES)
		return complain_secret(err, place, path,
			"no key in it: expected 64 hexadecimal digits, as written by weir --new-key or "
			"--new-identity",
			-EINVAL);
	return 0;
}

int secret_file_read(const char *place, const char *path, uint8_t secret[SECRET_BYTES], FILE *err)
{
	char text[SECRET_DIGITS + 2];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	ssize_t n;

	if (fd < 0)
		return complain_open(err, place, path, errno);
	ret = check_file(place, path, fd, err);
	if (ret == 0)
		ret = check_parents(place, path, err);
	n = ret ? 0 : read(fd, text, sizeof(text));
	if (n < 0)
		ret = complain_secret(err, place, path, strerror(errno), -errno);
	if (ret == 0)
		ret = parse_secret(place, path, text, (size_t)n, secret, err);
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

int secret_file_write(
	const char *place, const char *path, const uint8_t secret[SECRET_BYTES], FILE *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), ret;

	if (fd < 0 && errno == EEXIST)
		return complain_secret(err, place, path,
			"is there already, and stays: name another file", -EEXIST);
	if (fd < 0)
		return complain_secret(err, place, path, strerror(errno), -errno);
	ret = write_secret(fd, secret);
	close(fd);
	if (ret) {
		complain_secret(err, place, path, strerror(-ret), ret);
		unlink(path);
	}
	return ret;
}
