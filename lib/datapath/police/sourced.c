/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The packets of a burst whose sources have a meter each, metered together
 * (lib/datapath/source/source_burst.h).
 */
#include "police/charge.h"
#include "police/lineage.h"
#include "police/sourced.h"
#include "source/source_table.h"

/* Returns the packets of `left` that are of one policy. */
static uint64_t packets_of(
	const struct sourced *sourced, const struct policy_state *state, uint64_t left)
{
	uint64_t own = 0;

	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		own |= (uint64_t)(sourced->state[i] == state) << i;
	}
	return own;
}

/* Returns the verdicts of some packets, a bit each. The packets move up until they are a burst. */
static uint64_t meter_some(const struct sourced *sourced, struct policy_extended *other,
	uint64_t packets, uint64_t now)
{
	struct source_burst burst = {.n = 0};
	uint64_t conforming = 0, all;

	for (uint64_t left = packets; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left), k = burst.n++;

		burst.home[k] = sourced->asked.home[i];
		burst.tag[k] = sourced->asked.tag[i];
		burst.cost[k] = sourced->asked.cost[i];
	}
	all = source_table_conforms_burst(other->sources, &other->profile, &burst, now);
	for (; packets; packets &= packets - 1, all >>= 1)
		conforming |= (all & 1) << __builtin_ctzll(packets);
	return conforming;
}

/* Meters packets of one policy, which mostly are the whole burst, or the first of it. */
static void meter_policy(struct sourced *sourced, uint64_t packets, uint64_t now)
{
	struct policy_extended *other = sourced->state[__builtin_ctzll(packets)]->other;

	if (packets & (packets + 1)) {
		sourced->conforming |= meter_some(sourced, other, packets, now);
		return;
	}
	sourced->asked.n = (unsigned)__builtin_popcountll(packets);
	sourced->conforming |= source_table_conforms_burst(
		other->sources, &other->profile, &sourced->asked, now);
}

void sourced_meter(struct sourced *sourced, uint64_t now)
{
	uint64_t left = sourced->packets;

	sourced->conforming = 0;
	while (left) {
		uint64_t own = packets_of(sourced, sourced->state[__builtin_ctzll(left)], left);

		meter_policy(sourced, own, now);
		left &= ~own;
	}
}

void sourced_meter_alike(struct sourced *sourced, uint64_t now)
{
	sourced->conforming = 0;
	if (sourced->packets)
		meter_policy(sourced, sourced->packets, now);
}

uint64_t sourced_count_alike(const struct sourced *sourced, unsigned n)
{
	const uint64_t drops = ~sourced->conforming & UINT64_MAX >> (SOURCED_MAX - n);
	uint64_t bytes = 0, dropped = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += sourced->count[i];
	for (uint64_t left = drops; left; left &= left - 1)
		dropped += sourced->count[__builtin_ctzll(left)];
	police_count(sourced->state[0], n, bytes, (uint32_t)__builtin_popcountll(drops), dropped);
	return drops;
}

/* --- policies below others, see lineage.h ----------------------------------------------------- */

void police_lineage_source(
	struct lineage *lineage, const struct packet *packet, const uint8_t *data, uint64_t now)
{
	struct policy_state *leaf = lineage->levels[0];
	struct policy_extended *other = leaf->other;
	unsigned bits = police_source_bits(leaf, packet);

	lineage->at = gcra_now(&other->profile.gcra, now);
	lineage->source = &other->meter.gcra;
	if (bits)
		lineage->source = source_table_meter(other->sources, &other->profile,
			source_hash(other->sources, data + packet->src_off, packet->family, bits),
			now);
}
