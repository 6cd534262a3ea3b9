/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An index of the members of a list by name, for many searches. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_BY_NAME_H
#define WEIR_CHANGE_BY_NAME_H

#include <jansson.h>

#include "base/name_table.h"

/*
 * Returns the index of each object in an array, by its text at the key. It keeps pointers to the
 * texts. If texts are equal, the last object counts; objects without a text are left out. Free it
 * with name_table_destroy(). NULL: out of memory.
 */
struct name_table *list_by_name(const json_t *list, const char *key);

#endif
