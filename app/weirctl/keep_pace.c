/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "keep_pace.h"

#include <stdint.h>
#include <string.h>

static bool has_verb(const json_t *edit, const char *verb)
{
	const char *own = json_string_value(json_object_get(edit, "do"));

	return own != NULL && strcmp(own, verb) == 0;
}

bool pace_is_add(const json_t *edit)
{
	return has_verb(edit, "add");
}

static size_t count_edits(const json_t *edits, const char *verb)
{
	const json_t *edit;
	size_t i, n = 0;

	json_array_foreach (edits, i, edit)
		n += has_verb(edit, verb);
	return n;
}

void pace_refused(struct keep_pace *pace, long long now_ms)
{
	long long pause_ms = pace->pause_ms > 0 ? 2 * pace->pause_ms : PACE_LEAST_MS;

	pause_ms = pause_ms < PACE_MOST_MS ? pause_ms : PACE_MOST_MS;
	*pace = (struct keep_pace){.pause_ms = pause_ms, .until_ms = now_ms + pause_ms};
}

bool pace_is_due(const struct keep_pace *pace, long long now_ms)
{
	return pace->pause_ms > 0 && (pace->room > 0 || now_ms >= pace->until_ms);
}

/* One goes ahead after the pause: whether there is room again takes one transaction to know. */
static size_t room_at(const struct keep_pace *pace, long long now_ms)
{
	if (pace->pause_ms == 0 || pace->tried)
		return SIZE_MAX;
	return pace->room == 0 && now_ms >= pace->until_ms ? 1 : pace->room;
}

/* Those that do as the verb says go on to the end of `to`; how many there was no room for. */
static size_t move_edits(json_t *to, const json_t *edits, const char *verb, size_t room)
{
	size_t i, left = 0;
	json_t *edit;

	json_array_foreach (edits, i, edit) {
		if (!has_verb(edit, verb))
			continue;
		if (room > 0)
			json_array_append(to, edit);
		else
			left++;
		room -= room > 0;
	}
	return left;
}

size_t pace_hold(const struct keep_pace *pace, json_t *edits, long long now_ms)
{
	json_t *sent;
	size_t left;

	if (pace->pause_ms == 0)
		return 0;
	sent = json_array();
	move_edits(sent, edits, "remove", SIZE_MAX);
	move_edits(sent, edits, "set", SIZE_MAX);
	left = move_edits(sent, edits, "add", room_at(pace, now_ms));
	json_array_clear(edits);
	json_array_extend(edits, sent);
	json_decref(sent);
	return left;
}

void pace_taken(struct keep_pace *pace, const json_t *edits, size_t waiting, long long now_ms)
{
	size_t added = count_edits(edits, "add");

	if (waiting == 0) {
		*pace = (struct keep_pace){0};
		return;
	}
	pace->tried = added > 0 && now_ms >= pace->until_ms;
	pace->room -= added < pace->room ? added : pace->room;
	pace->room += count_edits(edits, "remove");
}
