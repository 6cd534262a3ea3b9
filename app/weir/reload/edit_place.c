/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Relates the errors of a whole configuration to the edits of policies that it was made with.
 */
#include "change.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "change/between.h"
#include "policy/config.h"

#define POLICY  "policy \""
#define WARNING "warning: "
#define NO_EDIT SIZE_MAX

struct edit_places {
	const json_t *edits, *document;
	struct name_table *last; /* the last edit of each policy; NULL: there is one edit alone */
	FILE *out;
};

const char *edits_label(const json_t *edits)
{
	return json_array_size(edits) > 1 ? "with these changes" : "with this change";
}

static const char *name_of(const json_t *object)
{
	return json_string_value(json_object_get(object, "name"));
}

/* Returns true if an edit has the first word of a key such as `match` or `limit`. */
static bool edit_has_key(const json_t *edit, const char *key)
{
	size_t len = strcspn(key, ".[: ");
	const char *name;
	json_t *value;

	json_object_foreach (json_object_get(edit, "keys"), name, value) {
		if (strncmp(name, key, len) == 0 && (name[len] == '\0' || name[len] == '.'))
			return true;
	}
	return false;
}

static bool is_edit_of(const json_t *edit, const char *policy)
{
	const char *name = name_of(edit);

	return name != NULL && strcmp(name, policy) == 0;
}

/* Returns the last edit of a policy; with a key (not NULL), the last that has the key. */
static size_t find_edit(const struct edit_places *p, const char *policy, const char *key)
{
	uint32_t last;

	if (p->last == NULL)
		return is_edit_of(p->edits, policy) ? 0 : NO_EDIT;
	last = name_table_find(p->last, policy);
	if (last == NAME_NONE || key == NULL)
		return last == NAME_NONE ? NO_EDIT : last;
	for (size_t i = last + 1; i-- > 0;) {
		const json_t *edit = json_array_get(p->edits, i);

		if (is_edit_of(edit, policy) && edit_has_key(edit, key))
			return i;
	}
	return NO_EDIT;
}

static const json_t *find_policy(const json_t *document, const char *name)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (json_object_get(document, "policies"), i, policy) {
		const char *other = name_of(policy);

		if (other != NULL && strcmp(other, name) == 0)
			return policy;
	}
	return NULL;
}

/* Returns an edit of the parent, of its parent and so on, or NO_EDIT. */
static size_t find_edit_above(const struct edit_places *p, const char *policy)
{
	size_t found = NO_EDIT;

	for (unsigned level = 1; level < POLICY_LEVELS_MOST && found == NO_EDIT; level++) {
		const json_t *below = find_policy(p->document, policy);

		policy = json_string_value(json_object_get(below, "parent"));
		if (policy == NULL)
			break;
		found = find_edit(p, policy, NULL);
	}
	return found;
}

/* Returns an edit of a child, or NO_EDIT. */
static size_t find_edit_below(const struct edit_places *p, const char *policy)
{
	const json_t *child;
	size_t i, found = NO_EDIT;

	json_array_foreach (json_object_get(p->document, "policies"), i, child) {
		const char *parent = json_string_value(json_object_get(child, "parent"));

		if (parent == NULL || strcmp(parent, policy) != 0 || name_of(child) == NULL)
			continue;
		found = find_edit(p, name_of(child), NULL);
		if (found != NO_EDIT)
			break;
	}
	return found;
}

/* Copies the next `policy "NAME"` of a text, and returns the text after it. NULL: no more. */
static const char *next_policy(const char *text, const char *end, char name[CONFIG_NAME_MAX])
{
	for (text = strstr(text, POLICY); text != NULL && text < end; text = strstr(text, POLICY)) {
		size_t len;

		text += strlen(POLICY);
		len = strcspn(text, "\"\n");
		if (len < CONFIG_NAME_MAX && text[len] == '"') {
			memcpy(name, text, len);
			name[len] = '\0';
			return text + len + 1;
		}
	}
	return NULL;
}

/* Returns the edit of a policy in the message; with a key, one that has the key. NO_EDIT: none. */
static size_t find_named(
	const struct edit_places *p, const char *text, const char *end, const char *key)
{
	char name[CONFIG_NAME_MAX];
	size_t found = NO_EDIT;

	while (found == NO_EDIT && (text = next_policy(text, end, name)) != NULL)
		found = find_edit(p, name, key);
	return found;
}

/* Returns the edit that a message from `text` to `end` belongs to, or NO_EDIT. */
static size_t find_cause(const struct edit_places *p, const char *text, const char *end)
{
	char name[CONFIG_NAME_MAX];
	const char *key = next_policy(text, end, name);
	size_t found = NO_EDIT;

	if (key == NULL)
		return NO_EDIT;
	if (strncmp(key, ": ", 2) == 0)
		found = find_named(p, text, end, key + 2);
	if (found == NO_EDIT)
		found = find_named(p, text, end, NULL);
	if (found == NO_EDIT && next_policy(text, end, name) != NULL) {
		found = find_edit_above(p, name);
		if (found == NO_EDIT)
			found = find_edit_below(p, name);
	}
	return found;
}

/* Returns true if the place of a message is the policy. */
static bool is_about(const char *text, const char *policy)
{
	size_t len = strlen(policy);

	return strncmp(text, POLICY, strlen(POLICY)) == 0 &&
	       strncmp(text + strlen(POLICY), policy, len) == 0 &&
	       text[strlen(POLICY) + len] == '"';
}

/* Writes one message, which has no label and no end of line. */
static void place_message(const struct edit_places *p, const char *text, const char *end)
{
	bool warns = strncmp(text, WARNING, strlen(WARNING)) == 0;
	const char *name, *body = text + (warns ? strlen(WARNING) : 0);
	size_t cause = find_cause(p, body, end);

	if (cause == NO_EDIT) {
		fprintf(p->out, "%s: %.*s\n", edits_label(p->edits), (int)(end - text), text);
		return;
	}
	name = name_of(json_is_array(p->edits) ? json_array_get(p->edits, cause) : p->edits);
	if (p->last != NULL)
		fprintf(p->out, "edits[%zu]: ", cause);
	if (warns)
		fputs(WARNING, p->out);
	if (!is_about(body, name))
		fprintf(p->out, "policy \"%s\": this change conflicts with ", name);
	fprintf(p->out, "%.*s\n", (int)(end - body), body);
}

int edits_place(const json_t *edits, const json_t *document, const char *messages, FILE *out)
{
	struct edit_places p = {.edits = edits, .document = document, .out = out};
	const char *label = edits_label(edits);
	size_t len = strlen(label);

	if (json_is_array(edits)) {
		p.last = list_by_name(edits, "name");
		if (p.last == NULL)
			return -ENOMEM;
	}
	while (*messages != '\0') {
		const char *text = messages, *end = strchrnul(messages, '\n');

		if (strncmp(text, label, len) == 0 && strncmp(text + len, ": ", 2) == 0)
			place_message(&p, text + len + 2, end);
		else
			fprintf(out, "%.*s\n", (int)(end - text), text);
		messages = *end != '\0' ? end + 1 : end;
	}
	name_table_destroy(p.last);
	return 0;
}
