/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Captures: one at a time, of all workers. Who has begun one reads it, a reply full at a time; when
 * he has not for some seconds it ends, whether he has said so or not.
 */
#include "show_capture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <sodium.h>

#include "base/counter.h"
#include "base/time.h"
#include "classify/classify.h"
#include "instance.h"
#include "policy/config.h"
#include "policy/names.h"
#include "policy/value.h"
#include "show.h"
#include "tap.h"
#include "telemetry/server.h"

#define LEASE_S     3
#define RATE_MOST   100000
#define RATE        1000
#define WORDS_MOST  8
#define REPLY_FRAME 512
#define NO_POLICY   "-"

struct capture_taps {
	uint64_t number;
	unsigned n;
	struct tap *taps[CONFIG_WORKERS_MAX]; /* what workers may be at */
	bool ending;                          /* workers have been told that there is none */
	uint64_t moment;                      /* by then they have left it: publisher_moment() */
	unsigned first;                       /* worker that is read first the next time */
	uint64_t left;                        /* packets that are still wanted */
	uint64_t end_ns;                      /* by control_now(); UINT64_MAX: nobody has said */
	struct tap_record *record;
};

/* What is wanted. */
struct capture_wish {
	uint32_t slot, reason, verdict;
	uint64_t count, seconds, rate;
	bool whole;
};

static json_t *refuse_capture(const char *why)
{
	return json_pack("{s:s}", "refused", why);
}

/* Workers leave it in their next turn; then it is freed. */
static void leave_taps(struct instance *inst, struct capture_taps *c)
{
	for (unsigned i = 0; i < c->n; i++)
		__atomic_store_n(&inst->workers[i].tap, NULL, __ATOMIC_RELEASE);
	if (!c->ending)
		c->moment = publisher_moment(&inst->publisher);
	c->ending = true;
}

static void free_taps(struct instance *inst, struct capture_taps *c)
{
	for (unsigned i = 0; i < c->n; i++)
		tap_destroy(c->taps[i]);
	free(c->record);
	free(c);
	inst->capture = NULL;
}

void capture_stop(struct instance *inst)
{
	struct capture_taps *c = inst->capture;

	if (!c)
		return;
	leave_taps(inst, c);
	if (publisher_is_past(&inst->publisher, c->moment))
		free_taps(inst, c);
}

static bool take_number(const char *text, uint64_t most, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *out > 0 && *out <= most;
}

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

static bool take_policy(struct instance *inst, const char *name, struct capture_wish *wish)
{
	unsigned i = show_find(inst, name);

	if (strcmp(name, NO_POLICY) == 0)
		wish->slot = TAP_NO_POLICY;
	else if (i < inst->n_policies)
		wish->slot = inst->slots.of[i];
	return wish->slot != TAP_ANY;
}

/* "policy=NAME", of which everything is said so. Why it makes no sense, or NULL. */
static const char *take_wish(struct instance *inst, const char *word, struct capture_wish *wish)
{
	if (strncmp(word, "policy=", 7) == 0)
		return take_policy(inst, word + 7, wish) ? NULL
							 : "policy: there is none of that name";
	if (strncmp(word, "reason=", 7) == 0)
		return take_reason(word + 7, wish) ? NULL
						   : "reason: expected one of /weir/drops, or "
						     "pass, drop, mark, count, wait";
	if (strncmp(word, "count=", 6) == 0)
		return take_number(word + 6, UINT32_MAX, &wish->count) ? NULL
								       : "count: expected a number";
	if (strncmp(word, "seconds=", 8) == 0)
		return take_number(word + 8, 86400, &wish->seconds)
			       ? NULL
			       : "seconds: expected 1 to 86400";
	if (strncmp(word, "rate=", 5) == 0)
		return take_number(word + 5, RATE_MOST, &wish->rate) ? NULL
								     : "rate: expected 1 to 100000";
	if (strcmp(word, "whole") == 0) {
		wish->whole = true;
		return NULL;
	}
	return "expected policy=, reason=, count=, seconds=, rate= or whole";
}

static const char *take_wishes(struct instance *inst, char *text, struct capture_wish *wish)
{
	const char *why = NULL, *word;

	*wish = (struct capture_wish){
		.slot = TAP_ANY, .reason = TAP_ANY, .verdict = TAP_ANY, .rate = RATE};
	while (!why && (word = strsep(&text, " ")) != NULL)
		if (*word)
			why = take_wish(inst, word, wish);
	return why;
}

static uint64_t lease_end(const struct instance *inst)
{
	return rte_rdtsc() + LEASE_S * inst->clock.hz;
}

static json_t *begin_taps(struct instance *inst, const struct capture_wish *wish)
{
	struct capture_taps *c = calloc(1, sizeof(*c));
	static uint64_t number; /* names in EAL are not used again */

	if (!c)
		return NULL;
	inst->capture = c;
	c->number = ++number;
	c->left = wish->count ? wish->count : UINT64_MAX;
	c->end_ns = wish->seconds ? control_now() + wish->seconds * SECOND_NS : UINT64_MAX;
	for (; c->n < inst->config->n_workers; c->n++) {
		struct tap *tap = tap_create(
			c->n, c->number, wish->whole, wish->rate, inst->clock.hz);

		if (!tap)
			break;
		tap->slot = wish->slot;
		tap->reason = wish->reason;
		tap->verdict = wish->verdict;
		tap->until = lease_end(inst);
		c->taps[c->n] = tap;
	}
	c->record = malloc(sizeof(*c->record) + TAP_WHOLE);
	if (c->n < inst->config->n_workers || !c->record) {
		free_taps(inst, c);
		return refuse_capture("there is no memory for it");
	}
	for (unsigned i = 0; i < c->n; i++)
		__atomic_store_n(&inst->workers[i].tap, c->taps[i], __ATOMIC_RELEASE);
	return json_pack("{s:o, s:i}", "capture", json_uint(c->number), "snaplen",
		wish->whole ? TAP_WHOLE : TAP_HEADERS);
}

/* Whether its lease has run out: workers do not fill it any more. */
static bool is_over(const struct capture_taps *c)
{
	return c->ending ||
	       (int64_t)(rte_rdtsc() - __atomic_load_n(&c->taps[0]->until, __ATOMIC_RELAXED)) >= 0;
}

json_t *show_capture(const char *params, void *context)
{
	struct instance *inst = context;
	struct capture_wish wish;
	const char *why;
	char *text;

	if (inst->capture && !is_over(inst->capture))
		return json_pack("{s:b}", "busy", true);
	capture_stop(inst);
	if (inst->capture) /* workers may still be at the former one */
		return json_pack("{s:b}", "busy", true);
	text = strdup(params ? params : "");
	why = text ? take_wishes(inst, text, &wish) : "out of memory";
	free(text);
	return why ? refuse_capture(why) : begin_taps(inst, &wish);
}

/* When a packet came, since 1970. */
static uint64_t wall_ns(const struct instance *inst, uint64_t tick)
{
	struct timespec now;
	uint64_t ago = rte_rdtsc() - tick;

	clock_gettime(CLOCK_REALTIME, &now);
	ago = (uint64_t)((unsigned __int128)ago * SECOND_NS / inst->clock.hz);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec - ago;
}

static const char *name_of_slot(const struct instance *inst, uint32_t slot)
{
	uint32_t policy = slot == CLASSIFY_NONE ? SLOT_FREE : inst->slots.policy[slot];

	return policy < inst->n_policies ? inst->policies[policy].name : NULL;
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
		"worker", (int)worker, "policy", name_of_slot(inst, record->slot), "verdict",
		tap_verdict_name(record->verdict), "reason",
		record->reason < DROP_REASONS ? drop_reason_name(record->reason) : NULL, "data",
		data);
}

/* Sums of all workers. */
static void add_tap_counts(json_t *json, const struct capture_taps *c)
{
	uint64_t examined = 0, skipped = 0, taken = 0, limited = 0, lost = 0;

	for (unsigned i = 0; i < c->n; i++) {
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
}

/* As many as a reply has room for, of all workers in turn. */
static json_t *take_records(struct instance *inst, struct capture_taps *c)
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

/* Over: all that was wanted has been told, or the time is and nothing is left. */
json_t *show_capture_read(const char *params, void *context)
{
	struct instance *inst = context;
	struct capture_taps *c = inst->capture;
	json_t *json, *packets;
	unsigned number;
	bool late, over;

	if (!c || c->ending || !show_index(params, &number) || number != c->number)
		return NULL;
	late = control_now() >= c->end_ns;
	for (unsigned i = 0; i < c->n; i++)
		__atomic_store_n(
			&c->taps[i]->until, late ? rte_rdtsc() : lease_end(inst), __ATOMIC_RELAXED);
	packets = take_records(inst, c);
	over = c->left == 0 || (late && json_array_size(packets) == 0);
	json = json_pack("{s:o, s:b}", "packets", packets, "over", over);
	add_tap_counts(json, c);
	if (over)
		leave_taps(inst, c);
	return json;
}

json_t *show_capture_end(const char *params, void *context)
{
	struct instance *inst = context;
	struct capture_taps *c = inst->capture;
	unsigned number;

	if (!c || c->ending || !show_index(params, &number) || number != c->number)
		return NULL;
	leave_taps(inst, c);
	return json_pack("{s:b}", "ended", true);
}
