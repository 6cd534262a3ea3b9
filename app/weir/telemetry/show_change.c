/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The running configuration, its last reload, its history, and changes of it:
 * doc/operate/changes.md.
 */
#include "show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <unistd.h>

#include "clock.h"
#include "instance.h"
#include "kept.h"
#include "reload.h"
#include "telemetry/server.h"

/* Most bytes of lines in a reply, and the longest time to confirm a change, in seconds. */
#define HISTORY_ROOM 12000
#define WITHIN_MOST  86400

/* Most names in "runs", so that a reply has room for the longest. */
#define NAMES_MOST 32

static json_t *runs_json(const struct kept *kept)
{
	json_t *about = kept->about, *singles = json_object_get(about, "singles");
	json_t *names = json_array(), *single;
	char words[256];
	size_t i;

	json_array_foreach (singles, i, single)
		if (i < NAMES_MOST)
			json_array_append(names, json_object_get(single, "policy"));
	kept_words(kept, words, sizeof(words));
	return json_pack("{s:s, s:o, s:O?, s:O?, s:O?, s:b, s:i, s:o}", "words", words, "number",
		json_uint(kept->confirm.running), "what", json_object_get(about, "what"), "at",
		json_object_get(about, "at"), "user", json_object_get(about, "user"), "differs",
		kept_differs(kept), "n_singles", (int)json_array_size(singles), "singles", names);
}

static json_t *outcome_json(const struct reload_outcome *last)
{
	if (!last)
		return json_null();
	return json_pack("{s:o, s:s, s:b, s:o, s:f, s:i, s:i, s:i, s:i, s:s?, s:o}", "serial",
		json_uint(last->serial), "what", last->what, "ok", last->error == 0, "at",
		json_utc(last->when.tv_sec), "took_ms", (double)last->took_ns / MS_NS, "added",
		(int)last->added, "removed", (int)last->removed, "changed", (int)last->changed,
		"unchanged", (int)last->unchanged, "not_kept",
		last->kept_error ? strerror(-last->kept_error) : NULL, "messages",
		json_lines(last->messages));
}

/* With a number, the outcome of that change, if it is still in memory. */
json_t *show_change(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct reload_outcome *last = reload_last_change(inst), *asked;
	const struct kept *kept = inst->kept;
	json_t *waits = json_null();

	asked = params ? reload_change_of(inst, strtoull(params, NULL, 10)) : NULL;
	last = asked ? asked : last;
	if (!kept)
		return json_pack("{s:s, s:n, s:o, s:o}", "state", reload_state(inst), "directory",
			"last", outcome_json(last), "peers_differ", show_differing_peers(inst));
	if (confirm_waits(&kept->confirm))
		waits = json_pack("{s:f}", "left_s",
			(double)confirm_left_ns(&kept->confirm, control_now()) / SECOND_NS);
	return json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}", "state",
		reload_state(inst), "directory", kept->directory, "file", inst->file, "runs",
		runs_json(kept), "last_good", json_uint(kept->confirm.good), "unconfirmed", waits,
		"refused", kept->refused ? json_lines(kept->refused) : json_null(), "not_kept",
		kept->trouble, "last", outcome_json(last), "peers_differ",
		show_differing_peers(inst));
}

/* Sends the configuration as a descriptor of its file. */
json_t *show_running(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct kept *kept = inst->kept;

	(void)params;
	if (!kept || kept->running_file < 0)
		return NULL;
	telemetry_give_descriptor(inst->telemetry, kept->running_file);
	return json_pack(
		"{s:o, s:s}", "number", json_uint(kept->confirm.running), "file", inst->file);
}

/* Lines from the newest back; the parameter is the number of lines to skip. */
json_t *show_history(const char *params, void *context)
{
	const struct instance *inst = context;
	const json_t *history = inst->kept ? inst->kept->history : NULL;
	size_t n = json_array_size(history), skipped = params ? strtoul(params, NULL, 10) : 0;
	size_t room = HISTORY_ROOM, next = skipped;
	json_t *lines;

	if (!inst->kept || skipped > n)
		return NULL;
	lines = json_array();
	for (; next < n; next++) {
		json_t *line = json_array_get(history, n - 1 - next);
		size_t length = telemetry_length(line) + 1;

		if (length > room && next > skipped)
			break;
		room -= length < room ? length : room;
		json_array_append(lines, line);
	}
	return json_pack("{s:o, s:o}", "lines", lines, "next",
		next < n ? json_integer((json_int_t)next) : json_null());
}

static struct change_request asked_by_peer(const struct instance *inst, enum change_kind kind)
{
	const struct telemetry_peer peer = telemetry_caller(inst->telemetry);

	return (struct change_request){
		.kind = kind, .uid = peer.uid, .gid = peer.gid, .pid = peer.pid, .fd = -1};
}

static const char *why_not(int error)
{
	switch (-error) {
	case ENOSYS:
		return "weir was started without --state, so only its file can be in force: use "
		       "\"weirctl reload\", or restart it with --state";
	case EAGAIN:
		return "another change is under way";
	case EBUSY:
		return "a change waits for its confirmation: weirctl confirm, or weirctl rollback";
	case EALREADY:
		return "no change waits for its confirmation: only \"weirctl apply "
		       "--confirm-within\" makes one";
	case ENOENT:
		return "no last good configuration is kept to roll back to";
	default:
		return strerror(-error);
	}
}

static json_t *refuse_number(const char *key, const char *found, const char *expected)
{
	return json_pack("{s:o}", "refused",
		json_sprintf("%s: \"%.64s\": expected %s", key, found, expected));
}

/* Takes the request over. */
static json_t *begin_asked(struct instance *inst, struct change_request *request)
{
	uint64_t serial = 0;
	int ret = reload_change(inst, request, &serial);

	if (ret)
		return json_pack("{s:s, s:b}", "refused", why_not(ret), "busy", ret == -EAGAIN);
	return json_pack("{s:o}", "started", json_uint(serial));
}

static bool parse_number(const char *params, uint64_t most, uint64_t *out)
{
	char *end;

	*out = 0;
	if (!params)
		return true;
	errno = 0;
	*out = strtoull(params, &end, 10);
	return errno == 0 && end != params && *end == '\0' && params[0] != '-' && *out <= most;
}

json_t *do_apply(const char *params, void *context)
{
	struct instance *inst = context;
	struct change_request request = asked_by_peer(inst, CHANGE_APPLY);
	uint64_t seconds;

	if (!parse_number(params, WITHIN_MOST, &seconds))
		return refuse_number("confirm-within", params, "1 to 86400 seconds");
	request.within_ns = seconds * SECOND_NS;
	request.fd = telemetry_take_descriptor(inst->telemetry);
	return begin_asked(inst, &request);
}

json_t *do_policy(const char *params, void *context)
{
	struct instance *inst = context;
	struct change_request request = asked_by_peer(inst, CHANGE_POLICY);

	if (!params) /* too long for a request: the thread of changes reads it */
		request.fd = telemetry_take_descriptor(inst->telemetry);
	if (request.fd >= 0)
		return begin_asked(inst, &request);
	request.edit = params ? json_loads(params, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (!request.edit)
		return json_pack("{s:s}", "refused",
			"the policy change is no JSON: expected an edit, or an array of them");
	return begin_asked(inst, &request);
}

json_t *do_rollback(const char *params, void *context)
{
	struct instance *inst = context;
	struct change_request request = asked_by_peer(inst, CHANGE_ROLLBACK);

	if (!parse_number(params, INT64_MAX, &request.number))
		return refuse_number("rollback", params,
			"the number of a configuration, as \"weirctl history\" shows it");
	return begin_asked(inst, &request);
}

json_t *do_confirm(const char *params, void *context)
{
	struct instance *inst = context;
	struct change_request request = asked_by_peer(inst, CHANGE_CONFIRM);

	(void)params;
	return begin_asked(inst, &request);
}

/* --- /weir/config ----------------------------------------------------------------------------- */

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

static json_t *reload_json(const struct reload_outcome *last)
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
		json_waits_for(inst), "last_reload", reload_json(reload_last(inst)), "peers_differ",
		show_differing_peers(inst), "removed_policies", "passed_packets",
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
