/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Other files that a document names. All are read before any is used. If one was written meanwhile,
 * none is used.
 */
#include "json/include.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/copy.h"
#include "json/document.h"
#include "json/json_place.h"
#include "json/seen.h"

#define FILES_MAX 4096
#define DEPTH_MAX 3 /* levels of files, from the first one */

struct includes {
	struct reader *reader;
	const char *key;
	size_t bytes;
};

/* Reports a message about the file that an element names, at its element. */
__attribute__((format(printf, 5, 6))) static void report_include(struct includes *in, unsigned from,
	const struct json_path *path, const struct message_row *row, const char *format, ...)
{
	bool warning = row->form == MESSAGE_WARNING;
	struct json_place place;
	struct diagnostic at;
	va_list args;

	in->reader->errors += !warning;
	if (!diagnostics_count(in->reader->diagnostics, warning))
		return;
	place = json_place_in(&in->reader->documents[from], path);
	at = DIAGNOSTIC_AT(place);
	at.place = place.path;
	at.policy = NULL;
	va_start(args, format);
	diagnostics_vreport(in->reader->diagnostics, &at, row, format, args);
	va_end(args);
	json_place_free(&place);
}

/* Appends the elements of a document's list to the existing ones. */
static void join_list(struct includes *in, unsigned index, json_t *list)
{
	struct document *document = &in->reader->documents[index];
	json_t *all = json_object_get(in->reader->root, in->reader->joined);
	struct json_path at = {.key = in->reader->joined};
	char *found;

	if (!json_is_array(list)) {
		found = json_found_text(list);
		report_include(in, index, &at, MESSAGE(INCLUDE_NOT_ARRAY), message_part(found));
		free(found);
		return;
	}
	if (all == NULL) {
		all = json_array();
		if (json_object_set_new(in->reader->root, in->reader->joined, all) < 0) {
			in->reader->no_memory = true;
			return;
		}
	}
	document->first = json_array_size(all);
	document->count = json_array_size(list);
	in->reader->no_memory |= json_is_array(all) && json_array_extend(all, list) < 0;
}

static void join_key(struct includes *in, unsigned index, const char *name, json_t *value)
{
	struct json_path at = {.key = name};
	char *other;

	if (json_object_get(in->reader->root, name) == NULL) {
		in->reader->no_memory |= json_object_set(in->reader->root, name, value) < 0;
		return;
	}
	other = reader_place(in->reader, &at);
	report_include(in, index, &at, MESSAGE(KEY_IN_TWO_FILES), message_part(other));
	free(other);
}

/* Joins all keys of another file, except remarks and its own in->key. */
static void join_document(struct includes *in, unsigned index)
{
	json_t *root = in->reader->documents[index].root, *value;
	const char *name;

	if (!json_is_object(root)) { /* shows no value: the file can be a secret, by mistake */
		char *found = json_is_array(root) ? json_found_text(root) : NULL;

		report_include(in, index, NULL, MESSAGE(INCLUDE_NOT_OBJECT),
			found != NULL ? found : "a value");
		free(found);
		return;
	}
	json_object_foreach (root, name, value) {
		if (key_is_remark(name) || strcmp(name, in->key) == 0)
			continue;
		if (strcmp(name, in->reader->joined) == 0)
			join_list(in, index, value);
		else
			join_key(in, index, name, value);
	}
}

static int append_document(struct includes *in, const struct document *document)
{
	struct reader *reader = in->reader;
	struct document *grown = realloc(
		reader->documents, (reader->n_documents + 1) * sizeof(*grown));

	if (grown == NULL)
		return -ENOMEM;
	reader->documents = grown;
	reader->documents[reader->n_documents++] = *document;
	return 0;
}

/* Compares files by their inode, not by their name. */
static bool is_read(const struct includes *in, const struct stat *state)
{
	for (unsigned i = 0; i < in->reader->n_documents; i++) {
		const struct stat *other = &in->reader->documents[i].state;

		if (other->st_ino == state->st_ino && other->st_dev == state->st_dev)
			return true;
	}
	return false;
}

static void include_file(struct includes *in, unsigned from, const struct json_path *path,
	const char *file, const struct stat *state)
{
	unsigned depth = in->reader->documents[from].depth + 1;
	struct document document;
	int rc;

	if (is_read(in, state)) {
		report_include(in, from, path, MESSAGE(INCLUDE_TWICE), file);
		return;
	}
	if (depth > DEPTH_MAX) {
		report_include(in, from, path, MESSAGE(INCLUDE_TOO_DEEP), DEPTH_MAX, file);
		return;
	}
	if (in->reader->n_documents >= FILES_MAX) {
		report_include(in, from, path, MESSAGE(INCLUDE_TOO_MANY), FILES_MAX, file);
		return;
	}
	in->reader->diagnostics->hides_source = true; /* the file can be a secret, by mistake */
	rc = document_load(&document, file, in->reader->diagnostics);
	in->reader->diagnostics->hides_source = false;
	if (rc < 0) {
		in->reader->no_memory |= rc == -ENOMEM;
		in->reader->errors += rc != -ENOMEM;
		return;
	}
	document.depth = depth;
	in->bytes += document.len;
	if (in->bytes > READER_FILE_MAX)
		report_include(
			in, from, path, MESSAGE(INCLUDE_TOO_LARGE), READER_FILE_MAX >> 20, file);
	if (seen_note(&in->reader->seen, file, &document.state) < 0 ||
		append_document(in, &document) < 0) {
		in->reader->no_memory = true;
		document_free(&document);
		return;
	}
	reader_check_duplicates(in->reader);
	join_document(in, in->reader->n_documents - 1);
}

static int is_configuration(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > strlen(".json") &&
	       strcmp(entry->d_name + len - strlen(".json"), ".json") == 0;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void include_entry(struct includes *in, unsigned from, const struct json_path *path,
	const char *directory, const char *name)
{
	struct stat state;
	char *file;

	if (asprintf(&file, "%s/%s", directory, name) < 0) {
		in->reader->no_memory = true;
		return;
	}
	if (stat(file, &state) < 0)
		report_include(in, from, path, MESSAGE(ENTRY_MISSING), strerror(errno), file);
	else if (!S_ISREG(state.st_mode))
		report_include(in, from, path, MESSAGE(ENTRY_NOT_REGULAR), file);
	else
		include_file(in, from, path, file, &state);
	free(file);
}

/* Reads all "*.json" in it, in the order of their bytes. */
static void include_directory(struct includes *in, unsigned from, const struct json_path *path,
	const char *directory, const struct stat *state)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, is_configuration, compare_entries);

	if (n < 0) {
		report_include(
			in, from, path, MESSAGE(DIRECTORY_UNREADABLE), strerror(errno), directory);
		return;
	}
	in->reader->no_memory |= seen_note(&in->reader->seen, directory, state) < 0;
	if (n == 0)
		report_include(in, from, path, MESSAGE(DIRECTORY_EMPTY), directory);
	for (int i = 0; i < n; i++) {
		if (!in->reader->no_memory)
			include_entry(in, from, path, directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void include_path(
	struct includes *in, unsigned from, const struct json_path *path, const json_t *value)
{
	const char *text = json_string_value(value);
	struct stat state;
	char *file;

	if (text == NULL || *text == '\0' || !text_printable(text)) {
		file = json_found_text(value);
		report_include(in, from, path, MESSAGE(INCLUDE_PATH), message_part(file));
		free(file);
		return;
	}
	file = path_relative_to(in->reader->documents[from].name, text);
	if (file == NULL)
		in->reader->no_memory = true;
	else if (stat(file, &state) < 0)
		report_include(in, from, path, MESSAGE(INCLUDE_MISSING), strerror(errno), file);
	else if (S_ISDIR(state.st_mode))
		include_directory(in, from, path, file, &state);
	else if (S_ISREG(state.st_mode))
		include_file(in, from, path, file, &state);
	else
		report_include(in, from, path, MESSAGE(INCLUDE_NOT_REGULAR), file);
	free(file);
}

static void include_all(struct includes *in, unsigned from)
{
	const json_t *list = json_object_get(in->reader->documents[from].root, in->key);
	struct json_path path = {.key = in->key};
	size_t i;
	json_t *value;

	if (list != NULL && !json_is_array(list))
		include_path(in, from, &path, list);
	json_array_foreach (list, i, value) {
		struct json_path at = {.parent = &path, .index = i};

		if (!in->reader->no_memory)
			include_path(in, from, &at, value);
	}
}

/* Creates the root into which documents are joined. The root of the first file stays unchanged. */
static int begin_root(struct reader *reader)
{
	struct document *first = &reader->documents[0];
	json_t *root = whole_copy(first->root), *list;

	if (root == NULL)
		return -ENOMEM;
	json_decref(reader->root);
	reader->root = root;
	list = json_object_get(root, reader->joined);
	if (!json_is_array(list))
		return 0;
	first->count = json_array_size(list);
	list = whole_copy(list);
	return list != NULL && json_object_set_new(root, reader->joined, list) == 0 ? 0 : -ENOMEM;
}

int reader_include(struct reader *reader, const char *key, const char *joined)
{
	struct includes in = {.reader = reader, .key = key, .bytes = reader->documents[0].len};
	int rc = 0;

	reader->joined = joined;
	if (json_object_get(reader->root, key) == NULL)
		return 0;
	if (begin_root(reader) < 0)
		reader->no_memory = true;
	for (unsigned i = 0; i < reader->n_documents && !reader->no_memory; i++)
		include_all(&in, i);
	if (!reader_failed(reader) && !seen_unchanged(reader->seen))
		rc = -EAGAIN;
	return rc;
}
