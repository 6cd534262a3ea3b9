/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The state of a policy at one moment, and its numbers (numbers/number_table.h).
 */
#include "policy_now.h"

#include <math.h>
#include <string.h>

#include <rte_common.h>

#include "clock.h"
#include "credits.h"
#include "engine/profile.h"
#include "etcd_share.h"
#include "instance.h"
#include "policy/kind.h"
#include "policy/schedule.h"
#include "policy/value.h"
#include "show.h"
#include "tick.h"
#include "totals.h"

/* The quota of a policy, and an alarm when it is spent. */

bool show_total_of(const struct instance *inst, unsigned policy, struct show_total *of)
{
	const struct budget *budget = limiter_budget(inst->limiter);
	struct budget_share_view share = {0};
	uint64_t left, credit, total;
	struct quota_view view;
	unsigned index;
	bool drawn;

	if (!budget)
		return false;
	index = limiter_budget_index(inst->limiter, policy);
	if (index == LIMITER_ADDED)
		return false;
	/* The group by the latest reports, and etcd if the quota is there. */
	view = budget_view(budget, index, control_now());
	drawn = etcd_share_budget_of(inst, policy, &share) && share.known;
	total = drawn ? share.total : inst->policies[policy].total;
	credit = credits_held(inst, inst->slots.of[policy]);
	left = view.group.remaining;
	*of = (struct show_total){.total = total,
		.prefetched = view.prepaid + credit,
		/* For the ledger, units are spent once they are taken. */
		.spent = view.spent - RTE_MIN(view.spent, view.prepaid + credit),
		.left = left + RTE_MIN(credit, total - RTE_MIN(total, left)),
		.known = view.group.known && !view.undated && !view.recovering &&
			 (!inst->policies[policy].drawn || drawn),
		.held = view.group.held};
	/* The reply of etcd can be older than the reports of the group. */
	if (drawn)
		of->left = RTE_MIN(of->left + share.left, RTE_MAX(of->total, of->left));
	return true;
}

/* A quota is spent if less than this part is left: packets are larger, or a limiter holds it. */
#define SPENT_PART 1000

unsigned show_spent_totals(const struct instance *inst, const char **first)
{
	struct show_total of;
	unsigned n = 0;

	for (unsigned i = 0; limiter_budget(inst->limiter) && i < inst->n_policies; i++) {
		bool spent = show_total_of(inst, i, &of) && of.known &&
			     of.left <= of.total / SPENT_PART;

		if (spent && n++ == 0)
			*first = inst->policies[i].name;
	}
	return n;
}

void alarm_spent_totals(const struct instance *inst, json_t *alarms)
{
	const char *first = "", *lost = "";
	unsigned n = show_spent_totals(inst, &first);

	if (n > 0 && show_count_lost(inst) > 0)
		lost = " here: a lost peer can hold more";
	if (n == 1)
		json_array_append_new(
			alarms, json_sprintf("the quota of %s is spent%s", first, lost));
	else if (n)
		json_array_append_new(
			alarms, json_sprintf("%u quotas are spent, that of %s the first one%s", n,
					first, lost));
}

const char *show_action(enum action action)
{
	static const char *const names[] = {
		[ACTION_DROP] = "drop",
		[ACTION_MARK] = "mark",
		[ACTION_COUNT] = "count",
		[ACTION_SHAPE] = "shape",
		[ACTION_PASS] = "pass",
	};

	return names[action];
}

json_t *show_mark(enum action action, int mark)
{
	if (action != ACTION_MARK)
		return json_null();
	return mark == MARK_ECN ? json_string("ecn") : json_integer(mark);
}

static struct show_peak show_peak_of(const struct policy *policy, const struct limiter_view *view)
{
	const struct policy second = policy_with_terms(policy, &policy->colours.second);
	struct show_peak peak = {NAN, NAN};

	if (!policy_is_coloured(policy))
		return peak;
	peak = (struct show_peak){policy_rate(policy), view->local_limit};
	if (policy->colours.actions[COLOUR_YELLOW].action == ACTION_DROP ||
		meter_can(policy->meter, METER_SPILLS))
		return peak;
	if (meter_can(policy->meter, METER_PEAK))
		return (struct show_peak){fmax(peak.group, policy_rate(&second)),
			fmax(peak.here, limit_second_of(policy, view).rate)};
	return (struct show_peak){
		peak.group + policy_rate(&second), peak.here + limit_second_of(policy, view).rate};
}

enum action show_exceeding(const struct policy *policy)
{
	return policy_is_coloured(policy) ? policy->colours.actions[COLOUR_RED].action
					  : policy->action;
}

void show_colours(json_t *json, const struct policy *policy)
{
	struct policy second = policy_with_terms(policy, &policy->colours.second);
	json_t *colours = json_object_get(json, "colours");
	bool spills = meter_can(policy->meter, METER_SPILLS);

	if (!policy_is_coloured(policy))
		return;
	for (unsigned c = 0; c < COLOURS; c++) {
		const struct colour_action *action = &policy->colours.actions[c];

		json_object_set_new(json_object_get(colours, colour_name(c)), "mark",
			show_mark(action->action, action->mark));
	}
	json_object_set_new(
		json_object_get(colours, meter_can(policy->meter, METER_PEAK) ? "peak" : "excess"),
		"limit", spills ? json_null() : show_limit(&second));
}

#define MICRO 1e6

/* --- a look at a policy ----------------------------------------------------------------------- */

static double quantile_us(const struct delay_sum *sum, double share)
{
	uint64_t hz = tick_hz();

	if (delay_count(sum) == 0)
		return NAN;
	return (double)delay_quantile(sum, share, delay_unit(hz)) * MICRO / (double)hz;
}

void policy_now_look(struct policy_now *now, struct instance *inst, unsigned policy)
{
	uint32_t slot = inst->slots.of[policy];

	memset(now, 0, offsetof(struct policy_now, delays));
	now->inst = inst;
	now->index = policy;
	now->at_ns = control_now();
	now->terms = show_policy_now(inst, policy);
	now->policy = &now->terms;
	now->timed = timed_of(inst, policy);
	now->over = limiter_overshoot(inst->limiter, policy);
	now->totals = instance_policy_totals(inst, slot);
	limiter_view(inst->limiter, policy, &now->view);
	now->peak = show_peak_of(now->policy, &now->view);
	if (policy_is_shaped(now->policy))
		now->waiting = engine_waiting(&inst->engine, slot);
	now->has_total = show_total_of(inst, policy, &now->total);
	now->tried = trials_look(inst, policy, &now->trial);
}

/* A second limit that only takes the overflow of the first one has a burst, and no rate. */
static struct second_now second_of(const struct policy *policy, const struct limiter_view *view)
{
	struct limit_second local = limit_second_of(policy, view);
	struct policy second = policy_with_terms(policy, &policy->colours.second);
	bool spills = meter_can(policy->meter, METER_SPILLS);

	return (struct second_now){.rate = spills ? NAN : policy_rate(&second),
		.local_rate = spills ? NAN : local.rate,
		.burst = second.burst_bytes,
		.local_burst = local.burst};
}

void policy_now_look_closer(struct policy_now *now)
{
	struct instance *inst = now->inst;
	uint32_t slot = inst->slots.of[now->index];
	const struct delay_window *window;
	struct delay_sum minute, moment;
	uint64_t now_ns;

	now->closer = true;
	if (policy_is_coloured(now->policy))
		now->second = second_of(now->policy, &now->view);
	now->loans = limiter_loans(inst->limiter, now->index);
	now->sources = engine_source_totals(&inst->engine, slot);
	if (now->policy->meter == METER_PHANTOM)
		for (unsigned w = 0; w < inst->config->n_workers; w++)
			now->backlogged += police_backlogged(&inst->workers[w].policies[slot]);
	if (!policy_is_shaped(now->policy))
		return;
	delays_totals(inst, slot, &now->delays);
	now->left = delay_count(&now->delays.delay);
	if (!now->policy->slo_p99_ns)
		return;
	/* The objective refers to the last minute: one burst can be a tenth of 10 seconds. */
	window = delays_window(inst, slot);
	now_ns = control_now();
	delay_window_sum(window, DELAY_WINDOW_60S, &now->delays.delay, now_ns, &minute);
	delay_window_sum(window, DELAY_WINDOW_10S, &now->delays.delay, now_ns, &moment);
	now->p99_us = (struct delay_now){quantile_us(&minute, 0.99), quantile_us(&moment, 0.99),
		quantile_us(&now->delays.delay, 0.99)};
}

/* --- values ----------------------------------------------------------------------------------- */

/* Null of a quota, whose kind of guarantee is its own. */
static const char *now_guarantee(const struct policy_now *now)
{
	if (now->policy->allocator->counts_units)
		return NULL;
	return policy_is_hard(now->policy) ? "hard" : "soft";
}

static const struct policy *now_parent(const struct policy_now *now)
{
	return &now->inst->policies[now->policy->parent];
}

/* NAN of a child that has no part of the limit of its parent. */
static double now_share(const struct policy_now *now)
{
	return policy_has_part(now->inst->policies, now->index) ? now->view.share : NAN;
}

static const char *now_colour_action(const struct policy_now *now, enum colour colour)
{
	return show_action(now->policy->colours.actions[colour].action);
}

static double now_delay_us(const struct policy_now *now, double share)
{
	return quantile_us(&now->delays.delay, share);
}

static int now_slo_met(const struct policy_now *now)
{
	double target_us = (double)now->policy->slo_p99_ns / US_NS;

	return isnan(now->p99_us.minute) ? -1 : now->p99_us.minute <= target_us;
}

static uint64_t now_dropped(const struct policy_now *now, enum drop_reason reason)
{
	return now->delays.dropped[reason - DROP_SHAPE_FIRST];
}

/* --- the table -------------------------------------------------------------------------------- */

static struct number_value integer_value(uint64_t value)
{
	return (struct number_value){VALUE_INTEGER, {.integer = value}};
}

static struct number_value real_value(double value)
{
	return (struct number_value){isnan(value) ? VALUE_UNKNOWN : VALUE_REAL, {.real = value}};
}

/* Below 0 it is unknown. */
static struct number_value flag_value(int value)
{
	return (struct number_value){value < 0 ? VALUE_UNKNOWN : VALUE_BOOLEAN, {.boolean = value}};
}

static struct number_value word_value(const char *word)
{
	return (struct number_value){word ? VALUE_WORD : VALUE_UNKNOWN, {.word = word}};
}

/* The representation of each unit. */
#define VALUE_OF_RATE    real_value
#define VALUE_OF_REAL    real_value
#define VALUE_OF_RATIO   real_value
#define VALUE_OF_US      real_value
#define VALUE_OF_MS      real_value
#define VALUE_OF_SECONDS real_value
#define VALUE_OF_UNITS   integer_value
#define VALUE_OF_VOLUME  integer_value
#define VALUE_OF_PACKETS integer_value
#define VALUE_OF_BYTES   integer_value
#define VALUE_OF_COUNT   integer_value
#define VALUE_OF_FLAG    flag_value
#define VALUE_OF_TEXT    word_value
#define VALUE_OF_OTHER(unused) \
	(struct number_value)  \
	{                      \
		VALUE_NONE,    \
		{              \
			0      \
		}              \
	}

/* Reads the rows that have a column; after policy_now_look_closer() all rows of the table. */
static void policy_now_read(struct policy_now *now, struct number_value values[POLICY_NUMBER_ROWS])
{
	static const struct number_value none = {VALUE_NONE, {0}};

#define APPLIES(applies, condition, words) [APPLIES_##applies] = condition,
	const bool applies[] = {NUMBER_APPLIES_TABLE(APPLIES)};
#undef APPLIES
#define ROW(stem, unit, kind, condition, shown, path, zero, label, head, value, help) \
	if (now->closer || NUMBER_##shown <= NUMBER_METRIC)                           \
		values[NUMBER_##stem##_##unit] = applies[APPLIES_##condition]         \
							 ? VALUE_OF_##unit(value)     \
							 : none;
	POLICY_NUMBERS(ROW)
#undef ROW
}

/* --- /weir/policy ----------------------------------------------------------------------------- */

static json_t *value_json(
	const struct policy *policy, enum number_unit unit, const struct number_value *value)
{
	double bits = value->real * 8;

	switch (value->type) {
	case VALUE_INTEGER:
		return json_uint(value->integer);
	case VALUE_REAL:
		if (unit == UNIT_RATE && policy->count == COUNT_BYTES)
			return json_integer((json_int_t)(bits + (bits < 0 ? -0.5 : 0.5)));
		return json_real(value->real);
	case VALUE_BOOLEAN:
		return json_boolean(value->boolean);
	case VALUE_WORD:
		return json_string(value->word);
	default:
		return json_null();
	}
}

static void put_number(json_t *json, const struct policy_now *now,
	const struct policy_number *number, const struct policy_number *names,
	const struct number_value *value, const char *object)
{
	char name[NUMBER_NAME_MAX], first[NUMBER_NAME_MAX];
	const size_t n = strlen(object);
	const bool inside = n == 0 ||
			    (strncmp(names->path, object, n) == 0 && names->path[n] == '.');
	const char *path = inside ? number_path(names, show_counting(now->policy->count), name)
				  : NULL;

	if (!path)
		return;
	path += n ? n + 1 : 0;
	if (value->type != VALUE_NONE)
		number_put(json, path, value_json(now->policy, number->unit, value));
	if (value->type != VALUE_NONE || n > 0)
		return;
	/* The first object or member of the path is null, except if another row gave a value. */
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(path, "."), path);
	if (!json_object_get(json, first))
		json_object_set_new(json, first, json_null());
}

void policy_now_json(json_t *json, struct policy_now *now, const char *object)
{
	struct number_value values[POLICY_NUMBER_ROWS] = {{0}};

	policy_now_read(now, values);
	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		if (policy_numbers[id].shown != NUMBER_GIVEN)
			put_number(json, now, &policy_numbers[id], &policy_numbers[id], &values[id],
				object);
	for (unsigned i = 0; i < policy_numbers_previous_rows; i++) {
		const struct number_previous *previous = &policy_numbers_previous[i];

		put_number(json, now, &policy_numbers[previous->number], &previous->names,
			&values[previous->number], object);
	}
}

/* --- /weir/policy_stats ----------------------------------------------------------------------- */

static void put_column(struct json_text *text, const struct policy_number *number)
{
	char name[NUMBER_NAME_MAX];

	json_text_string(text, number_column(number, name));
}

void policy_now_columns(struct json_text *text)
{
	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		if (number_has_column(&policy_numbers[id]))
			put_column(text, &policy_numbers[id]);
	for (unsigned i = 0; i < policy_numbers_previous_rows; i++)
		if (*policy_numbers_previous[i].names.stem)
			put_column(text, &policy_numbers_previous[i].names);
}

/* Rates are whole bytes a second, and thousandths of packets and flows. */
static void put_value(
	struct json_text *row, const struct policy *policy, const struct number_value *value)
{
	switch (value->type) {
	case VALUE_INTEGER:
		json_text_integer(row, (int64_t)value->integer);
		break;
	case VALUE_REAL:
		if (policy->count == COUNT_BYTES)
			json_text_integer(row, (int64_t)round(value->real));
		else
			json_text_real(row, round(value->real * 1000) / 1000);
		break;
	case VALUE_WORD:
		json_text_string(row, value->word);
		break;
	default:
		json_text_null(row);
	}
}

void policy_now_row(struct json_text *row, struct policy_now *now)
{
	struct number_value values[POLICY_NUMBER_ROWS];

	policy_now_read(now, values);
	json_text_open(row, '[');
	for (unsigned id = 0; id < POLICY_NUMBER_ROWS; id++)
		if (number_has_column(&policy_numbers[id]))
			put_value(row, now->policy, &values[id]);
	for (unsigned i = 0; i < policy_numbers_previous_rows; i++)
		if (*policy_numbers_previous[i].names.stem)
			put_value(row, now->policy, &values[policy_numbers_previous[i].number]);
	json_text_close(row, ']');
}
