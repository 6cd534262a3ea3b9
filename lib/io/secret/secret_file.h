/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of one secret each: 32 bytes as 64 hexadecimal digits in one line. Any thread. The
 * functions wait for the disk, which can take forever on a network file system.
 */
#ifndef WEIR_SECRET_SECRET_FILE_H
#define WEIR_SECRET_SECRET_FILE_H

#include <stdint.h>

#include <sys/types.h>

#include "policy/complaint.h"

#define SECRET_BYTES  32
#define SECRET_DIGITS (2 * SECRET_BYTES)

/* The user that runs the units (config/systemd/sysusers.conf). */
#define SERVICE_USER "weir"

struct secret_file {
	const char *place; /* place of an error, see struct complaint */
	const char *path;
	uid_t user; /* allowed owner in addition to root; a user of the secret passes geteuid() */
	const struct complaint_sink *to; /* receives one report of each error */
};

/*
 * Returns the owner to expect when a process checks secrets that it does not use itself: its own
 * user, or for root the user of the units. Other owners are rejected: a start as root rejects them
 * as well, and a unit cannot read their files. Main thread.
 */
uid_t secret_checked_user(void);

/*
 * Reads a secret. Only root and the user must have been able to read or choose it. So the file is
 * regular, belongs to one of them and is unreadable for others. Others cannot write to its
 * directories, except to sticky ones such as /tmp. Returns 0, or a negative errno after reporting
 * it.
 */
int secret_file_read(const struct secret_file *file, uint8_t secret[SECRET_BYTES]);

/* Writes a secret to a new file of mode 0600. Returns 0, or a negative errno after reporting it. */
int secret_file_write(const struct secret_file *file, const uint8_t secret[SECRET_BYTES]);

#endif
