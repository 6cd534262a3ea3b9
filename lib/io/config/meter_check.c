/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks that the keys of a policy, and of its trial, fit its meter.
 */
#include "base/time.h"
#include "allocate/allocate.h"
#include "config/check.h"
#include "config/meters_that.h"
#include "policy/kind.h"
#include "policy/units.h"

#define WINDOW_MIN_NS (10 * MS_NS)
#define WINDOW_MAX_NS (86400 * SECOND_NS)

/* Keys that only meters with an ability have. */
static const struct {
	const char *key;
	enum meter_ability ability;
	bool in_trial; /* a trial has this key too */
} metered[] = {
	{"window", METER_WINDOW, true},
	{"burst", METER_BURST, true},
	{"classes", METER_CLASSES, true},
	{"colours", METER_COLOURS, false},
	{"peak", METER_PEAK, false},
	{"excess", METER_EXCESS, false},
};

#define METERED (sizeof(metered) / sizeof(metered[0]))

static void find_metered(json_t *policy, bool there[METERED])
{
	const char *key;
	json_t *value;

	json_object_foreach (policy, key, value) {
		for (size_t i = 0; i < METERED; i++)
			there[i] |= same_word(key, metered[i].key);
	}
}

/* Rejects a key that only meters with the ability have. */
static void refuse_metered(struct reader *reader, const struct json_path *path, const char *key,
	const struct policy *policy, enum meter_ability ability)
{
	struct json_path at = {.parent = path, .key = key};
	char meters[METERS_TEXT_MAX];

	if (policy_is_quota(policy))
		reader_excludes(
			reader, &at, "remove it: a quota has no meter", "\"allocator\": \"quota\"");
	else if (policy->allocator == &allocator_grd && !reader_has(reader, path, "meter") &&
		 meter_can(METER_TOKEN_BUCKET, ability))
		reader_excludes(reader, &at, "set \"meter\": \"token-bucket\"",
			"\"allocator\": \"grd\" and its default meter");
	else
		reader_requires(reader, &at, "\"meter\": %s", meters_that(ability, meters));
}

void policy_check_metered(struct reader *reader, const struct json_path *path,
	const struct policy *policy, bool trial)
{
	bool there[METERED] = {false};

	find_metered(json_path_find(reader->root, path), there);
	for (size_t i = 0; i < METERED; i++)
		if (there[i] && (metered[i].in_trial || !trial) &&
			!meter_may(policy, metered[i].ability))
			refuse_metered(reader, path, metered[i].key, policy, metered[i].ability);
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

/* Returns the window nearest to the configured one in which whole packets or flows pass, ns. */
static uint64_t whole_window(const struct policy *policy)
{
	uint64_t unit = policy_window_unit(policy);
	uint64_t step = unit / greatest_common_divisor(unit, policy->limit_bps);
	uint64_t least = (WINDOW_MIN_NS + step - 1) / step;
	uint64_t steps = (policy->window_ns + step / 2) / step;

	return step * (steps > least ? steps : least);
}

/* Rejects a window whose limit is not a whole number: each window would lose the fraction. */
static void check_window_quota(struct reader *reader, const struct json_path *path,
	const struct json_path *at, const struct policy *policy)
{
	struct json_path limit = {.parent = path, .key = "limit"};
	char window[UNITS_TEXT_MAX];

	if (policy_window_is_whole(policy))
		return;
	if (whole_window(policy) > WINDOW_MAX_NS)
		reader_expected(reader, &limit,
			"a whole number in a day, the longest window, for this meter");
	else
		reader_expected(reader, at,
			"a time in which the limit is a whole number, such as \"%s\"",
			units_format_time(whole_window(policy), window, sizeof(window)));
}

void policy_check_window(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "window"};

	if (!meter_can(policy->meter, METER_WINDOW))
		return;
	if (policy->window_ns == 0 && !reader_has(reader, path, "window"))
		reader_expected(reader, &at, "a time such as \"1s\" for this meter");
	else if (policy->window_ns > 0 && policy->limit_bps > 0)
		check_window_quota(reader, path, &at, policy);
}
