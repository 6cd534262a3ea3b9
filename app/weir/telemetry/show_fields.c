/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Helpers of all answers: tables of fields, pages of long lists, and lookups by name.
 */
#include "show.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/counter.h"
#include "instance.h"
#include "policy/names.h"
#include "policy/units.h"

bool show_start(const char *params, unsigned *start)
{
	unsigned long value;
	char *end;

	*start = 0;
	if (!params || !*params)
		return true;
	errno = 0;
	value = strtoul(params, &end, 10);
	if (!isdigit((unsigned char)*params) || *end || errno || value > UINT32_MAX)
		return false;
	*start = (unsigned)value;
	return true;
}

/* Takes over the items. */
static json_t *page_json(const char *what, json_t *items, unsigned start, unsigned total)
{
	unsigned end = start + (unsigned)json_array_size(items);

	return json_pack("{s:i, s:i, s:o, s:o}", "total", (int)total, "start", (int)start, "next",
		end < total ? json_uint(end) : json_null(), what, items);
}

json_t *show_page(const char *what, const char *params, unsigned total, unsigned most,
	show_item item, const void *context)
{
	json_t *items;
	unsigned start;

	if (!show_start(params, &start))
		return NULL;
	items = json_array();
	for (unsigned i = start; i < total && i - start < most; i++)
		json_array_append_new(items, item(context, i));
	return page_json(what, items, start, total);
}

bool show_index(const char *params, unsigned *index)
{
	return params && show_start(params, index);
}

json_t *show_names(const char *what, const char *params, const struct instance *inst,
	bool (*is_listed)(const struct instance *inst, unsigned policy))
{
	unsigned start, total = 0;
	json_t *names;

	if (!show_start(params, &start))
		return NULL;
	names = json_array();
	for (unsigned i = 0; i < inst->n_policies; i++) {
		if (is_listed && !is_listed(inst, i))
			continue;
		if (total >= start && total - start < TELEMETRY_PAGE)
			json_array_append_new(names, json_string(inst->policies[i].name));
		total++;
	}
	return page_json(what, names, start, total);
}

unsigned show_find(const struct instance *inst, const char *name)
{
	return policy_names_find(inst->names, name);
}

const char *show_counting(enum counting count)
{
	static const char *const names[] = {
		[COUNT_BYTES] = "bytes",
		[COUNT_PACKETS] = "packets",
		[COUNT_FLOWS] = "flows",
	};

	return names[count];
}

void show_rate(json_t *json, const struct policy *policy, const char *name, double rate)
{
	bool bytes = policy->count == COUNT_BYTES;
	json_t *value = json_null();
	char key[32];

	snprintf(key, sizeof(key), "%s%s", name, bytes ? "_bps" : "_per_s");
	if (!isnan(rate) && bytes) /* whole bit/s, the usual unit */
		value = json_integer((json_int_t)(rate * 8 + (rate < 0 ? -0.5 : 0.5)));
	else if (!isnan(rate))
		value = json_real(rate);
	json_object_set_new(json, key, value);
}

void show_units(json_t *json, const struct policy *policy, const char *name, uint64_t units)
{
	char key[32];

	snprintf(key, sizeof(key), "%s%s", name, policy->count == COUNT_BYTES ? "_bytes" : "");
	json_object_set_new(json, key, json_uint(units));
}

/* Shows a member that has the same meaning for every policy. */
static json_t *plain_json(enum show_kind kind, const void *member)
{
	switch (kind) {
	case SHOW_COUNTER:
		return json_uint(counter_read(member));
	case SHOW_FLAG:
		return json_boolean(*(const bool *)member);
	case SHOW_TEXT:
		return json_string(*(const char *const *)member);
	case SHOW_MS:
		return json_real((double)*(const uint64_t *)member / MS_NS);
	default:
		return json_uint(*(const uint64_t *)member);
	}
}

/* Returns a member in units a second. */
static double member_rate(enum show_kind kind, const void *member, const struct policy *policy)
{
	switch (kind) {
	case SHOW_THOUSANDS:
		return (double)*(const uint64_t *)member / 1000;
	case SHOW_PART:
		return (double)*(const int64_t *)member / policy_limit_s(policy);
	default:
		return *(const double *)member;
	}
}

void show_fields(
	json_t *json, const struct show_field *table, const void *from, const struct policy *policy)
{
	for (const struct show_field *field = table; field->key; field++) {
		const void *member = (const char *)from + field->offset;
		enum show_kind kind = field->kind;

		if (kind < SHOW_UNITS)
			json_object_set_new(json, field->key, plain_json(kind, member));
		else if (kind == SHOW_UNITS)
			show_units(json, policy, field->key, *(const uint64_t *)member);
		else
			show_rate(json, policy, field->key, member_rate(kind, member, policy));
	}
}

/* Returns the limit as it was written: 100/min is not a whole number a second. */
json_t *show_limit(const struct policy *policy)
{
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps == 0)
		return json_null();
	if (policy->count == COUNT_BYTES)
		return json_string(units_format_rate(policy->limit_bps, text, sizeof(text)));
	return json_string(units_format_count_rate(
		policy->limit_bps, policy_limit_s(policy), text, sizeof(text)));
}
