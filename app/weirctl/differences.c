/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "diff": effective differences of a file from the running configuration. Other
 * spellings of the same value ("1000Mbit/s", "1Gbit/s") do not count.
 */
#include "command.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "change/between.h"
#include "config/compare.h"
#include "config/load.h"
#include "edit_file.h"
#include "field.h"
#include "human.h"

#define LINE_MOST 80

static const char *policy_of_change(const json_t *change)
{
	return json_string_value(json_object_get(change, "policy"));
}

/* Removes changes of spelling alone, and marks policies that restart. */
static void refine_changes(
	json_t *changes, const struct config_diff *diff, const struct config *config)
{
	json_t *flags = json_object(); /* by the name of the policy */

	for (unsigned i = 0; i < diff->n; i++)
		json_object_set_new(
			flags, config->policies[i].name, json_integer(diff->changes[i]));
	for (size_t i = 0; i < json_array_size(changes);) {
		json_t *change = json_array_get(changes, i);
		const char *policy = policy_of_change(change);
		const json_t *flag = policy ? json_object_get(flags, policy) : NULL;

		if (flag && json_integer_value(flag) == 0) {
			json_array_remove(changes, i);
			continue;
		}
		if (flag && json_integer_value(flag) & POLICY_RESTARTS)
			json_object_set_new(change, "begins_anew", json_true());
		i++;
	}
	json_decref(flags);
}

static json_t *lines_of(const char *text)
{
	json_t *lines = json_array();

	while (text && *text) {
		size_t len = strcspn(text, "\n");

		json_array_append_new(lines, json_stringn(text, len));
		text += len + (text[len] == '\n');
	}
	return lines;
}

static int compare_in_force(const json_t *running, const json_t *file, const char *name,
	json_t *changes, FILE *messages)
{
	struct config *old = NULL, *new = NULL;
	struct config_diff *diff = NULL;
	char *warnings = NULL;
	size_t size;
	FILE *nobody = open_memstream(&warnings, &size);
	int ret = nobody ? config_read_document(running, "what runs", NULL, nobody, &old) : -ENOMEM;

	if (ret == 0)
		ret = config_read_document(file, name, NULL, nobody, &new);
	if (ret == 0)
		ret = config_diff(old, new, name, messages, &diff);
	if (ret == 0)
		refine_changes(changes, diff, new);
	config_diff_free(diff);
	config_free(old);
	config_free(new);
	if (nobody)
		fclose(nobody);
	free(warnings);
	return ret == -ENOMEM ? ret : 0; /* refused files are compared as written */
}

int diff_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *file = load_checked(request->word, stderr), *running = NULL, *changes;
	char *messages = NULL;
	size_t size, n;
	FILE *restart;
	int ret;

	*document = NULL;
	if (!file) {
		*document = json_pack("{s:s}", "refused", "the file is refused");
		return *document ? 0 : -ENOMEM;
	}
	ret = ask_running(source, &running);
	changes = ret ? NULL : changes_between(running, file, SIZE_MAX, &n);
	restart = open_memstream(&messages, &size);
	if (ret == 0 && changes && restart)
		ret = compare_in_force(running, file, request->word, changes, restart);
	if (restart)
		fclose(restart);
	if (ret == 0)
		*document = json_pack(
			"{s:O, s:o}", "changes", changes, "needs_restart", lines_of(messages));
	free(messages);
	json_decref(changes);
	json_decref(running);
	json_decref(file);
	return ret;
}

/* Adds one line of at most 80 columns with the byte `at` of the value: "-     limit: 1Mbit/s". */
static void add_line(json_t *lines, char sign, const char *key, const char *value, size_t at)
{
	size_t len = strlen(key) + 6, room = len < LINE_MOST ? LINE_MOST - len : 0;
	char *text = shorten(value, at, room);

	json_array_append_new(lines, json_sprintf("%c   %s: %s", sign, key, text ? text : "..."));
	free(text);
}

static void add_whole(json_t *lines, char sign, json_t *policy)
{
	const char *key;
	json_t *value;

	json_object_foreach (policy, key, value) {
		char *text = value_text(value);

		if (strcmp(key, "name") != 0)
			add_line(lines, sign, key, text ? text : "", 0);
		free(text);
	}
}

static void add_change(json_t *lines, json_t *change)
{
	const char *key = json_string_value(json_object_get(change, "key"));
	json_t *before = json_object_get(change, "old"), *now = json_object_get(change, "new");
	char *old, *new;
	size_t at;

	if (!key) {
		add_whole(lines, '-', before);
		add_whole(lines, '+', now);
		return;
	}
	old = value_text(before);
	new = value_text(now);
	at = old && new ? first_difference(old, new) : 0;
	if (!json_is_null(before))
		add_line(lines, '-', key, old ? old : "", at);
	if (!json_is_null(now))
		add_line(lines, '+', key, new ? new : "", at);
	free(old);
	free(new);
}

/* Adds the head of a policy, or of changes outside of policies. */
static void add_head(json_t *lines, json_t *change)
{
	const char *policy = policy_of_change(change);
	bool whole = json_is_null(json_object_get(change, "key"));
	bool gone = whole && json_is_null(json_object_get(change, "new"));

	json_array_append_new(lines,
		json_sprintf("%c %s%s%s",
			!whole ? ' '
			: gone ? '-'
			       : '+',
			policy ? "policy " : "outside of policies", policy ? policy : "",
			json_is_true(json_object_get(change, "begins_anew")) ? " (starts again)"
									     : ""));
}

int diff_print(const json_t *document, struct view *view)
{
	const json_t *changes = json_object_get(document, "changes");
	const json_t *restart = json_object_get(document, "needs_restart");
	json_t *lines = json_array(), *change, *previous = NULL;
	size_t i;
	int ret;

	json_array_foreach (changes, i, change) {
		if (!previous || !json_equal(json_object_get(previous, "policy"),
					 json_object_get(change, "policy")))
			add_head(lines, change);
		add_change(lines, change);
		previous = change;
	}
	if (json_array_size(changes) == 0)
		json_array_append_new(lines, json_string("nothing would change in force"));
	ret = fields_lines(lines, view);
	json_decref(lines);
	return ret == 0 && json_array_size(restart) > 0 ? fields_lines(restart, view) : ret;
}
