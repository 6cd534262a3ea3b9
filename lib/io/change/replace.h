/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A file that survives a crash: it has the old content or the new content, never a mixture. The new
 * content is written to another file, which is synced and then renamed. Any thread.
 */
#ifndef WEIR_CHANGE_REPLACE_H
#define WEIR_CHANGE_REPLACE_H

#include <sys/types.h>
#include <sys/uio.h>

struct replacement {
	int directory;
	const char *name;
	const char *aside; /* name of the file while it is written; a leftover is overwritten */
	mode_t mode;
	/* Called before each step, so that a test can end the process there. NULL: no call. */
	void (*step)(void *context);
	void *context;
};

/*
 * Gives the file the content of n parts. Returns 0 if the content is on the disk, or a negative
 * errno. After an error the file has its old content; only if the last step failed, which syncs the
 * directory, it has the new content until a crash can undo that. The other file is gone.
 */
int replace_file(const struct replacement *file, const struct iovec *parts, unsigned n);

#endif
