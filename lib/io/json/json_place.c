/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/json_place.h"

#include <stdlib.h>
#include <string.h>

#include "json/locate.h"

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
#define NAME_MOST  63
#define POLICIES   "policies"

/* Returns the name of an array's element if a message can print it; otherwise NULL. */
static const char *element_name(json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "name"));
	size_t len = name != NULL ? strlen(name) : 0;

	return len > 0 && len <= NAME_MOST && strspn(name, NAME_CHARS) == len ? name : NULL;
}

static size_t count_steps(const struct json_path *path)
{
	size_t n = 0;

	for (; path != NULL; path = path->parent)
		n++;
	return n;
}

/*
 * Returns the steps from the root down; each has the previous one as parent. NULL without memory.
 */
static struct json_path *copy_steps(const struct json_path *path, size_t n)
{
	struct json_path *steps = calloc(n + 1, sizeof(*steps));

	for (size_t i = n; steps != NULL && i > 0; i--, path = path->parent) {
		steps[i - 1] = *path;
		steps[i - 1].parent = i > 1 ? &steps[i - 2] : NULL;
	}
	return steps;
}

static const struct document *element_document(const struct reader *reader, size_t index)
{
	for (unsigned i = 0; i < reader->n_documents; i++) {
		const struct document *document = &reader->documents[i];

		if (index >= document->first && index - document->first < document->count)
			return document;
	}
	return &reader->documents[0];
}

/* Returns the file that the steps lead into. Turns an index of the joined list into the file's. */
static const struct document *find_document(
	const struct reader *reader, struct json_path *steps, size_t n)
{
	if (n == 0 || reader->n_documents == 1 || steps[0].key == NULL)
		return &reader->documents[0];
	if (n > 1 && steps[1].key == NULL && reader->joined != NULL &&
		strcmp(steps[0].key, reader->joined) == 0) {
		const struct document *document = element_document(reader, steps[1].index);

		steps[1].index -= document->first;
		return document;
	}
	for (unsigned i = 0; i < reader->n_documents; i++) {
		if (json_object_get(reader->documents[i].root, steps[0].key) != NULL)
			return &reader->documents[i];
	}
	return &reader->documents[0];
}

static bool is_policy(const struct json_path *steps, size_t n)
{
	return n > 1 && steps[0].key != NULL && strcmp(steps[0].key, POLICIES) == 0 &&
	       steps[1].key == NULL;
}

/*
 * Prints `policy "video"` and returns its value. A reader of a document without a text has no list
 * to count in, so the message has the name in place of an index.
 */
static json_t *print_policy(const struct document *document, size_t index, FILE *out)
{
	json_t *policy = json_array_get(json_object_get(document->root, POLICIES), index);
	json_t *name = json_object_get(policy, "name");

	fputs("policy", out);
	if (json_is_string(name)) {
		fputc(' ', out);
		json_print_found(name, out);
	}
	return policy;
}

static void print_steps(
	const struct document *document, const struct json_path *steps, size_t n, FILE *out)
{
	json_t *value = document->root;
	size_t first = 0;

	if (document->text == NULL && is_policy(steps, n)) {
		value = print_policy(document, steps[1].index, out);
		first = 2;
	}
	for (size_t i = first; i < n; i++) {
		const char *name = NULL;
		struct json_path step = steps[i];

		if (first > 0 && i == first) { /* `policy "video": limit` */
			fputs(": ", out);
			step.parent = NULL;
		}
		json_path_print_step(&step, out);
		value = steps[i].key != NULL ? json_object_get(value, steps[i].key)
					     : json_array_get(value, steps[i].index);
		if (steps[i].key == NULL)
			name = element_name(value);
		if (name != NULL)
			fprintf(out, " \"%s\"", name);
	}
}

static void print_place(struct json_place *place, const struct document *document,
	const struct json_path *steps, size_t n)
{
	size_t size;
	FILE *out = open_memstream(&place->path, &size);

	if (out != NULL) {
		json_path_print(&steps[n - 1], out);
		fclose(out);
	}
	out = open_memstream(&place->words, &size);
	if (out != NULL) {
		print_steps(document, steps, n, out);
		fclose(out);
	}
}

static unsigned line_of_path(const struct document *document, const struct json_path *path)
{
	if (document->text == NULL)
		return 0;
	return json_line_at(document->text, document->len, json_locate(document->text, path, NULL))
		.line;
}

static struct json_place place_of_steps(
	const struct document *document, const struct json_path *steps, size_t n)
{
	struct json_place place = {.file = document->name,
		.line = line_of_path(document, n > 0 ? &steps[n - 1] : NULL)};

	if (n > 0)
		print_place(&place, document, steps, n);
	if (is_policy(steps, n))
		place.policy = element_name(
			json_array_get(json_object_get(document->root, POLICIES), steps[1].index));
	return place;
}

void line_lists_free(struct reader *reader)
{
	struct line_lists *lists = reader->lists;

	for (size_t i = 0; lists != NULL && i < lists->n; i++) {
		free(lists->all[i].file);
		json_decref(lists->all[i].array);
		free(lists->all[i].lines);
	}
	if (lists != NULL) {
		free(lists->all);
		json_decref(lists->by_file);
	}
	free(lists);
	reader->lists = NULL;
}

/* Sets the file and the line of an element, if the array is a list of lines. */
static void place_in_list(
	struct json_place *place, const struct reader *reader, const json_t *array, size_t index)
{
	const struct line_lists *lists = reader->lists;

	for (size_t i = 0; lists != NULL && i < lists->n; i++) {
		if (lists->all[i].array == array && index < json_array_size(array)) {
			place->file = lists->all[i].file;
			place->line = lists->all[i].lines[index];
		}
	}
}

struct json_place json_place_of(const struct reader *reader, const struct json_path *path)
{
	size_t n = count_steps(path);
	struct json_path *steps = copy_steps(path, n);
	struct json_place place = {.file = reader->documents[0].name};

	if (steps == NULL)
		return place;
	place = place_of_steps(find_document(reader, steps, n), steps, n);
	for (; path != NULL; path = path->parent) {
		if (path->key == NULL)
			place_in_list(&place, reader, json_path_find(reader->root, path->parent),
				path->index);
	}
	free(steps);
	return place;
}

const char *json_file_of(const struct reader *reader, const struct json_path *path)
{
	size_t n = count_steps(path);
	struct json_path *steps = copy_steps(path, n);
	const char *file = reader->documents[0].name;

	if (steps != NULL)
		file = find_document(reader, steps, n)->name;
	free(steps);
	return file;
}

char *path_relative_to(const char *from, const char *text)
{
	const char *slash = strrchr(from, '/');
	char *path;

	if (text[0] == '/' || slash == NULL)
		return strdup(text);
	return asprintf(&path, "%.*s/%s", (int)(slash - from), from, text) >= 0 ? path : NULL;
}

struct json_place json_place_in(const struct document *document, const struct json_path *path)
{
	size_t n = count_steps(path);
	struct json_path *steps = copy_steps(path, n);
	struct json_place place = {.file = document->name};

	if (steps != NULL)
		place = place_of_steps(document, steps, n);
	free(steps);
	return place;
}

void json_place_free(struct json_place *place)
{
	free(place->path);
	free(place->words);
}

unsigned json_place_first_line(const struct document *document, const struct json_path *path)
{
	size_t offset = json_locate_first(document->text, path);

	return json_line_at(document->text, document->len, offset).line;
}
