/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/flowspec_former.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "import/flowspec.h"
#include "import/flowspec_rule.h"

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* The peer that a line of a note names, or NULL. */
static const char *peer_of_line(const json_t *line)
{
	const char *text = json_string_value(line);
	size_t len = strlen(FLOWSPEC_OF);

	return text != NULL && strncmp(text, FLOWSPEC_OF, len) == 0 ? text + len : NULL;
}

/* Every match has addresses, and all of one policy are of one family. */
static const char *family_of_policy(const json_t *policy)
{
	const json_t *match = json_object_get(policy, "match");

	if (json_is_array(match))
		match = json_array_get(match, 0);
	return strchr(text_at(match, "dst"), ':') != NULL ||
			       strchr(text_at(match, "src"), ':') != NULL
		       ? "ipv6"
		       : "ipv4";
}

static bool is_told_by_any(const json_t *told, const char *name)
{
	json_t *words;
	const char *peer;

	json_object_foreach ((json_t *)(uintptr_t)told, peer, words) {
		if (json_object_get(words, name) != NULL)
			return true;
	}
	return false;
}

static bool lets_go(const json_t *told, const char *peer, const json_t *policy)
{
	const json_t *words = json_object_get(told, peer);

	return json_object_get(words, text_at(policy, "name")) != NULL ||
	       json_object_get(words, family_of_policy(policy)) != NULL;
}

/* The lines of its note that name peers which hold it: a new array. Whether any peer is named. */
static json_t *holders_of(const json_t *told, const json_t *policy, bool *named)
{
	json_t *holders = json_array(), *line;
	size_t i;

	*named = false;
	json_array_foreach (json_object_get(policy, "note"), i, line) {
		const char *peer = i > 0 ? peer_of_line(line) : NULL;

		*named |= peer != NULL;
		if (peer != NULL && !lets_go(told, peer, policy))
			json_array_append(holders, line);
	}
	return holders;
}

int flowspec_add_peer(json_t *note, const char *line)
{
	size_t at = 1;
	int order = 1;

	while (at < json_array_size(note) && order > 0) {
		order = strcmp(line, json_string_value(json_array_get(note, at)));
		at += order > 0;
	}
	if (order == 0)
		return 0;
	return json_array_insert_new(note, at, json_string(line));
}

/* Adds the peers that hold it, too, to the note. Whether there were any. */
static bool add_holders(json_t *policy, const json_t *holders)
{
	json_t *note = json_deep_copy(json_object_get(policy, "note")), *line;
	size_t before = json_array_size(note), i;
	bool added;

	json_array_foreach (holders, i, line)
		flowspec_add_peer(note, json_string_value(line));
	added = json_array_size(note) > before;
	json_object_set_new(policy, "note", note);
	return added;
}

/* What the one in force does to packets, where that passes fewer of them. */
static void take_stricter(json_t *policy, const json_t *former)
{
	static const char *const keys[] = {"limit", "burst", "action", "mark"};

	if (flowspec_passes(former) >= flowspec_passes(policy))
		return;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(former, keys[i]);

		if (value != NULL)
			json_object_set(policy, keys[i], value);
		else
			json_object_del(policy, keys[i]);
	}
}

/* In place of the one that is announced, which others may share. Whether a peer holds it, too. */
static bool merge_former(json_t *policies, size_t at, const json_t *former, const json_t *holders)
{
	json_t *merged = json_copy(json_array_get(policies, at));
	bool held = add_holders(merged, holders);

	if (held)
		take_stricter(merged, former);
	json_array_set_new(policies, at, merged);
	return held;
}

static int keep_policy(
	json_t *policies, const json_t *index, const json_t *told, json_t *former, size_t *left)
{
	const char *name = text_at(former, "name");
	const json_t *at = json_object_get(index, name);
	bool named;
	json_t *holders = holders_of(told, former, &named);
	bool held = named ? json_array_size(holders) > 0 : !is_told_by_any(told, name);
	int ret = 0;

	if (held && at != NULL)
		held = merge_former(policies, (size_t)json_integer_value(at), former, holders);
	else if (held)
		ret = json_array_append(policies, former);
	*left += held;
	json_decref(holders);
	return ret;
}

/* By name, where they stand. */
static json_t *index_names(const json_t *policies)
{
	json_t *index = json_object(), *policy;
	size_t i;

	json_array_foreach (policies, i, policy)
		json_object_set_new(index, text_at(policy, "name"), json_integer((json_int_t)i));
	return index;
}

int flowspec_keep_former(json_t *policies, const json_t *told, const json_t *running,
	const char *prefix, size_t *left)
{
	json_t *index = index_names(policies), *former;
	int ret = index != NULL ? 0 : -1;
	size_t i;

	*left = 0;
	json_array_foreach (running, i, former) {
		if (strncmp(text_at(former, "name"), prefix, strlen(prefix)) == 0)
			ret |= keep_policy(policies, index, told, former, left);
	}
	json_decref(index);
	return ret == 0 ? 0 : -ENOMEM;
}
