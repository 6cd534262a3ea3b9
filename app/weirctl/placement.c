/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "placement": where the sources of policies are decided.
 */
#include "command.h"

#include "field.h"

int placement_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request->word)
		return source_get_of(source, "/weir/placement", request->word, document);
	return source_each_listed(source, "/weir/placement", "placements", document);
}

static int print_placement(const json_t *document, struct view *view)
{
	static const struct field one[] = {
		{"policy", "name", KIND_TEXT},
		{"state", "state", KIND_TEXT},
		{"wanted of 99 %", "target_us", KIND_US},
		{"workers used", "used", KIND_COUNT},
		{"rounds", "rounds", KIND_COUNT},
		{"tried", "trials", KIND_COUNT},
		{"changed", "changes", KIND_COUNT},
		{"buckets moved", "moved", KIND_COUNT},
		{"on their way", "away", KIND_COUNT},
		{"packets kept back", "kept_back", KIND_COUNT},
		{"moves called off", "called_off", KIND_COUNT},
	};
	static const struct field workers[] = {
		{"WORKER", "worker", KIND_COUNT},
		{"BUCKETS", "buckets", KIND_COUNT},
		{"RATE", "rate", KIND_RATE},
		{"OTHERS", "others", KIND_RATE},
		{"WAITED, 99 %", "p99_us", KIND_US},
		{"ADDED HERE", "added_us", KIND_US},
	};
	int ret = fields_detail(document, FIELDS(one), view);

	return ret ? ret : fields_list(json_object_get(document, "workers"), FIELDS(workers), view);
}

int placement_print(const json_t *document, struct view *view)
{
	static const struct field each[] = {
		{"POLICY", "name", KIND_TEXT},
		{"STATE", "state", KIND_TEXT},
		{"WANTED", "target_us", KIND_US},
		{"WORKERS", "used", KIND_COUNT},
		{"ROUNDS", "rounds", KIND_COUNT | OPTIONAL(2)},
		{"CHANGED", "changes", KIND_COUNT | OPTIONAL(2)},
		{"MOVED", "moved", KIND_COUNT | OPTIONAL(1)},
		{"ON THEIR WAY", "away", KIND_COUNT},
	};

	if (json_is_array(document))
		return fields_list(document, FIELDS(each), view);
	return print_placement(document, view);
}
