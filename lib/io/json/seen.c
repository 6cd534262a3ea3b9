/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_S 2 /* seconds; resolution of the coarsest clock of a file system */

struct seen_file {
	char *path;
	struct stat state;
};

struct seen {
	struct seen_file *files;
	size_t n, room;
};

static struct seen_file *next_file(struct seen *seen)
{
	if (seen->n == seen->room) {
		size_t room = seen->room > 0 ? 2 * seen->room : 4;
		struct seen_file *grown = reallocarray(seen->files, room, sizeof(*grown));

		if (grown == NULL)
			return NULL;
		seen->files = grown;
		seen->room = room;
	}
	return &seen->files[seen->n];
}

int seen_note(struct seen **seen, const char *path, const struct stat *state)
{
	struct seen_file *file;

	if (*seen == NULL)
		*seen = calloc(1, sizeof(**seen));
	file = *seen != NULL ? next_file(*seen) : NULL;
	if (file == NULL)
		return -ENOMEM;
	*file = (struct seen_file){strdup(path), *state};
	if (file->path == NULL)
		return -ENOMEM;
	(*seen)->n++;
	return 0;
}

void seen_free(struct seen *seen)
{
	for (size_t i = 0; seen != NULL && i < seen->n; i++)
		free(seen->files[i].path);
	if (seen != NULL)
		free(seen->files);
	free(seen);
}

void seen_each(const struct seen *seen,
	void (*each)(void *context, const char *path, const struct stat *state), void *context)
{
	for (size_t i = 0; seen != NULL && i < seen->n; i++)
		each(context, seen->files[i].path, &seen->files[i].state);
}

static bool is_file(const struct stat *state)
{
	return S_ISREG(state->st_mode) || S_ISDIR(state->st_mode);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_unchanged(const struct seen_file *file)
{
	const struct stat *was = &file->state;
	struct stat is;

	return stat(file->path, &is) == 0 && was->st_ino == is.st_ino && was->st_dev == is.st_dev &&
	       was->st_size == is.st_size && same_time(was->st_mtim, is.st_mtim) &&
	       same_time(was->st_ctim, is.st_ctim);
}

bool seen_unchanged(const struct seen *seen)
{
	for (size_t i = 0; seen != NULL && i < seen->n; i++) {
		if (is_file(&seen->files[i].state) && !is_unchanged(&seen->files[i]))
			return false;
	}
	return true;
}

bool seen_is_reliable(const struct seen *seen)
{
	time_t now = time(NULL);

	for (size_t i = 0; seen != NULL && i < seen->n; i++) {
		const struct stat *state = &seen->files[i].state;

		if (!is_file(state) || state->st_mtim.tv_sec + TICK_S >= now ||
			state->st_ctim.tv_sec + TICK_S >= now)
			return false;
	}
	return seen != NULL;
}
