/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/json_path.h"

#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "json/escape.h"

#define FOUND_MAX 64 /* characters of a value or key that a message repeats */

#define WORD_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* Jansson leaves DEL as it is. */
static void print_escaped(const char *text, size_t len, FILE *out)
{
	for (; len > 0; len--, text++) {
		if (*text == 0x7f)
			fputs("\\u007F", out);
		else
			fputc(*text, out);
	}
}

/* Escaped to ASCII, so that no control sequence of a hostile file reaches a terminal or a log. */
static void print_scalar(const json_t *value, FILE *out)
{
	char *text = json_dumps(
		value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DBL_DIG));
	size_t len = text != NULL ? strlen(text) : 0;

	if (text == NULL)
		fputs("(out of memory)", out);
	print_escaped(text, len <= FOUND_MAX ? len : FOUND_MAX, out);
	if (len > FOUND_MAX)
		fputs(json_is_string(value) ? "...\"" : "...", out);
	free(text);
}

void json_print_found(const json_t *value, FILE *out)
{
	if (value == NULL)
		fputs("missing", out);
	else if (json_is_object(value))
		fputs(json_object_size(value) > 0 ? "an object" : "an empty object", out);
	else if (json_is_array(value))
		fputs(json_array_size(value) > 0 ? "an array" : "an empty array", out);
	else
		print_scalar(value, out);
}

static bool is_word(const char *key)
{
	size_t len = strlen(key);

	return len > 0 && len <= FOUND_MAX && strspn(key, WORD_CHARS) == len;
}

static void print_key(const struct json_path *path, FILE *out)
{
	json_t *key;

	if (is_word(path->key)) {
		fprintf(out, "%s%s", path->parent != NULL ? "." : "", path->key);
		return;
	}
	key = json_string(path->key);
	fputc('[', out);
	json_print_found(key, out);
	fputc(']', out);
	json_decref(key);
}

void json_path_print_step(const struct json_path *path, FILE *out)
{
	if (path->key != NULL)
		print_key(path, out);
	else
		fprintf(out, "[%zu]", path->index);
}

void json_path_print(const struct json_path *path, FILE *out)
{
	if (path == NULL)
		return;
	json_path_print(path->parent, out);
	json_path_print_step(path, out);
}

json_t *json_path_find(json_t *root, const struct json_path *path)
{
	json_t *parent;

	if (path == NULL)
		return root;
	parent = json_path_find(root, path->parent);
	if (path->key != NULL)
		return json_object_get(parent, path->key);
	return json_array_get(parent, path->index);
}

/* Returns the length of the key at the start of a text, the longest member. Keys can have dots. */
static size_t key_length(json_t *object, const char *text)
{
	size_t longest = strcspn(text, ".[");
	const char *key;
	json_t *member;

	json_object_foreach (object, key, member) {
		size_t n = strlen(key);

		if (n > longest && strncmp(text, key, n) == 0 && strchr(".[", text[n]))
			longest = n;
	}
	return longest;
}

/* The separator before the next step is taken, and what it was. */
static char cut_step(char **end)
{
	char separator = **end;

	if (separator)
		*(*end)++ = '\0';
	return separator;
}

const struct json_path *json_path_named(json_t *root, const char *text, struct json_named *named)
{
	const struct json_path *above = NULL;
	char *at = named->text, *end;
	char separator = '.';

	snprintf(named->text, sizeof(named->text), "%s", text);
	for (unsigned n = 0; *at && n < JSON_NAMED_STEPS; n++) {
		struct json_path *step = &named->steps[n];

		*step = (struct json_path){.parent = above};
		if (separator == '[') {
			step->index = strtoul(at, &end, 10);
			end += *end == ']';
		} else {
			step->key = at;
			end = at + key_length(json_path_find(root, above), at);
		}
		separator = cut_step(&end);
		at = end;
		above = step;
	}
	return above;
}

/*
 * The scanner for duplicate keys. jansson's JSON_REJECT_DUPLICATES does not do: it stops at the
 * first, and knows its line but not its path, while people want to hear of all. There is one node
 * for each member of an object and for each array element that is a container, so that a path is a
 * walk upwards; then comes a sort by (object, key).
 */
struct json_node {
	struct json_path path;
	struct json_node *up; /* the container it is in; NULL: the root */
	bool is_object;
	bool is_duplicate;
	size_t commas; /* seen so far in it: the index of an array's current element */
};

struct scan {
	const char *at, *end;
	struct json_node *nodes;
	size_t n_nodes;
	struct json_node *open; /* innermost container, NULL outside the root */
	char *keys;             /* where the next decoded key goes */
	char structural;        /* the last of { [ , : */
};

static struct json_node *add_node(struct scan *scan, const char *key)
{
	struct json_node *node = &scan->nodes[scan->n_nodes++];

	node->up = scan->open;
	node->path.key = key;
	if (node->up != NULL) {
		/* The root has a node but no step in a path. */
		node->path.parent = node->up->up != NULL ? &node->up->path : NULL;
		node->path.index = node->up->commas;
	}
	return node;
}

static void open_container(struct scan *scan)
{
	bool is_member = scan->open != NULL && scan->open->is_object;
	/* A member's node was made when its key was read, just now. */
	struct json_node *node = is_member ? &scan->nodes[scan->n_nodes - 1] : add_node(scan, NULL);

	node->is_object = *scan->at == '{';
	scan->open = node;
}

/* From the opening quote to the closing one; returns the end of the text written to out. */
static char *decode_string(struct scan *scan, char *out)
{
	for (scan->at++; *scan->at != '"';)
		scan->at = json_decode_character(scan->at, &out);
	*out++ = '\0';
	return out;
}

static void scan_string(struct scan *scan)
{
	bool is_key = scan->open != NULL && scan->open->is_object && scan->structural != ':';
	char *start = scan->keys;
	char *end = decode_string(scan, start);

	if (!is_key)
		return;
	add_node(scan, start);
	scan->keys = end;
}

static void scan_one(struct scan *scan)
{
	switch (*scan->at) {
	case '"':
		scan_string(scan);
		return;
	case '{':
	case '[':
		open_container(scan);
		break;
	case '}':
	case ']':
		scan->open = scan->open->up;
		return;
	case ',':
		scan->open->commas++;
		break;
	case ':':
		break;
	default:
		return; /* white space, numbers, true, false, null */
	}
	scan->structural = *scan->at;
}

static int compare_keys(const void *left, const void *right)
{
	const struct json_node *a = *(struct json_node *const *)left,
			       *b = *(struct json_node *const *)right;
	int order;

	if (a->up != b->up)
		return a->up < b->up ? -1 : 1;
	order = strcmp(a->path.key, b->path.key);
	return order != 0 ? order : (a < b ? -1 : a > b);
}

static void mark_duplicates(struct json_node **sorted, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		sorted[i]->is_duplicate = sorted[i - 1]->up == sorted[i]->up &&
					  strcmp(sorted[i - 1]->path.key, sorted[i]->path.key) == 0;
	}
}

static int report_duplicates(const struct scan *scan, json_duplicate_fn found, void *context)
{
	struct json_node **sorted = calloc(scan->n_nodes + 1, sizeof(struct json_node *));
	size_t n = 0;

	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < scan->n_nodes; i++) {
		if (scan->nodes[i].path.key != NULL)
			sorted[n++] = &scan->nodes[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare_keys);
	mark_duplicates(sorted, n);
	free(sorted);
	for (size_t i = 0; i < scan->n_nodes; i++) {
		if (scan->nodes[i].is_duplicate)
			found(&scan->nodes[i].path, context);
	}
	return 0;
}

/* Never fewer than there will be: a key has its colon, a container its bracket. */
static size_t count_nodes(const char *text, size_t len)
{
	size_t n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == ':' || text[i] == '{' || text[i] == '[';
	return n;
}

int json_find_duplicates(const char *text, size_t len, json_duplicate_fn found, void *context)
{
	struct scan scan = {.at = text, .end = text + len};
	char *keys = malloc(len + 1); /* decoded text is never longer than its escapes */
	int rc = -ENOMEM;

	scan.nodes = calloc(count_nodes(text, len), sizeof(*scan.nodes));
	scan.keys = keys;
	if (keys != NULL && scan.nodes != NULL) {
		for (; scan.at < scan.end; scan.at++)
			scan_one(&scan);
		rc = report_duplicates(&scan, found, context);
	}
	free(keys);
	free(scan.nodes);
	return rc;
}
