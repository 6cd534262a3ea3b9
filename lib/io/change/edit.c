/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/edit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

size_t policy_index(const json_t *policies, const char *name)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		const char *other = json_string_value(json_object_get(policy, "name"));

		if (other != NULL && strcmp(other, name) == 0)
			return i;
	}
	return SIZE_MAX;
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

/* From the policy to the object that the last member of a dotted key is of, made where missing. */
static int edit_parent(json_t **object, const char **key, FILE *err)
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
		if (next == NULL) {
			next = json_object();
			if (json_object_set_new(*object, member, next) < 0)
				return -ENOMEM;
		}
		if (!json_is_object(next))
			break;
		*object = next;
		*key += len + 1;
	}
	fprintf(err, "%s: expected the key of an object: write the whole value\n", *key);
	return -EINVAL;
}

static int set_edit_keys(json_t *policy, json_t *keys, FILE *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (keys, name, value) {
		const char *key = name;
		json_t *parent = policy;
		int ret = edit_parent(&parent, &key, err);

		if (ret)
			return ret;
		if (json_is_null(value))
			json_object_del(parent, key);
		else if (json_object_set(parent, key, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_policy(json_t *configuration, json_t *policy)
{
	json_t *policies = json_object_get(configuration, "policies");

	if (policies == NULL) {
		policies = json_array();
		if (json_object_set_new(configuration, "policies", policies) < 0)
			return -ENOMEM;
	}
	return json_array_append(policies, policy) < 0 ? -ENOMEM : 0;
}

/* A copy that is whole before it is put there, so that what fails has changed nothing. */
static int change_policy(
	json_t *configuration, size_t at, const char *name, json_t *keys, FILE *err)
{
	json_t *policies = json_object_get(configuration, "policies");
	json_t *policy = at == SIZE_MAX ? json_pack("{s:s}", "name", name)
					: json_deep_copy(json_array_get(policies, at));
	int rc = policy != NULL ? set_edit_keys(policy, keys, err) : -ENOMEM;

	if (rc == 0 && at == SIZE_MAX)
		rc = add_policy(configuration, policy);
	else if (rc == 0)
		rc = json_array_set(policies, at, policy) < 0 ? -ENOMEM : 0;
	json_decref(policy);
	return rc;
}

int policy_edit_apply(json_t *configuration, const json_t *edit, FILE *err)
{
	json_t *policies = json_object_get(configuration, "policies");
	json_t *keys = json_object_get(edit, "keys");
	const char *name = json_string_value(json_object_get(edit, "name"));
	enum verb verb = find_verb(json_string_value(json_object_get(edit, "do")));
	size_t at;

	if (verb == VERBS || name == NULL || (verb != VERB_REMOVE && !json_is_object(keys))) {
		fputs("expected a change of one policy\n", err);
		return -EINVAL;
	}
	at = policy_index(policies, name);
	if ((at == SIZE_MAX) != (verb == VERB_ADD)) {
		fprintf(err, "policy \"%s\": %s\n", name,
			at == SIZE_MAX ? "there is none of that name: add makes one"
				       : "there is one of that name: set changes it");
		return -EINVAL;
	}
	if (verb != VERB_REMOVE)
		return change_policy(configuration, at, name, keys, err);
	return json_array_remove(policies, at) < 0 ? -ENOMEM : 0;
}
