/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Captures: packets of all workers. The client that began one reads it, one reply at a time.
 */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>

#include <sodium.h>

#include "base/counter.h"
#include "base/time.h"
#include "classify/classify.h"
#include "instance.h"
#include "json/suggest.h"
#include "policy/config.h"
#include "policy/names.h"
#include "policy/value.h"
#include "tap.h"
#include "tap_session.h"
#include "telemetry/server.h"
#include "tick.h"

#define RATE_MOST   100000
#define RATE        1000
#define REPLY_FRAME 512

/* Packets that the client selects. */
struct capture_wish {
	uint32_t slot, reason, verdict;
	uint64_t count, seconds, rate;
	bool whole;
};

static bool take_reason(const char *name, struct capture_wish *wish)
{
	for (unsigned r = 0; r < DROP_REASONS; r++)
		if (strcmp(name, drop_reason_name(r)) == 0)
			wish->reason = r;
	for (unsigned v = 0; v < TAP_VERDICTS; v++)
		if (strcmp(name, tap_verdict_name(v)) == 0)
			wish->verdict = v;
	return wish->reason != TAP_ANY || wish->verdict != TAP_ANY;
}

static const char *refuse_reason(const char *name, char why[UNKNOWN_NAME_MAX])
{
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion near = {0};
	int len;

	for (unsigned r = 0; r < DROP_REASONS; r++)
		suggest_offer(&near, name, drop_reason_name(r));
	for (unsigned v = 0; v < TAP_VERDICTS; v++)
		suggest_offer(&near, name, tap_verdict_name(v));
	len = snprintf(why, UNKNOWN_NAME_MAX, "reason \"%.40s\": no such reason: ", name);
	if (suggest_remedy(near.word, remedy))
		len += snprintf(why + len, (size_t)(UNKNOWN_NAME_MAX - len), "%s ", remedy);
	len += snprintf(why + len, (size_t)(UNKNOWN_NAME_MAX - len),
		"expected one that \"weirctl drops\" lists, or");
	for (unsigned v = 0; v < TAP_VERDICTS; v++)
		len += snprintf(why + len, (size_t)(UNKNOWN_NAME_MAX - len), "%s %s", v ? "," : "",
			tap_verdict_name(v));
	return why;
}

/* Takes a word such as "policy=NAME". Returns NULL, or the reason why it is wrong. */
static const char *take_wish(struct instance *inst, const char *word, struct capture_wish *wish,
	char why[UNKNOWN_NAME_MAX])
{
	if (strncmp(word, "policy=", 7) == 0)
		return tap_session_slot(inst, word + 7, &wish->slot, why);
	if (strncmp(word, "reason=", 7) == 0)
		return take_reason(word + 7, wish) ? NULL : refuse_reason(word + 7, why);
	if (strncmp(word, "count=", 6) == 0)
		return tap_session_number("count", word + 6, UINT32_MAX, &wish->count, why);
	if (strncmp(word, "seconds=", 8) == 0)
		return tap_session_number("seconds", word + 8, 86400, &wish->seconds, why);
	if (strncmp(word, "rate=", 5) == 0)
		return tap_session_number("rate", word + 5, RATE_MOST, &wish->rate, why);
	if (strcmp(word, "whole") == 0) {
		wish->whole = true;
		return NULL;
	}
	snprintf(why, UNKNOWN_NAME_MAX,
		"\"%.64s\": expected policy=, reason=, count=, seconds=, rate= or whole", word);
	return why;
}

static json_t *begin_capture(
	struct instance *inst, const struct capture_wish *wish, struct tap_session *session)
{
	session->left = wish->count ? wish->count : UINT64_MAX;
	session->record = malloc(sizeof(*session->record) + TAP_WHOLE);
	for (; session->n < inst->config->n_workers; session->n++) {
		struct tap *tap = tap_create(
			session->n, session->number, wish->whole, wish->rate, inst->clock.hz);

		if (!tap)
			break;
		tap->slot = wish->slot;
		tap->reason = wish->reason;
		tap->verdict = wish->verdict;
		session->taps[session->n] = tap;
	}
	if (!tap_session_start(inst, session))
		return tap_session_refuse("there is no memory for it");
	return json_pack("{s:o, s:i}", "capture", json_uint(session->number), "snaplen",
		wish->whole ? TAP_WHOLE : TAP_HEADERS);
}

json_t *show_capture(const char *params, void *context)
{
	struct instance *inst = context;
	struct tap_session *session;
	struct capture_wish wish = {
		.slot = TAP_ANY, .reason = TAP_ANY, .verdict = TAP_ANY, .rate = RATE};
	char why[UNKNOWN_NAME_MAX], *text = strdup(params ? params : ""), *rest = text;
	const char *refusal = text ? NULL : "out of memory", *word;
	bool busy;

	while (!refusal && (word = strsep(&rest, " ")) != NULL)
		if (*word)
			refusal = take_wish(inst, word, &wish, why);
	free(text);
	if (refusal)
		return tap_session_refuse(refusal);
	session = tap_session_new(inst, false, wish.seconds, &busy);
	if (busy)
		return json_pack("{s:b}", "busy", true);
	return session ? begin_capture(inst, &wish, session)
		       : tap_session_refuse("there is no memory for it");
}

/* Returns the time at which a packet was received, in ns since 1970. */
static uint64_t wall_ns(const struct instance *inst, uint64_t tick)
{
	struct timespec now;
	uint64_t ago = tick_now() - tick;

	clock_gettime(CLOCK_REALTIME, &now);
	ago = (uint64_t)((unsigned __int128)ago * SECOND_NS / inst->clock.hz);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec - ago;
}

static json_t *record_json(
	const struct instance *inst, unsigned worker, const struct tap_record *record)
{
	const struct path *path = &inst->workers[worker].paths[record->path];
	char data[sodium_base64_ENCODED_LEN(TAP_WHOLE, sodium_base64_VARIANT_ORIGINAL)];

	sodium_bin2base64(data, sizeof(data), record->bytes, record->captured,
		sodium_base64_VARIANT_ORIGINAL);
	return json_pack("{s:o, s:i, s:s, s:s, s:i, s:s?, s:s, s:s?, s:s}", "at_ns",
		json_uint(wall_ns(inst, record->tick)), "bytes", (int)record->len, "wire",
		inst->config->wires[path->wire].name, "direction", direction_name(path->direction),
		"worker", (int)worker, "policy", tap_session_policy(inst, record->slot), "verdict",
		tap_verdict_name(record->verdict), "reason",
		record->reason < DROP_REASONS ? drop_reason_name(record->reason) : NULL, "data",
		data);
}

/* Takes records of all workers in turn, until the reply is full. */
static json_t *take_records(struct instance *inst, struct tap_session *c)
{
	size_t room = TELEMETRY_MAX_OUTPUT - REPLY_FRAME;
	size_t most = (size_t)c->taps[0]->record * 4 / 3 + REPLY_FRAME;
	json_t *packets = json_array();
	unsigned empty = 0;

	while (c->left > 0 && empty < c->n && room >= most) {
		unsigned worker = c->first;
		json_t *packet;

		c->first = (c->first + 1) % c->n;
		if (!tap_read(c->taps[worker], c->record)) {
			empty++;
			continue;
		}
		empty = 0;
		c->left--;
		packet = record_json(inst, worker, c->record);
		room -= RTE_MIN(room, telemetry_length(packet) + 1);
		json_array_append_new(packets, packet);
	}
	return packets;
}

/* The session is over once the client has all packets, or the time is over and none is left. */
json_t *show_capture_read(const char *params, void *context)
{
	struct instance *inst = context;
	struct tap_session *c = tap_session_find(inst, params, false);
	uint64_t examined = 0, skipped = 0, taken = 0, limited = 0, lost = 0;
	json_t *json, *packets;
	bool late, over;

	if (!c)
		return NULL;
	late = tap_session_renew(inst, c);
	packets = take_records(inst, c);
	over = c->left == 0 || (late && json_array_size(packets) == 0);
	json = json_pack("{s:o, s:b}", "packets", packets, "over", over);
	for (unsigned i = 0; i < c->n; i++) { /* sums of all workers */
		examined += counter_read(&c->taps[i]->n_examined);
		skipped += counter_read(&c->taps[i]->n_skipped);
		taken += counter_read(&c->taps[i]->n_taken);
		limited += counter_read(&c->taps[i]->n_limited);
		lost += counter_read(&c->taps[i]->n_lost);
	}
	json_object_set_new(json, "examined", json_uint(examined));
	json_object_set_new(json, "not_examined", json_uint(skipped));
	json_object_set_new(json, "taken", json_uint(taken));
	json_object_set_new(json, "over_rate", json_uint(limited));
	json_object_set_new(json, "lost", json_uint(lost));
	if (over)
		tap_session_leave(inst, c);
	return json;
}

json_t *show_capture_end(const char *params, void *context)
{
	struct instance *inst = context;
	struct tap_session *c = tap_session_find(inst, params, false);

	if (!c)
		return NULL;
	tap_session_leave(inst, c);
	return json_pack("{s:b}", "ended", true);
}
