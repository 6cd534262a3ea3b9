/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers of many policies in one reply: rows, whose columns are named once.
 */
#include "show.h"

#include <math.h>
#include <stdlib.h>

#include "instance.h"
#include "policy/kind.h"
#include "telemetry/json_text.h"
#include "telemetry/server.h"
#include "totals.h"
#include "trials.h"

/* So many rows are no turn of control's that anybody notices. */
#define ROWS_MOST 128

/* Bytes for the command, the brackets, and the page's own members without the rows. */
#define REPLY_FRAME 136

/* What is known of one policy. */
struct policy_now {
	const struct instance *inst;
	unsigned index;
	const struct policy *policy;
	struct limiter_view view;
	struct limiter_overshoot over;
	struct show_peak peak;
	struct policy_totals totals;
	struct waiting waiting;
	bool has_total;
	struct show_total total;
	bool tried; /* there is a trial; else it is zero */
	struct trial_now trial;
};

/* Adds units a second: whole bytes, and thousandths of packets and flows. */
static void put_rate(struct json_text *row, const struct policy *policy, double rate)
{
	if (isnan(rate))
		json_text_null(row);
	else if (policy->count == COUNT_BYTES)
		json_text_integer(row, (int64_t)round(rate));
	else
		json_text_real(row, round(rate * 1000) / 1000);
}

/* A limit there need not be beside a total. */
static void put_limit(struct json_text *row, const struct policy *policy, double rate)
{
	put_rate(row, policy, policy->limit_bps == 0 ? NAN : rate);
}

/* Returns true if peers know of this policy: its allocator or a parent needs the demand. */
static bool is_heard(const struct policy_now *now)
{
	return policy_is_told_of(now->inst->policies, now->index);
}

static bool has_part(const struct policy_now *now)
{
	return policy_has_part(now->inst->policies, now->index);
}

static void put_parent(struct json_text *row, const struct policy_now *now)
{
	if (policy_has_parent(now->policy))
		json_text_string(row, now->inst->policies[now->policy->parent].name);
	else
		json_text_null(row);
}

/* A count that not all policies have. */
static void put_count(struct json_text *row, bool has, uint64_t value)
{
	if (has)
		json_text_integer(row, (int64_t)value);
	else
		json_text_null(row);
}

#define COLUMNS(COLUMN)                                                                            \
	COLUMN("name", json_text_string(row, p->name))                                             \
	COLUMN("count", json_text_string(row, show_counting(p->count)))                            \
	COLUMN("limit_per_s", put_limit(row, p, policy_rate(p)))                                   \
	COLUMN("local_limit_per_s", put_limit(row, p, now->view.local_limit))                      \
	COLUMN("demand_per_s", put_rate(row, p, now->view.demand))                                 \
	COLUMN("global_demand_per_s",                                                              \
		put_rate(row, p, is_heard(now) ? now->view.global_demand : NAN))                   \
	COLUMN("peers_lost", put_count(row, is_heard(now), now->view.lost))                        \
	COLUMN("passed_packets", put_count(row, true, now->totals.passed_packets))                 \
	COLUMN("passed_units", put_count(row, true, now->totals.passed_bytes))                     \
	COLUMN("dropped_packets", put_count(row, true, now->totals.dropped_packets))               \
	COLUMN("dropped_units", put_count(row, true, now->totals.dropped_bytes))                   \
	COLUMN("over_packets", put_count(row, true, now->totals.over_packets))                     \
	COLUMN("over_units", put_count(row, true, now->totals.over_bytes))                         \
	COLUMN("fallback_packets",                                                                 \
		put_count(row, p->allocator->counts_units, now->totals.fallback_packets))          \
	COLUMN("fallback_units",                                                                   \
		put_count(row, p->allocator->counts_units, now->totals.fallback_bytes))            \
	COLUMN("waiting_packets", put_count(row, policy_is_shaped(p), now->waiting.packets))       \
	COLUMN("total_units", put_count(row, now->has_total, now->total.total))                    \
	COLUMN("left_units", put_count(row, now->has_total && now->total.known, now->total.left))  \
	COLUMN("spent_units", put_count(row, now->has_total, now->total.spent))                    \
	COLUMN("prefetched_units", put_count(row, now->has_total, now->total.prefetched))          \
	COLUMN("trial_limit_per_s",                                                                \
		put_rate(row, p, now->tried ? policy_rate(&now->trial.policy) : NAN))              \
	COLUMN("trial_local_limit_per_s",                                                          \
		put_rate(row, p, now->tried ? now->trial.local_limit : NAN))                       \
	COLUMN("trial_passed_packets",                                                             \
		put_count(row, now->tried, now->trial.totals.passed_packets))                      \
	COLUMN("trial_passed_units", put_count(row, now->tried, now->trial.totals.passed_bytes))   \
	COLUMN("trial_dropped_packets",                                                            \
		put_count(row, now->tried, now->trial.totals.dropped_packets))                     \
	COLUMN("trial_dropped_units", put_count(row, now->tried, now->trial.totals.dropped_bytes)) \
	COLUMN("green_packets",                                                                    \
		put_count(row, policy_is_coloured(p), now->totals.colours[COLOUR_GREEN].packets))  \
	COLUMN("green_units",                                                                      \
		put_count(row, policy_is_coloured(p), now->totals.colours[COLOUR_GREEN].bytes))    \
	COLUMN("yellow_packets",                                                                   \
		put_count(row, policy_is_coloured(p), now->totals.colours[COLOUR_YELLOW].packets)) \
	COLUMN("yellow_units",                                                                     \
		put_count(row, policy_is_coloured(p), now->totals.colours[COLOUR_YELLOW].bytes))   \
	COLUMN("red_packets",                                                                      \
		put_count(row, policy_is_coloured(p), now->totals.colours[COLOUR_RED].packets))    \
	COLUMN("red_units",                                                                        \
		put_count(row, policy_is_coloured(p), now->totals.colours[COLOUR_RED].bytes))      \
	COLUMN("allocator", json_text_string(row, p->allocator->name))                             \
	COLUMN("limit_by", json_text_value(row, show_limit_by(now->inst, now->index)))             \
	COLUMN("limit_until", json_text_value(row, show_limit_until(now->inst, now->index)))       \
	COLUMN("parent", put_parent(row, now))                                                     \
	COLUMN("share_per_s", put_rate(row, p, has_part(now) ? now->view.share : NAN))             \
	COLUMN("bound_per_s", put_rate(row, p, now->over.known ? now->over.bound : NAN))           \
	COLUMN("estimate_per_s", put_rate(row, p, now->over.known ? now->over.estimate : NAN))     \
	COLUMN("peers_unheard", put_count(row, now->over.known, now->over.unheard))                \
	COLUMN("peak_per_s", put_rate(row, p, now->peak.group))                                    \
	COLUMN("local_peak_per_s", put_rate(row, p, now->peak.here))                               \
	COLUMN("exceeding", json_text_string(row, show_action(show_exceeding(p))))

static void put_columns(struct json_text *text)
{
#define COLUMN(key, put) "\"" key "\","
	static const char names[] = COLUMNS(COLUMN);
#undef COLUMN

	json_text_raw(text, names, sizeof(names) - 1);
}

static void put_row(struct json_text *row, const struct policy_now *now)
{
	const struct policy *p = now->policy;

	json_text_open(row, '[');
#define COLUMN(key, put) put;
	COLUMNS(COLUMN)
#undef COLUMN
	json_text_close(row, ']');
}

static void put_policy(struct json_text *row, struct instance *inst, unsigned i)
{
	uint32_t slot = inst->slots.of[i];
	const struct policy policy = show_policy_now(inst, i);
	struct policy_now now = {.inst = inst, .index = i, .policy = &policy};

	limiter_view(inst->limiter, i, &now.view);
	now.over = limiter_overshoot(inst->limiter, i);
	now.peak = show_peak_of(now.policy, &now.view);
	now.totals = instance_policy_totals(inst, slot);
	if (policy_is_shaped(now.policy))
		now.waiting = engine_waiting(&inst->engine, slot);
	now.has_total = show_total_of(inst, i, &now.total);
	now.tried = trials_look(inst, i, &now.trial);
	put_row(row, &now);
}

/*
 * Adds the rows from an index on that fit. Returns the index after the last one. A row is made
 * only once: the one that has no room is taken back.
 */
static unsigned put_rows(struct json_text *rows, struct instance *inst, unsigned start)
{
	unsigned i = start;

	for (; i < inst->n_policies && i - start < ROWS_MOST; i++) {
		char *row = rows->at;

		put_policy(rows, inst, i);
		if (!rows->full)
			continue;
		rows->at = row;
		break;
	}
	return i;
}

static void put_index(struct json_text *text, const char *key, bool has, unsigned index)
{
	json_text_key(text, key);
	put_count(text, has, index);
}

/* Adds the members that do not depend on the rows. */
static void put_head(struct json_text *text, const struct instance *inst)
{
	json_text_open(text, '{');
	json_text_key(text, "generation");
	put_count(text, true, inst->publisher.current->generation);
	json_text_key(text, "at_ms");
	json_text_real(text, (double)control_now() / MS_NS);
	json_text_key(text, "columns");
	json_text_open(text, '[');
	put_columns(text);
	json_text_close(text, ']');
}

/* Between two replies of one generation a row is the same policy's, and time is at_ms. */
json_t *show_policy_stats(const char *params, void *context)
{
	struct instance *inst = context;
	char bytes[TELEMETRY_MAX_OUTPUT];
	char *reply = malloc(TELEMETRY_MAX_OUTPUT);
	struct json_text text = json_text_in(reply, TELEMETRY_MAX_OUTPUT), rows;
	unsigned start, end, total = inst->n_policies;

	if (!reply || !show_start(params, &start)) {
		free(reply);
		return NULL;
	}
	put_head(&text, inst);
	rows = json_text_in(bytes, TELEMETRY_MAX_OUTPUT - json_text_bytes(&text) - REPLY_FRAME);
	end = put_rows(&rows, inst, start);
	put_index(&text, "total", true, total);
	put_index(&text, "start", true, start);
	put_index(&text, "next", end < total, end);
	json_text_key(&text, "policies");
	json_text_open(&text, '[');
	json_text_raw(&text, bytes, json_text_bytes(&rows));
	json_text_close(&text, ']');
	json_text_close(&text, '}');
	text.at[-1] = '\0';
	return telemetry_give_text(inst->telemetry, reply);
}
