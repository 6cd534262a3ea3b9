/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a list of subscribers, either way: it is refused with a word, or each policy has a
 * name that is the list's, a line, a limit, and a match unless others are below it; and once it is
 * in force nothing has to change.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/csv.h"
#include "import/edits.h"
#include "import/subscribers.h"
#include "policy/value.h"

#define PREFIX "t-"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(int condition)
{
	if (!condition)
		abort();
}

/* Fields are within the copy of the text, and lines rise. */
static void check_records(const char *text, size_t size)
{
	unsigned line = 0;
	const char *why;
	struct csv_row row;
	struct csv csv;
	int ret = csv_init(&csv, text, size);

	while (ret == 0 && (ret = csv_next(&csv, &row, &why)) != 0) {
		check_list(row.line > line && (ret < 0) == (why != NULL));
		line = row.line;
		check_list(row.n <= CSV_FIELDS_MOST);
		for (unsigned i = 0; ret == 1 && i < row.n; i++)
			check_list(row.field[i] + strlen(row.field[i]) <= csv.end);
		ret = 0;
	}
	csv_free(&csv);
}

static void check_policy(const struct subscribers *list, const json_t *policy)
{
	const char *name = json_string_value(json_object_get(policy, "name"));

	check_list(name != NULL && name_valid(name));
	check_list(strncmp(name, PREFIX, strlen(PREFIX)) == 0);
	check_list(json_integer_value(json_object_get(list->lines, name)) > 0);
	check_list(json_is_string(json_object_get(policy, "limit")));
}

static void check_edits(const json_t *policies)
{
	struct import_counts counts;
	json_t *edits = import_edits(policies, policies, PREFIX, &counts);

	check_list(json_is_array(edits) && json_array_size(edits) == 0);
	check_list(counts.same == json_array_size(policies));
	json_decref(edits);
}

static void read_either_way(const char *text, size_t size, bool upload)
{
	const struct subscribers_terms terms = {
		.file = "list", .prefix = PREFIX, .parent_prefix = "", .upload = upload};
	struct diagnostics diagnostics;
	struct subscribers list;
	const json_t *policy;
	size_t i;

	diagnostics_init(&diagnostics, NULL, DIAGNOSTICS_TEXT);
	if (subscribers_read(text, size, &terms, &diagnostics, &list) < 0) {
		check_list(diagnostics.errors > 0);
		return;
	}
	check_list(diagnostics.errors == 0);
	json_array_foreach (list.policies, i, policy)
		check_policy(&list, policy);
	check_edits(list.policies);
	subscribers_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	check_records(text, size);
	read_either_way(text, size, false);
	read_either_way(text, size, true);
	return 0;
}
