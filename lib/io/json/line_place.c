/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/line_place.h"

#include <stdlib.h>

static void free_line_list(struct line_list *list)
{
	free(list->file);
	json_decref(list->array);
	free(list->lines);
	*list = (struct line_list){0};
}

void line_lists_free(struct reader *reader)
{
	struct line_lists *lists = reader->lists;

	if (lists == NULL)
		return;
	for (size_t i = 0; i < lists->n; i++)
		free_line_list(&lists->all[i]);
	free(lists->all);
	json_decref(lists->by_file);
	free(lists);
	reader->lists = NULL;
}

struct line_place line_list_place(const struct reader *reader, const json_t *array, size_t index)
{
	const struct line_lists *lists = reader->lists;

	for (size_t i = 0; lists != NULL && i < lists->n; i++) {
		const struct line_list *list = &lists->all[i];

		if (list->array == array && index < json_array_size(array))
			return (struct line_place){list->file, list->lines[index]};
	}
	return (struct line_place){0};
}
