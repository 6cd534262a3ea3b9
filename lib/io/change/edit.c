/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/edit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "change/by_name.h"
#include "json/copy.h"
#include "json/diagnostics.h"
#include "json/json_path.h"

#define KEY_DEPTH 4 /* members in a key such as "match.src" */

static const char *const verbs[] = {"add", "set", "remove"};

enum verb { VERB_ADD, VERB_SET, VERB_REMOVE, VERBS };

static enum verb find_verb(const char *text)
{
	unsigned i = 0;

	while (i < VERBS && (text == NULL || strcmp(text, verbs[i]) != 0))
		i++;
	return (enum verb)i;
}

/* What stands behind the "=". */
static json_t *parse_edit_value(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

	return value != NULL ? value : json_string(text);
}

static int parse_edit_word(json_t *keys, const char *word, FILE *err)
{
	const char *equals = strchr(word, '=');
	char key[128];

	if (equals == NULL || equals == word || (size_t)(equals - word) >= sizeof(key)) {
		fprintf(err, "%s: expected KEY=VALUE such as limit=5Mbit/s\n", word);
		return -EINVAL;
	}
	memcpy(key, word, (size_t)(equals - word));
	key[equals - word] = '\0';
	if (json_object_get(keys, key) != NULL || strcmp(key, "name") == 0) {
		fprintf(err, "%s: %s\n", word,
			strcmp(key, "name") == 0 ? "a policy keeps its name" : "twice");
		return -EINVAL;
	}
	if (json_object_set_new(keys, key, parse_edit_value(equals + 1)) < 0) {
		fprintf(err, "%s: expected UTF-8\n", word);
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
			fprintf(err, "%s: one word too many\n", words[i]);
		json_decref(keys);
		return NULL;
	}
	if (n == 0 && !removes) {
		fprintf(err, "%s: expected KEY=VALUE such as limit=5Mbit/s\n", name);
		json_decref(keys);
		return NULL;
	}
	edit = json_pack("{s:s, s:s, s:o}", "do", verb, "name", name, "keys", keys);
	if (edit == NULL)
		fprintf(err, "%s: expected UTF-8\n", name);
	return edit;
}

/* --- edits are made --------------------------------------------------------------------------- */

struct editing {
	json_t *list; /* of policies, of which removed ones are null until the end */
	struct name_table *by_name;
	bool removes; /* some are */
	FILE *err;
	bool listed;    /* the edits are a list, and messages say which of it */
	size_t at;      /* the edit that is looked at */
	unsigned wrong; /* so many mistakes so far, of which the first are said */
};

/*
 * Counts a mistake, and begins the line of it, `edits[17].name: `, or without the place where there
 * is one edit alone. NULL: it is one of too many.
 */
static FILE *begin_mistake(struct editing *e, const char *member)
{
	if (e->wrong++ >= DIAGNOSTICS_MOST)
		return NULL;
	if (e->listed)
		fprintf(e->err, "edits[%zu]%s%s: ", e->at, member[0] != '\0' ? "." : "", member);
	else if (strcmp(member, "name") == 0)
		fputs("policy ", e->err);
	else if (member[0] != '\0')
		fprintf(e->err, "%s: ", member);
	return e->err;
}

/* NULL was found: nothing is there. Returns -EINVAL. */
static int edit_is_wrong(
	struct editing *e, const char *member, const json_t *found, const char *why)
{
	FILE *err = begin_mistake(e, member);

	if (err == NULL)
		return -EINVAL;
	json_print_found(found, err);
	fprintf(err, ": %s\n", why);
	return -EINVAL;
}

static int key_is_wrong(struct editing *e, const char *key)
{
	FILE *err = begin_mistake(e, e->listed ? "keys" : "");

	if (err != NULL)
		fprintf(err, "%s: expected the key of an object: write the whole value\n", key);
	return -EINVAL;
}

static int edit_is_none(struct editing *e)
{
	FILE *err = begin_mistake(e, "");

	if (err != NULL)
		fputs("expected a change of one policy\n", err);
	return -EINVAL;
}

/*
 * From the policy to the object that the last member of a dotted key is of, made where missing. It
 * is the policy's own from then on: others may have the one that was there.
 */
static int edit_parent(struct editing *e, json_t **object, const char **key)
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
	return key_is_wrong(e, *key);
}

static int set_edit_keys(struct editing *e, json_t *policy, json_t *keys)
{
	const char *name;
	json_t *value;

	json_object_foreach (keys, name, value) {
		const char *key = name;
		json_t *parent = policy;
		int rc = edit_parent(e, &parent, &key);

		if (rc < 0)
			return rc;
		if (parent == policy && strcmp(key, "name") == 0 &&
			!json_equal(value, json_object_get(policy, key)))
			return edit_is_wrong(e, "keys.name", value, "a policy keeps its name");
		if (json_is_null(value))
			json_object_del(parent, key);
		else if (json_object_set(parent, key, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * A copy is changed, so that others who have the policy keep it as it was. It is there for the
 * edits that follow even if this one was wrong, so that nothing is said of them that comes of that.
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
	e->removes = true;
	if (json_array_set_new(e->list, at, json_null()) < 0)
		return -ENOMEM;
	return name_table_set(e->by_name, name, NAME_NONE);
}

struct edit {
	enum verb verb;
	json_t *name, *keys;
};

/* What would be passed over is most likely meant for "keys". 0 or -EINVAL. */
static int expect_members(struct editing *e, const json_t *from)
{
	const char *member;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)from, member, value)
		if (strcmp(member, "do") != 0 && strcmp(member, "name") != 0 &&
			strcmp(member, "keys") != 0)
			return edit_is_wrong(e, member, value,
				"unknown key: expected one of \"do\", \"name\", \"keys\"");
	return 0;
}

/* Takes an edit apart, of which the policy may or may not be there. 0 or -EINVAL. */
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
	if ((at == NAME_NONE) != (edit.verb == VERB_ADD))
		return edit_is_wrong(e, "name", edit.name,
			at == NAME_NONE ? "there is none of that name: add makes one"
					: "there is one of that name: set changes it");
	if (edit.verb == VERB_ADD)
		return add_policy(e, edit.name, edit.keys);
	if (edit.verb == VERB_SET)
		return change_policy(e, at, edit.keys);
	return remove_policy(e, name, at);
}

/* All are looked at, whatever is wrong with the first. */
static int make_edits(struct editing *e, const json_t *edits)
{
	const json_t *edit;

	if (!e->listed)
		return make_edit(e, edits);
	if (json_array_size(edits) == 0) {
		fputs("edits: none: expected at least one\n", e->err);
		return -EINVAL;
	}
	json_array_foreach (edits, e->at, edit) {
		if (make_edit(e, edit) == -ENOMEM)
			return -ENOMEM;
	}
	if (e->wrong > DIAGNOSTICS_MOST)
		fprintf(e->err, "edits: and %u more mistakes\n", e->wrong - DIAGNOSTICS_MOST);
	return e->wrong > 0 ? -EINVAL : 0;
}

static int put_policies(json_t *configuration, const struct editing *e)
{
	json_t *list = e->removes ? without_nulls(e->list) : json_incref(e->list);

	return json_object_set_new(configuration, "policies", list) < 0 ? -ENOMEM : 0;
}

int policy_edits_apply(json_t *configuration, const json_t *edits, FILE *err)
{
	json_t *policies = json_object_get(configuration, "policies");
	struct editing e = {.list = whole_list(policies),
		.by_name = list_by_name(policies, "name"),
		.err = err,
		.listed = json_is_array(edits)};
	int rc = e.list != NULL && e.by_name != NULL ? make_edits(&e, edits) : -ENOMEM;

	if (rc == 0)
		rc = put_policies(configuration, &e);
	json_decref(e.list);
	name_table_destroy(e.by_name);
	return rc;
}
