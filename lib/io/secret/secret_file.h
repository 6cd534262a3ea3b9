/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of one secret each, 32 bytes as 64 hexadecimal digits in a line. Any thread; they may wait
 * for the disk, or for ever for a network's.
 */
#ifndef WEIR_SECRET_SECRET_FILE_H
#define WEIR_SECRET_SECRET_FILE_H

#include <stdint.h>
#include <stdio.h>

#define SECRET_BYTES  32
#define SECRET_DIGITS (2 * SECRET_BYTES)

/*
 * Reads a secret of which nobody but root and the user that runs this can have read or chosen a
 * bit: a regular file of either of them, that nobody else may read, in directories that nobody else
 * may write to (or only as to /tmp, where each has what is his). Returns 0 or a negative errno,
 * with a line to err that names the place (such as "gossip.key_file"), the path and what to do.
 */
int secret_file_read(const char *place, const char *path, uint8_t secret[SECRET_BYTES], FILE *err);

/* Writes one to a file that is not there yet, of mode 0600. 0 or a negative errno, with a line. */
int secret_file_write(
	const char *place, const char *path, const uint8_t secret[SECRET_BYTES], FILE *err);

#endif
