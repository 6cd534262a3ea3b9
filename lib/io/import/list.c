/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

char *list_quote(const char *text, char words[LIST_QUOTED_MOST])
{
	snprintf(words, LIST_QUOTED_MOST, "\"%.64s\"", text);
	for (char *c = words; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return words;
}

/* In the column of a line is what was found, as it should not be. */
static void say_found(struct subscriber_list *list, unsigned line, enum column column,
	const char *found, struct diagnostic *diagnostic)
{
	char words[LIST_QUOTED_MOST];

	list->is_bad |= !diagnostic->warning;
	diagnostic->warning |= list->terms->skip_bad;
	if (!diagnostics_count(list->diagnostics, diagnostic->warning))
		return;
	diagnostic->file = list->terms->file;
	diagnostic->line = line;
	diagnostic->place = list->columns.title[column];
	diagnostic->found = list_quote(found, words);
	diagnostic_write(list->diagnostics, diagnostic);
}

void list_refuse_at(struct subscriber_list *list, unsigned line, enum column column,
	const char *found, const char *expected, const char *remedy)
{
	struct diagnostic error = {.expected = expected, .remedy = remedy};

	say_found(list, line, column, found, &error);
}

void list_warn_at(struct subscriber_list *list, unsigned line, enum column column,
	const char *found, const char *expected)
{
	struct diagnostic warning = {.warning = true, .expected = expected};

	say_found(list, line, column, found, &warning);
}

bool list_claim_name(struct subscriber_list *list, unsigned line, enum column column,
	const char *name, const char *id)
{
	const json_t *owner = json_object_get(list->ids, name);
	const char *other = json_string_value(json_object_get(owner, "text"));
	char words[LIST_QUOTED_MOST], remedy[LIST_QUOTED_MOST + CONFIG_NAME_MAX + 40];

	if (other == NULL)
		list->no_memory |= json_object_set_new(list->ids, name,
					   json_pack("{s:s, s:i}", "text", id, "line", (int)line)) <
				   0;
	if (other == NULL || strcmp(other, id) == 0)
		return true;
	snprintf(remedy, sizeof(remedy), "%s in line %d becomes %s, too", list_quote(other, words),
		(int)json_integer_value(json_object_get(owner, "line")), name);
	list_refuse_at(list, line, column, id, "a name of its own", remedy);
	return false;
}

void list_warn_of_node(struct subscriber_list *list, const char *node, const char *text)
{
	if (diagnostics_count(list->diagnostics, true))
		diagnostic_write(list->diagnostics, &(struct diagnostic){.warning = true,
							    .file = list->terms->network_file,
							    .place = node,
							    .text = text});
}

void list_say(struct subscriber_list *list, unsigned line, bool warning, const char *text)
{
	if (diagnostics_count(list->diagnostics, warning))
		diagnostic_write(list->diagnostics, &(struct diagnostic){.warning = warning,
							    .file = list->terms->file,
							    .line = line,
							    .text = text});
}

void list_say_of_line(struct subscriber_list *list, bool warning, const char *text)
{
	list->is_bad |= !warning;
	list_say(list, list->row.line, warning || list->terms->skip_bad, text);
}

void list_note_bad(struct subscriber_list *list, const char *policy)
{
	if (list->is_bad && list->terms->skip_bad && policy[0] != '\0')
		list->no_memory |= json_object_set_new(list->out.bad, policy, json_true()) < 0;
	list->is_bad = false;
}

void list_make_plain(char *text)
{
	for (; *text != '\0'; text++)
		if (!isalnum((unsigned char)*text) && strchr("_.-", *text) == NULL)
			*text = '_';
}
