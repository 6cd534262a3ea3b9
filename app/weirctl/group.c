/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "group": the members of the group, and changes of them.
 */
#include "command.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "field.h"

/* Time until all neighbours have a change: after this one it is shown without them. */
#define LOOK_MS 100
#define LOOKS   100

#define USAGE                                                                              \
	"weirctl: group: expected nothing, or add NAME ADDRESS [PUBLIC-KEY], remove NAME " \
	"[--dead], move NAME ADDRESS; with plan before it, nothing is done\n"

/* A change as typed. Words after the verb that it does not have are NULL. */
struct group_words {
	const char *verb, *name, *address, *key;
	bool plan;
};

static bool read_words(const struct request *request, struct group_words *words)
{
	const char *const *at = request->words;
	unsigned n = request->n_words;

	*words = (struct group_words){.plan = n > 0 && strcmp(at[0], "plan") == 0};
	at += words->plan;
	n -= words->plan;
	words->verb = n > 0 ? at[0] : NULL;
	words->name = n > 1 ? at[1] : NULL;
	words->address = n > 2 ? at[2] : NULL;
	words->key = n > 3 ? at[3] : NULL;
	if (!words->verb)
		return !words->plan && !request->dead;
	if (strcmp(words->verb, "add") == 0)
		return (n == 3 || n == 4) && !request->dead;
	if (strcmp(words->verb, "remove") == 0)
		return n == 2;
	return strcmp(words->verb, "move") == 0 && n == 3 && !request->dead;
}

bool group_words_check(const struct request *request)
{
	struct group_words words;

	if (read_words(request, &words))
		return true;
	fputs(USAGE, stderr);
	return false;
}

/* Sends the change, or requests its effects. */
static int send_change(struct source *source, const struct request *request,
	const struct group_words *words, bool plan, json_t **answer)
{
	json_t *change = json_pack("{s:s, s:s, s:s*, s:s*, s:b, s:b}", "do", words->verb, "name",
		words->name, "address", words->address, "public_key", words->key, "dead",
		request->dead, "plan", plan);
	char *text = change ? json_dumps(change, JSON_COMPACT) : NULL;
	int ret = text ? source_get_of(source, "/weir/group_change", text, answer) : -ENOMEM;

	free(text);
	json_decref(change);
	return ret;
}

/* Shows the effects. Returns true if the operator confirms them, or without a terminal. */
static bool operator_agrees(const json_t *answer)
{
	const json_t *line;
	char reply[16];
	size_t i;

	if (!isatty(STDIN_FILENO))
		return true;
	json_array_foreach (json_object_get(answer, "effects"), i, line)
		fprintf(stderr, "%s\n", json_string_value(line));
	fputs("Continue? [y/N] ", stderr);
	return fgets(reply, sizeof(reply), stdin) && (reply[0] == 'y' || reply[0] == 'Y');
}

static bool has_member(const json_t *group, const char *name)
{
	const json_t *member;
	size_t i;

	json_array_foreach (json_object_get(group, "members"), i, member)
		if (strcmp(json_string_value(json_object_get(member, "name")), name) == 0)
			return true;
	return false;
}

static int get_group(struct source *source, json_t **group)
{
	return source_list(source, "/weir/group", NULL, "members", group);
}

/* Waits until the roster has the change, and all neighbours have the same members. */
static int wait_for_change(struct source *source, const struct group_words *words, json_t **group)
{
	bool removes = strcmp(words->verb, "remove") == 0;

	for (unsigned i = 0;; i++) {
		int ret = get_group(source, group);

		if (ret || i == LOOKS ||
			(has_member(*group, words->name) != removes &&
				json_equal(json_object_get(*group, "neighbours_alive"),
					json_object_get(*group, "neighbours_confirmed"))))
			return ret;
		json_decref(*group);
		*group = NULL;
		source->pause(source, LOOK_MS);
	}
}

int group_gather(struct source *source, const struct request *request, json_t **document)
{
	struct group_words words;
	json_t *answer = NULL, *group = NULL;
	int ret;

	*document = NULL;
	if (!read_words(request, &words))
		return -EINVAL;
	if (!words.verb)
		return get_group(source, document);
	ret = send_change(source, request, &words, words.plan || !request->yes, &answer);
	if (ret == 0 && !words.plan && !request->yes && !group_refused(answer, NULL)) {
		if (operator_agrees(answer)) {
			json_decref(answer);
			ret = send_change(source, request, &words, false, &answer);
		} else {
			json_object_set_new(answer, "declined", json_true());
		}
	}
	if (ret == 0 && json_is_true(json_object_get(answer, "done")))
		ret = wait_for_change(source, &words, &group);
	if (ret == 0 && group)
		json_object_set_new(answer, "group", group);
	if (ret)
		json_decref(answer);
	else
		*document = answer;
	return ret;
}

bool group_refused(const json_t *document, FILE *err)
{
	if (json_is_true(json_object_get(document, "declined"))) {
		if (err)
			fputs("weirctl: group: nothing was changed\n", err);
		return true;
	}
	return override_refused(document, err);
}

static int print_members(const json_t *group, struct view *view)
{
	static const struct field whole[] = {
		{"limiters", "limiters", KIND_COUNT},
		{"neighbours alive", "neighbours_alive", KIND_COUNT},
		{"with the same members", "neighbours_confirmed", KIND_COUNT},
		{"trouble", "trouble", KIND_TEXT | NONZERO},
		{"kept in", "kept_in", KIND_TEXT},
	};
	static const struct field columns[] = {
		{"LIMITER", "name", KIND_TEXT},
		{"ADDRESS", "address", KIND_TEXT},
		{"STATE", "state", KIND_TEXT},
		{"ALIVE", "alive", KIND_TEXT},
		{"SAME MEMBERS", "confirmed", KIND_TEXT},
	};

	fields_detail(group, FIELDS(whole), view);
	return fields_list(json_object_get(group, "members"), FIELDS(columns), view);
}

int group_print(const json_t *document, struct view *view)
{
	static const struct column text = {"EFFECT", 0, 0};
	const json_t *effects = json_object_get(document, "effects"), *line;
	size_t i;

	if (!effects)
		return print_members(document, view);
	if (json_is_true(json_object_get(document, "done")))
		return print_members(json_object_get(document, "group"), view);
	view_table(view, TABLE_LINES, &text, 1);
	json_array_foreach (effects, i, line)
		view_row(view, (const char *[]){json_string_value(line)});
	return view_error(view);
}
