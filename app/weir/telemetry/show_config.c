/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <string.h>
#include <time.h>

#include "instance.h"
#include "reload.h"

/* Bytes of messages in a reply, and what each costs beside its own. */
#define LINES_MAX 6000
#define LINE_COST 8

/* As in the log; as many lines as a reply has room for. */
static json_t *json_lines(const char *text)
{
	json_t *json = json_array();
	size_t room = LINES_MAX;

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len + LINE_COST > room) {
			json_array_append_new(json, json_string("..."));
			break;
		}
		json_array_append_new(json, json_stringn(text, len));
		room -= len + LINE_COST;
		text += len + (text[len] == '\n');
	}
	return json;
}

static json_t *json_utc(time_t when)
{
	char text[sizeof("2026-01-01T00:00:00Z") + 8];
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static json_t *outcome_json(const struct reload_outcome *last)
{
	if (!last || !last->known)
		return json_null();
	return json_pack("{s:b, s:o, s:f, s:i, s:i, s:i, s:i, s:o}", "ok", last->error == 0, "at",
		json_utc(last->when.tv_sec), "took_ms", (double)last->took_ns / MS_NS, "added",
		(int)last->added, "removed", (int)last->removed, "changed", (int)last->changed,
		"unchanged", (int)last->unchanged, "messages", json_lines(last->messages));
}

json_t *show_config(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct policy_totals *gone = &inst->gone;

	(void)params;
	return json_pack("{s:s?, s:o, s:i, s:i, s:s, s:o, s:{s:o, s:o}}", "file", inst->file,
		"generation", json_uint(inst->publisher.current->generation), "policies",
		(int)inst->n_policies, "room", (int)inst->slots.capacity, "reload",
		reload_state(inst), "last_reload", outcome_json(reload_last(inst)),
		"removed_policies", "passed_packets", json_uint(gone->passed_packets),
		"dropped_packets", json_uint(gone->dropped_packets));
}

json_t *show_reload(const char *params, void *context)
{
	const char *answer = reload_request(context);

	(void)params;
	return answer ? json_pack("{s:s}", "reload", answer) : NULL;
}
