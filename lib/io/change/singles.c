/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/singles.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "change/between.h"
#include "json/copy.h"

struct noting {
	json_t *singles;
	struct name_table *known;   /* policies in `singles` */
	const json_t *policies;     /* policies of the configuration */
	struct name_table *by_name; /* index of `policies` */
};

/* Returns {"policy": NAME, "was": POLICY or null}, made from existing values. */
static json_t *make_single(json_t *name, json_t *was)
{
	json_t *single = json_object();

	if (json_object_set_nocheck(single, "policy", name) == 0 &&
		json_object_set_nocheck(single, "was", was) == 0)
		return single;
	json_decref(single);
	return NULL;
}

/* Returns the value at an index of a list, borrowed, or JSON null if there is none. */
static json_t *value_or_null(const json_t *list, uint32_t at)
{
	return at == NAME_NONE ? json_null() : json_array_get(list, at);
}

static int note_single(struct noting *n, const json_t *edit)
{
	json_t *name = json_object_get(edit, "name");
	const char *text = json_string_value(name);
	json_t *was;

	if (text == NULL || name_table_find(n->known, text) != NAME_NONE)
		return 0;
	was = value_or_null(n->policies, name_table_find(n->by_name, text));
	if (json_array_append_new(n->singles, make_single(name, was)) < 0)
		return -ENOMEM;
	return name_table_set(n->known, text, 0);
}

static int note_all(struct noting *n, const json_t *edits)
{
	const json_t *edit;
	int rc = 0;
	size_t i;

	if (json_is_object(edits))
		return note_single(n, edits);
	json_array_foreach (edits, i, edit) {
		if (rc == 0)
			rc = note_single(n, edit);
	}
	return rc;
}

int singles_note(json_t *singles, const json_t *configuration, const json_t *edits)
{
	struct noting n = {
		.singles = singles,
		.known = list_by_name(singles, "policy"),
		.policies = json_object_get(configuration, "policies"),
	};
	int rc = -ENOMEM;

	n.by_name = list_by_name(n.policies, "name");
	if (n.known != NULL && n.by_name != NULL)
		rc = note_all(&n, edits);
	name_table_destroy(n.known);
	name_table_destroy(n.by_name);
	return rc;
}

/* Replaces the content of the list. Returns 0 or -ENOMEM. */
static int replace_singles(json_t *singles, json_t *left)
{
	return json_array_clear(singles) < 0 || json_array_extend(singles, left) < 0 ? -ENOMEM : 0;
}

static bool was_not(const json_t *single)
{
	return json_is_null(json_object_get(single, "was"));
}

/* Copies the list without policies that are new and no longer exist. NULL: out of memory. */
static json_t *without_gone(const json_t *singles, const struct name_table *by_name)
{
	json_t *left = json_array(), *single;
	size_t i;

	json_array_foreach (singles, i, single) {
		const char *name = json_string_value(json_object_get(single, "policy"));
		const bool exists = name != NULL && name_table_find(by_name, name) != NAME_NONE;

		if ((was_not(single) && !exists) || json_array_append(left, single) == 0)
			continue;
		json_decref(left);
		return NULL;
	}
	return left;
}

static bool any_was_not(const json_t *singles)
{
	const json_t *single;
	size_t i;

	json_array_foreach (singles, i, single) {
		if (was_not(single))
			return true;
	}
	return false;
}

int singles_forget(json_t *singles, const json_t *configuration)
{
	struct name_table *by_name;
	json_t *left;
	int rc;

	if (!any_was_not(singles))
		return 0;
	by_name = list_by_name(json_object_get(configuration, "policies"), "name");
	left = by_name != NULL ? without_gone(singles, by_name) : NULL;
	rc = left != NULL ? replace_singles(singles, left) : -ENOMEM;
	json_decref(left);
	name_table_destroy(by_name);
	return rc;
}

struct carrying {
	json_t *list;          /* policies of the new file; removed ones are null */
	const json_t *running; /* policies that run */
	struct name_table *by_name, *runs_by_name; /* indexes of both */
	FILE *messages;
	bool failed; /* out of memory */
};

/* Applies one change to the new file. Returns true if the change stays in the list. */
static bool carry_single(struct carrying *c, const json_t *single)
{
	const char *name = json_string_value(json_object_get(single, "policy"));
	uint32_t at = name != NULL ? name_table_find(c->by_name, name) : NAME_NONE;
	json_t *now = name != NULL
			      ? value_or_null(c->running, name_table_find(c->runs_by_name, name))
			      : NULL;
	json_t *there = value_or_null(c->list, at);

	if (name == NULL || json_equal(there, now))
		return false;
	if (!json_equal(there, json_object_get(single, "was"))) {
		fprintf(c->messages,
			"warning: policy \"%s\": the file has a newer one: its single change is "
			"discarded\n",
			name);
		return false;
	}
	if (at != NAME_NONE)
		c->failed |= json_array_set(c->list, at, now) < 0;
	else
		c->failed |= json_array_append(c->list, now) < 0;
	return true;
}

/* Applies all changes, and keeps those that still apply in the list, in their order. */
static void carry_all(struct carrying *c, json_t *singles)
{
	json_t *left = json_array(), *single;
	size_t i;

	c->failed |= left == NULL;
	json_array_foreach (singles, i, single) {
		if (!c->failed && carry_single(c, single))
			c->failed |= json_array_append(left, single) < 0;
	}
	if (!c->failed)
		c->failed = replace_singles(singles, left) < 0;
	json_decref(left);
}

int singles_carry(json_t *file, const json_t *running, json_t *singles, FILE *messages)
{
	const json_t *policies = json_object_get(file, "policies");
	struct carrying c = {
		.list = whole_list(policies),
		.running = json_object_get(running, "policies"),
		.by_name = list_by_name(policies, "name"),
		.messages = messages,
	};

	c.runs_by_name = list_by_name(c.running, "name");
	c.failed = c.list == NULL || c.by_name == NULL || c.runs_by_name == NULL;
	if (!c.failed)
		carry_all(&c, singles);
	if (!c.failed)
		c.failed = json_object_set_new(file, "policies", without_nulls(c.list)) < 0;
	json_decref(c.list);
	name_table_destroy(c.by_name);
	name_table_destroy(c.runs_by_name);
	return c.failed ? -ENOMEM : 0;
}
