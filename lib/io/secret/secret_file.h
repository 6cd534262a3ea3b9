/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of one secret each, 32 bytes as 64 hexadecimal digits in a line. Any thread; they may wait
 * for the disk, or for ever for a network's.
 */
#ifndef WEIR_SECRET_SECRET_FILE_H
#define WEIR_SECRET_SECRET_FILE_H

#include <stdint.h>

#include <sys/types.h>

#include "policy/complaint.h"

#define SECRET_BYTES  32
#define SECRET_DIGITS (2 * SECRET_BYTES)

/* Whom units run as (config/systemd/sysusers.conf). */
#define SERVICE_USER "weir"

struct secret_file {
	const char *place; /* as in a struct complaint */
	const char *path;
	uid_t user; /* whose it may be beside root's: geteuid() for those who use what is in it */
	const struct complaint_sink *to; /* what is wrong is said here, once */
};

/*
 * Whose files are checked by somebody who uses nothing of them: one's own; by root those of units.
 * Nobody else's: a start as root refuses those too, and a unit cannot read them. Main thread.
 */
uid_t secret_checked_user(void);

/*
 * Reads a secret of which nobody but root and the user can have read or chosen a bit: a regular
 * file of either of them, that nobody else may read, in directories that nobody else may write to
 * (or only as to /tmp, where each has what is his). Returns 0 or a negative errno, reported.
 */
int secret_file_read(const struct secret_file *file, uint8_t secret[SECRET_BYTES]);

/* Writes one to a file that is not there yet, of mode 0600. 0 or a negative errno, reported. */
int secret_file_write(const struct secret_file *file, const uint8_t secret[SECRET_BYTES]);

#endif
