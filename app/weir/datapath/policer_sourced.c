/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a meter for each source. The meters of a burst are read together, and then most
 * packets are only counted. The others go to policer_other: packets without a source's meter, and
 * packets that do not conform but are marked or pass.
 */
#include "policer.h"

/* Begins to fetch the meters of all sources that have one. */
static void fetch_sources(struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	(void)now;
	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		policer_add_source(burst, i, burst_policy(w, burst, i));
	}
}

/* Counts a packet of sourced_settles(). Returns 0 if it passes, otherwise 1. */
static uint64_t count_metered(struct worker *w, struct rx_burst *burst, unsigned i)
{
	if (police_samples(burst_policy(w, burst, i)))
		policer_sample(w, burst, i, sourced_cost(&burst->sourced, i));
	return sourced_count(&burst->sourced, i);
}

/* Counts packets whose sources have been metered. Returns those that do not pass. */
static uint64_t count_sources(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0, counted;

	counted = packets & sourced_settles(&burst->sourced);
	for (uint64_t left = counted; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		drops |= count_metered(w, burst, i) << i;
	}
	if (packets & ~counted)
		drops |= policer_other.charge(w, burst, packets & ~counted, now);
	return drops;
}

static uint64_t charge_sources(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	if (burst->sourced.packets)
		sourced_meter(&burst->sourced, now);
	return count_sources(w, burst, packets, now);
}

/* Mostly the meters alone decide, and all packets are counted in one step. */
static uint64_t charge_one(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	struct policy_state *state = burst_policy(w, burst, 0);

	policer_add_sources(burst, state, n);
	sourced_meter_alike(&burst->sourced, now);
	if (unlikely(sourced_settles(&burst->sourced) != burst_mask(n)))
		return count_sources(w, burst, burst_mask(n), now);
	policer_sample_alike(w, state, burst, burst->sourced.count, n);
	return sourced_count_alike(&burst->sourced, n);
}

const struct policer policer_sourced = {
	.fetch = fetch_sources,
	.charge = charge_sources,
	.charge_alike = charge_one,
};
