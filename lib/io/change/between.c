/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "change/between.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "json/copy.h"

#define KEY_MAX 256

static bool is_told(const char *key)
{
	return strcmp(key, "note") != 0 && strcmp(key, "$schema") != 0;
}

static void tell_change(
	json_t *list, const char *policy, const char *key, const json_t *before, const json_t *now)
{
	json_array_append_new(list, json_pack("{s:s?, s:s?, s:O?, s:O?}", "policy", policy, "key",
					    key, "old", before, "new", now));
}

static void compare_values(
	json_t *list, const char *policy, const char *key, json_t *before, json_t *now);

/* The members of two objects, of which one may be missing; `above` is the key that they have. */
static void compare_objects(
	json_t *list, const char *policy, const char *above, json_t *before, json_t *now)
{
	const char *name;
	json_t *value;
	char key[KEY_MAX];

	json_object_foreach (before, name, value) {
		snprintf(key, sizeof(key), "%s%s%s", above, above[0] ? "." : "", name);
		if (is_told(name))
			compare_values(list, policy, key, value, json_object_get(now, name));
	}
	json_object_foreach (now, name, value) {
		snprintf(key, sizeof(key), "%s%s%s", above, above[0] ? "." : "", name);
		if (is_told(name) && json_object_get(before, name) == NULL)
			compare_values(list, policy, key, NULL, value);
	}
}

static void compare_values(
	json_t *list, const char *policy, const char *key, json_t *before, json_t *now)
{
	bool deep = strlen(key) < KEY_MAX / 2 && (json_is_object(before) || json_is_object(now)) &&
		    (before == NULL || json_is_object(before)) &&
		    (now == NULL || json_is_object(now));

	if (deep)
		compare_objects(list, policy, key, before, now);
	else if (before == NULL || now == NULL || !json_equal(before, now))
		tell_change(list, policy, key, before, now);
}

static json_t *policies_by_name(const json_t *configuration)
{
	json_t *by_name = json_object(), *policy;
	size_t i;

	json_array_foreach (json_object_get(configuration, "policies"), i, policy) {
		const char *name = json_string_value(json_object_get(policy, "name"));

		if (name != NULL)
			json_object_set(by_name, name, policy);
	}
	return by_name;
}

static void compare_policies(json_t *list, const json_t *before, const json_t *now)
{
	json_t *old = policies_by_name(before), *new = policies_by_name(now), *policy;
	const char *name;

	json_object_foreach (old, name, policy) {
		if (json_object_get(new, name) == NULL)
			tell_change(list, name, NULL, policy, NULL);
	}
	json_object_foreach (new, name, policy) {
		json_t *was = json_object_get(old, name);

		if (was == NULL)
			tell_change(list, name, NULL, NULL, policy);
		else if (!json_equal(was, policy))
			compare_objects(list, name, "", was, policy);
	}
	json_decref(old);
	json_decref(new);
}

static json_t *without_policies(const json_t *configuration)
{
	json_t *rest = whole_copy(configuration);

	json_object_del(rest, "policies");
	return rest;
}

json_t *changes_between(const json_t *before, const json_t *now)
{
	json_t *list = json_array(), *old = without_policies(before), *new = without_policies(now);

	if (list != NULL && old != NULL && new != NULL) {
		compare_objects(list, NULL, "", old, new);
		compare_policies(list, before, now);
	}
	json_decref(old);
	json_decref(new);
	return list;
}

static int take_in(const char *text, size_t len, void *context)
{
	return crypto_generichash_update(context, (const unsigned char *)text, len);
}

int configuration_digest(const json_t *configuration, char digest[CHANGE_DIGEST_MAX])
{
	crypto_generichash_state *state = NULL;
	unsigned char hash[crypto_generichash_BYTES];
	int rc;

	/* It is aligned to more than malloc() gives. */
	if (posix_memalign((void **)&state, 64, sizeof(*state)) != 0)
		return -ENOMEM;
	crypto_generichash_init(state, NULL, 0, sizeof(hash));
	rc = json_dump_callback(configuration, take_in, state, JSON_COMPACT | JSON_SORT_KEYS);
	crypto_generichash_final(state, hash, sizeof(hash));
	free(state);
	sodium_bin2hex(digest, CHANGE_DIGEST_MAX, hash, sizeof(hash));
	return rc < 0 ? -ENOMEM : 0;
}
