/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/edits.h"

#include <stdbool.h>
#include <string.h>

static const char *policy_name(const json_t *policy)
{
	const char *name = json_string_value(json_object_get(policy, "name"));

	return name != NULL ? name : "";
}

/* By name; there may be many. NULL without memory. */
static json_t *index_policies(const json_t *policies)
{
	json_t *index = json_object(), *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		if (json_object_set(index, policy_name(policy), policy) == 0)
			continue;
		json_decref(index);
		return NULL;
	}
	return index;
}

static bool is_of(const json_t *policy, const char *prefix)
{
	return strncmp(policy_name(policy), prefix, strlen(prefix)) == 0;
}

static int append_edit(json_t *edits, const char *verb, const json_t *policy, json_t *keys)
{
	return json_array_append_new(edits, json_pack("{s:s, s:s, s:o}", "do", verb, "name",
						    policy_name(policy), "keys", keys));
}

/* What is to be written of it, and null for what it is to lose. */
static json_t *keys_between(json_t *before, json_t *now)
{
	json_t *keys = json_object(), *value;
	const char *key;

	json_object_foreach (now, key, value) {
		if (strcmp(key, "name") != 0 && !json_equal(json_object_get(before, key), value))
			json_object_set(keys, key, value);
	}
	json_object_foreach (before, key, value) {
		if (json_object_get(now, key) == NULL)
			json_object_set_new(keys, key, json_null());
	}
	return keys;
}

/* 0 or -1 */
static int append_wanted(
	json_t *edits, json_t *before, json_t *wanted, struct import_counts *counts)
{
	json_t *keys;

	if (before != NULL && json_equal(before, wanted)) {
		counts->same++;
		return 0;
	}
	keys = keys_between(before, wanted);
	if (before == NULL)
		counts->added++;
	else
		counts->set++;
	return append_edit(edits, before == NULL ? "add" : "set", wanted, keys);
}

static int append_removals(json_t *edits, const json_t *running, const json_t *wanted_index,
	const char *prefix, struct import_counts *counts)
{
	json_t *policy;
	size_t i;
	int ret = 0;

	json_array_foreach (running, i, policy) {
		if (!is_of(policy, prefix) ||
			json_object_get(wanted_index, policy_name(policy)) != NULL)
			continue;
		ret |= append_edit(edits, "remove", policy, json_object());
		counts->removed++;
	}
	return ret;
}

json_t *import_edits(const json_t *running, const json_t *wanted, const char *prefix,
	struct import_counts *counts)
{
	json_t *before = index_policies(running), *now = index_policies(wanted), *policy;
	json_t *edits = before != NULL && now != NULL ? json_array() : NULL;
	int ret = edits != NULL ? 0 : -1;
	size_t i;

	*counts = (struct import_counts){0};
	json_array_foreach (wanted, i, policy) {
		if (ret == 0)
			ret = append_wanted(edits, json_object_get(before, policy_name(policy)),
				policy, counts);
	}
	if (ret == 0)
		ret = append_removals(edits, running, now, prefix, counts);
	json_decref(before);
	json_decref(now);
	if (ret == 0)
		return edits;
	json_decref(edits);
	return NULL;
}
