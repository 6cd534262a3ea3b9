/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of JSON that programs write: one value, or several, such as one a line.
 */
#ifndef WEIR_JSON_VALUES_H
#define WEIR_JSON_VALUES_H

#include <jansson.h>

#include "json/diagnostics.h"

/*
 * Reads all objects and arrays of a file ("-" is standard input) into an array for json_decref(),
 * which is empty for an empty file. The file can have comments. Returns 0; -EINVAL (no JSON, or a
 * duplicate key), -ENOMEM or the negative errno of reading the file. Reports errors with their
 * place.
 */
int json_values_load(const char *path, struct diagnostics *diagnostics, json_t **values);

/*
 * Like json_values_load(), with the line of each value, from 1, as an array for json_decref(). If
 * the file is one array, the lines are those of its elements.
 */
int json_values_load_lines(
	const char *path, struct diagnostics *diagnostics, json_t **values, json_t **lines);

#endif
