/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "edit_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "config/lists.h"
#include "config/load.h"
#include "json/values.h"

#define EDIT "edits["

/* --- configurations -------------------------------------------------------------------------- */

json_t *load_checked(const char *path, FILE *err)
{
	struct diagnostics diagnostics;
	struct config *config = NULL;
	json_t *document = NULL;
	struct config_load load = {
		.path = path, .diagnostics = &diagnostics, .document = &document};

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	if (config_load_with(&load, &config) == 0)
		config_free(config);
	return document;
}

/* Reads with pread(), because other processes share the descriptor. */
static json_t *read_kept(int fd)
{
	struct stat st;
	size_t at = 0;
	char *text;
	const char *value;
	json_t *kept;

	if (fd < 0 || fstat(fd, &st) || !(text = malloc((size_t)st.st_size + 1)))
		return NULL;
	while (at < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + at, (size_t)st.st_size - at, (off_t)at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	text[at] = '\0';
	/* Comments at the beginning are whole lines. */
	for (value = text; strncmp(value, "//", 2) == 0; value += *value == '\n')
		value += strcspn(value, "\n");
	kept = json_loads(value, 0, NULL);
	free(text);
	return kept;
}

int ask_running(struct source *source, json_t **running)
{
	json_t *answer = NULL;
	int taken = -1, ret = -ENOENT;

	*running = NULL;
	if (source->ask_with)
		ret = source->ask_with(source, "/weir/running", -1, &taken, &answer);
	if (ret == 0 && json_is_null(answer))
		ret = -ENOENT;
	if (ret == 0)
		*running = read_kept(taken);
	if (ret == 0 && !*running)
		ret = -EBADMSG;
	if (taken >= 0)
		close(taken);
	json_decref(answer);
	return ret;
}

/* --- changes of policies --------------------------------------------------------------------- */

/* Returns the edits of a file, also if its only value is an array of them. Takes the values. */
static json_t *edits_of(json_t *values)
{
	json_t *first = json_array_get(values, 0), *edits;

	if (json_array_size(values) != 1 || !json_is_array(first))
		return values;
	edits = json_incref(first);
	json_decref(values);
	return edits;
}

static const char *name_of_file(const char *path)
{
	return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

json_t *edits_load(const char *path, FILE *err, json_t **lines)
{
	struct diagnostics diagnostics;
	json_t *edits, *edit;
	size_t i;

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	if (json_values_load_lines(path, &diagnostics, &edits, lines) < 0)
		return NULL;
	edits = edits_of(edits);
	json_array_foreach (edits, i, edit) {
		if (lists_expand_edit(edit, err) == 0)
			continue;
		fprintf(err, "%s:%d: its list of prefixes is wrong: see above\n",
			name_of_file(path), (int)json_integer_value(json_array_get(*lines, i)));
		json_decref(edits);
		json_decref(*lines);
		*lines = NULL;
		return NULL;
	}
	return edits;
}

/* Returns the text of a message without its `edits[17]: `, and the index. NULL: it has none. */
static const char *text_of_edit(const char *message, size_t *index)
{
	char *end;

	if (strncmp(message, EDIT, strlen(EDIT)) != 0)
		return NULL;
	*index = strtoul(message + strlen(EDIT), &end, 10);
	return strncmp(end, "]: ", 3) == 0 ? end + 3 : NULL;
}

/* Returns a message with the line of its edit in place of the index, or without it. */
static json_t *place_message(json_t *message, const char *path, const json_t *lines)
{
	const char *text = json_string_value(message), *rest;
	const json_t *line;
	size_t index;

	rest = text ? text_of_edit(text, &index) : NULL;
	if (!rest)
		return json_incref(message);
	line = json_array_get(lines, index);
	if (!path || !line)
		return json_string(rest);
	return json_sprintf("%s:%d: %s", name_of_file(path), (int)json_integer_value(line), rest);
}

json_t *edits_place(const json_t *messages, const char *path, const json_t *lines)
{
	json_t *placed = json_array(), *message;
	size_t i;

	json_array_foreach (messages, i, message)
		json_array_append_new(placed, place_message(message, path, lines));
	return placed;
}
