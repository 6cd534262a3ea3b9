/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "look.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ask/member.h"
#include "field.h"

#define MS_PER_S 1000.0
#define BITS     8

/* Columns of a row that rates are of, and what they are called: of packets, and of units. */
struct rate_of {
	const char *column, *packets, *bits, *units;
};

static const struct rate_of rates_of[] = {
	{"passed_packets", "passed_pps", NULL, NULL},
	{"passed_units", NULL, "passed_bps", "passed_per_s"},
	{"dropped_packets", "dropped_pps", NULL, NULL},
	{"dropped_units", NULL, "dropped_bps", "dropped_per_s"},
};

/* And those of a trial, where a policy has one. */
static const struct rate_of trial_rates_of[] = {
	{"trial_passed_packets", "trial_passed_pps", NULL, NULL},
	{"trial_passed_units", NULL, "trial_passed_bps", "trial_passed_per_s"},
	{"trial_dropped_packets", "trial_dropped_pps", NULL, NULL},
	{"trial_dropped_units", NULL, "trial_dropped_bps", "trial_dropped_per_s"},
};

/* One look: by name an object of the columns, with the time of its page as "at_ms". */
static int take_rows(json_t *look, const json_t *page)
{
	const json_t *columns = json_object_get(page, "columns"), *row;
	size_t i;

	if (!json_is_array(columns) || !json_is_array(json_object_get(page, "policies")))
		return -EBADMSG;
	json_array_foreach (json_object_get(page, "policies"), i, row) {
		json_t *policy = json_object(), *column;
		size_t k;

		json_array_foreach (columns, k, column)
			if (json_is_string(column) && json_array_get(row, k))
				json_object_set(
					policy, json_string_value(column), json_array_get(row, k));
		json_object_set(policy, "at_ms", json_object_get(page, "at_ms"));
		if (!json_is_string(json_object_get(policy, "name"))) {
			json_decref(policy);
			return -EBADMSG;
		}
		json_object_set_new(
			look, json_string_value(json_object_get(policy, "name")), policy);
	}
	return 0;
}

int look_at_policies(struct source *source, json_t **look)
{
	return look_at_first_policies(source, SIZE_MAX, look);
}

int look_at_first_policies(struct source *source, size_t most, json_t **look)
{
	json_int_t next = 0;
	int ret;

	*look = json_object();
	do {
		json_int_t before = next;
		char start[24];
		json_t *page;

		snprintf(start, sizeof(start), "%lld", (long long)next);
		ret = source_get_of(source, "/weir/policy_stats", start, &page);
		if (ret)
			break;
		ret = take_rows(*look, page);
		next = json_integer_value(json_object_get(page, "next"));
		json_decref(page);
		if (next && next <= before) /* it would be followed for ever */
			ret = -EBADMSG;
	} while (ret == 0 && next && json_object_size(*look) < most);
	return ret;
}

/* A policy that was made anew meanwhile has counted from 0: what it has is all of that time. */
static double rate_between(const json_t *before, const json_t *now, const char *column)
{
	double seconds = (field_number(now, "at_ms") - field_number(before, "at_ms")) / MS_PER_S;
	double grown = field_number(now, column) - field_number(before, column);

	return grown < 0 || seconds <= 0 ? NAN : grown / seconds;
}

/* A rate that is told, in units a second; `scale` makes bits of bytes. */
static void add_told(json_t *json, const json_t *now, const char *name, double scale)
{
	char column[64], key[64];
	const json_t *value;

	snprintf(column, sizeof(column), "%s_per_s", name);
	snprintf(key, sizeof(key), "%s_%s", name, scale > 1 ? "bps" : "per_s");
	value = member_at(now, column);
	json_object_set_new(
		json, key, value ? json_real(json_number_value(value) * scale) : json_null());
}

/* What this limiter may pass of what all may. */
static void add_share(json_t *json, const json_t *now)
{
	double limit = field_number(now, "limit_per_s");
	const json_t *here = member_at(now, "local_limit_per_s");

	json_object_set_new(json, "share",
		here && limit > 0 ? json_real(json_number_value(here) / limit) : json_null());
}

static void add_rates(json_t *json, const json_t *before, const json_t *now,
	const struct rate_of *rates, size_t n, double scale)
{
	for (size_t i = 0; i < n; i++) {
		const char *key = rates[i].packets ? rates[i].packets
				  : scale > 1      ? rates[i].bits
						   : rates[i].units;
		double rate = rate_between(before, now, rates[i].column) *
			      (rates[i].packets ? 1 : scale);

		json_object_set_new(json, key, isnan(rate) ? json_null() : json_real(rate));
	}
}

static void add_trial(json_t *json, const json_t *before, const json_t *now, double scale)
{
	if (!member_at(now, "trial_limit_per_s"))
		return;
	add_told(json, now, "trial_limit", scale);
	add_told(json, now, "trial_local_limit", scale);
	add_rates(json, before, now, trial_rates_of,
		sizeof(trial_rates_of) / sizeof(*trial_rates_of), scale);
}

static json_t *policy_rates(const json_t *before, const json_t *now)
{
	const char *count = json_string_value(json_object_get(now, "count"));
	double scale = count && strcmp(count, "bytes") == 0 ? BITS : 1;
	json_t *json = json_pack("{s:O, s:O?, s:O*}", "name", json_object_get(now, "name"), "count",
		json_object_get(now, "count"), "parent", json_object_get(now, "parent"));

	add_rates(json, before, now, rates_of, sizeof(rates_of) / sizeof(*rates_of), scale);
	add_told(json, now, "limit", scale);
	add_told(json, now, "local_limit", scale);
	add_told(json, now, "share", scale);
	add_told(json, now, "peak", scale);
	add_told(json, now, "local_peak", scale);
	add_told(json, now, "demand", scale);
	add_told(json, now, "global_demand", scale);
	add_share(json, now);
	add_trial(json, before, now, scale);
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
