/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Results that are files, or standard output where the path is "-". A full disk is an error.
 */
#ifndef WEIR_COMMAND_OUTPUT_H
#define WEIR_COMMAND_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

bool output_is_standard(const char *path);

/* Ends what is written to a file; 0 or a negative errno. */
int output_flush(FILE *out);

/* Writes a file by `write`; 0 or a negative errno, which is said. */
int output_write(const char *path, int (*write)(const void *what, FILE *out), const void *what);

/* What can be written of a result. */
struct output_forms {
	void (*text)(const void *what, FILE *out);
	json_t *(*json)(const void *what); /* a new reference */
	int digits;                        /* of a number in JSON; 0: as output_json() */
};

/*
 * Writes a result: text to standard output, unless JSON goes there, and JSON if it has a path.
 * Returns 0 or a negative errno, which is said.
 */
int output_result(const struct output_forms *forms, const void *what, const char *json);

/* Members of a result in JSON. A number that is not finite is null. */
void output_number(json_t *object, const char *key, double value);
void output_count(json_t *object, const char *key, uint64_t value);
void output_text(json_t *object, const char *key, const char *value);

/* For output_write(): a json_t. */
int output_json(const void *what, FILE *out);

#endif
