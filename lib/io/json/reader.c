/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A document from its bytes to its end, and the form of what is said about it.
 */
#include "json/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

static void print_place(struct reader *reader, const char *kind, const struct json_path *path)
{
	fprintf(reader->err, "%s: %s", reader->file, kind);
	json_path_print(path, reader->err);
	if (path != NULL)
		fputs(": ", reader->err);
}

static void print_found(struct reader *reader, const struct json_path *path)
{
	json_print_found(json_path_find(reader->root, path), reader->err);
	fputs(": ", reader->err);
}

static void print_rest(struct reader *reader, const char *format, va_list args)
{
	vfprintf(reader->err, format, args);
	fputc('\n', reader->err);
}

void reader_expected(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	va_list args;

	reader->errors++;
	print_place(reader, "", path);
	print_found(reader, path);
	fputs("expected ", reader->err);
	va_start(args, format);
	print_rest(reader, format, args);
	va_end(args);
}

void reader_error(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	va_list args;

	reader->errors++;
	print_place(reader, "", path);
	va_start(args, format);
	print_rest(reader, format, args);
	va_end(args);
}

void reader_warn(struct reader *reader, const struct json_path *path, const char *format, ...)
{
	va_list args;

	print_place(reader, "warning: ", path);
	if (!json_is_object(json_path_find(reader->root, path)))
		print_found(reader, path);
	va_start(args, format);
	print_rest(reader, format, args);
	va_end(args);
}

static void report_duplicate(const struct json_path *path, void *context)
{
	reader_error(context, path, "duplicate key: expected it once");
}

/* Jansson quotes the text around an error as it is; what a terminal might obey is not printed. */
static void report_syntax(const struct reader *reader, const json_error_t *error)
{
	fprintf(reader->err, "%s:%d:%d: ", reader->file, error->line, error->column);
	for (const char *at = error->text; *at != '\0'; at++)
		fputc(*at >= ' ' && *at <= '~' ? *at : '?', reader->err);
	fputc('\n', reader->err);
}

static bool text_is_blank(const char *text, size_t len)
{
	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL && text[len - 1] != '\0')
		len--;
	return len == 0;
}

/* Reads to the end, also of a pipe, whose size nobody knows before. */
static int read_whole_file(int fd, char **text, size_t *len)
{
	size_t size = 0;

	*len = 0;
	while (true) {
		ssize_t n;

		if (*len == size) {
			char *grown = realloc(*text, size = size > 0 ? 2 * size : 4096);

			if (grown == NULL)
				return -ENOMEM;
			*text = grown;
		}
		n = read(fd, *text + *len, size - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*len += (size_t)n;
		if (*len > READER_FILE_MAX)
			return -EFBIG;
	}
}

static int read_file(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = read_whole_file(fd, text, len);
	close(fd);
	return rc;
}

static int parse_text(struct reader *reader, const char *text, size_t len)
{
	json_error_t error;

	if (text_is_blank(text, len)) {
		fprintf(reader->err, "%s: empty: expected a JSON object\n", reader->file);
		return -EINVAL;
	}
	reader->root = json_loadb(text, len, JSON_DECODE_ANY, &error);
	if (reader->root == NULL) {
		report_syntax(reader, &error);
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EINVAL;
	}
	return json_find_duplicates(text, len, report_duplicate, reader);
}

static void report_no_memory(const struct reader *reader)
{
	fprintf(reader->err, "%s: %s\n", reader->file, strerror(ENOMEM));
}

int reader_parse(struct reader *reader, const char *text, size_t len, const char *name, FILE *err)
{
	int rc;

	*reader = (struct reader){.file = name, .err = err};
	rc = parse_text(reader, text, len);
	if (rc == -ENOMEM)
		report_no_memory(reader);
	if (rc < 0)
		json_decref(reader->root);
	return rc;
}

int reader_load(struct reader *reader, const char *path, FILE *err)
{
	char *text = NULL;
	size_t len = 0;
	int rc = read_file(path, &text, &len);

	if (rc < 0)
		fprintf(err, "%s: %s\n", path, strerror(-rc));
	else
		rc = reader_parse(reader, text, len, path, err);
	free(text);
	return rc;
}

bool reader_failed(const struct reader *reader)
{
	return reader->no_memory || reader->errors > 0;
}

int reader_finish(struct reader *reader)
{
	json_decref(reader->root);
	if (reader->no_memory) {
		report_no_memory(reader);
		return -ENOMEM;
	}
	return reader->errors > 0 ? -EINVAL : 0;
}
