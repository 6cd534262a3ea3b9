/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that an operator has set in place of configured ones until a time, and their file.
 */
#include "timed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "change/replace.h"

#define FILE_NAME "overrides.json"
#define PATH_MOST 4352

const struct override *overrides_find(const struct overrides *overrides, const char *policy)
{
	for (unsigned i = 0; i < overrides->n; i++)
		if (strcmp(overrides->list[i].policy, policy) == 0)
			return &overrides->list[i];
	return NULL;
}

int overrides_put(struct overrides *overrides, const struct override *override)
{
	overrides_drop(overrides, override->policy);
	if (overrides->n == OVERRIDES_MOST)
		return -ENOSPC;
	overrides->list[overrides->n++] = *override;
	return 0;
}

static void take_out(struct overrides *overrides, unsigned i)
{
	overrides->list[i] = overrides->list[--overrides->n];
}

bool overrides_drop(struct overrides *overrides, const char *policy)
{
	for (unsigned i = 0; i < overrides->n; i++)
		if (strcmp(overrides->list[i].policy, policy) == 0) {
			take_out(overrides, i);
			return true;
		}
	return false;
}

bool overrides_end(struct overrides *overrides, int64_t unix_s)
{
	unsigned before = overrides->n;

	for (unsigned i = overrides->n; i-- > 0;)
		if (overrides->list[i].until <= unix_s)
			take_out(overrides, i);
	return overrides->n < before;
}

/* Returns true if all members are there and fit. */
static bool read_override(json_t *json, struct override *out)
{
	const char *policy, *terms;
	json_int_t until, uid;

	if (json_unpack(json, "{s:s, s:s, s:I, s:I}", "policy", &policy, "terms", &terms, "until",
		    &until, "uid", &uid) ||
		strlen(policy) >= sizeof(out->policy) || strlen(terms) >= sizeof(out->terms))
		return false;
	*out = (struct override){.until = until, .uid = (uid_t)uid};
	memcpy(out->policy, policy, strlen(policy) + 1);
	memcpy(out->terms, terms, strlen(terms) + 1);
	return true;
}

static int read_list(FILE *file, struct overrides *overrides)
{
	json_t *root = json_loadf(file, 0, NULL), *list = json_object_get(root, "overrides"), *each;
	struct override override;
	int ret = json_is_array(list) ? 0 : -EBADMSG;
	size_t i;

	json_array_foreach (list, i, each) {
		if (!read_override(each, &override) || overrides_put(overrides, &override))
			ret = -EBADMSG;
	}
	json_decref(root);
	return ret;
}

int overrides_load(const char *directory, struct overrides *overrides)
{
	char path[PATH_MOST];
	FILE *file;
	int fd, ret;

	overrides->n = 0;
	if (snprintf(path, sizeof(path), "%s/%s", directory, FILE_NAME) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	file = fdopen(fd, "r");
	if (!file) {
		ret = -errno;
		close(fd);
		return ret;
	}
	ret = read_list(file, overrides);
	fclose(file);
	return ret;
}

/*
 * Returns the text of all overrides or NULL, never a part of them: the rest would be lost at the
 * next start. Measures first, then writes into a buffer of that size: if jansson cannot get memory
 * while it writes, it can leave out a piece and continue.
 */
static char *list_text(const struct overrides *overrides)
{
	json_t *list = json_array(), *root = json_pack("{s:o}", "overrides", list);
	bool whole = true;
	char *text;
	size_t size;

	for (unsigned i = 0; whole && i < overrides->n; i++) {
		const struct override *each = &overrides->list[i];
		json_t *row = json_pack("{s:s, s:s, s:I, s:I}", "policy", each->policy, "terms",
			each->terms, "until", (json_int_t)each->until, "uid",
			(json_int_t)each->uid);

		whole = json_array_append_new(list, row) == 0;
	}
	size = whole ? json_dumpb(root, NULL, 0, JSON_INDENT(1)) : 0;
	text = size ? calloc(1, size + 1) : NULL;
	if (text && json_dumpb(root, text, size, JSON_INDENT(1)) != size) {
		free(text);
		text = NULL;
	}
	json_decref(root);
	return text;
}

int overrides_save(const char *directory, const struct overrides *overrides)
{
	char *text = list_text(overrides);
	int dir, ret;

	if (!text)
		return -ENOMEM;
	if (mkdir(directory, 0700) && errno != EEXIST) {
		ret = -errno;
		free(text);
		return ret;
	}
	dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = dir < 0 ? -errno : 0;
	if (dir >= 0) {
		const struct replacement file = {.directory = dir,
			.name = FILE_NAME,
			.aside = FILE_NAME ".new",
			.mode = 0600};
		const struct iovec part = {text, strlen(text)};

		ret = replace_file(&file, &part, 1);
		close(dir);
	}
	free(text);
	return ret;
}
