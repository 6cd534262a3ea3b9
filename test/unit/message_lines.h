/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about documents as lines `LINE: PATH: ID: ARGUMENTS`, so that tests do not depend on
 * their words. A warning has `warning: ` before its path. The file "w.json" and its line 1 are
 * omitted, as are empty arguments and other missing parts. `p3.limit` stands for the path
 * policies[3].limit.
 */
#ifndef WEIR_TEST_MESSAGE_LINES_H
#define WEIR_TEST_MESSAGE_LINES_H

#include "message_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json/diagnostics.h"

/* Diagnostics whose messages a test compares. */
struct message_lines {
	struct diagnostics diagnostics;
	char *text; /* JSON */
	size_t size;
};

static inline struct diagnostics *message_lines_begin(struct message_lines *lines)
{
	FILE *out = open_memstream(&lines->text, &lines->size);

	assert_non_null(out);
	diagnostics_init(&lines->diagnostics, out, DIAGNOSTICS_JSON);
	return &lines->diagnostics;
}

static inline void message_line_put(const json_t *message, FILE *out)
{
	const char *file = json_string_value(json_object_get(message, "file"));
	const char *path = json_string_value(json_object_get(message, "path"));
	const json_t *line = json_object_get(message, "line"), *argument;
	const char *before = ": ";
	unsigned policy;
	int len = 0;
	size_t i;

	if (strcmp(file, "w.json") != 0)
		fprintf(out, line ? "%s:%d: " : "%s: ", file, (int)json_integer_value(line));
	else if (json_integer_value(line) > 1)
		fprintf(out, "%d: ", (int)json_integer_value(line));
	if (*json_string_value(json_object_get(message, "severity")) == 'w')
		fputs("warning: ", out);
	if (path && sscanf(path, "policies[%u]%n", &policy, &len) == 1)
		fprintf(out, "p%u%s: ", policy, path + len);
	else if (path)
		fprintf(out, "%s: ", path);
	fputs(json_string_value(json_object_get(message, "id")), out);
	json_array_foreach (json_object_get(message, "arguments"), i, argument) {
		if (*json_string_value(argument) == '\0')
			continue;
		fprintf(out, "%s%s", before, json_string_value(argument));
		before = ", ";
	}
	fputc('\n', out);
}

/* Ends the output. Returns the lines, with ' for ", for free(). */
static inline char *message_lines_end(struct message_lines *lines)
{
	char *made, *rest;
	size_t size;
	FILE *out = open_memstream(&made, &size);

	assert_non_null(out);
	fclose(lines->diagnostics.out);
	rest = lines->text;
	for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
		json_t *message = json_loads(line, 0, NULL);

		assert_non_null(message);
		message_line_put(message, out);
		json_decref(message);
	}
	fclose(out);
	free(lines->text);
	for (char *at = made; (at = strchr(at, '"')) != NULL;)
		*at = '\'';
	return made;
}

/*
 * Returns true if the line fits the expected one, in which * is any text. Its arguments can be
 * missing there, except a suggestion.
 */
static inline bool message_line_fits(const char *line, const char *expected)
{
	char whole[1024];

	snprintf(whole, sizeof(whole), "%s: *", expected);
	return parts_fit(line, expected) ||
	       (parts_fit(line, whole) && strstr(line, "did you mean") == NULL);
}

/* Returns true if there is a line for each expected one, and no other. */
static inline bool message_lines_fit(const char *got, const char *expected)
{
	char *lines = strdup(got), *wanted = strdup(expected), *line, *want;
	char *rest = lines, *left = wanted;
	bool fit = true;

	do {
		line = strsep(&rest, "\n");
		want = strsep(&left, "\n");
		if (line != NULL && *line == '\0') /* after the last line */
			line = NULL;
		if (want != NULL && *want == '\0')
			want = NULL;
		fit &= (line == NULL) == (want == NULL);
		if (line != NULL && want != NULL)
			fit &= message_line_fits(line, want);
	} while (line != NULL && want != NULL);
	free(lines);
	free(wanted);
	return fit;
}

static inline void assert_lines(const char *got, const char *expected)
{
	if (!message_lines_fit(got, expected))
		fail_msg("got:\n%s\nexpected:\n%s", got, expected);
}

#endif
