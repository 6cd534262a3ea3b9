/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "policies" and "policy", and the commands "rates" and "trials": packets that each
 * policy passes and drops in a second, or would in its trial. These compare two looks at counters.
 */
#include "command.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/source.h"
#include "field.h"
#include "policies.h"

/*
 * The orders of --sort. "rate": in bit/s, or in units per second for policies that do not count
 * bytes.
 */
static const struct sort_order {
	const char *name;
	struct field_order by;
} orders[] = {
	{"rate", {"demand_bps", "demand_per_s"}},
	{"drops", {"dropped.packets", ""}},
};

/* Returns NULL if there is no order of that name. */
static const struct field_order *find_order(const char *name)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (strcmp(orders[i].name, name) == 0)
			return &orders[i].by;
	return NULL;
}

bool policies_sort_known(const char *sort)
{
	return find_order(sort) != NULL;
}

bool policies_words_check(const struct request *request)
{
	size_t n;

	if (!policies_count(request->word, &n))
		fprintf(stderr, "weirctl: %s: expected a number of policies\n", request->word);
	else if (request->sort && !policies_sort_known(request->sort))
		fprintf(stderr, "weirctl: %s: expected rate or drops\n", request->sort);
	else
		return true;
	return false;
}

/* Requests pages of a hundred policies until there are enough. */
int policies_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *look = NULL, *row;
	const char *name;
	size_t n;
	int ret;

	*document = NULL;
	if (!policies_count(request->word, &n))
		return -EINVAL;
	ret = look_at_policies(source, request->sort ? SIZE_MAX : n, &look);
	if (ret == 0) {
		*document = json_array();
		json_object_foreach (look, name, row) {
			json_t *policy = numbers_of_row(row);

			if (!json_is_string(json_object_get(policy, "limit_by")))
				json_object_set_new(
					policy, "limit_by", json_string("configuration"));
			json_array_append_new(*document, policy);
		}
	}
	json_decref(look);
	if (ret == 0)
		*document = fields_sort(
			*document, find_order(request->sort ? request->sort : ""), 1, n);
	return ret == 0 && !*document ? -ENOMEM : ret;
}

/* Condition of a column: a policy in the list has a limit by time, a parent, or colours. */
enum shown_if { ALWAYS, TIMED, BELOW, COLOURED };

static bool policy_shows(const json_t *policy, enum shown_if what)
{
	const char *by = json_string_value(json_object_get(policy, "limit_by"));

	if (what == BELOW)
		return json_is_string(json_object_get(policy, "parent"));
	if (what == COLOURED)
		return json_is_number(json_object_get(policy, "peak_bps")) ||
		       json_is_number(json_object_get(policy, "peak_per_s"));
	/* Older servers have only the limits of the configuration. */
	return json_is_string(json_object_get(policy, "limit_until")) ||
	       (by && strcmp(by, "configuration") != 0);
}

static bool any_shows(const json_t *policies, enum shown_if what)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (policies, i, policy)
		if (policy_shows(policy, what))
			return true;
	return what == ALWAYS;
}

/* Prints the columns whose condition holds for at least one policy. */
int policies_print(const json_t *document, struct view *view)
{
	static const struct {
		enum policy_number_id number;
		unsigned rank;
		enum shown_if shown_if;
	} columns[] = {
		{NUMBER_name_TEXT, 0, ALWAYS},
		{NUMBER_parent_TEXT, 1, BELOW},
		{NUMBER_limit_RATE, 0, ALWAYS},
		{NUMBER_limit_by_TEXT, 1, TIMED},
		{NUMBER_limit_until_TEXT, 1, TIMED},
		{NUMBER_share_RATE, 1, BELOW},
		{NUMBER_peak_RATE, 1, COLOURED},
		{NUMBER_local_limit_RATE, 0, ALWAYS},
		{NUMBER_local_peak_RATE, 1, COLOURED},
		{NUMBER_demand_RATE, 0, ALWAYS},
		{NUMBER_global_demand_RATE, 2, ALWAYS},
		{NUMBER_passed_PACKETS, 3, ALWAYS},
		{NUMBER_dropped_PACKETS, 0, ALWAYS},
		{NUMBER_over_PACKETS, 4, ALWAYS},
		{NUMBER_peers_lost_COUNT, 4, ALWAYS},
		{NUMBER_allocator_TEXT, 5, ALWAYS},
	};
	struct field fields[sizeof(columns) / sizeof(*columns)];
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (!any_shows(document, columns[i].shown_if))
			continue;
		fields[n] = number_field(columns[i].number);
		fields[n++].kind |= OPTIONAL(columns[i].rank);
	}
	return fields_list(document, fields, n, view);
}

/* Prints the limiter's time and the limits that depend on it. */
int limits_print(const json_t *document, struct view *view)
{
	static const struct field head[] = {
		{"time", "time", KIND_TEXT},
		{"by schedule", "by_schedule", KIND_COUNT},
		{"overrides", "by_override", KIND_COUNT},
	};
	static const struct field fields[] = {
		{"POLICY", "name", KIND_TEXT},
		{"LIMIT", "limit", KIND_TEXT},
		{"LIMIT SOURCE", "limit_by", KIND_TEXT},
		{"UNTIL", "limit_until", KIND_TEXT},
		{"CONFIGURED", "configured_limit", KIND_TEXT | OPTIONAL(1)},
	};

	fields_detail(document, FIELDS(head), view);
	return fields_list(json_object_get(document, "limits"), FIELDS(fields), view);
}

int policy_print(const json_t *document, struct view *view)
{
	return numbers_detail(document, view);
}

#define MS_PER_S    1000.0
#define INTERVAL_MS 1000
#define BITS        8

/* The numbers of `rates`, `trials` and `top`. */
static const enum policy_number_id rates_of[] = {NUMBER_passed_PACKETS, NUMBER_passed_VOLUME,
	NUMBER_dropped_PACKETS, NUMBER_dropped_VOLUME, NUMBER_limit_RATE, NUMBER_local_limit_RATE,
	NUMBER_share_RATE, NUMBER_peak_RATE, NUMBER_local_peak_RATE, NUMBER_demand_RATE,
	NUMBER_global_demand_RATE, NUMBER_trial_limit_RATE, NUMBER_trial_local_limit_RATE,
	NUMBER_trial_passed_PACKETS, NUMBER_trial_passed_VOLUME, NUMBER_trial_dropped_PACKETS,
	NUMBER_trial_dropped_VOLUME};

/* Adds the rows of a page to a look: objects by name, with the page's time as "at_ms". */
static int take_rows(json_t *look, const json_t *page)
{
	const json_t *columns = json_object_get(page, "columns"), *row;
	size_t i;

	if (!json_is_array(columns) || !json_is_array(json_object_get(page, "policies")))
		return -EBADMSG;
	json_array_foreach (json_object_get(page, "policies"), i, row) {
		json_t *policy = field_row(columns, row);
		const char *name = json_string_value(json_object_get(policy, "name"));

		json_object_set(policy, "at_ms", json_object_get(page, "at_ms"));
		if (name)
			json_object_set(look, name, policy);
		json_decref(policy);
		if (!name)
			return -EBADMSG;
	}
	return 0;
}

int look_at_policies(struct source *source, size_t most, json_t **look)
{
	struct pages pages = {.source = source, .command = "/weir/policy_stats"};
	json_t *page;
	int ret;

	*look = json_object();
	do {
		ret = pages_take(&pages, &page);
		if (ret == 0)
			ret = take_rows(*look, page);
		json_decref(page);
	} while (ret == 0 && pages.next && json_object_size(*look) < most);
	if (ret) {
		json_decref(*look);
		*look = NULL;
	}
	return ret;
}

/* Adds a rate of the row, or the rate of a counter between both rows. A number without a value is
 * left out, unless every policy has it. */
static void add_rate(json_t *json, const json_t *before, const json_t *now,
	const struct policy_number *number, double scale)
{
	bool counter = number->kind == NUMBER_COUNTER, packets = number->unit == UNIT_PACKETS;
	char column[NUMBER_NAME_MAX], key[NUMBER_NAME_MAX];
	const json_t *value = member_at(now, number_column(number, column));
	double rate = value ? json_number_value(value) : NAN;
	double seconds = (field_number(now, "at_ms") - field_number(before, "at_ms")) / MS_PER_S;
	double grown = field_number(now, column) - field_number(before, column);

	if (!value && number->applies == APPLIES_TRIAL)
		return;
	if (value && counter) /* NAN: the policy restarted in between, and counts from 0 again */
		rate = grown < 0 || seconds <= 0 ? NAN : grown / seconds;
	snprintf(key, sizeof(key), "%s_%s", number->stem,
		packets     ? "pps"
		: scale > 1 ? "bps"
			    : "per_s");
	json_object_set_new(
		json, key, isnan(rate) ? json_null() : json_real(rate * (packets ? 1 : scale)));
}

static json_t *policy_rates(const json_t *before, const json_t *now)
{
	const char *count = json_string_value(json_object_get(now, "count"));
	double scale = count && strcmp(count, "bytes") == 0 ? BITS : 1;
	json_t *json = json_pack("{s:O, s:O?, s:O*}", "name", json_object_get(now, "name"), "count",
		json_object_get(now, "count"), "parent", json_object_get(now, "parent"));
	double limit = field_number(now, "limit_per_s");
	const json_t *here = member_at(now, "local_limit_per_s");

	for (size_t i = 0; i < sizeof(rates_of) / sizeof(*rates_of); i++)
		add_rate(json, before, now, &policy_numbers[rates_of[i]], scale);
	/* The part of the limit that this limiter enforces. */
	json_object_set_new(json, "share",
		here && limit > 0 ? json_real(json_number_value(here) / limit) : json_null());
	return json;
}

json_t *look_rates(const json_t *before, const json_t *now)
{
	json_t *array = json_array(), *policy;
	const char *name;

	json_object_foreach ((json_t *)now, name, policy) {
		const json_t *was = json_object_get(before, name);

		if (was)
			json_array_append_new(array, policy_rates(was, policy));
	}
	return array;
}

/* --- commands --------------------------------------------------------------------------------- */

bool policies_count(const char *word, size_t *n)
{
	char *end;

	*n = SIZE_MAX;
	if (!word)
		return true;
	errno = 0;
	*n = strtoul(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end && !errno && *n > 0;
}

/* Takes over the rates; returns those with a trial. */
static json_t *keep_trials(json_t *rates)
{
	json_t *kept = json_array(), *row;
	size_t i;

	json_array_foreach (rates, i, row)
		if (json_object_get(row, "trial_passed_pps"))
			json_array_append(kept, row);
	json_decref(rates);
	return kept;
}

static int gather_rates(
	struct source *source, const struct request *request, bool trials, json_t **document)
{
	static const struct field_order by[] = {{"dropped_pps", ""}, {"passed_pps", ""}};
	static const struct field_order by_trial[] = {
		{"trial_dropped_pps", ""}, {"trial_passed_pps", ""}};
	json_t *before = NULL, *now = NULL, *rates;
	size_t most;
	int ret;

	*document = NULL;
	if (!policies_count(request->word, &most))
		return -EINVAL;
	ret = look_at_policies(source, SIZE_MAX, &before);
	if (ret == 0) {
		source->pause(source, INTERVAL_MS);
		ret = look_at_policies(source, SIZE_MAX, &now);
	}
	if (ret == 0) {
		rates = look_rates(before, now);
		*document = trials ? fields_sort(keep_trials(rates), FIELDS(by_trial), most)
				   : fields_sort(rates, FIELDS(by), most);
	}
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
