/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show_json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"

/* Bytes per second, as everybody says it: whole bit/s. */
static json_t *bits(double bytes_per_second)
{
	return json_integer(
		(json_int_t)(bytes_per_second * 8 + (bytes_per_second < 0 ? -0.5 : 0.5)));
}

bool show_page_start(const char *params, unsigned *start)
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

json_t *show_page(const char *what, json_t *items, unsigned start, unsigned total)
{
	unsigned end = start + (unsigned)json_array_size(items);

	return json_pack("{s:i, s:i, s:o, s:o}", "total", (int)total, "start", (int)start, "next",
		end < total ? integer(end) : json_null(), what, items);
}

unsigned show_find(const struct box *box, const char *name)
{
	unsigned i = 0;

	while (i < box->n_policies && strcmp(box->policies[i].name, name) != 0)
		i++;
	return i;
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
	if (!isnan(rate))
		value = bytes ? bits(rate) : json_real(rate);
	json_object_set_new(json, key, value);
}

void show_units(json_t *json, const struct policy *policy, const char *name, uint64_t units)
{
	char key[32];

	snprintf(key, sizeof(key), "%s%s", name, policy->count == COUNT_BYTES ? "_bytes" : "");
	json_object_set_new(json, key, integer(units));
}
