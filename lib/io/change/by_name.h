/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Members of a list by their names, for whoever looks many of them up. No thread, clock or file.
 */
#ifndef WEIR_CHANGE_BY_NAME_H
#define WEIR_CHANGE_BY_NAME_H

#include <jansson.h>

#include "base/name_table.h"

/*
 * The index of each object in an array under the text that it has at the key, which is kept by
 * pointer; of several that of the last, and none of those without. For name_table_destroy(); NULL
 * without memory.
 */
struct name_table *list_by_name(const json_t *list, const char *key);

#endif
