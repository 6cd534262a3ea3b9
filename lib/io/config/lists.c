/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/lists.h"

#include "config/config_messages.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/value_keys.h"
#include "json/line_list.h"
#include "policy/policy.h"

const char *lists_name(const json_t *value)
{
	const char *text = json_string_value(value);

	return text != NULL && text[0] == '@' ? text + 1 : NULL;
}

void lists_refuse(struct reader *reader, const struct json_path *path)
{
	if (reader->lists == NULL) /* otherwise lists_expand() has reported it */
		reader_report(reader, path, MESSAGE(LIST_NOT_IN_FILE));
	else
		reader->errors++;
}

static void expand_side(
	struct reader *reader, const struct json_path *path, json_t *match, const char *key)
{
	struct json_path at = {.parent = path, .key = key};
	const char *name = lists_name(json_object_get(match, key));
	json_t *list;

	if (name == NULL)
		return;
	list = reader_line_list(reader, &at, name, "prefixes");
	if (list != NULL)
		reader->no_memory |= json_object_set(match, key, list) < 0;
}

static void expand_match(struct reader *reader, const struct json_path *path, json_t *match)
{
	expand_side(reader, path, match, "src");
	expand_side(reader, path, match, "dst");
}

static void expand_policy(struct reader *reader, const struct json_path *path, json_t *policy)
{
	json_t *matches = json_object_get(policy, "match"), *match;
	struct json_path at = {.parent = path, .key = "match"};
	size_t i;

	if (!json_is_array(matches))
		expand_match(reader, &at, matches);
	json_array_foreach (matches, i, match) {
		struct json_path of = {.parent = &at, .index = i};

		expand_match(reader, &of, match);
	}
}

int lists_expand(struct reader *reader)
{
	static const struct json_path policies = {.key = "policies"};
	json_t *policy;
	size_t i;

	json_array_foreach (json_object_get(reader->root, "policies"), i, policy) {
		struct json_path at = {.parent = &policies, .index = i};

		if (!reader->no_memory)
			expand_policy(reader, &at, policy);
	}
	if (reader->lists == NULL || reader_failed(reader) || reader_is_up_to_date(reader))
		return 0;
	return -EAGAIN;
}

/* --- an edit ---------------------------------------------------------------------------------- */

/* Keys of an edit that can name lists, each with its side of a match. */
static const struct {
	const char *key, *side;
} edit_keys[] = {{"match", NULL}, {"match.src", "src"}, {"match.dst", "dst"}};

#define EDIT_KEYS (sizeof(edit_keys) / sizeof(edit_keys[0]))

static bool names_list(const json_t *value)
{
	const json_t *member;
	const char *name;
	size_t i;

	json_object_foreach ((json_t *)(uintptr_t)value, name, member) {
		if (lists_name(member) != NULL)
			return true;
	}
	json_array_foreach (value, i, member) {
		if (json_is_object(member) && names_list(member))
			return true;
	}
	return lists_name(value) != NULL;
}

/* Returns a document with one policy. Its match is the value of the edit's key. */
static json_t *document_of_edit(const json_t *edit, unsigned k)
{
	json_t *value = json_object_get(json_object_get(edit, "keys"), edit_keys[k].key);
	json_t *match = edit_keys[k].side != NULL ? json_pack("{s:O}", edit_keys[k].side, value)
						  : json_incref(value);

	return json_pack("{s:[{s:O, s:o}]}", "policies", "name", json_object_get(edit, "name"),
		"match", match);
}

/* Checks prefixes here, because the reader still has the lines of the list. */
static void check_sides(struct reader *reader, const struct json_path *path, const json_t *match)
{
	static const struct key prefix_key = {.size = sizeof(struct prefix)};
	static const char *const sides[] = {"src", "dst"};
	struct prefix prefix;
	json_t *element;
	size_t i;

	for (unsigned k = 0; k < 2; k++) {
		struct json_path side = {.parent = path, .key = sides[k]};

		json_array_foreach (json_object_get(match, sides[k]), i, element) {
			struct json_path at = {.parent = &side, .index = i};

			read_ip_prefix(reader, &at, element, &prefix_key, &prefix);
		}
	}
}

static void check_matches(struct reader *reader, const struct json_path *path, const json_t *value)
{
	const json_t *match;
	size_t i;

	check_sides(reader, path, value);
	json_array_foreach (value, i, match) {
		struct json_path at = {.parent = path, .index = i};

		check_sides(reader, &at, match);
	}
}

/* Replaces the value of the edit's key by the expanded one. */
static int expand_document(json_t *edit, unsigned k, const char *text, FILE *err)
{
	static const struct json_path policies = {.key = "policies"};
	const struct json_path policy = {.parent = &policies}, at = {&policy, "match", 0};
	struct reader reader;
	json_t *match;
	int rc = reader_parse(&reader, text, strlen(text), "weirctl", err);

	if (rc < 0)
		return rc;
	rc = lists_expand(&reader);
	match = json_path_find(reader.root, &at);
	check_matches(&reader, &at, match);
	if (edit_keys[k].side != NULL)
		match = json_object_get(match, edit_keys[k].side);
	if (rc == 0 && !reader_failed(&reader))
		reader.no_memory |= json_object_set(json_object_get(edit, "keys"), edit_keys[k].key,
					    match) < 0;
	else if (rc == -EAGAIN)
		fputs("a list changes while it is read: try again\n", err);
	rc = rc == 0 ? 0 : -EINVAL;
	return reader_finish(&reader) < 0 ? -EINVAL : rc;
}

int lists_expand_edit(json_t *edit, FILE *err)
{
	int rc = 0;

	/* The code that applies the edit reports other errors. */
	if (!json_is_string(json_object_get(edit, "name")))
		return 0;
	for (unsigned k = 0; k < EDIT_KEYS && rc == 0; k++) {
		json_t *document;
		char *text;

		if (!names_list(json_object_get(json_object_get(edit, "keys"), edit_keys[k].key)))
			continue;
		document = document_of_edit(edit, k);
		text = document != NULL ? json_dumps(document, JSON_COMPACT) : NULL;
		rc = text != NULL ? expand_document(edit, k, text, err) : -ENOMEM;
		free(text);
		json_decref(document);
	}
	return rc;
}
