/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/flowspec_overlap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What one match is in the place of an array of one. */
static const json_t *match_at(const json_t *policy, size_t i)
{
	const json_t *match = json_object_get(policy, "match");

	if (json_is_array(match))
		return json_array_get(match, i);
	return i == 0 ? match : NULL;
}

char *flowspec_prefixes(const json_t *policy)
{
	static const char *const keys[] = {"dst", "src"};
	const char *texts[2];
	char *both = NULL;

	for (unsigned i = 0; i < 2; i++) {
		texts[i] = json_string_value(json_object_get(match_at(policy, 0), keys[i]));
		if (texts[i] == NULL)
			texts[i] = "";
	}
	return asprintf(&both, "%s from %s", texts[0], texts[1]) < 0 ? NULL : both;
}

static bool values_meet(const json_t *match, const json_t *other, const char *key)
{
	const json_t *a = json_object_get(match, key), *b = json_object_get(other, key);

	return a == NULL || b == NULL || json_equal(a, b);
}

/* 53, or "1024-2047"; nothing is all. */
static void read_range(const json_t *value, unsigned long range[2])
{
	const char *text = json_string_value(value);
	char *dash;

	range[0] = json_is_integer(value) ? (unsigned long)json_integer_value(value) : 0;
	range[1] = value == NULL ? UINT16_MAX : range[0];
	if (text == NULL)
		return;
	range[0] = strtoul(text, &dash, 10);
	range[1] = *dash == '-' ? strtoul(dash + 1, NULL, 10) : range[0];
}

static bool ranges_meet(const json_t *match, const json_t *other, const char *key)
{
	unsigned long a[2], b[2];

	read_range(json_object_get(match, key), a);
	read_range(json_object_get(other, key), b);
	return a[0] <= b[1] && b[0] <= a[1];
}

static bool matches_meet(const json_t *match, const json_t *other)
{
	return values_meet(match, other, "proto") && values_meet(match, other, "dscp") &&
	       ranges_meet(match, other, "dst-port") && ranges_meet(match, other, "src-port");
}

bool flowspec_overlap(const json_t *policy, const json_t *other)
{
	const json_t *a, *b;

	for (size_t i = 0; (a = match_at(policy, i)) != NULL; i++)
		for (size_t k = 0; (b = match_at(other, k)) != NULL; k++)
			if (matches_meet(a, b))
				return true;
	return false;
}
