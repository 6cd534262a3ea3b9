/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers of many policies in one reply: rows, whose columns are named once.
 */
#include "show.h"

#include <math.h>

#include "instance.h"
#include "policy/kind.h"
#include "telemetry/server.h"
#include "totals.h"
#include "trials.h"

/* So many rows are no turn of control's that anybody notices. */
#define ROWS_MOST 128

/* What a reply has around the page: its command, braces. */
#define REPLY_FRAME 64

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

/* Units a second: whole bytes, and thousandths of packets and flows. */
static json_t *units_per_s(const struct policy *policy, double rate)
{
	if (isnan(rate))
		return json_null();
	if (policy->count == COUNT_BYTES)
		return json_integer((json_int_t)round(rate));
	return json_real(round(rate * 1000) / 1000);
}

/* A limit there need not be beside a total. */
static json_t *limit_per_s(const struct policy *policy, double rate)
{
	return units_per_s(policy, policy->limit_bps == 0 ? NAN : rate);
}

/* Nobody is told of what neither allocators nor parents ask for. Takes over the value. */
static json_t *null_unless_heard(const struct policy_now *now, json_t *value)
{
	if (policy_is_told_of(now->inst->policies, now->index))
		return value;
	json_decref(value);
	return json_null();
}

static bool has_part(const struct policy_now *now)
{
	return policy_has_part(now->inst->policies, now->index);
}

static json_t *parent_name(const struct policy_now *now)
{
	if (!policy_has_parent(now->policy))
		return json_null();
	return json_string(now->inst->policies[now->policy->parent].name);
}

/* A count that not all policies have. */
static json_t *null_unless(bool has, uint64_t value)
{
	return has ? json_uint(value) : json_null();
}

#define COLUMNS(COLUMN)                                                                           \
	COLUMN("name", json_string(p->name))                                                      \
	COLUMN("count", json_string(show_counting(p->count)))                                     \
	COLUMN("limit_per_s", limit_per_s(p, policy_rate(p)))                                     \
	COLUMN("local_limit_per_s", limit_per_s(p, now->view.local_limit))                        \
	COLUMN("demand_per_s", units_per_s(p, now->view.demand))                                  \
	COLUMN("global_demand_per_s",                                                             \
		null_unless_heard(now, units_per_s(p, now->view.global_demand)))                  \
	COLUMN("peers_lost", null_unless_heard(now, json_uint(now->view.lost)))                   \
	COLUMN("passed_packets", json_uint(now->totals.passed_packets))                           \
	COLUMN("passed_units", json_uint(now->totals.passed_bytes))                               \
	COLUMN("dropped_packets", json_uint(now->totals.dropped_packets))                         \
	COLUMN("dropped_units", json_uint(now->totals.dropped_bytes))                             \
	COLUMN("over_packets", json_uint(now->totals.over_packets))                               \
	COLUMN("over_units", json_uint(now->totals.over_bytes))                                   \
	COLUMN("fallback_packets",                                                                \
		null_unless(p->allocator->counts_units, now->totals.fallback_packets))            \
	COLUMN("fallback_units",                                                                  \
		null_unless(p->allocator->counts_units, now->totals.fallback_bytes))              \
	COLUMN("waiting_packets", null_unless(policy_is_shaped(p), now->waiting.packets))         \
	COLUMN("total_units", null_unless(now->has_total, now->total.total))                      \
	COLUMN("left_units", null_unless(now->has_total && now->total.known, now->total.left))    \
	COLUMN("spent_units", null_unless(now->has_total, now->total.spent))                      \
	COLUMN("prefetched_units", null_unless(now->has_total, now->total.prefetched))            \
	COLUMN("trial_limit_per_s",                                                               \
		units_per_s(p, now->tried ? policy_rate(&now->trial.policy) : NAN))               \
	COLUMN("trial_local_limit_per_s",                                                         \
		units_per_s(p, now->tried ? now->trial.local_limit : NAN))                        \
	COLUMN("trial_passed_packets", null_unless(now->tried, now->trial.totals.passed_packets)) \
	COLUMN("trial_passed_units", null_unless(now->tried, now->trial.totals.passed_bytes))     \
	COLUMN("trial_dropped_packets",                                                           \
		null_unless(now->tried, now->trial.totals.dropped_packets))                       \
	COLUMN("trial_dropped_units", null_unless(now->tried, now->trial.totals.dropped_bytes))   \
	COLUMN("green_packets",                                                                   \
		null_unless(policy_is_coloured(p), now->totals.colours[COLOUR_GREEN].packets))    \
	COLUMN("green_units",                                                                     \
		null_unless(policy_is_coloured(p), now->totals.colours[COLOUR_GREEN].bytes))      \
	COLUMN("yellow_packets",                                                                  \
		null_unless(policy_is_coloured(p), now->totals.colours[COLOUR_YELLOW].packets))   \
	COLUMN("yellow_units",                                                                    \
		null_unless(policy_is_coloured(p), now->totals.colours[COLOUR_YELLOW].bytes))     \
	COLUMN("red_packets",                                                                     \
		null_unless(policy_is_coloured(p), now->totals.colours[COLOUR_RED].packets))      \
	COLUMN("red_units",                                                                       \
		null_unless(policy_is_coloured(p), now->totals.colours[COLOUR_RED].bytes))        \
	COLUMN("allocator", json_string(p->allocator->name))                                      \
	COLUMN("limit_by", show_limit_by(now->inst, now->index))                                  \
	COLUMN("limit_until", show_limit_until(now->inst, now->index))                            \
	COLUMN("parent", parent_name(now))                                                        \
	COLUMN("share_per_s", units_per_s(p, has_part(now) ? now->view.share : NAN))              \
	COLUMN("bound_per_s", units_per_s(p, now->over.known ? now->over.bound : NAN))            \
	COLUMN("estimate_per_s", units_per_s(p, now->over.known ? now->over.estimate : NAN))      \
	COLUMN("peers_unheard", null_unless(now->over.known, now->over.unheard))                  \
	COLUMN("peak_per_s", units_per_s(p, now->peak.group))                                     \
	COLUMN("local_peak_per_s", units_per_s(p, now->peak.here))                                \
	COLUMN("exceeding", json_string(show_action(show_exceeding(p))))

static json_t *columns_json(void)
{
	json_t *columns = json_array();

#define COLUMN(key, value) json_array_append_new(columns, json_string(key));
	COLUMNS(COLUMN)
#undef COLUMN
	return columns;
}

static json_t *policy_row(const struct policy_now *now)
{
	const struct policy *p = now->policy;
	json_t *row = json_array();

#define COLUMN(key, value) json_array_append_new(row, value);
	COLUMNS(COLUMN)
#undef COLUMN
	return row;
}

static json_t *policy_stats(const void *context, unsigned i)
{
	/* To look is to fold what workers have counted: engine/counts.h. */
	struct instance *inst = (struct instance *)(uintptr_t)context;
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
	return policy_row(&now);
}

/* Between two replies of one generation a row is the same policy's, and time is at_ms. */
json_t *show_policy_stats(const char *params, void *context)
{
	const struct instance *inst = context;
	json_t *head = json_pack("{s:o, s:f, s:o}", "generation",
		json_uint(inst->publisher.current->generation), "at_ms",
		(double)control_now() / MS_NS, "columns", columns_json());
	size_t taken = telemetry_length(head) + REPLY_FRAME;
	json_t *page = show_page_within("policies", params, inst->n_policies, ROWS_MOST,
		TELEMETRY_MAX_OUTPUT - taken, policy_stats, inst);

	if (page)
		json_object_update(head, page);
	else
		json_decref(head);
	json_decref(page);
	return page ? head : NULL;
}
