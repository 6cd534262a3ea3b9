/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files that only root and one user can change: keys, a configuration, the store of a ledger. Any
 * thread; it reads the file system.
 */
#ifndef WEIR_SECRET_TRUSTED_H
#define WEIR_SECRET_TRUSTED_H

#include <limits.h>

#include <sys/stat.h>
#include <sys/types.h>

#define TRUSTED_TEXT (PATH_MAX + 256) /* a path and words */

/* A refusal, in the parts of a complaint (policy/complaint.h). */
struct trusted_refusal {
	char what[TRUSTED_TEXT], expected[64], remedy[TRUSTED_TEXT];
};

/*
 * Checks the owner and the mode of a file or a directory. The owner must be root, the user, or for
 * root the user who called sudo; `others` (S_IWGRP | S_IWOTH, or more) must be clear. Returns 0, or
 * -EPERM with the refusal.
 */
int trusted_status(const char *path, const struct stat *status, uid_t user, mode_t others,
	struct trusted_refusal *refusal);

/*
 * Checks the directories above a path, and above the file that it links to. Others must be unable
 * to write to them, except to a sticky one such as /tmp. Returns 0, -EPERM with the refusal, or
 * another negative errno.
 */
int trusted_parents(const char *path, uid_t user, struct trusted_refusal *refusal);

/* Both, for a path that exists, without write permission for others. */
int trusted_path(const char *path, uid_t user, struct trusted_refusal *refusal);

#endif
