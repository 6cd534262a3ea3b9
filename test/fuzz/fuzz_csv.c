/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a list of subscribers, and before a zero as LibreQoS's network.json, either way: it
 * is refused with a word, or each policy has a name with the prefix of the list, and a limit. Edits
 * add all of it, take all of it away, and change nothing once it is in force.
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
	check_list(json_integer_value(json_object_get(list->lines, name)) > 0 ||
		   json_object_get(list->nodes, name) != NULL);
	check_list(json_is_string(json_object_get(policy, "limit")));
}

static void check_edits(const json_t *running, const json_t *wanted, size_t n)
{
	struct import_counts counts;
	json_t *edits = import_edits(running, wanted, PREFIX, &counts);

	check_list(json_is_array(edits) && json_array_size(edits) == n);
	check_list(counts.added + counts.removed + counts.set == n);
	json_decref(edits);
}

static void check_all_edits(const json_t *policies)
{
	json_t *none = json_array(), *changed = json_deep_copy(policies), *policy;
	size_t n = json_array_size(policies), i;

	json_array_foreach (changed, i, policy)
		json_object_set_new(policy, i % 2 ? "limit" : "x", json_string("1bit/s"));
	check_edits(policies, policies, 0);
	check_edits(none, policies, n);
	check_edits(policies, none, n);
	check_edits(changed, policies, n);
	json_decref(changed);
	json_decref(none);
}

static void read_either_way(const char *text, size_t size, const json_t *network, bool upload)
{
	const struct subscribers_terms terms = {.file = "list",
		.prefix = PREFIX,
		.parent_prefix = "",
		.upload = upload,
		.skip_bad = size & 1,
		.network = network,
		.network_file = "network"};
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
	check_all_edits(list.policies);
	subscribers_free(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = memchr(data, '\0', size);
	size_t before = end != NULL ? (size_t)(end - text) : 0;
	json_t *network = json_loadb(text, before, 0, NULL);

	if (end != NULL) {
		text += before + 1;
		size -= before + 1;
	}
	check_records(text, size);
	read_either_way(text, size, network, false);
	read_either_way(text, size, network, true);
	json_decref(network);
	return 0;
}
