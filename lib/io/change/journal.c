/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The journal of changes, history.jsonl, and its older files (keep.h). Appends a line durably, and
 * reads the last lines. Called by the thread that uses the directory.
 */
#include "change/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_ROOM 32

static void journal_name(char name[NAME_ROOM], unsigned age)
{
	if (age == 0)
		snprintf(name, NAME_ROOM, "history.jsonl");
	else
		snprintf(name, NAME_ROOM, "history.%u.jsonl", age);
}

/* Renames each file to the next age, and overwrites the oldest. */
static int rotate_journal(const struct keep *keep)
{
	int directory = keep_directory(keep);

	for (unsigned age = JOURNAL_FILES - 1; age > 0; age--) {
		char from[NAME_ROOM], to[NAME_ROOM];

		journal_name(from, age - 1);
		journal_name(to, age);
		keep_step(keep);
		if (renameat(directory, from, directory, to) < 0 && errno != ENOENT)
			return -errno;
	}
	keep_step(keep);
	return fsync(directory) < 0 ? -errno : 0;
}

static int open_journal(const struct keep *keep, bool *is_new)
{
	int directory = keep_directory(keep), fd;
	struct stat st;
	char name[NAME_ROOM];

	journal_name(name, 0);
	if (fstatat(directory, name, &st, 0) == 0 && st.st_size >= JOURNAL_FILE_MOST) {
		int rc = rotate_journal(keep);

		if (rc < 0)
			return rc;
	}
	*is_new = fstatat(directory, name, &st, 0) < 0;
	keep_step(keep);
	fd = openat(directory, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	return fd >= 0 ? fd : -errno;
}

/* Returns true if the last line has no newline. */
static bool is_cut(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char last = '\n';

	return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

static int append_line(const struct keep *keep, int fd, const char *text)
{
	char *line;
	int len = asprintf(&line, "%s%s\n", is_cut(fd) ? "\n" : "", text), rc = 0;
	ssize_t n;

	if (len < 0)
		return -ENOMEM;
	keep_step(keep);
	n = write(fd, line, (size_t)len);
	if (n != len)
		rc = n < 0 ? -errno : -ENOSPC;
	free(line);
	keep_step(keep);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	return rc;
}

int journal_add(const struct keep *keep, const json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);
	bool is_new = false;
	int fd = text != NULL ? open_journal(keep, &is_new) : -ENOMEM, rc = fd;

	if (fd >= 0) {
		rc = append_line(keep, fd, text);
		close(fd);
	}
	if (rc == 0 && is_new && fsync(keep_directory(keep)) < 0)
		rc = -errno;
	free(text);
	return rc;
}

/*
 * Inserts the lines of one file in front of `lines`; files are read from the newest to the oldest.
 */
static bool read_journal(const struct keep *keep, unsigned age, json_t *lines, size_t most)
{
	char name[NAME_ROOM], *text = NULL;
	size_t room = 0, at = 0;
	FILE *in;
	int fd;

	journal_name(name, age);
	fd = openat(keep_directory(keep), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	in = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (in == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (getline(&text, &room, in) > 0) {
		json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

		if (json_is_object(line))
			json_array_insert(lines, at++, line);
		json_decref(line);
		if (at > most)
			json_array_remove(lines, --at - most);
	}
	free(text);
	fclose(in);
	return true;
}

json_t *journal_last(const struct keep *keep, size_t most)
{
	json_t *lines = json_array();

	for (unsigned age = 0; age < JOURNAL_FILES && json_array_size(lines) < most; age++) {
		if (!read_journal(keep, age, lines, most))
			break;
	}
	while (json_array_size(lines) > most)
		json_array_remove(lines, 0);
	return lines;
}
