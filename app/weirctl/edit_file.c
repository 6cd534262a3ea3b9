/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "edit_file.h"

#include "config/lists.h"
#include "json/values.h"

/* A file that is one array has the edits in that. Takes the values over. */
static json_t *edits_of(json_t *values)
{
	json_t *first = json_array_get(values, 0), *edits;

	if (json_array_size(values) != 1 || !json_is_array(first))
		return values;
	edits = json_incref(first);
	json_decref(values);
	return edits;
}

json_t *edits_load(const char *path, FILE *err)
{
	struct diagnostics diagnostics;
	json_t *edits, *edit;
	size_t i;

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	if (json_values_load(path, &diagnostics, &edits) < 0)
		return NULL;
	edits = edits_of(edits);
	json_array_foreach (edits, i, edit) {
		if (lists_expand_edit(edit, err) == 0)
			continue;
		fprintf(err, "edits[%zu]: its list is refused\n", i);
		json_decref(edits);
		return NULL;
	}
	return edits;
}
