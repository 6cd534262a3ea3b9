/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/between.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "json/copy.h"

#define KEY_MAX   256
#define KEY_DEPTH 16 /* members in a key; deeper members are compared as one value */

struct comparison {
	json_t *list;   /* the first differences */
	size_t most, n; /* maximum length of `list`, and number of differences */
	const char *policy;
	const char *key[KEY_DEPTH]; /* path of the compared value */
	unsigned depth;
};

static void add_change(
	struct comparison *c, const char *key, const json_t *before, const json_t *now)
{
	if (c->n++ < c->most)
		json_array_append_new(
			c->list, json_pack("{s:s?, s:s?, s:O?, s:O?}", "policy", c->policy, "key",
					 key, "old", before, "new", now));
}

static void add_value(struct comparison *c, const json_t *before, const json_t *now)
{
	char key[KEY_MAX] = "";
	size_t len = 0;

	for (unsigned i = 0; i < c->depth && len < sizeof(key); i++)
		len += (size_t)snprintf(
			key + len, sizeof(key) - len, "%s%s", i > 0 ? "." : "", c->key[i]);
	add_change(c, key, before, now);
}

static void compare_objects(struct comparison *c, json_t *before, json_t *now);

static void compare_member(struct comparison *c, const char *name, json_t *before, json_t *now)
{
	bool deep;

	if (before == now || strcmp(name, "note") == 0 || strcmp(name, "$schema") == 0)
		return;
	c->key[c->depth++] = name;
	deep = c->depth < KEY_DEPTH && (json_is_object(before) || json_is_object(now)) &&
	       (before == NULL || json_is_object(before)) && (now == NULL || json_is_object(now));
	if (deep)
		compare_objects(c, before, now);
	else if (before == NULL || now == NULL || !json_equal(before, now))
		add_value(c, before, now);
	c->depth--;
}

/* Compares the members of two objects. One of the objects can be NULL. */
static void compare_objects(struct comparison *c, json_t *before, json_t *now)
{
	size_t in_both = 0;
	const char *name;
	json_t *value;

	json_object_foreach (before, name, value) {
		json_t *other = json_object_get(now, name);

		in_both += other != NULL;
		compare_member(c, name, value, other);
	}
	if (json_object_size(now) == in_both)
		return;
	json_object_foreach (now, name, value) {
		if (json_object_get(before, name) == NULL)
			compare_member(c, name, NULL, value);
	}
}

/* A list that is searched by name, normally in the order of its members. */
struct looked_up {
	const json_t *list;
	size_t next;                /* index after the last match */
	struct name_table *by_name; /* NULL until a name was not at `next` */
	bool failed;                /* out of memory */
};

static const char *name_of(const json_t *policy)
{
	return json_string_value(json_object_get(policy, "name"));
}

static json_t *find_elsewhere(struct looked_up *in, const char *name)
{
	uint32_t at;

	if (in->by_name == NULL)
		in->by_name = list_by_name(in->list, "name");
	in->failed |= in->by_name == NULL;
	if (in->by_name == NULL)
		return NULL;
	at = name_table_find(in->by_name, name);
	if (at == NAME_NONE)
		return NULL;
	in->next = at + 1;
	return json_array_get(in->list, at);
}

/* Returns the policy of that name, or NULL. Tries the next index first. */
static json_t *find_policy(struct looked_up *in, const char *name)
{
	json_t *policy = json_array_get(in->list, in->next);
	const char *there = name_of(policy);

	if (there == NULL || strcmp(there, name) != 0)
		return find_elsewhere(in, name);
	in->next++;
	return policy;
}

static void compare_policies(struct comparison *c, const json_t *before, const json_t *now)
{
	struct looked_up old = {.list = json_object_get(before, "policies")};
	struct looked_up new = {.list = json_object_get(now, "policies")};
	json_t *policy, *was;
	size_t i;

	json_array_foreach (old.list, i, policy) {
		c->policy = name_of(policy);
		if (c->policy != NULL && find_policy(&new, c->policy) == NULL && !new.failed)
			add_change(c, NULL, policy, NULL);
	}
	json_array_foreach (new.list, i, policy) {
		c->policy = name_of(policy);
		was = c->policy != NULL ? find_policy(&old, c->policy) : policy;
		if (was == NULL && !old.failed)
			add_change(c, NULL, NULL, policy);
		else if (was != NULL && was != policy)
			compare_objects(c, was, policy);
	}
	name_table_destroy(old.by_name);
	name_table_destroy(new.by_name);
}

static json_t *without_policies(const json_t *configuration)
{
	json_t *rest = whole_copy(configuration);

	json_object_del(rest, "policies");
	return rest;
}

json_t *changes_between(const json_t *before, const json_t *now, size_t most, size_t *n)
{
	json_t *old = without_policies(before), *new = without_policies(now);
	struct comparison c = {.list = json_array(), .most = most};

	if (c.list != NULL && old != NULL && new != NULL) {
		compare_objects(&c, old, new);
		compare_policies(&c, before, now);
	}
	json_decref(old);
	json_decref(new);
	*n = c.n;
	return c.list;
}

static int take_in(const char *text, size_t len, void *state)
{
	return crypto_generichash_update(state, (const unsigned char *)text, len);
}

int configuration_digest(const json_t *configuration, char digest[CHANGE_DIGEST_MAX])
{
	unsigned char hash[crypto_generichash_BYTES];
	crypto_generichash_state state;
	int rc;

	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	rc = json_dump_callback(configuration, take_in, &state, JSON_COMPACT | JSON_SORT_KEYS);
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_bin2hex(digest, CHANGE_DIGEST_MAX, hash, sizeof(hash));
	return rc < 0 ? -ENOMEM : 0;
}

struct name_table *list_by_name(const json_t *list, const char *key)
{
	struct name_table *table;
	const json_t *member;
	size_t i;

	if (name_table_create((uint32_t)json_array_size(list), &table) < 0)
		return NULL;
	json_array_foreach (list, i, member) {
		const char *name = json_string_value(json_object_get(member, key));

		if (name == NULL || name_table_set(table, name, (uint32_t)i) == 0)
			continue;
		name_table_destroy(table);
		return NULL;
	}
	return table;
}
