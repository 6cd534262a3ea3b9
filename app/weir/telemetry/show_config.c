/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers about the running configuration and its last reload.
 */
#include "show.h"

#include <string.h>
#include <time.h>

#include "instance.h"
#include "reload.h"

/* Bytes of messages in a reply, and the additional bytes of each. */
#define LINES_MAX 6000
#define LINE_COST 8

/* Lines like in the log, limited to the room of a reply. */
json_t *json_lines(const char *text)
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

json_t *json_utc(time_t when)
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
	return json_pack("{s:b, s:b, s:o, s:f, s:i, s:i, s:i, s:i, s:o}", "ok", last->error == 0,
		"superseded", last->superseded, "at", json_utc(last->when.tv_sec), "took_ms",
		(double)last->took_ns / MS_NS, "added", (int)last->added, "removed",
		(int)last->removed, "changed", (int)last->changed, "unchanged",
		(int)last->unchanged, "messages", json_lines(last->messages));
}

/* The configuration in force is not the file's, until a later reload or apply is accepted. */
void alarm_refused_reload(const struct instance *inst, json_t *alarms)
{
	const struct reload_outcome *last = reload_last(inst);
	json_t *when;

	if (!last || !last->known || last->error == 0 || last->superseded)
		return;
	when = json_utc(last->when.tv_sec);
	json_array_append_new(alarms,
		json_sprintf("the reload of %s was refused, and the previous configuration is in "
			     "force: %.*s",
			json_string_value(when), (int)strcspn(last->messages, "\n"),
			last->messages));
	json_decref(when);
}

/* Returns the worker, like in an alarm; null if the reload waits for none. */
static json_t *json_waits_for(const struct instance *inst)
{
	int worker = reload_waits_for(inst);

	if (worker < 0)
		return json_null();
	return json_sprintf("worker %d (CPU %u)", worker, inst->config->workers[worker]);
}

json_t *show_config(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct policy_totals *gone = &inst->gone;

	(void)params;
	return json_pack("{s:s?, s:o, s:i, s:b, s:i, s:s, s:o, s:o, s:o, s:{s:o, s:o}}", "file",
		inst->file, "generation", json_uint(inst->publisher.current->generation),
		"policies", (int)inst->n_policies, "shadow", instance_in_shadow(inst), "room",
		(int)inst->slots.capacity, "reload", reload_state(inst), "reload_waits_for",
		json_waits_for(inst), "last_reload", outcome_json(reload_last(inst)),
		"peers_differ", show_differing_peers(inst), "removed_policies", "passed_packets",
		json_uint(gone->passed_packets), "dropped_packets",
		json_uint(gone->dropped_packets));
}

json_t *show_reload(const char *params, void *context)
{
	struct instance *inst = context;
	const struct telemetry_peer peer = telemetry_caller(inst->telemetry);
	const char *answer = reload_request_by(inst, "/weir/reload",
		&(struct change_request){.kind = CHANGE_RELOAD,
			.uid = peer.uid,
			.gid = peer.gid,
			.pid = peer.pid,
			.fd = -1});

	(void)params;
	if (!answer)
		return NULL;
	return json_pack("{s:s, s:o}", "reload", answer, "waits_for", json_waits_for(context));
}
