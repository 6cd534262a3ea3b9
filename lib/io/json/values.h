/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of JSON that programs write: one value, or several one behind the other, such as one a
 * line.
 */
#ifndef WEIR_JSON_VALUES_H
#define WEIR_JSON_VALUES_H

#include <jansson.h>

#include "json/diagnostics.h"

/*
 * All values of a file ("-" is standard input), objects and arrays, with comments as in any other:
 * an array for json_decref(), empty of an empty file. 0; -EINVAL (no JSON, or a key stands twice),
 * -ENOMEM or the negative errno of reading the file, reported with the place.
 */
int json_values_load(const char *path, struct diagnostics *diagnostics, json_t **values);

#endif
