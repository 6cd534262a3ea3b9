/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Place of a value in a JSON document, for messages. The caller that walks the document has the
 * path on its stack: each step points to the one above it. Any thread.
 */
#ifndef WEIR_JSON_JSON_PATH_H
#define WEIR_JSON_JSON_PATH_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

struct json_path {
	const struct json_path *parent; /* NULL: a member of the root */
	const char *key;                /* member of an object; NULL: element of an array */
	size_t index;                   /* index of the element */
};

/*
 * Prints `policies[3].limit`; keys that are not a plain word as `ports["a b"]`. NULL, the root, is
 * empty.
 */
void json_path_print(const struct json_path *path, FILE *out);

/* Prints only the last step, with the dot before it if it has one. */
void json_path_print_step(const struct json_path *path, FILE *out);

#define JSON_NAMED_STEPS 8
#define JSON_NAMED_MAX   256

/* A path parsed from a text. */
struct json_named {
	struct json_path steps[JSON_NAMED_STEPS];
	char text[JSON_NAMED_MAX]; /* cut at its steps */
};

/*
 * Returns the path of a text such as `gossip.key_files[1]` in a document, valid as long as `named`;
 * NULL for a NULL text. Keys can have dots if they are members of the document.
 */
const struct json_path *json_path_named(json_t *root, const char *text, struct json_named *named);

/* Returns the value at a path (a borrowed reference), or NULL. A NULL path is the root itself. */
json_t *json_path_find(json_t *root, const struct json_path *path);

/*
 * Prints one line of printable ASCII for a message: `"10Mbit"`, `3`, `an array`; NULL is `missing`.
 */
void json_print_found(const json_t *value, FILE *out);

/* Returns this line for free(), or NULL without memory. */
char *json_found_text(const json_t *value);

#endif
