/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of policies with hard limits and with quotas.
 */
#include <inttypes.h>

#include "allocate/allocate.h"
#include "allocate/gdrl.h"
#include "budget/budget.h"
#include "gossip/datagram.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/meter_check.h"
#include "policy/kind.h"
#include "policy/units.h"

#define EIGHTHS 8
#define BE_SOFT "set \"guarantee\": \"soft\""

/*
 * The part of a quota that a limiter saves as spent with one write: about a thousandth of its
 * share. So a crash costs little, and a limiter that spends all within an hour writes some tens of
 * times a minute. At least 64 KiB or 64 packets, which are worth a write. At most 64 MiB, so
 * that writes are rare at any rate. A power of two, for readers of the state.
 */
#define CHUNK_PART  1000
#define CHUNK_BYTES (UINT64_C(64) << 10)
#define CHUNK_COUNT UINT64_C(64)
#define CHUNK_MOST  (UINT64_C(64) << 20)

static uint64_t default_chunk(const struct policy *policy, unsigned n_limiters)
{
	uint64_t least = policy->count == COUNT_BYTES ? CHUNK_BYTES : CHUNK_COUNT;
	uint64_t chunk = policy->total / CHUNK_PART / (n_limiters > 0 ? n_limiters : 1);

	while (2 * least <= chunk && least < CHUNK_MOST)
		least *= 2;
	return least;
}

void guarantee_complete(const struct reader *reader, const struct json_path *path,
	struct policy *policy, unsigned n_limiters)
{
	if (policy_is_quota(policy)) {
		policy->meter = METER_CREDIT;
		policy->chunk = default_chunk(policy, n_limiters);
	}
	if (policy->allocator == NULL || !policy->allocator->moves)
		return;
	if (!reader_has(reader, path, "guarantee"))
		policy->guarantee = GUARANTEE_HARD;
	if (policy->indicator == NULL)
		policy->indicator = &gdrl_spare;
}

/* GDRL moves shares in a ledger, so its limits are hard. */
static void check_moved(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path guarantee = {.parent = path, .key = "guarantee"};
	struct json_path meter = {.parent = path, .key = "meter"};
	char meters[METERS_TEXT_MAX];

	if (policy->guarantee == GUARANTEE_SOFT)
		reader_report(
			reader, &guarantee, MESSAGE(GUARANTEE_NOT_HARD), policy->allocator->name);
	if (!meter_may(policy, METER_HARD))
		reader_report(reader, &meter, MESSAGE(METER_OF_ALLOCATOR),
			meters_that(METER_HARD, meters), policy->allocator->name);
}

/* Hard limits need a bucket at each limiter that holds a part of the limit. */
static void check_hard(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "guarantee"};

	if (policy->allocator == &allocator_gtb || policy->allocator == &allocator_grd)
		reader_report(
			reader, &at, MESSAGE(HARD_EXCLUDES_ALLOCATOR), policy->allocator->name);
	else if (policy->per_v4 != 0)
		reader_report(reader, &at, MESSAGE(HARD_EXCLUDES_PER));
	else if (!meter_may(policy, METER_HARD))
		reader_report(reader, &at, MESSAGE(HARD_EXCLUDES_METER), meter_name(policy->meter));
}

/* Rejects a limit below one unit per limiter, because some limiters would have none. */
void guarantee_check_parts(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "limit"};
	uint64_t least = (uint64_t)EIGHTHS * n_limiters;
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps == 0 || policy->limit_bps >= least || policy->count == CHOICE_REFUSED)
		return;
	reader_report(reader, &at, MESSAGE(HARD_LIMIT_TOO_LOW),
		policy->count == COUNT_BYTES ? units_format_rate(least, text, sizeof(text))
					     : units_format_count_rate(least,
						       policy_limit_s(policy), text, sizeof(text)),
		policy->count == COUNT_BYTES ? "bytes a second" : "numbers in its time");
}

void guarantee_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path burst = {.parent = path, .key = "burst"};

	if (policy_is_quota(policy)) {
		if (reader_has(reader, path, "burst") && !reader_has(reader, path, "limit"))
			reader_report(reader, &burst, MESSAGE(BURST_NEEDS_LIMIT));
		return;
	}
	if (policy->allocator != NULL && policy->allocator->moves)
		check_moved(reader, path, policy);
	else if (policy_is_hard(policy))
		check_hard(reader, path, policy);
	if (policy_is_hard(policy))
		guarantee_check_parts(reader, path, policy, n_limiters);
}

/* Rejects datagrams too small for a message about quotas, which cannot be split. */
void guarantee_check_gossip(struct reader *reader, const struct gossip_config *gossip,
	const struct policy *policies, unsigned n)
{
	static const struct json_path path_gossip = {.key = "gossip"};
	struct json_path at = {.parent = &path_gossip, .key = "datagram"};
	unsigned least = DATAGRAM_MIN + BUDGET_MESSAGE_MIN + DATAGRAM_TAG;
	bool quota = false;

	for (unsigned i = 0; i < n; i++)
		quota |= policy_is_quota(&policies[i]);
	if (quota && gossip->n_roster > 1 && gossip->datagram_max < least)
		reader_report(reader, &at, MESSAGE(TOTAL_TOO_SMALL), least);
}

#define CHUNKS_OF_TOTAL 10 /* at least, in a limiter's even share of a quota */

void guarantee_warn(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "total"};
	char text[UNITS_TEXT_MAX];

	if (!policy_is_quota(policy) ||
		policy->total / CHUNKS_OF_TOTAL / policy->chunk >= n_limiters)
		return;
	reader_report(reader, &at, MESSAGE(TOTAL_FEW_CHUNKS), CHUNKS_OF_TOTAL,
		policy->count == COUNT_BYTES
			? units_format_size(policy->chunk, text, sizeof(text))
			: units_format_count(policy->chunk, text, sizeof(text)),
		n_limiters);
}
