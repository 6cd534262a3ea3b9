/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/edit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "change/between.h"
#include "json/copy.h"
#include "json/diagnostics.h"
#include "json/json_path.h"
#include "json/suggest.h"

#define KEY_DEPTH     4 /* members in a key such as "match.src" */
#define CHILDREN_MOST 3 /* children that the message about a removed parent names */

static const char *const verbs[] = {"add", "set", "remove"};

enum verb { VERB_ADD, VERB_SET, VERB_REMOVE, VERBS };

static enum verb find_verb(const char *text)
{
	unsigned i = 0;

	while (i < VERBS && (text == NULL || strcmp(text, verbs[i]) != 0))
		i++;
	return (enum verb)i;
}

static int parse_edit_word(json_t *keys, const char *word, FILE *err)
{
	const char *equals = strchr(word, '=');
	char key[128];
	json_t *value;

	if (equals == NULL || equals == word || (size_t)(equals - word) >= sizeof(key)) {
		fprintf(err, "\"%s\": expected KEY=VALUE such as limit=5Mbit/s\n", word);
		return -EINVAL;
	}
	memcpy(key, word, (size_t)(equals - word));
	key[equals - word] = '\0';
	if (json_object_get(keys, key) != NULL || strcmp(key, "name") == 0) {
		fprintf(err, "\"%s\": %s\n", word,
			strcmp(key, "name") == 0
				? "a policy keeps its name: remove it, and add another"
				: "duplicate key: give each key once");
		return -EINVAL;
	}
	value = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (value == NULL)
		value = json_string(equals + 1);
	if (json_object_set_new(keys, key, value) < 0) {
		fprintf(err, "\"%s\": expected UTF-8\n", word);
		return -EINVAL;
	}
	return 0;
}

json_t *policy_edit_parse(
	const char *verb, const char *name, char *const *words, unsigned n, FILE *err)
{
	json_t *keys = json_object(), *edit;
	bool removes = find_verb(verb) == VERB_REMOVE;

	for (unsigned i = 0; i < n; i++) {
		if (!removes && parse_edit_word(keys, words[i], err) == 0)
			continue;
		if (removes)
			fprintf(err, "\"%s\": expected only a policy after \"remove\"\n", words[i]);
		json_decref(keys);
		return NULL;
	}
	if (n == 0 && !removes) {
		fprintf(err, "policy \"%s\": expected KEY=VALUE after it, such as limit=5Mbit/s\n",
			name);
		json_decref(keys);
		return NULL;
	}
	edit = json_pack("{s:s, s:s, s:o}", "do", verb, "name", name, "keys", keys);
	if (edit == NULL)
		fprintf(err, "policy \"%s\": expected UTF-8\n", name);
	return edit;
}

/* --- edits are made --------------------------------------------------------------------------- */

struct editing {
	json_t *list; /* policies; a removed one is null until the end */
	struct name_table *by_name;
	struct name_table *removed; /* edits that remove policies, by name; NULL: there are none */
	FILE *err;
	bool listed;    /* the edits are an array, and messages have an index */
	size_t at;      /* index of the edit that is applied */
	unsigned wrong; /* mistakes so far; the first ones are printed */
};

/*
 * Counts a mistake, and begins its line with the place: `edits[17]: policy "video": ` in an array,
 * otherwise `policy "video": `. Without a name (NULL) that part is left out. Returns the stream, or
 * NULL if the line is one too many.
 */
static FILE *begin_mistake(struct editing *e, const json_t *name)
{
	if (e->wrong++ >= DIAGNOSTICS_MOST)
		return NULL;
	if (e->listed)
		fprintf(e->err, "edits[%zu]: ", e->at);
	if (name != NULL) {
		fputs("policy ", e->err);
		json_print_found(name, e->err);
		fputs(": ", e->err);
	}
	return e->err;
}

/* Reports a member of an edit, and the value that it has (NULL: missing). Returns -EINVAL. */
static int edit_is_wrong(
	struct editing *e, const char *member, const json_t *found, const char *why)
{
	FILE *err = begin_mistake(e, NULL);

	if (err == NULL)
		return -EINVAL;
	if (member[0] != '\0')
		fprintf(err, "%s: ", member);
	json_print_found(found, err);
	fprintf(err, ": %s\n", why);
	return -EINVAL;
}

static int edit_is_none(struct editing *e)
{
	FILE *err = begin_mistake(e, NULL);

	if (err != NULL)
		fputs("expected {\"do\": \"set\", \"name\": POLICY, \"keys\": {KEY: VALUE}}, or "
		      "\"do\": \"add\" or \"remove\"\n",
			err);
	return -EINVAL;
}

/* Reports a policy that is not there, with the nearest name. Returns -EINVAL. */
static int policy_is_missing(struct editing *e, const json_t *name, bool removes)
{
	FILE *err = begin_mistake(e, name);
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};
	const json_t *policy;
	size_t i;

	if (err == NULL)
		return -EINVAL;
	json_array_foreach (e->list, i, policy) {
		const char *other = json_string_value(json_object_get(policy, "name"));

		if (other != NULL)
			suggest_offer(&meant, json_string_value(name), other);
	}
	fputs("no such policy: ", err);
	if (suggest_remedy(meant.word, remedy) != NULL)
		fprintf(err, "%s\n", remedy);
	else
		fprintf(err, "see \"weirctl policies\"%s\n",
			removes ? "" : ", or use \"add\" to create it");
	return -EINVAL;
}

static int policy_exists(struct editing *e, const json_t *name)
{
	FILE *err = begin_mistake(e, name);

	if (err != NULL)
		fputs("already exists: use \"set\" to change it\n", err);
	return -EINVAL;
}

static int name_is_wrong(struct editing *e, const json_t *policy, const json_t *value)
{
	FILE *err = begin_mistake(e, json_object_get(policy, "name"));

	if (err == NULL)
		return -EINVAL;
	fputs("name: ", err);
	json_print_found(value, err);
	fputs(": a policy keeps its name: remove it, and add another\n", err);
	return -EINVAL;
}

/* Reports a dotted key that goes through something other than an object. Returns -EINVAL. */
static int key_is_wrong(struct editing *e, const json_t *policy, const char *key)
{
	json_t *word = json_string(key);
	FILE *err = begin_mistake(e, json_object_get(policy, "name"));

	if (err != NULL) {
		json_print_found(word, err);
		fputs(": expected the key of an object: set the whole value of the first word\n",
			err);
	}
	json_decref(word);
	return -EINVAL;
}

/*
 * Goes from the policy to the object that the last member of a dotted key belongs to, and creates
 * it if it is missing. It is a copy: other policies can share the one that was there. Returns 0,
 * -EINVAL for a key that leads to no object, or -ENOMEM.
 */
static int edit_parent(json_t **object, const char **key)
{
	char member[128];

	for (unsigned depth = 0; depth < KEY_DEPTH; depth++) {
		size_t len = strcspn(*key, ".");
		json_t *next;

		if ((*key)[len] == '\0')
			return 0;
		if (len == 0 || len >= sizeof(member))
			break;
		memcpy(member, *key, len);
		member[len] = '\0';
		next = json_object_get(*object, member);
		if (next != NULL && !json_is_object(next))
			break;
		next = next != NULL ? whole_copy(next) : json_object();
		if (json_object_set_new(*object, member, next) < 0)
			return -ENOMEM;
		*object = next;
		*key += len + 1;
	}
	return -EINVAL;
}

static int set_edit_keys(struct editing *e, json_t *policy, json_t *keys)
{
	const char *name;
	json_t *value;

	json_object_foreach (keys, name, value) {
		const char *key = name;
		json_t *parent = policy;
		int rc = edit_parent(&parent, &key);

		if (rc < 0)
			return rc == -EINVAL ? key_is_wrong(e, policy, name) : rc;
		if (parent == policy && strcmp(key, "name") == 0 &&
			!json_equal(value, json_object_get(policy, key)))
			return name_is_wrong(e, policy, value);
		if (json_is_null(value))
			json_object_del(parent, key);
		else if (json_object_set(parent, key, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Changes a copy, because other documents share the policy. The copy replaces the policy even if
 * the edit was wrong, so that the edits after it are not reported for the same reason.
 */
static int change_policy(struct editing *e, uint32_t at, json_t *keys)
{
	json_t *policy = whole_copy(json_array_get(e->list, at));
	int rc = policy != NULL ? set_edit_keys(e, policy, keys) : -ENOMEM;

	if (rc != -ENOMEM && json_array_set(e->list, at, policy) < 0)
		rc = -ENOMEM;
	json_decref(policy);
	return rc;
}

static int add_policy(struct editing *e, json_t *name, json_t *keys)
{
	uint32_t at = (uint32_t)json_array_size(e->list);

	if (json_array_append_new(e->list, json_pack("{s:O}", "name", name)) < 0 ||
		name_table_set(e->by_name, json_string_value(name), at) < 0)
		return -ENOMEM;
	return change_policy(e, at, keys);
}

static int remove_policy(struct editing *e, const char *name, uint32_t at)
{
	if (e->removed == NULL && name_table_create(0, &e->removed) < 0)
		return -ENOMEM;
	if (name_table_set(e->removed, name, (uint32_t)e->at) < 0 ||
		json_array_set_new(e->list, at, json_null()) < 0)
		return -ENOMEM;
	return name_table_set(e->by_name, name, NAME_NONE);
}

struct edit {
	enum verb verb;
	json_t *name, *keys;
};

/* Rejects other members, because a key of the policy belongs into "keys". 0 or -EINVAL. */
static int expect_members(struct editing *e, const json_t *from)
{
	const char *member;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)from, member, value)
		if (strcmp(member, "do") != 0 && strcmp(member, "name") != 0 &&
			strcmp(member, "keys") != 0)
			return edit_is_wrong(e, member, value,
				"unknown key: expected \"do\", \"name\" or \"keys\", which has the "
				"policy's keys");
	return 0;
}

/* Takes an edit apart. Its policy might not exist. 0 or -EINVAL. */
static int read_edit(struct editing *e, const json_t *from, struct edit *edit)
{
	const json_t *verb = json_object_get(from, "do");
	bool has_keys;

	*edit = (struct edit){find_verb(json_string_value(verb)), json_object_get(from, "name"),
		json_object_get(from, "keys")};
	has_keys = edit->verb == VERB_REMOVE || json_is_object(edit->keys);
	if (edit->verb < VERBS && json_is_string(edit->name) && has_keys)
		return expect_members(e, from);
	if (!e->listed)
		return edit_is_none(e);
	if (!json_is_object(from))
		return edit_is_wrong(e, "", from, "expected an edit, an object");
	if (edit->verb == VERBS)
		return edit_is_wrong(e, "do", verb, "expected \"add\", \"set\" or \"remove\"");
	if (!json_is_string(edit->name))
		return edit_is_wrong(e, "name", edit->name, "expected the name of a policy");
	return edit_is_wrong(e, "keys", edit->keys, "expected an object");
}

static int make_edit(struct editing *e, const json_t *from)
{
	struct edit edit;
	const char *name;
	uint32_t at;

	if (read_edit(e, from, &edit) < 0)
		return -EINVAL;
	name = json_string_value(edit.name);
	at = name_table_find(e->by_name, name);
	if (at == NAME_NONE && edit.verb != VERB_ADD)
		return policy_is_missing(e, edit.name, edit.verb == VERB_REMOVE);
	if (at != NAME_NONE && edit.verb == VERB_ADD)
		return policy_exists(e, edit.name);
	if (edit.verb == VERB_ADD)
		return add_policy(e, edit.name, edit.keys);
	if (edit.verb == VERB_SET)
		return change_policy(e, at, edit.keys);
	return remove_policy(e, name, at);
}

/* Adds a child to the list of its parent. 0 or -ENOMEM. */
static int add_orphan(json_t *orphans, const char *parent, json_t *name)
{
	json_t *children = json_object_get(orphans, parent);

	if (children == NULL) {
		children = json_array();
		if (json_object_set_new(orphans, parent, children) < 0)
			return -ENOMEM;
	}
	return json_array_append(children, name);
}

/* Collects policies whose parent was removed, by that parent. 0 or -ENOMEM. */
static int find_orphans(const struct editing *e, json_t *orphans)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (e->list, i, policy) {
		const char *parent = json_string_value(json_object_get(policy, "parent"));

		if (parent == NULL || name_table_find(e->by_name, parent) != NAME_NONE ||
			name_table_find(e->removed, parent) == NAME_NONE)
			continue;
		if (add_orphan(orphans, parent, json_object_get(policy, "name")) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Reports a removed policy with its children. 0 or -ENOMEM. */
static int parent_is_removed(struct editing *e, const char *name, const json_t *children)
{
	json_t *word = json_string(name);
	size_t n = json_array_size(children);
	FILE *err;

	if (word == NULL)
		return -ENOMEM;
	e->at = name_table_find(e->removed, name);
	err = begin_mistake(e, word);
	json_decref(word);
	if (err == NULL)
		return 0;
	fputs("cannot remove it: it is the parent of ", err);
	for (size_t i = 0; i < n && i < CHILDREN_MOST; i++) {
		if (i > 0)
			fputs(i + 1 == n ? " and " : ", ", err);
		json_print_found(json_array_get(children, i), err);
	}
	if (n > CHILDREN_MOST)
		fprintf(err, " and %zu more", n - CHILDREN_MOST);
	fprintf(err, ": remove %s first or in the same change, or set another parent\n",
		n > 1 ? "them" : "it");
	return 0;
}

/* Reports removed policies that are still the parent of others. 0 or -ENOMEM. */
static int expect_no_orphans(struct editing *e)
{
	json_t *orphans = json_object(), *children;
	int rc = orphans != NULL ? find_orphans(e, orphans) : -ENOMEM;
	const char *name;

	json_object_foreach (orphans, name, children) {
		if (rc == 0)
			rc = parent_is_removed(e, name, children);
	}
	json_decref(orphans);
	return rc;
}

/* Applies all edits, and reports the mistakes of each. 0, -EINVAL or -ENOMEM. */
static int make_edits(struct editing *e, const json_t *edits)
{
	const json_t *edit;

	if (e->listed && json_array_size(edits) == 0) {
		fputs("edits: none: expected at least one\n", e->err);
		return -EINVAL;
	}
	if (!e->listed && make_edit(e, edits) == -ENOMEM)
		return -ENOMEM;
	json_array_foreach (edits, e->at, edit) {
		if (make_edit(e, edit) == -ENOMEM)
			return -ENOMEM;
	}
	if (e->removed != NULL && expect_no_orphans(e) < 0)
		return -ENOMEM;
	if (e->wrong > DIAGNOSTICS_MOST)
		fprintf(e->err, "edits: and %u more mistakes\n", e->wrong - DIAGNOSTICS_MOST);
	return e->wrong > 0 ? -EINVAL : 0;
}

int policy_edits_apply(json_t *configuration, const json_t *edits, FILE *err)
{
	json_t *policies = json_object_get(configuration, "policies");
	struct editing e = {.list = whole_list(policies),
		.by_name = list_by_name(policies, "name"),
		.err = err,
		.listed = json_is_array(edits)};
	int rc = e.list != NULL && e.by_name != NULL ? make_edits(&e, edits) : -ENOMEM;

	if (rc == 0) {
		json_t *list = e.removed != NULL ? without_nulls(e.list) : json_incref(e.list);

		if (json_object_set_new(configuration, "policies", list) < 0)
			rc = -ENOMEM;
	}
	json_decref(e.list);
	name_table_destroy(e.by_name);
	name_table_destroy(e.removed);
	return rc;
}
