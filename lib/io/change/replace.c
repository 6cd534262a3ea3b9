/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void announce_step(const struct replacement *file)
{
	if (file->step != NULL)
		file->step(file->context);
}

static int write_part(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int replace_file(const struct replacement *file, const struct iovec *parts, unsigned n)
{
	int fd, rc = 0;

	announce_step(file);
	fd = openat(file->directory, file->aside,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, file->mode);
	if (fd < 0)
		return -errno;
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		announce_step(file);
		rc = write_part(fd, parts[i].iov_base, parts[i].iov_len);
	}
	if (rc == 0) {
		announce_step(file);
		rc = fsync(fd) < 0 ? -errno : 0;
	}
	close(fd);
	announce_step(file);
	if (rc == 0 && renameat(file->directory, file->aside, file->directory, file->name) < 0)
		rc = -errno;
	if (rc < 0) {
		unlinkat(file->directory, file->aside, 0); /* frees its room on the disk */
		return rc;
	}
	announce_step(file);
	return fsync(file->directory) < 0 ? -errno : 0;
}
