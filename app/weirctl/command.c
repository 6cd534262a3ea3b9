/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
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

/* --- the command "names", and suggestions for misspelt names ---------------------------------- */

/* Returns the names of all peers of a listing, with that of the limiter itself. */
static json_t *names_of_peers(const json_t *peers)
{
	json_t *names = json_array(), *name;
	const json_t *peer;
	size_t i;

	json_array_foreach (peers, i, peer) {
		name = json_object_get(peer, "name");
		if (json_is_string(name))
			json_array_append(names, name);
	}
	return names;
}

int names_of(struct source *source, enum names kind, json_t **names)
{
	json_t *listing;
	int ret = kind == NAMES_PEERS
			  ? source_list(source, "/weir/peers", NULL, "peers", &listing)
			  : source_list(source, "/weir/policies", NULL, "policies", &listing);

	*names = NULL;
	if (ret)
		return ret;
	*names = kind == NAMES_PEERS ? names_of_peers(json_object_get(listing, "peers"))
				     : json_incref(json_object_get(listing, "policies"));
	json_decref(listing);
	return 0;
}

char *names_meant(struct source *source, enum names kind, const char *text)
{
	struct suggestion near = {0};
	const char *begins = NULL, *meant;
	unsigned n = 0;
	json_t *names, *name;
	char *copy;
	size_t i;

	if (kind == NAMES_NONE || names_of(source, kind, &names))
		return NULL;
	json_array_foreach (names, i, name) {
		const char *each = json_string_value(name);

		if (!each)
			continue;
		suggest_offer(&near, text, each);
		if (*text && strncmp(each, text, strlen(text)) == 0) {
			begins = each;
			n++;
		}
	}
	meant = near.word ? near.word : n == 1 ? begins : NULL;
	copy = meant ? strdup(meant) : NULL;
	json_decref(names);
	return copy;
}

bool names_check(const struct request *request)
{
	if (strcmp(request->word, "policies") == 0 || strcmp(request->word, "peers") == 0)
		return true;
	fprintf(stderr, "weirctl: %s: expected policies or peers\n", request->word);
	return false;
}

int names_gather(struct source *source, const struct request *request, json_t **document)
{
	bool peers = strcmp(request->word, "peers") == 0;

	return names_of(source, peers ? NAMES_PEERS : NAMES_POLICIES, document);
}

int names_print(const json_t *document, struct view *view)
{
	return fields_lines(document, view);
}
