/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts the bytes of a file to a tree, and reports bytes that are not JSON.
 */
#include "json/document.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "json/locate.h"
#include "json/read.h"
#include "json/scan.h"
#include "json/slips.h"

#define STANDARD_INPUT "<stdin>"

/* Reads to the end, also from a pipe, whose size is unknown. Adds a NUL. */
static int read_whole_file(int fd, char **text, size_t *len)
{
	size_t size = 0;

	*len = 0;
	while (true) {
		ssize_t n;

		if (*len + 1 >= size) {
			char *grown = realloc(*text, size = size > 0 ? 2 * size : 4096);

			if (grown == NULL)
				return -ENOMEM;
			*text = grown;
		}
		n = read(fd, *text + *len, size - *len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		(*text)[*len + (size_t)n] = '\0';
		if (n == 0)
			return 0;
		*len += (size_t)n;
		if (*len > READER_FILE_MAX)
			return -EFBIG;
	}
}

/* Rejects a named pipe or a device, which could delay a start forever. */
static int check_type(int fd, const struct stat *state)
{
	struct statfs fs;
	/* A pipe without a name, as in a shell's <(COMMAND): another process writes to it. */
	const bool is_unnamed_pipe = S_ISFIFO(state->st_mode) && fstatfs(fd, &fs) == 0 &&
				     fs.f_type == PIPEFS_MAGIC;

	if (S_ISREG(state->st_mode) || S_ISDIR(state->st_mode))
		return 0;
	if (!is_unnamed_pipe)
		return -EMEDIUMTYPE;
	return fcntl(fd, F_SETFL, 0) < 0 ? -errno : 0;
}

int document_read(struct document *document, const char *path, bool waits)
{
	bool standard = strcmp(path, "-") == 0;
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits ? 0 : O_NONBLOCK);
	int fd = standard ? STDIN_FILENO : open(path, flags);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &document->state) == 0 ? 0 : -errno;
	if (rc == 0 && !standard && !waits)
		rc = check_type(fd, &document->state);
	if (rc == 0)
		rc = read_whole_file(fd, &document->text, &document->len);
	if (rc == -EINVAL) /* reserved for text that is not JSON */
		rc = -EIO;
	if (!standard)
		close(fd);
	return rc;
}

void document_report_slip(
	const struct document *document, const struct slip *slip, struct diagnostics *d)
{
	struct json_line line = json_line_at(document->text, document->len, slip->offset);
	struct diagnostic_source source = {line.text, line.len, line.column};
	bool shown = line.column <= line.len + 1;

	if (diagnostics_count(d, false))
		diagnostics_report(d,
			&(struct diagnostic){.file = document->name,
				.line = line.line,
				.column = line.column,
				.source = shown ? &source : NULL},
			MESSAGE(NOT_JSON), message_part(slip->remedy), slip->found);
}

/* Blanks comments but keeps offsets, so that the caret of a message is at the right bytes. */
int document_blank(struct document *document, struct diagnostics *d)
{
	struct slip slip = {.remedy = "write */ at its end"};

	if (slip_of_encoding(document->text, document->len, &slip)) {
		document_report_slip(document, &slip, d);
		return -EINVAL;
	}
	slip.offset = json_blank_comments(document->text, document->len);
	if (slip.offset < document->len) {
		snprintf(slip.found, sizeof(slip.found), "a comment that nothing closes");
		document_report_slip(document, &slip, d);
		return -EINVAL;
	}
	return 0;
}

/* Sets errno to ENOMEM without memory. Another error has a place. */
static json_t *parse_text(struct document *document, json_error_t *error)
{
	json_t *root;

	errno = 0;
	root = json_loadb(
		document->text, document->len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, error);
	document->duplicates = root == NULL && json_error_code(error) == json_error_duplicate_key;
	if (document->duplicates)
		root = json_loadb(document->text, document->len, JSON_DECODE_ANY, error);
	return root;
}

static int parse_document(struct document *document, struct diagnostics *d)
{
	struct json_scan scan = {.text = document->text, .len = document->len};
	struct slip slip = {0};
	json_error_t error;

	if (document_blank(document, d) < 0)
		return -EINVAL;
	if (!json_scan_next(&scan, &(struct json_token){0})) {
		if (diagnostics_count(d, false))
			diagnostics_report(d, &(struct diagnostic){.file = document->name},
				MESSAGE(EMPTY_DOCUMENT));
		return -EINVAL;
	}
	document->root = parse_text(document, &error);
	if (document->root != NULL && !slip_of_nul(document->text, document->len, &slip))
		return 0;
	if (document->root != NULL) {
		json_decref(document->root);
		document->root = NULL;
		document_report_slip(document, &slip, d);
		return -EINVAL;
	}
	if (errno == ENOMEM) /* then the parser reports a wrong text */
		return -ENOMEM;
	slip_explain(document->text, document->len, &error, &slip);
	document_report_slip(document, &slip, d);
	return -EINVAL;
}

static void report_failure(struct diagnostics *d, const char *path, int rc)
{
	const struct diagnostic at = {.file = path};
	const char *why = strerror(-rc);

	if (!diagnostics_count(d, false))
		return;
	if (rc == -EISDIR)
		diagnostics_report(d, &at, MESSAGE(FILE_IS_DIRECTORY), why);
	else if (rc == -EMEDIUMTYPE)
		diagnostics_report(d, &at, MESSAGE(FILE_NOT_REGULAR));
	else if (rc == -ENOENT)
		diagnostics_report(d, &at, MESSAGE(FILE_MISSING), why);
	else if (rc == -EACCES && geteuid() != 0)
		diagnostics_report(d, &at, MESSAGE(FILE_DENIED), why);
	else if (rc == -EFBIG)
		diagnostics_report(d, &at, MESSAGE(FILE_TOO_LARGE), why);
	else
		diagnostics_report(d, &at, MESSAGE(FILE_UNREADABLE), why);
}

/* Reports the reason why there is no document, if that was not reported yet, and frees the rest. */
int document_fail(struct document *document, const char *path, int rc, struct diagnostics *d)
{
	if (rc != -EINVAL)
		report_failure(d, path, rc);
	document_free(document);
	return rc;
}

int document_load(struct document *document, const char *path, struct diagnostics *d)
{
	bool standard = strcmp(path, "-") == 0;
	int rc;

	*document = (struct document){.name = strdup(standard ? STANDARD_INPUT : path)};
	rc = document->name != NULL ? document_read(document, path, false) : -ENOMEM;
	if (rc == 0)
		rc = parse_document(document, d);
	return rc < 0 ? document_fail(document, standard ? STANDARD_INPUT : path, rc, d) : 0;
}

int document_copy(struct document *document, const char *text, size_t len, const char *name,
	struct diagnostics *d)
{
	int rc;

	*document = (struct document){.name = strdup(name), .text = malloc(len + 1), .len = len};
	if (document->name == NULL || document->text == NULL)
		return document_fail(document, name, -ENOMEM, d);
	memcpy(document->text, text, len);
	document->text[len] = '\0';
	rc = parse_document(document, d);
	return rc < 0 ? document_fail(document, name, rc, d) : 0;
}

int document_of(struct document *document, const json_t *root, const char *name)
{
	*document = (struct document){.name = strdup(name)};
	if (document->name == NULL)
		return -ENOMEM;
	document->root = json_incref((json_t *)(uintptr_t)root);
	return 0;
}

void document_free(struct document *document)
{
	json_decref(document->root);
	free(document->text);
	free(document->name);
	*document = (struct document){0};
}
