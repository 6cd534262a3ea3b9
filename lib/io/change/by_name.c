/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/by_name.h"

#include <stddef.h>

struct name_table *list_by_name(const json_t *list, const char *key)
{
	struct name_table *table;
	const json_t *member;
	size_t i;

	if (name_table_create((uint32_t)json_array_size(list), &table) < 0)
		return NULL;
	json_array_foreach (list, i, member) {
		const char *name = json_string_value(json_object_get(member, key));

		if (name == NULL || name_table_set(table, name, (uint32_t)i) == 0)
			continue;
		name_table_destroy(table);
		return NULL;
	}
	return table;
}
