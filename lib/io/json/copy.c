/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/copy.h"

#include <stddef.h>
#include <stdint.h>

/* The copy contains the same objects. */
json_t *whole_copy(const json_t *value)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)value);

	if (json_object_size(copy) == json_object_size(value) &&
		json_array_size(copy) == json_array_size(value))
		return copy;
	json_decref(copy);
	return NULL;
}

json_t *whole_list(const json_t *list)
{
	return json_is_array(list) ? whole_copy(list) : json_array();
}

json_t *without_nulls(const json_t *list)
{
	json_t *kept = json_array(), *value;
	size_t i;

	json_array_foreach (list, i, value) {
		if (json_is_null(value) || json_array_append(kept, value) == 0)
			continue;
		json_decref(kept);
		return NULL;
	}
	return kept;
}
