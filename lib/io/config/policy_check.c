/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <string.h>

#include "allocate/allocate.h"
#include "allocate/history.h"
#include "base/time.h"
#include "config/check.h"
#include "policy/kind.h"
#include "policy/units.h"
#include "config/unique.h"

#define SOURCES_DEFAULT 65536
#define WINDOW_MIN_NS   (10 * MS_NS)
#define WINDOW_MAX_NS   (86400 * SECOND_NS)

static const struct json_path path_policies = {.key = "policies"};

static bool counts_in_windows(const struct policy *policy)
{
	return policy->meter == METER_FIXED_WINDOW || policy->meter == METER_HYBRID;
}

static void complete_policy(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters)
{
	bool spent = policy_is_quota(policy) && policy->limit_bps == 0;

	if (!reader_has(reader, path, "allocator"))
		policy->allocator = n_limiters <= 1 ? &allocator_central : &allocator_fps;
	if (policy->meter == METER_DEFAULT)
		policy->meter = policy->allocator == &allocator_grd ? METER_RANDOM_DROP
								    : METER_TOKEN_BUCKET;
	classes_complete(policy);
	guarantee_complete(reader, path, policy, n_limiters);
	if (policy->burst_bytes == 0 && !spent)
		policy->burst_bytes = burst_default(policy, n_limiters);
	/* 100/min is a hundred in a minute. */
	if (counts_in_windows(policy) && policy->limit_s > 0 && !reader_has(reader, path, "window"))
		policy->window_ns = policy->limit_s * SECOND_NS;
	if (policy->per_v4 != 0 && policy->sources == 0)
		policy->sources = SOURCES_DEFAULT;
}

void policies_complete(
	const struct reader *reader, struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		complete_policy(reader, &path, &policies[i], n_limiters);
	}
}

static bool match_known(const void *element)
{
	return ((const struct policy *)element)->match.wire != WIRE_REFUSED;
}

static int prefix_compare(const struct prefix *a, const struct prefix *b)
{
	if (a->family != b->family)
		return a->family - b->family;
	if (a->length != b->length)
		return a->length - b->length;
	return memcmp(a->addr, b->addr, sizeof(a->addr));
}

static int ports_compare(const struct port_range *a, const struct port_range *b)
{
	return a->first != b->first ? a->first - b->first : a->last - b->last;
}

static int match_compare(const void *a, const void *b)
{
	const struct match *left = &((const struct policy *)a)->match;
	const struct match *right = &((const struct policy *)b)->match;
	const int orders[] = {
		left->wire - right->wire,
		(int)left->direction - (int)right->direction,
		left->vlan - right->vlan,
		left->dscp - right->dscp,
		left->proto - right->proto,
		ports_compare(&left->src_port, &right->src_port),
		ports_compare(&left->dst_port, &right->dst_port),
		prefix_compare(&left->src, &right->src),
		prefix_compare(&left->dst, &right->dst),
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (orders[i] != 0)
			return orders[i];
	}
	return 0;
}

static int id_compare(const void *a, const void *b)
{
	uint32_t left = policy_id(a), right = policy_id(b);

	return left < right ? -1 : left > right;
}

static const struct unique names[] = {
	{&path_policies, "name", "a name", sizeof(struct policy), false, name_known, name_compare},
	{&path_policies, "name", "a name with a 32-bit FNV-1a hash", sizeof(struct policy), false,
		name_known, id_compare},
};

static const struct unique matches = {&path_policies, "match", "a match", sizeof(struct policy),
	false, match_known, match_compare};

void policies_check_matches(struct reader *reader, const struct policy *policies, unsigned n)
{
	check_unique(reader, &matches, policies, n);
}

/* Whether a key means something in a policy, also when what it depends on was refused. */
static bool has_window(const struct policy *policy)
{
	return counts_in_windows(policy) || policy->meter == CHOICE_REFUSED;
}

static bool has_burst(const struct policy *policy)
{
	return policy->meter == METER_TOKEN_BUCKET || policy->meter == METER_GCRA ||
	       policy->meter == METER_PHANTOM || policy->meter == METER_CREDIT ||
	       policy->meter == CHOICE_REFUSED;
}

static bool has_classes(const struct policy *policy)
{
	return policy->meter == METER_PHANTOM || policy->meter == CHOICE_REFUSED;
}

static bool has_sources(const struct policy *policy)
{
	return policy->per_v4 != 0;
}

static bool has_weights(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->samples_flows;
}

static bool has_mark(const struct policy *policy)
{
	return policy->action == ACTION_MARK || policy->action == CHOICE_REFUSED;
}

static bool has_shape(const struct policy *policy)
{
	return policy->action == ACTION_SHAPE || policy->action == CHOICE_REFUSED;
}

static bool has_bytes(const struct policy *policy)
{
	return policy->count == COUNT_BYTES || policy->count == CHOICE_REFUSED;
}

static bool has_indicator(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->moves;
}

static bool has_history(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->remembers;
}

static bool has_total(const struct policy *policy)
{
	return policy->allocator == NULL || policy->allocator->counts_units;
}

static bool has_rate(const struct policy *policy)
{
	return !policy_is_quota(policy);
}

static const struct {
	const char *key;
	bool (*applies)(const struct policy *policy);
	const char *words;
} dependents[] = {
	{"window", has_window, "unless \"meter\" is \"fixed-window\" or \"hybrid\""},
	{"burst", has_burst, "unless \"meter\" is \"token-bucket\", \"gcra\" or \"phantom\""},
	{"classes", has_classes, "unless \"meter\" is \"phantom\""},
	{"sources", has_sources, "without \"per\""},
	{"weigh", has_weights, "unless \"allocator\" is \"fps\""},
	{"mark", has_mark, "unless \"action\" is \"mark\""},
	{"shape", has_shape, "unless \"action\" is \"shape\""},
	{"slo", has_shape, "unless \"action\" is \"shape\""},
	{"accounting", has_bytes, "unless \"count\" is \"bytes\""},
	{"indicator", has_indicator, "unless \"allocator\" is \"gdrl\""},
	{"eta", has_indicator, "unless \"allocator\" is \"gdrl\""},
	{"history", has_history, "unless \"allocator\" is \"adaptor\""},
	{"step", has_history, "unless \"allocator\" is \"adaptor\""},
	{"total", has_total, "unless \"allocator\" is \"quota\""},
	{"period", has_total, "unless \"allocator\" is \"quota\""},
	{"guarantee", has_rate, "with the allocator \"quota\", which never exceeds its total"},
	{"meter", has_rate, "with the allocator \"quota\", which counts for itself"},
};

static void check_dependents(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	for (size_t i = 0; i < sizeof(dependents) / sizeof(dependents[0]); i++) {
		struct json_path at = {.parent = path, .key = dependents[i].key};

		if (!dependents[i].applies(policy) && reader_has(reader, path, at.key))
			reader_expected(reader, &at, "none %s", dependents[i].words);
	}
}

static void check_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	const struct allocator *allocator = policy->allocator;
	struct json_path at = {.parent = path, .key = "allocator"};

	if (allocator == NULL)
		return;
	if (allocator->alone && n_limiters > 1)
		reader_expected(reader, &at,
			"an allocator that can share the limit between %u limiters", n_limiters);
	else if (policy->per_v4 != 0 &&
		 (allocator->gossips || allocator->moves || allocator->counts_units))
		reader_expected(reader, &at, "%s\"static\" beside \"per\"",
			n_limiters > 1 ? "" : "\"central\" or ");
}

/*
 * GTB drains a bucket, GRD drops at random or fills one, adaptor divides the depth of buckets, a
 * source has neither a demand nor classes of its own, and what begins a flow has no flow to be told
 * by.
 */
static void check_meter(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "meter"};
	enum meter_kind meter = policy->meter;

	if (meter == CHOICE_REFUSED || meter == METER_TOKEN_BUCKET)
		return;
	if (policy->allocator == &allocator_gtb)
		reader_expected(reader, &at, "\"token-bucket\" with the allocator \"gtb\"");
	else if (policy->allocator == &allocator_adaptor && meter != METER_GCRA)
		reader_expected(
			reader, &at, "\"token-bucket\" or \"gcra\" with the allocator \"adaptor\"");
	else if (policy->allocator == &allocator_grd && meter != METER_RANDOM_DROP)
		reader_expected(reader, &at,
			"\"random-drop\" or \"token-bucket\" with the allocator \"grd\"");
	else if (policy->per_v4 != 0 && (meter == METER_RANDOM_DROP || meter == METER_PHANTOM))
		reader_expected(reader, &at, "another beside \"per\"");
	else if (policy->count == COUNT_FLOWS && meter == METER_PHANTOM)
		reader_expected(
			reader, &at, "another unless \"count\" is \"bytes\" or \"packets\"");
}

/* limit_bps × window_ns of one unit. */
static uint64_t unit_product(const struct policy *policy)
{
	return 8 * SECOND_NS * policy_limit_s(policy);
}

uint64_t policy_quota(const struct policy *policy)
{
	return (uint64_t)((unsigned __int128)policy->limit_bps * policy->window_ns /
			  unit_product(policy));
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The window nearest to the one that was asked for in which whole packets or flows pass. */
static uint64_t whole_window(const struct policy *policy)
{
	uint64_t unit = unit_product(policy);
	uint64_t step = unit / greatest_common_divisor(unit, policy->limit_bps);
	uint64_t least = (WINDOW_MIN_NS + step - 1) / step;
	uint64_t steps = (policy->window_ns + step / 2) / step;

	return step * (steps > least ? steps : least);
}

/* A packet or flow passes whole: a part of one that a window has left would be lost in each. */
static void check_window_quota(struct reader *reader, const struct json_path *path,
	const struct json_path *at, const struct policy *policy)
{
	unsigned __int128 product = (unsigned __int128)policy->limit_bps * policy->window_ns;
	struct json_path limit = {.parent = path, .key = "limit"};
	char window[UNITS_TEXT_MAX];

	if (has_bytes(policy) || product % unit_product(policy) == 0)
		return;
	if (whole_window(policy) > WINDOW_MAX_NS)
		reader_expected(reader, &limit,
			"a whole number in a day, the longest window, for this meter");
	else
		reader_expected(reader, at,
			"a time in which the limit is a whole number, such as \"%s\"",
			units_format_time(whole_window(policy), window, sizeof(window)));
}

static void check_window(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "window"};

	if (!has_window(policy) || policy->meter == CHOICE_REFUSED)
		return;
	if (policy->window_ns == 0 && !reader_has(reader, path, "window"))
		reader_expected(reader, &at, "a time such as \"1s\" for this meter");
	else if (policy->window_ns > 0 && policy->limit_bps > 0)
		check_window_quota(reader, path, &at, policy);
}

/* A history is of whole steps, each of at least an interval. */
static void check_history(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path history = {.parent = path, .key = "history"};
	struct json_path step = {.parent = path, .key = "step"};
	char text[UNITS_TEXT_MAX];

	if (!has_history(policy) || policy->history_ns == 0 || policy->step_ns == 0)
		return;
	if (policy->step_ns < policy->interval_ns)
		reader_expected(reader, &step, "at least \"interval\", %s",
			units_format_time(policy->interval_ns, text, sizeof(text)));
	if (policy->history_ns % policy->step_ns != 0 ||
		policy->history_ns / policy->step_ns < HISTORY_STEPS_MIN ||
		policy->history_ns / policy->step_ns > HISTORY_STEPS_MAX)
		reader_expected(reader, &history, "%d to %d times \"step\", %s", HISTORY_STEPS_MIN,
			HISTORY_STEPS_MAX, units_format_time(policy->step_ns, text, sizeof(text)));
}

void policies_check(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned n_limiters)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_unique(reader, &names[i], policies, n);
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		if (!json_is_object(json_path_find(reader->root, &path)))
			continue;
		check_dependents(reader, &path, &policies[i]);
		check_allocator(reader, &path, &policies[i], n_limiters);
		check_meter(reader, &path, &policies[i]);
		check_window(reader, &path, &policies[i]);
		shape_check(reader, &path, &policies[i]);
		check_history(reader, &path, &policies[i]);
		place_check(reader, &path);
		guarantee_check(reader, &path, &policies[i], n_limiters);
	}
}
