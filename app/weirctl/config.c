/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "config" and "reload".
 */
#include "command.h"

#include <errno.h>

#include "field.h"

#define LOOK_MS 50

/* As long as the largest file may take to be read, and workers to let go of what was before. */
#define RELOAD_LOOKS (120 * 1000 / LOOK_MS)

static int print_messages(const json_t *document, FILE *out)
{
	return fields_lines(field_at(document, "last_reload.messages"), out);
}

int config_print(const json_t *document, FILE *out)
{
	static const struct field fields[] = {
		{"file", "file", KIND_TEXT},
		{"generation", "generation", KIND_COUNT},
		{"policies", "policies", KIND_COUNT},
		{"room for", "room", KIND_COUNT},
		{"reload", "reload", KIND_TEXT},
		{"last reload", "last_reload.at", KIND_TEXT},
		{"succeeded", "last_reload.ok", KIND_TEXT},
		{"took", "last_reload.took_ms", KIND_MS},
		{"added", "last_reload.added", KIND_COUNT},
		{"removed", "last_reload.removed", KIND_COUNT},
		{"changed", "last_reload.changed", KIND_COUNT},
		{"unchanged", "last_reload.unchanged", KIND_COUNT},
	};
	int ret = fields_detail(document, FIELDS(fields), out);

	if (ret == 0 && json_is_true(field_at(document, "last_reload.ok")))
		ret = print_messages(document, out); /* warnings */
	return ret;
}

/* Nothing is under way, and another one was the last. */
static bool reload_is_over(const json_t *config, const json_t *before)
{
	const char *state = json_string_value(json_object_get(config, "reload"));

	return state && state[0] == 'i' &&
	       !json_equal(json_object_get(config, "last_reload"),
		       json_object_get(before, "last_reload"));
}

static int wait_for(struct source *source, const json_t *before, json_t **document)
{
	for (unsigned i = 0; i < RELOAD_LOOKS; i++) {
		int ret = source_get(source, "/weir/config", document);

		if (ret || reload_is_over(*document, before))
			return ret;
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
	if (ret == 0)
		ret = wait_for(source, before, document);
	json_decref(answer);
	json_decref(before);
	return ret;
}

bool reload_refused(const json_t *document, FILE *err)
{
	if (json_is_true(field_at(document, "last_reload.ok")))
		return false;
	print_messages(document, err);
	fputs("weirctl: the reload was refused; nothing has changed\n", err);
	return true;
}
