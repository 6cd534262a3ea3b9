/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Completes and checks a schedule.
 */
#include <errno.h>
#include <stdio.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "config/meter_check.h"
#include "policy/kind.h"
#include "policy/schedule.h"

/* The burst of the policy also applies to its other limits. */
void terms_complete(
	const struct policy *policy, bool named, unsigned n_limiters, struct limit_terms *terms)
{
	struct policy other = policy_with_terms(policy, terms);

	if (named)
		terms->burst_bytes = policy->burst_bytes;
	else
		terms->burst_bytes = burst_default(&other, n_limiters);
}

void schedule_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters)
{
	struct schedule *schedule = policy->schedule;

	for (unsigned i = 0; schedule != NULL && i < schedule->n; i++)
		if (!schedule->entries[i].own_burst)
			terms_complete(policy, reader_has(reader, path, "burst"), n_limiters,
				&schedule->entries[i].terms);
}

/* A window and a ledger need whole numbers in each limit. */
void terms_check(struct reader *reader, const struct json_path *path, const struct policy *policy,
	const struct limit_terms *terms, unsigned n_limiters)
{
	struct policy other = policy_with_terms(policy, terms);
	struct json_path limit = {.parent = path, .key = "limit"};
	struct json_path burst = {.parent = path, .key = "burst"};

	if (terms->limit_bps == 0 || policy->count == CHOICE_REFUSED)
		return;
	if (reader_has(reader, path, burst.key) && !meter_may(policy, METER_BURST))
		reader_report(reader, &burst, MESSAGE(SCHEDULE_BURST), meter_name(policy->meter));
	if (policy_is_hard(policy) && policy_limit_s(&other) != policy_limit_s(policy))
		reader_report(reader, &limit, MESSAGE(SCHEDULE_TIME));
	else if (policy_is_hard(policy))
		guarantee_check_parts(reader, path, &other, n_limiters);
	colours_check_terms(reader, path, policy, &other);
	if (!policy_window_is_whole(&other))
		reader_report(reader, &limit, MESSAGE(SCHEDULE_WINDOW));
}

static void check_overlap(
	struct reader *reader, const struct json_path *path, struct schedule *schedule)
{
	struct json_path entries = {.parent = path, .key = "entries"};
	struct schedule_clash clash;
	char when[SCHEDULE_TEXT_MAX];
	int ret = schedule_arrange(schedule, &clash);
	struct json_path at = {.parent = &entries, .index = clash.second};

	reader->no_memory |= ret == -ENOMEM;
	if (ret != -EEXIST)
		return;
	reader_report(reader, &at, MESSAGE(SCHEDULE_OVERLAP), clash.first,
		schedule_format(clash.at_s, when));
}

void schedule_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "schedule"};
	struct json_path entries = {.parent = &at, .key = "entries"};
	struct schedule *schedule = policy->schedule;

	if (schedule == NULL)
		return;
	check_overlap(reader, &at, schedule);
	for (unsigned i = 0; i < schedule->n; i++) {
		struct json_path entry = {.parent = &entries, .index = i};

		terms_check(reader, &entry, policy, &schedule->entries[i].terms, n_limiters);
	}
}

void schedule_warn(struct reader *reader, const struct json_path *path, const struct policy *policy,
	uint64_t frame, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "schedule"};
	struct json_path entries = {.parent = &at, .key = "entries"};

	for (unsigned i = 0; policy->schedule != NULL && i < policy->schedule->n; i++) {
		struct json_path entry = {.parent = &entries, .index = i};
		struct policy other = policy_with_terms(
			policy, &policy->schedule->entries[i].terms);

		burst_warn(reader, &entry, &other, frame, n_limiters);
	}
}
