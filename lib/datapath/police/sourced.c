/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "police/charge.h"
#include "police/sourced.h"

#include "source/source_burst.h"

#define BIT(i) (UINT64_C(1) << (i))

static_assert(SOURCED_MAX <= SOURCE_BURST, "those of one policy are one burst");

void sourced_add(struct sourced *sourced, unsigned i, struct policy_state *state,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len)
{
	unsigned bits = police_source_bits(state, packet);
	const struct policy_extended *other = state->other;

	if (bits == 0)
		return;
	sourced->hash[i] = source_hash(
		other->sources, data + packet->src_off, packet->family, bits);
	source_table_prefetch(other->sources, sourced->hash[i]);
	if (other->count == COUNT_FLOWS)
		return;
	if (police_is_below(state))
		sourced->below |= BIT(i);
	else
		sourced->packets |= BIT(i);
	sourced->state[i] = state;
	sourced->enacted |=
		(uint64_t)(other->action == ACTION_MARK || other->action == ACTION_COUNT) << i;
	sourced->count[i] = police_cost(state, packet, data, frame_len, 0);
	sourced->cost[i] = sourced->count[i] << other->unit_bits;
}

/* Those of `left` that are of one policy, all of them metered. */
static uint64_t meter_policy(
	struct sourced *sourced, const struct policy_state *state, uint64_t left, uint64_t now)
{
	struct policy_extended *other = state->other;
	struct source_burst burst = {.n = 0};
	uint8_t packet[SOURCED_MAX];
	uint64_t conforming, own = 0;

	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (sourced->state[i] != state)
			continue;
		own |= BIT(i);
		packet[burst.n] = (uint8_t)i;
		source_burst_add(&burst, other->sources, sourced->hash[i], sourced->cost[i]);
	}
	conforming = source_table_conforms_burst(other->sources, &other->profile, &burst, now);
	for (unsigned k = 0; k < burst.n; k++)
		sourced->conforming |= (conforming >> k & 1) << packet[k];
	return own;
}

void sourced_meter(struct sourced *sourced, uint64_t now)
{
	uint64_t left = sourced->packets;

	sourced->conforming = 0;
	while (left)
		left &= ~meter_policy(sourced, sourced->state[__builtin_ctzll(left)], left, now);
}
