/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "config" and "reload".
 */
#include "command.h"

#include <errno.h>

#include "ask/source.h"
#include "field.h"

#define LOOK_MS 50

/* Looks for which a stalled worker is waited for. */
#define STUCK_LOOKS (2 * 1000 / LOOK_MS)

/* Looks until the largest file is read, and the workers have released the previous policies. */
#define RELOAD_LOOKS (120 * 1000 / LOOK_MS)

static int print_messages(const json_t *document, struct view *view)
{
	return fields_lines(member_at(document, "last_reload.messages"), view);
}

int config_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"file", "file", KIND_TEXT},
		{"generation", "generation", KIND_COUNT},
		{"policies", "policies", KIND_COUNT},
		{"room for", "room", KIND_COUNT},
		{"reload", "reload", KIND_TEXT},
		{"waits for", "reload_waits_for", KIND_TEXT},
		{"last reload", "last_reload.at", KIND_TEXT},
		{"succeeded", "last_reload.ok", KIND_TEXT},
		{"took", "last_reload.took_ms", KIND_MS},
		{"added", "last_reload.added", KIND_COUNT},
		{"removed", "last_reload.removed", KIND_COUNT},
		{"changed", "last_reload.changed", KIND_COUNT},
		{"unchanged", "last_reload.unchanged", KIND_COUNT},
		{"peers that differ now", "peers_differ", KIND_TEXT | NONZERO},
	};

	fields_detail(document, FIELDS(fields), view);
	if (json_array_size(member_at(document, "last_reload.messages")) > 0)
		print_messages(document, view); /* warnings, or why it was refused */
	return view_error(view);
}

/* Returns true if no reload is under way, and the last one is a new one. */
static bool reload_is_over(const json_t *config, const json_t *before)
{
	const char *state = json_string_value(json_object_get(config, "reload"));

	return state && state[0] == 'i' &&
	       !json_equal(json_object_get(config, "last_reload"),
		       json_object_get(before, "last_reload"));
}

static int wait_for(struct source *source, const json_t *before, json_t **document)
{
	unsigned held_up = 0;

	for (unsigned i = 0; i < RELOAD_LOOKS; i++) {
		int ret = source_get(source, "/weir/config", document);

		if (ret || reload_is_over(*document, before))
			return ret;
		/* A worker is stalled: the last reload is in force, and a later one is queued. */
		held_up = json_is_string(json_object_get(*document, "reload_waits_for"))
				  ? held_up + 1
				  : 0;
		if (held_up > STUCK_LOOKS)
			return json_object_set_new(*document, "queued",
				json_boolean(json_equal(json_object_get(*document, "last_reload"),
					json_object_get(before, "last_reload"))));
		json_decref(*document);
		*document = NULL;
		source->pause(source, LOOK_MS);
	}
	return -ETIMEDOUT;
}

int reload_gather(struct source *source, const struct request *request, json_t **document)
{
	json_t *before, *answer;
	int ret = source_get(source, "/weir/config", &before);

	(void)request;
	*document = NULL;
	if (ret)
		return ret;
	ret = source_get(source, "/weir/reload", &answer);
	if (ret == 0 && json_object_get(answer, "denied"))
		*document = json_incref(answer);
	else if (ret == 0)
		ret = wait_for(source, before, document);
	json_decref(answer);
	json_decref(before);
	return ret;
}

bool reload_refused(const json_t *document, FILE *err)
{
	struct view *view;

	if (request_denied(document, err))
		return true;
	if (json_is_true(json_object_get(document, "queued"))) {
		if (!err)
			return true;
		fprintf(err,
			"weirctl: the reload is queued: the one before it waits for %s, which is "
			"stuck\n",
			json_string_value(json_object_get(document, "reload_waits_for")));
		return true;
	}
	if (json_is_true(member_at(document, "last_reload.ok")))
		return false;
	if (!err)
		return true;
	view = view_new();
	if (view && print_messages(document, view) == 0)
		view_print(view, err, 0);
	view_free(view);
	fputs("weirctl: the reload was refused; nothing has changed\n", err);
	return true;
}
