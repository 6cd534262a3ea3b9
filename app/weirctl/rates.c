/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "rates" and "trials": packets that each policy passes and drops in a second, or
 * would in its trial. They compare two looks at the counters.
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "number_field.h"
#include "look.h"

#define INTERVAL_MS 1000

/* Compares rows by the first key, largest first, then by the second. */
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

/* Returns the first rows, or the first with a trial. Takes over the rates; NULL: no memory. */
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

/* A column of a list of rates; `pps`: the packets of a counter. */
struct rate_column {
	enum policy_number_id number;
	bool pps;
	unsigned rank;
};

static int print_rates(
	const json_t *rates, const struct rate_column *columns, unsigned n, struct view *view)
{
	struct field fields[VIEW_COLUMNS];

	for (unsigned i = 0; i < n; i++) {
		fields[i] = columns[i].pps ? number_pps_fields[columns[i].number]
					   : number_field(columns[i].number);
		fields[i].kind |= OPTIONAL(columns[i].rank);
	}
	return fields_list(rates, fields, n, view);
}

int rates_print(const json_t *document, struct view *view)
{
	static const struct rate_column columns[] = {
		{NUMBER_name_TEXT, false, 0},
		{NUMBER_local_limit_RATE, false, 0},
		{NUMBER_passed_VOLUME, false, 0},
		{NUMBER_passed_PACKETS, true, 1},
		{NUMBER_dropped_VOLUME, false, 0},
		{NUMBER_dropped_PACKETS, true, 2},
	};

	return print_rates(document, FIELDS(columns), view);
}

int trials_print(const json_t *document, struct view *view)
{
	static const struct rate_column columns[] = {
		{NUMBER_name_TEXT, false, 0},
		{NUMBER_local_limit_RATE, false, 1},
		{NUMBER_dropped_VOLUME, false, 2},
		{NUMBER_trial_local_limit_RATE, false, 0},
		{NUMBER_trial_passed_VOLUME, false, 0},
		{NUMBER_trial_dropped_VOLUME, false, 0},
	};

	return print_rates(document, FIELDS(columns), view);
}
