/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Writes results to files, or to standard output for the path "-". A full disk is an error.
 */
#ifndef WEIR_COMMAND_OUTPUT_H
#define WEIR_COMMAND_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

bool output_is_standard(const char *path);

/* Flushes the file. Returns 0 or a negative errno. */
int output_flush(FILE *out);

/*
 * Writes a file with `write`. Returns 0, or a negative errno after reporting it on standard error.
 */
int output_write(const char *path, int (*write)(const void *what, FILE *out), const void *what);

/* The forms of a result. */
struct output_forms {
	void (*text)(const void *what, FILE *out);
	json_t *(*json)(const void *what); /* a new reference */
	int digits; /* significant digits of numbers in JSON; 0: as in output_json() */
};

/*
 * Writes a result: as JSON to the path `json` if there is one, and as text to standard output
 * unless JSON goes there. Returns 0, or a negative errno after reporting it.
 */
int output_result(const struct output_forms *forms, const void *what, const char *json);

/* Add a member to a result in JSON. A number that is not finite becomes null. */
void output_number(json_t *object, const char *key, double value);
void output_count(json_t *object, const char *key, uint64_t value);
void output_text(json_t *object, const char *key, const char *value);

/* A `write` function of output_write() for a json_t. */
int output_json(const void *what, FILE *out);

#endif
