/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "rates" and "trials": what each policy passes and drops in a second, and what its
 * trial would, between two looks at the counters.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "look.h"

#define INTERVAL_MS 1000

/* What rows are sorted by: the most of the first comes first, then of the second. */
static int compare_by(
	const json_t *left, const json_t *right, const char *first, const char *second)
{
	const char *const keys[] = {first, second};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		double l = field_number(left, keys[i]), r = field_number(right, keys[i]);

		if (l != r)
			return l < r ? 1 : -1;
	}
	return strcmp(json_string_value(json_object_get(left, "name")),
		json_string_value(json_object_get(right, "name")));
}

static int compare_rates(const void *a, const void *b)
{
	return compare_by(*(json_t *const *)a, *(json_t *const *)b, "dropped_pps", "passed_pps");
}

static int compare_trials(const void *a, const void *b)
{
	return compare_by(
		*(json_t *const *)a, *(json_t *const *)b, "trial_dropped_pps", "trial_passed_pps");
}

/* The first ones, or of those with a trial. Takes over the rates; NULL: there is no memory. */
static json_t *sort_rates(json_t *rates, size_t most, bool trials)
{
	size_t all = json_array_size(rates), n = 0;
	json_t **rows = calloc(all + 1, sizeof(*rows));
	json_t *sorted = json_array();

	for (size_t i = 0; rows && i < all; i++) {
		json_t *row = json_array_get(rates, i);

		if (!trials || json_object_get(row, "trial_passed_pps"))
			rows[n++] = row;
	}
	if (rows && n)
		qsort(rows, n, sizeof(*rows), trials ? compare_trials : compare_rates);
	for (size_t i = 0; rows && i < n && i < most; i++)
		json_array_append(sorted, rows[i]);
	free(rows);
	json_decref(rates);
	return sorted;
}

static int gather_rates(
	struct source *source, const struct request *request, bool trials, json_t **document)
{
	json_t *before = NULL, *now = NULL;
	size_t most;
	int ret;

	*document = NULL;
	if (!policies_count(request->word, &most))
		return -EINVAL;
	ret = look_at_policies(source, &before);
	if (ret == 0) {
		source->pause(source, INTERVAL_MS);
		ret = look_at_policies(source, &now);
	}
	if (ret == 0)
		*document = sort_rates(look_rates(before, now), most, trials);
	json_decref(before);
	json_decref(now);
	return ret;
}

int rates_gather(struct source *source, const struct request *request, json_t **document)
{
	return gather_rates(source, request, false, document);
}

int trials_gather(struct source *source, const struct request *request, json_t **document)
{
	return gather_rates(source, request, true, document);
}

int rates_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT HERE", "local_limit", KIND_RATE},
		{"PASSES", "passed", KIND_RATE},
		{"", "passed_pps", KIND_PACKETS | OPTIONAL(1)},
		{"DROPS", "dropped", KIND_RATE},
		{"", "dropped_pps", KIND_PACKETS | OPTIONAL(2)},
	};

	return fields_list(document, FIELDS(fields), view);
}

int trials_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT HERE", "local_limit", KIND_RATE | OPTIONAL(1)},
		{"DROPS", "dropped", KIND_RATE | OPTIONAL(2)},
		{"TRIAL HERE", "trial_local_limit", KIND_RATE},
		{"WOULD PASS", "trial_passed", KIND_RATE},
		{"WOULD DROP", "trial_dropped", KIND_RATE},
	};

	return fields_list(document, FIELDS(fields), view);
}
