/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks the window of a policy and of its trial, and lists meters for messages.
 */
#include "config/meter_check.h"

#include <stdio.h>

#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "policy/kind.h"
#include "policy/units.h"

#define WINDOW_MIN_NS (10 * MS_NS)
#define WINDOW_MAX_NS (86400 * SECOND_NS)

/* Returns limit_bps × window_ns of one unit. */
uint64_t policy_window_unit(const struct policy *policy)
{
	return 8 * SECOND_NS * policy_limit_s(policy);
}

uint64_t policy_quota(const struct policy *policy)
{
	return (uint64_t)((unsigned __int128)policy->limit_bps * policy->window_ns /
			  policy_window_unit(policy));
}

bool policy_window_is_whole(const struct policy *policy)
{
	unsigned __int128 product = (unsigned __int128)policy->limit_bps * policy->window_ns;

	return policy->count == COUNT_BYTES || policy->count == CHOICE_REFUSED ||
	       !meter_can(policy->meter, METER_WINDOW) || product % policy_window_unit(policy) == 0;
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
		reader_report(reader, &limit, MESSAGE(WINDOW_NEVER_WHOLE));
	else
		reader_report(reader, at, MESSAGE(WINDOW_NOT_WHOLE),
			units_format_time(whole_window(policy), window, sizeof(window)));
}

void policy_check_window(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "window"};

	if (!meter_can(policy->meter, METER_WINDOW))
		return;
	if (policy->window_ns == 0 && !reader_has(reader, path, "window"))
		reader_report(reader, &at, MESSAGE(WINDOW_MISSING));
	else if (policy->window_ns > 0 && policy->limit_bps > 0)
		check_window_quota(reader, path, &at, policy);
}

const char *meters_that_but(unsigned abilities, unsigned without, char text[METERS_TEXT_MAX])
{
	const char *last = NULL;
	int end = 0;

	text[0] = '\0';
	for (enum meter_kind kind = 0; kind < METER_CREDIT; kind++) { /* not for users */
		if (!meter_can(kind, abilities) || meter_can(kind, without))
			continue;
		if (last != NULL)
			end += snprintf(text + end, METERS_TEXT_MAX - (size_t)end, "%s\"%s\"",
				end > 0 ? ", " : "", last);
		last = meter_name(kind);
	}
	if (last != NULL)
		snprintf(text + end, METERS_TEXT_MAX - (size_t)end, "%s\"%s\"",
			end > 0 ? " or " : "", last);
	return text;
}
