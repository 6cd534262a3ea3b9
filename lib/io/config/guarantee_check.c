/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies that are never exceeded: conserved limits and quotas.
 */
#include <inttypes.h>

#include "allocate/allocate.h"
#include "allocate/gdrl.h"
#include "budget/budget.h"
#include "gossip/datagram.h"
#include "config/check.h"
#include "policy/kind.h"
#include "policy/units.h"

#define EIGHTHS 8

/*
 * So much of a total is saved as spent at a time: about a thousandth of a limiter's part, so that a
 * crash costs next to nothing of it, and one that spends it all within an hour writes some tens of
 * times a minute. Less than 64 KiB, or packets, are not worth a write; and with 64 MiB writes are
 * few enough at any rate. A power of two, which people can read.
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
		policy->guarantee = GUARANTEE_CONSERVED;
	if (policy->indicator == NULL)
		policy->indicator = &gdrl_spare;
}

/* What GDRL moves is a ledger's. */
static void check_moved(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path guarantee = {.parent = path, .key = "guarantee"};
	struct json_path meter = {.parent = path, .key = "meter"};
	char meters[METERS_TEXT_MAX];

	if (policy->guarantee == GUARANTEE_SOFT)
		reader_expected(reader, &guarantee, "\"conserved\" with the allocator \"%s\"",
			policy->allocator->name);
	if (!meter_may(policy, METER_CONSERVED))
		reader_expected(reader, &meter, "%s with the allocator \"%s\"",
			meters_that(METER_CONSERVED, meters), policy->allocator->name);
}

/* What adds up to the limit are buckets that each hold a part of it. */
static void check_conserved(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path at = {.parent = path, .key = "guarantee"};

	if (policy->allocator == &allocator_gtb || policy->allocator == &allocator_grd)
		reader_expected(
			reader, &at, "\"soft\" with the allocator \"%s\"", policy->allocator->name);
	else if (policy->per_v4 != 0)
		reader_expected(reader, &at, "\"soft\" beside \"per\"");
	else if (!meter_may(policy, METER_CONSERVED))
		reader_expected(
			reader, &at, "\"soft\" with the meter \"%s\"", meter_name(policy->meter));
}

/* A part of less than one, a second or in its own time, would be none. */
void guarantee_check_parts(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "limit"};
	uint64_t least = (uint64_t)EIGHTHS * n_limiters;
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps == 0 || policy->limit_bps >= least || policy->count == CHOICE_REFUSED)
		return;
	reader_expected(reader, &at, "at least %s, as parts of a conserved limit are whole %s",
		policy->count == COUNT_BYTES ? units_format_rate(least, text, sizeof(text))
					     : units_format_count_rate(least,
						       policy_limit_s(policy), text, sizeof(text)),
		policy->count == COUNT_BYTES ? "bytes a second" : "numbers in its time");
}

static void check_quota_burst(
	struct reader *reader, const struct json_path *path, const struct policy *policy)
{
	struct json_path burst = {.parent = path, .key = "burst"};

	(void)policy;
	if (reader_has(reader, path, "burst") && !reader_has(reader, path, "limit"))
		reader_expected(reader, &burst, "none without \"limit\"");
}

void guarantee_check(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	if (policy_is_quota(policy)) {
		check_quota_burst(reader, path, policy);
		return;
	}
	if (policy->allocator != NULL && policy->allocator->moves)
		check_moved(reader, path, policy);
	else if (policy_is_conserved(policy))
		check_conserved(reader, path, policy);
	if (policy_is_conserved(policy))
		guarantee_check_parts(reader, path, policy, n_limiters);
}

/* Messages about units are whole, or are not sent. */
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
		reader_expected(reader, &at, "at least %uB with the allocator \"quota\"", least);
}

/* Parts of an even division; and what is in hand at all limiters. */
#define CHUNKS_OF_TOTAL 10

static void warn_total(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path at = {.parent = path, .key = "total"};
	char text[UNITS_TEXT_MAX];

	if (policy->total / CHUNKS_OF_TOTAL / policy->chunk >= n_limiters)
		return;
	reader_warn(reader, &at,
		"less than %d times the %s that each of %u limiters takes in hand, or twice that",
		CHUNKS_OF_TOTAL,
		policy->count == COUNT_BYTES
			? units_format_size(policy->chunk, text, sizeof(text))
			: units_format_count(policy->chunk, text, sizeof(text)),
		n_limiters);
}

void guarantee_warn(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	if (policy_is_quota(policy))
		warn_total(reader, path, policy, n_limiters);
}
