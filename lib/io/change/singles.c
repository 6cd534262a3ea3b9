/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/singles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "change/edit.h"
#include "json/copy.h"

/* Borrowed; null: there is none. */
static json_t *policy_of(const json_t *configuration, const char *name)
{
	json_t *policies = json_object_get(configuration, "policies");
	size_t at = policy_index(policies, name);

	return at == SIZE_MAX ? json_null() : json_array_get(policies, at);
}

/* Where each policy is, by its name: there may be many of both. NULL without memory. */
static json_t *index_policies(const json_t *configuration)
{
	json_t *index = json_object();
	const json_t *policy;
	size_t i;

	json_array_foreach (json_object_get(configuration, "policies"), i, policy) {
		const char *name = json_string_value(json_object_get(policy, "name"));

		if (name == NULL ||
			json_object_set_new(index, name, json_integer((json_int_t)i)) == 0)
			continue;
		json_decref(index);
		return NULL;
	}
	return index;
}

static json_t *indexed_policy(const json_t *configuration, const json_t *index, const char *name)
{
	const json_t *at = json_object_get(index, name);

	if (at == NULL)
		return json_null();
	return json_array_get(
		json_object_get(configuration, "policies"), (size_t)json_integer_value(at));
}

int singles_note(json_t *singles, const json_t *configuration, const char *name)
{
	const json_t *single;
	size_t i;

	json_array_foreach (singles, i, single) {
		if (strcmp(json_string_value(json_object_get(single, "policy")), name) == 0)
			return 0;
	}
	return json_array_append_new(singles, json_pack("{s:s, s:O}", "policy", name, "was",
						      policy_of(configuration, name))) < 0
		       ? -ENOMEM
		       : 0;
}

struct carrying {
	json_t *file, *list; /* and its policies, of which removed ones are null until the end */
	const json_t *running;
	json_t *file_index, *running_index;
	FILE *say;
	bool failed; /* without memory */
};

/* Whether it goes on; what it changes is changed. */
static bool carry_single(struct carrying *c, const json_t *single)
{
	const char *name = json_string_value(json_object_get(single, "policy"));
	json_t *now = name ? indexed_policy(c->running, c->running_index, name) : json_null();
	json_t *there = name ? indexed_policy(c->file, c->file_index, name) : json_null();
	json_t *at = name ? json_object_get(c->file_index, name) : NULL;

	if (name == NULL || json_equal(there, now))
		return false;
	if (!json_equal(there, json_object_get(single, "was"))) {
		fprintf(c->say,
			"warning: policy \"%s\": the file has another one by now: what was changed "
			"singly is gone\n",
			name);
		return false;
	}
	if (at != NULL)
		c->failed |= json_array_set(c->list, (size_t)json_integer_value(at), now) < 0;
	else
		c->failed |= json_array_append(c->list, now) < 0;
	return true;
}

static json_t *without_nulls(const json_t *list)
{
	json_t *kept = json_array(), *value;
	size_t i;

	json_array_foreach (list, i, value) {
		if (json_is_null(value) || json_array_append(kept, value) == 0)
			continue;
		json_decref(kept);
		return NULL;
	}
	return kept;
}

/* The list is a copy: what is compared stays as it is. */
int singles_carry(json_t *file, const json_t *running, json_t *singles, FILE *say)
{
	json_t *policies = json_object_get(file, "policies");
	struct carrying c = {
		.file = file,
		.running = running,
		.list = json_is_array(policies) ? whole_copy(policies) : json_array(),
		.file_index = index_policies(file),
		.running_index = index_policies(running),
		.say = say,
	};
	bool good = c.list && c.file_index && c.running_index;
	size_t i = 0;

	while (good && !c.failed && i < json_array_size(singles)) {
		if (carry_single(&c, json_array_get(singles, i)))
			i++;
		else
			json_array_remove(singles, i);
	}
	good = good && !c.failed &&
	       json_object_set_new(file, "policies", without_nulls(c.list)) == 0;
	json_decref(c.list);
	json_decref(c.file_index);
	json_decref(c.running_index);
	return good ? 0 : -ENOMEM;
}
