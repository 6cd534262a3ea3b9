/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files that only root and one user can change: keys, a configuration, the store of a ledger.
 */
#include "secret/trusted.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The user who became root by sudo can change all files of root. */
static bool called_sudo(uid_t user)
{
	const char *caller = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	char *end;

	return caller && *caller && strtoul(caller, &end, 10) == user && *end == '\0';
}

static bool trusted_owner(const struct stat *st, uid_t user)
{
	return st->st_uid == 0 || st->st_uid == user || called_sudo(st->st_uid);
}

/* Each user can change only their own files in a sticky directory. */
static bool directory_trusted(const char *path, uid_t user)
{
	struct stat st;

	return stat(path, &st) == 0 && trusted_owner(&st, user) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

/*
 * Checks all directories above a path without links. Cuts `path` to the one that is not trusted, or
 * to "".
 */
static bool parents_trusted(char *path, uid_t user)
{
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (!directory_trusted(*path ? path : "/", user))
			return false;
	}
	return true;
}

/* Checks above a real path, which it frees, and the directory itself if `itself`. */
static int check_above(char *real, bool itself, uid_t user, struct trusted_refusal *refusal)
{
	int ret = 0;

	if (!real)
		return -errno;
	if ((itself && !directory_trusted(real, user)) || !parents_trusted(real, user)) {
		const char *directory = *real ? real : "/";

		snprintf(refusal->what, sizeof(refusal->what), "others may write to %s", directory);
		snprintf(refusal->expected, sizeof(refusal->expected),
			"a directory of root or of the user that runs weir");
		snprintf(refusal->remedy, sizeof(refusal->remedy), "chmod go-w %s, or chown it",
			directory);
		ret = -EPERM;
	}
	free(real);
	return ret;
}

int trusted_parents(const char *path, uid_t user, struct trusted_refusal *refusal)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	int ret = check_above(realpath(path, NULL), false, user, refusal);

	if (ret)
		return ret;
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		slash ? path : ".");
	return check_above(realpath(directory, NULL), true, user, refusal);
}

int trusted_status(const char *path, const struct stat *status, uid_t user, mode_t others,
	struct trusted_refusal *refusal)
{
	bool secret = others & S_IROTH;

	if (!trusted_owner(status, user)) {
		snprintf(refusal->what, sizeof(refusal->what), "owned by user %u",
			(unsigned)status->st_uid);
		snprintf(refusal->expected, sizeof(refusal->expected),
			"root or the user that runs weir, %u", (unsigned)user);
		snprintf(refusal->remedy, sizeof(refusal->remedy), "chown %u %s", (unsigned)user,
			path);
		return -EPERM;
	}
	if (!(status->st_mode & others))
		return 0;
	snprintf(refusal->what, sizeof(refusal->what), "others may %s it",
		secret ? "read" : "write to");
	snprintf(refusal->expected, sizeof(refusal->expected), "%s",
		secret ? "mode 0600, or 0400" : "no write permission for group and others");
	snprintf(refusal->remedy, sizeof(refusal->remedy), "chmod %s %s", secret ? "600" : "go-w",
		path);
	return -EPERM;
}

int trusted_path(const char *path, uid_t user, struct trusted_refusal *refusal)
{
	struct stat status;
	int ret = stat(path, &status)
			  ? -errno
			  : trusted_status(path, &status, user, S_IWGRP | S_IWOTH, refusal);

	return ret ? ret : trusted_parents(path, user, refusal);
}
