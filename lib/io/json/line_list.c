/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/line_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/document.h"
#include "json/json_place.h"
#include "json/seen.h"

#define BLANKS    " \t\r\f\v"
#define BYTE_MARK "\xef\xbb\xbf" /* some editors write it at the start of a file */

static bool has_lists(struct reader *reader)
{
	if (reader->lists == NULL) {
		reader->lists = calloc(1, sizeof(*reader->lists));
		if (reader->lists != NULL)
			reader->lists->by_file = json_object();
	}
	return reader->lists != NULL && reader->lists->by_file != NULL;
}

/* Reads the size that the file had at open. A later check of all files detects another size. */
static int read_bytes(int fd, size_t size, char **text, size_t *len)
{
	*text = malloc(size + 1);
	if (*text == NULL)
		return -ENOMEM;
	for (*len = 0; *len < size;) {
		ssize_t n = read(fd, *text + *len, size - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		*len += (size_t)n;
	}
	(*text)[*len] = '\0';
	return 0;
}

/* Rejects pipes and devices, for which a reload would wait. */
static int read_line_file(
	const char *file, size_t most, struct stat *state, char **text, size_t *len)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, state) < 0 ? -errno : 0;
	if (rc == 0 && !S_ISREG(state->st_mode))
		rc = S_ISDIR(state->st_mode) ? -EISDIR : -EBADF;
	else if (rc == 0 && (size_t)state->st_size > most)
		rc = -EFBIG;
	else if (rc == 0)
		rc = read_bytes(fd, (size_t)state->st_size, text, len);
	close(fd);
	return rc;
}

static void report_file(struct reader *reader, const struct json_path *path, const char *file,
	const char *what, int rc)
{
	if (rc == -ENOMEM)
		reader->no_memory = true;
	else if (rc == -EFBIG)
		reader_report(reader, path, MESSAGE(LIST_TOO_LARGE), LINE_LIST_MAX >> 20, what,
			READER_FILE_MAX >> 20, file);
	else if (rc == -EBADF)
		reader_report(reader, path, MESSAGE(LIST_NOT_REGULAR), what, file);
	else
		reader_report(reader, path, MESSAGE(LIST_UNREADABLE), what, strerror(-rc), file);
}

/* Reports an error of the file itself (line 0), or of one of its lines, from 1. */
__attribute__((format(printf, 6, 7))) static void report_line(struct reader *reader,
	const struct json_path *path, const char *file, unsigned line,
	const struct message_row *row, const char *format, ...)
{
	struct json_place place;
	struct diagnostic at;
	va_list args;

	reader->errors++;
	if (!diagnostics_count(reader->diagnostics, false))
		return;
	place = json_place_of(reader, path);
	at = DIAGNOSTIC_AT(place);
	at.file = file;
	at.line = line;
	va_start(args, format);
	diagnostics_vreport(reader->diagnostics, &at, row, format, args);
	va_end(args);
	json_place_free(&place);
}

/* Removes the comment and blanks around a line. Returns true if any text is left. */
static bool cut_line(const char **line, size_t *len)
{
	const char *comment = memchr(*line, '#', *len);

	if (comment != NULL)
		*len = (size_t)(comment - *line);
	while (*len > 0 && strchr(BLANKS, (*line)[*len - 1]) != NULL && (*line)[*len - 1] != '\0')
		--*len;
	while (*len > 0 && strchr(BLANKS, **line) != NULL && **line != '\0') {
		++*line;
		--*len;
	}
	return *len > 0;
}

static bool is_plain_text(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (line[i] < ' ' || line[i] > '~')
			return false;
	return true;
}

/* Appends the text of a line. Returns false if it is not plain text. */
static bool append_line(struct reader *reader, struct line_list *list, const char *line, size_t len,
	unsigned number)
{
	if (!is_plain_text(line, len))
		return false;
	list->lines[json_array_size(list->array)] = number;
	reader->no_memory |= json_array_append_new(list->array, json_stringn(line, len)) < 0;
	return true;
}

static void split_lines(struct reader *reader, const struct json_path *path, struct line_list *list,
	const char *text, size_t len)
{
	const char *at, *end = text + len;
	size_t n_lines = 1;

	for (at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		n_lines++;
	at = text;
	list->array = json_array();
	list->lines = malloc(n_lines * sizeof(*list->lines));
	reader->no_memory |= list->array == NULL || list->lines == NULL;
	if (len >= strlen(BYTE_MARK) && memcmp(text, BYTE_MARK, strlen(BYTE_MARK)) == 0)
		at += strlen(BYTE_MARK);
	for (unsigned number = 1; at < end && !reader->no_memory; number++) {
		const char *feed = memchr(at, '\n', (size_t)(end - at)), *line = at;
		size_t n = (size_t)((feed != NULL ? feed : end) - at);

		if (cut_line(&line, &n) && !append_line(reader, list, line, n, number))
			report_line(reader, path, list->file, number, MESSAGE(LINE_NOT_TEXT));
		at = feed != NULL ? feed + 1 : end;
	}
}

/*
 * Loads list->file. Rejected lines are not in the list, so that errors of the others are reported,
 * too.
 */
static void load_list(struct reader *reader, const struct json_path *path, struct line_list *list,
	const char *what)
{
	size_t left = READER_FILE_MAX - reader->lists->bytes, len = 0;
	char *text = NULL;
	int rc = read_line_file(
		list->file, left < LINE_LIST_MAX ? left : LINE_LIST_MAX, &list->state, &text, &len);

	if (rc < 0) {
		report_file(reader, path, list->file, what, rc);
	} else {
		reader->lists->bytes += len;
		reader->no_memory |= seen_note(&reader->seen, list->file, &list->state) < 0;
		split_lines(reader, path, list, text, len);
		if (!reader->no_memory && json_array_size(list->array) == 0)
			report_line(reader, path, list->file, 0, MESSAGE(LIST_EMPTY), what);
	}
	free(text);
}

static bool has_lines(const struct line_list *list)
{
	return list->array != NULL && json_array_size(list->array) > 0;
}

/* Returns a place for another list, after all others. */
static struct line_list *next_list(struct line_lists *lists)
{
	size_t room = lists->room > 0 ? 2 * lists->room : 16;
	struct line_list *grown;

	if (lists->n == lists->room) {
		grown = realloc(lists->all, room * sizeof(*grown));
		if (grown == NULL)
			return NULL;
		lists->all = grown;
		lists->room = room;
	}
	lists->all[lists->n] = (struct line_list){0};
	return &lists->all[lists->n];
}

/* Adds a list, which takes over `file`. */
static json_t *add_list(
	struct reader *reader, const struct json_path *path, char *file, const char *what)
{
	struct line_lists *lists = reader->lists;
	struct line_list *list = next_list(lists);
	json_t *known;

	if (list == NULL) {
		reader->no_memory = true;
		free(file);
		return NULL;
	}
	list->file = file;
	load_list(reader, path, list, what);
	known = has_lines(list) ? json_integer((json_int_t)lists->n) : json_null();
	reader->no_memory |= json_object_set_new(lists->by_file, file, known) < 0;
	lists->n++;
	return has_lines(list) && !reader->no_memory ? list->array : NULL;
}

json_t *reader_line_list(
	struct reader *reader, const struct json_path *path, const char *text, const char *what)
{
	const json_t *known;
	char *file;

	if (*text == '\0' || !text_printable(text)) {
		reader_report(reader, path, MESSAGE(LIST_PATH), what);
		reader->no_memory |= !has_lists(reader);
		return NULL;
	}
	file = path_relative_to(json_file_of(reader, path), text);
	if (file == NULL || !has_lists(reader)) {
		reader->no_memory = true;
		free(file);
		return NULL;
	}
	known = json_object_get(reader->lists->by_file, file);
	if (known == NULL)
		return add_list(reader, path, file, what);
	free(file);
	if (json_is_integer(known))
		return reader->lists->all[json_integer_value(known)].array;
	return NULL;
}

bool reader_is_up_to_date(const struct reader *reader)
{
	return seen_unchanged(reader->seen);
}
