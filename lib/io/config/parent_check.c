/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies of a hierarchy: finds their parents, completes and checks them.
 */
#include <stdlib.h>
#include <string.h>

#include "allocate/allocate.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/describe.h"
#include "config/keys.h"
#include "json/suggest.h"
#include "policy/kind.h"
#include "policy/names.h"
#include "policy/schedule.h"
#include "policy/units.h"
#include "policy/value.h"

/* A longer circle of policies is reported as too many levels. */
#define CIRCLE_LONGEST 1000

#define SUGGESTIONS_MOST 32 /* after so many errors, stops comparing names, which takes long */

static const struct json_path path_policies = {.key = "policies"};

void read_parent(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	struct policy *policy = base;

	(void)key;
	policy->parent = PARENT_NAMED;
	if (text != NULL && name_valid(text))
		return;
	policy->parent = PARENT_REFUSED;
	reader_report(reader, path, MESSAGE(WRONG_PARENT), "");
}

static const char *parent_name(const struct reader *reader, unsigned index)
{
	struct json_path policy = {.parent = &path_policies, .index = index};
	struct json_path at = {.parent = &policy, .key = "parent"};

	return json_string_value(json_path_find(reader->root, &at));
}

static void refuse_unknown(
	struct reader *reader, const struct policy *policies, unsigned n, unsigned index)
{
	struct json_path policy = {.parent = &path_policies, .index = index};
	struct json_path at = {.parent = &policy, .key = "parent"};
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};

	for (unsigned i = 0; i < n && reader->errors < SUGGESTIONS_MOST; i++)
		if (i != index && policies[i].name[0] != '\0')
			suggest_offer(&meant, parent_name(reader, index), policies[i].name);
	reader_report(reader, &at, MESSAGE(WRONG_PARENT),
		message_part(suggest_remedy(meant.word, remedy)));
}

static void find_parents(struct reader *reader, struct policy *policies, unsigned n)
{
	struct policy_names *names;

	reader->no_memory |= policy_names_create(policies, n, &names) != 0;
	for (unsigned i = 0; names != NULL && i < n; i++) {
		unsigned parent;

		if (policies[i].parent != PARENT_NAMED)
			continue;
		parent = policy_names_find(names, parent_name(reader, i));
		policies[i].parent = parent < n ? (int)parent : PARENT_REFUSED;
		if (parent == n)
			refuse_unknown(reader, policies, n, i);
	}
	policy_names_destroy(names);
}

/* Counts the policies above one, at most CIRCLE_LONGEST. Sets `circle` if they lead back to it. */
static unsigned count_above(const struct policy *policies, unsigned index, bool *circle)
{
	unsigned above = 0;

	*circle = false;
	for (int at = policies[index].parent; at >= 0 && above < CIRCLE_LONGEST && !*circle;
		at = policies[at].parent) {
		*circle = at == (int)index;
		above++;
	}
	return above;
}

static void refuse_level(struct reader *reader, unsigned index)
{
	struct json_path policy = {.parent = &path_policies, .index = index};
	struct json_path at = {.parent = &policy, .key = "parent"};

	reader_report(
		reader, &at, MESSAGE(PARENT_TOO_DEEP), POLICY_LEVELS_MOST - 2, POLICY_LEVELS_MOST);
}

/* Reports a level that is too deep, but not the policies below it. */
static bool refuse_place(struct reader *reader, const struct policy *policies, unsigned index)
{
	struct json_path policy = {.parent = &path_policies, .index = index};
	struct json_path at = {.parent = &policy, .key = "parent"};
	bool circle;
	unsigned above = count_above(policies, index, &circle);

	if (circle)
		reader_report(reader, &at, MESSAGE(PARENT_BELOW));
	else if (above == POLICY_LEVELS_MOST)
		refuse_level(reader, index);
	return circle || above >= POLICY_LEVELS_MOST;
}

static void refuse_places(struct reader *reader, struct policy *policies, unsigned n, bool *refused)
{
	unsigned errors = reader->errors, first = n;

	for (unsigned i = 0; i < n; i++) {
		if (policies[i].parent >= 0)
			refused[i] = refuse_place(reader, policies, i);
		if (refused[i] && first == n)
			first = i;
	}
	if (first < n && reader->errors == errors) /* a circle longer than CIRCLE_LONGEST */
		refuse_level(reader, first);
	for (unsigned i = first; i < n; i++)
		if (refused[i])
			policies[i].parent = PARENT_REFUSED;
}

/* If a parent has an error, a policy without a match might be meant as that parent. */
static void count_levels(const struct reader *reader, struct policy *policies, unsigned n)
{
	bool circle, refused = false;

	for (unsigned i = 0; i < n; i++) {
		refused |= policies[i].parent == PARENT_REFUSED;
		policies[i].above = (uint8_t)count_above(policies, i, &circle);
		if (policies[i].parent >= 0)
			policies[policies[i].parent].children++;
	}
	for (unsigned i = 0; i < n; i++)
		if (policy_has_part(policies, i))
			policies[policy_divider(policies, i)].sharers++;
	for (unsigned i = 0; i < n; i++) {
		struct json_path path = {.parent = &path_policies, .index = i};

		if (policies[i].children > 0 || refused)
			policies[i].unmatched = !reader_has(reader, &path, "match");
	}
}

/* Writes a rate in the unit of a policy. */
static const char *rate_words(const struct policy *policy, uint64_t bps, char *text, size_t size)
{
	struct policy other = *policy;

	other.limit_bps = bps;
	return format_limit(&other, 1, text, size);
}

/*
 * Sums the guaranteed rates of the policies that share each limit, from the lowest level up. The
 * sum is also the default of "guaranteed" of a policy with children.
 */
static void sum_guaranteed(
	const struct reader *reader, struct policy *policies, unsigned n, uint64_t *below)
{
	for (unsigned level = POLICY_LEVELS_MOST - 1; level > 0; level--)
		for (unsigned i = 0; i < n; i++) {
			struct json_path path = {.parent = &path_policies, .index = i};

			if (policies[i].above != level || !policy_has_part(policies, i))
				continue;
			if (below[i] > 0 && !reader_has(reader, &path, "guaranteed"))
				policies[i].guaranteed_bps = below[i];
			below[policy_divider(policies, i)] += policies[i].guaranteed_bps;
		}
}

/* The guaranteed rates of children need room: in the policy's "guaranteed", or in its limit. */
static void check_below(
	struct reader *reader, const struct policy *policy, unsigned index, uint64_t below)
{
	struct json_path path = {.parent = &path_policies, .index = index};
	bool own = policy_has_parent(policy) && reader_has(reader, &path, "guaranteed");
	struct json_path at = {.parent = &path, .key = own ? "guaranteed" : "limit"};
	uint64_t room = own ? policy->guaranteed_bps : policy->limit_bps;
	char text[UNITS_TEXT_MAX];

	if (policy_limits_rate(policy) && room > 0 && below > room)
		reader_report(reader, &at, MESSAGE(BELOW_CHILDREN),
			rate_words(policy, below, text, sizeof(text)));
}

static void complete_guaranteed(struct reader *reader, struct policy *policies, unsigned n)
{
	uint64_t *below = calloc((size_t)n + 1, sizeof(*below));

	reader->no_memory |= below == NULL;
	if (below == NULL)
		return;
	sum_guaranteed(reader, policies, n, below);
	for (unsigned i = 0; i < n; i++)
		check_below(reader, &policies[i], i, below[i]);
	free(below);
}

void parents_complete(struct reader *reader, struct policy *policies, unsigned n)
{
	bool *refused, any = false;

	for (unsigned i = 0; i < n; i++)
		any |= policies[i].parent != POLICY_NO_PARENT;
	if (!any)
		return;
	refused = calloc((size_t)n + 1, sizeof(*refused));
	reader->no_memory |= refused == NULL;
	if (refused == NULL)
		return;
	find_parents(reader, policies, n);
	refuse_places(reader, policies, n, refused);
	free(refused);
	count_levels(reader, policies, n);
	/* A packet of a child counts for all policies above it. */
	for (unsigned i = 0; i < n; i++)
		for (int at = policies[i].parent; at >= 0; at = policies[at].parent)
			policies[i].under_hard |= policy_is_hard(&policies[at]) ||
						  policy_is_quota(&policies[at]);
	complete_guaranteed(reader, policies, n);
}

/* Returns true for an allocator that excludes a hierarchy. */
static bool has_other_allocator(const struct policy *policy)
{
	const struct allocator *allocator = policy->allocator;

	return allocator == &allocator_gtb || allocator == &allocator_grd;
}

static bool has_other_meter(const struct policy *policy)
{
	return !has_other_allocator(policy) && !policy_is_quota(policy) &&
	       policy->meter != METER_TOKEN_BUCKET && policy->meter != CHOICE_REFUSED;
}

static bool counts_flows(const struct policy *policy)
{
	return policy->count == COUNT_FLOWS;
}

static bool limits_sources_of_others(const struct policy *policy)
{
	return policy_is_per_source(policy) && policy_is_parent(policy);
}

static bool lets_others_wait(const struct policy *policy)
{
	return policy_is_shaped(policy) && policy_is_parent(policy);
}

static bool is_placed(const struct policy *policy)
{
	return policy_is_placed(policy);
}

static bool tries_another(const struct policy *policy)
{
	return policy->trial.set;
}

#define LEVEL    "a hierarchy (\"parent\")"
#define CHILDREN "child policies (\"parent\")"

static const struct {
	const char *key;
	bool (*applies)(const struct policy *policy);
	const char *other, *remedy;
} strangers[] = {
	{"allocator", has_other_allocator, LEVEL,
		"use \"central\", \"static\", \"fps\", \"adaptor\", \"gdrl\" or \"quota\""},
	{"meter", has_other_meter, LEVEL, "use \"token-bucket\""},
	{"count", counts_flows, LEVEL, "use \"bytes\" or \"packets\""},
	{"per", limits_sources_of_others, CHILDREN, REMOVE_ONE},
	{"action", lets_others_wait, CHILDREN,
		"use \"drop\", \"mark\" or \"count\": only the lowest level can delay packets"},
	{"slo", is_placed, LEVEL, "remove \"slo\""},
	{"trial", tries_another, LEVEL, "remove \"trial\""},
};

static void check_strangers(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		struct json_path at = {.parent = path, .key = strangers[i].key};

		if (strangers[i].applies(policy))
			reader_report(reader, &at, MESSAGE(NOT_IN_HIERARCHY), strangers[i].other,
				message_part(strangers[i].remedy));
	}
}

/* Returns true if all policies above it are quotas; false after an error in a parent. */
static bool is_below_totals(const struct policy *policies, unsigned index)
{
	const struct policy *above = &policies[index];

	while (policy_has_parent(above)) {
		above = &policies[above->parent];
		if (!policy_is_quota(above))
			return false;
	}
	return above->parent == POLICY_NO_PARENT;
}

/* Shares need two rates: the policy's, by its rows, and that of a policy above it. */
static void check_part(struct reader *reader, const struct json_path *path,
	const struct policy *policies, unsigned index)
{
	static const char *const keys[] = {"guaranteed", "weight"};

	if (!policy_limits_rate(&policies[index]) || !is_below_totals(policies, index))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct json_path at = {.parent = path, .key = keys[i]};

		if (reader_has(reader, path, at.key))
			reader_report(reader, &at, MESSAGE(PARENT_IS_QUOTA));
	}
}

/*
 * A quota is not refilled over time, so packets cannot wait for it. And a packet paid by one quota
 * cannot be refused by another.
 */
static void check_totals(struct reader *reader, const struct json_path *path,
	const struct policy *policies, unsigned index)
{
	struct json_path at = {.parent = path, .key = "parent"};

	if (!policy_is_quota(&policies[index]) && !policy_is_shaped(&policies[index]))
		return;
	for (const struct policy *above = &policies[index]; policy_has_parent(above);) {
		above = &policies[above->parent];
		if (policy_is_quota(above)) {
			reader_report(reader, &at, MESSAGE(BELOW_QUOTA),
				policy_is_shaped(&policies[index]) ? "\"action\": \"shape\""
								   : "\"total\"",
				above->name);
			return;
		}
	}
}

/* A packet must cost the same at all levels. */
static void check_unit(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct policy *parent)
{
	struct json_path count = {.parent = path, .key = "count"};
	struct json_path accounting = {.parent = path, .key = "accounting"};

	if (policy->count == CHOICE_REFUSED || parent->count == CHOICE_REFUSED)
		return;
	if (policy->count != parent->count)
		reader_report(reader, &count, MESSAGE(UNLIKE_PARENT), parent->name);
	else if (policy->count == COUNT_BYTES && policy->accounting != parent->accounting)
		reader_report(reader, &accounting, MESSAGE(UNLIKE_PARENT), parent->name);
}

/* A rate and its share must have the same unit of time. */
static void check_time(struct reader *reader, const struct json_path *path,
	const struct policy *policies, unsigned index)
{
	const struct policy *policy = &policies[index], *divider;
	struct json_path limit = {.parent = path, .key = "limit"};

	if (!policy_has_part(policies, index))
		return;
	divider = &policies[policy_divider(policies, index)];
	if (policy->count == divider->count && policy->limit_bps > 0 && divider->limit_bps > 0 &&
		policy_limit_s(policy) != policy_limit_s(divider))
		reader_report(reader, &limit, MESSAGE(NOT_TIME_OF_PARENT), divider->name);
}

static void check_guaranteed(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "guaranteed"};
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps > 0 && policy->guaranteed_bps > policy->limit_bps &&
		reader_has(reader, path, at.key))
		reader_report(reader, &at, MESSAGE(GUARANTEED_ABOVE_LIMIT),
			rate_words(policy, policy->limit_bps, text, sizeof(text)));
}

/* Limits of other times also need room for the guaranteed rate. */
static void check_scheduled(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path schedule = {.parent = path, .key = "schedule"};
	struct json_path entries = {.parent = &schedule, .key = "entries"};
	char text[UNITS_TEXT_MAX];

	for (unsigned i = 0; policy->schedule && i < policy->schedule->n; i++) {
		const struct limit_terms *terms = &policy->schedule->entries[i].terms;
		struct json_path entry = {.parent = &entries, .index = i};
		struct json_path at = {.parent = &entry, .key = "limit"};

		if (terms->limit_bps == 0)
			continue;
		if ((terms->limit_s ? terms->limit_s : 1) != policy_limit_s(policy))
			reader_report(reader, &at, MESSAGE(NOT_TIME_OF_POLICY));
		else if (terms->limit_bps < policy->guaranteed_bps)
			reader_report(reader, &at, MESSAGE(BELOW_GUARANTEED),
				rate_words(policy, policy->guaranteed_bps, text, sizeof(text)));
	}
}

void level_check(struct reader *reader, const struct json_path *path, const struct policy *policies,
	unsigned index)
{
	const struct policy *policy = &policies[index];

	if (!policy_is_level(policy))
		return;
	check_strangers(reader, path, policy);
	if (policy_has_parent(policy)) {
		check_part(reader, path, policies, index);
		check_unit(reader, path, policy, &policies[policy->parent]);
		check_time(reader, path, policies, index);
		check_totals(reader, path, policies, index);
	}
	check_guaranteed(reader, path, policy);
	check_scheduled(reader, path, policy);
}

void level_warn(struct reader *reader, const struct json_path *path, const struct policy *policies,
	unsigned index)
{
	const struct policy *policy = &policies[index];
	struct json_path at = {.parent = path, .key = "limit"};
	int divider = policy_divider(policies, index);

	if (divider != POLICY_NO_PARENT && !policy_is_quota(policy) &&
		policy_rate(policy) > policy_rate(&policies[divider]))
		reader_report(reader, &at, MESSAGE(LIMIT_ABOVE_PARENT), policies[divider].name);
}
