/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limiter_task.h"
#include "checks.h"
#include "ledger_store.h"

#define COPY_BYTES (1 << 20)

static int copy_file(int from_directory, int to_directory, const char *name)
{
	int from = openat(from_directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int to = openat(to_directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;
	ssize_t n = -1;

	if (from >= 0 && to >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode))
		do
			n = sendfile(to, from, NULL, COPY_BYTES);
		while (n > 0);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return n < 0 ? -EIO : 0;
}

/* Calls for each file of a directory until one fails. */
static int each_file(const char *directory, int to, int (*call)(int from, int to, const char *name))
{
	DIR *files = opendir(directory);
	const struct dirent *entry;
	int ret = files ? 0 : -errno;

	while (ret == 0 && (entry = readdir(files)))
		if (entry->d_name[0] != '.')
			ret = call(dirfd(files), to, entry->d_name);
	if (files)
		closedir(files);
	return ret;
}

static int remove_file(int from, int to, const char *name)
{
	(void)to;
	return unlinkat(from, name, 0) ? -errno : 0;
}

/* A start counts itself in the store, so it is tried with a copy. */
static int try_copy(const struct config *config, const char *copy)
{
	int to = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ledger_store opened;
	int ret = to < 0 ? -errno : each_file(config->ledger.store, to, copy_file);

	if (to >= 0)
		close(to);
	if (ret == 0 && ledger_store_open(copy, false, &opened) == 0) {
		ret = limiter_task_try(config, &opened);
		ledger_store_close(&opened);
	}
	return ret;
}

void check_roster(struct doctor *doctor)
{
	char above[] = "/tmp/weir-roster-XXXXXX", copy[sizeof(above) + sizeof("/store")];
	int ret;

	if (!mkdtemp(above))
		return;
	snprintf(copy, sizeof(copy), "%s/store", above);
	ret = mkdir(copy, 0700) ? -errno : try_copy(doctor->config, copy);
	each_file(copy, -1, remove_file);
	rmdir(copy);
	each_file(above, -1, remove_file); /* the store's sentinel is next to it */
	rmdir(above);
	if (ret == -EINVAL)
		doctor_find(
			doctor, &(struct finding){.verdict = DOCTOR_FAIL,
					.place = "ledger.store",
					.found = doctor_words(doctor,
						"%s: its records are of another roster or overlay",
						doctor->config->ledger.store),
					.expected = "the roster with which they were written",
					.remedy = "\"Start another ledger\" in "
						  "doc/operate/group.md"});
}
