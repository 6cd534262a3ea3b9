/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "command.h"

#include <string.h>

#include "json/suggest.h"

/* Prints "a, b or c", the commands that begin with the name. */
static void list_commands(const struct command *all, const char *name, unsigned n, FILE *err)
{
	fprintf(err, "weirctl: %s: ", name);
	for (const struct command *each = all; each->name && n; each++) {
		if (strncmp(each->name, name, strlen(name)) != 0)
			continue;
		n--;
		fprintf(err, "%s%s", each->name, n > 1 ? ", " : n == 1 ? " or " : "?\n");
	}
}

const struct command *command_meant(const struct command *all, const char *name, FILE *err)
{
	const struct command *meant = NULL;
	struct suggestion near = {0};
	char remedy[SUGGEST_REMEDY_MAX];
	unsigned n = 0;

	for (const struct command *each = all; each->name; each++) {
		if (strcmp(each->name, name) == 0)
			return each;
		suggest_offer(&near, name, each->name);
		if (*name && strncmp(each->name, name, strlen(name)) == 0) {
			meant = each;
			n++;
		}
	}
	if (n == 1)
		return meant;
	if (n > 1)
		list_commands(all, name, n, err);
	else if (suggest_remedy(near.word, remedy))
		fprintf(err, "weirctl: %s: no such command: %s\n", name, remedy);
	else
		fprintf(err, "weirctl: %s: no such command: see \"weirctl help\"\n", name);
	return NULL;
}

int command_gather(const struct command *command, struct source *source,
	const struct request *request, json_t **document)
{
	if (command->gather)
		return command->gather(source, request, document);
	if (command->lists)
		return source_list(source, command->asks, NULL, command->lists, document);
	if (request->word)
		return source_get_of(source, command->asks, request->word, document);
	return source_get(source, command->asks, document);
}

bool request_denied(const json_t *document, FILE *err)
{
	const char *needs = json_string_value(json_object_get(document, "needs"));

	if (!json_object_get(document, "denied"))
		return false;
	if (err)
		fprintf(err, "weirctl: not permitted: this needs %s\n",
			needs ? needs : "more rights");
	return true;
}
