/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How a worker decides the packets of each kind of policy (enum police_kind).
 */
#include "policer.h"

#include <rte_prefetch.h>

#include "police/try.h"
#include "worker_data.h"

/* Packets of policies that have a trial. */

/* Lines of policies that a turn changes, each to be fetched: a microsecond or two. */
#define CHANGES_A_TURN 16

void try_packet(struct worker *w, const struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now)
{
	uint32_t slot = trial_slot(burst->frames.policy[i], police_trial(state), w->n_policies);
	struct shared_bucket *shared = w->shared_buckets ? &w->shared_buckets[slot] : NULL;
	struct policy_state *trial = &w->policies[slot];

	if (police_is_simple(trial))
		police_try_bytes(trial, shared,
			police_bytes(trial, burst->frames.uncharged[i], burst->len[i]), now);
	else
		police_try(trial, shared, burst_packet(burst, i), burst->frames.data[i],
			burst->len[i], now);
}

bool try_changes(struct worker *w, const struct snapshot *newer)
{
	struct worker_own *own = &w->own;
	unsigned n = RTE_MIN(newer->n_trials - own->tried, CHANGES_A_TURN);
	const struct trial_change *changes;

	if (n == 0)
		return true;
	changes = newer->trials + own->tried;
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[changes[i].slot]);
	for (unsigned i = 0; i < n; i++)
		police_set_trial(&w->policies[changes[i].slot], changes[i].trial);
	own->tried += n;
	return own->tried == newer->n_trials;
}

/*
 * Returns true if the limit of a borrowing policy has ended, and sets *end. No policy ends in both
 * ways.
 */
static __rte_noinline bool limit_has_ended(const struct worker *w, const struct policy_state *state,
	uint32_t policy, struct police_end *end)
{
	const struct worker_own *own = &w->own;

	*end = (struct police_end){.from = own->ended};
	if (own->ended)
		end->ending = w->ending[policy];
	if (end->ending || !own->silent)
		return end->ending;
	*end = (struct police_end){own->silent, police_burst_least(state),
		__atomic_load_n(&w->soft_ending[policy], __ATOMIC_RELAXED)};
	return end->ending;
}

void policer_lend(
	struct worker *w, struct policy_state *state, uint32_t policy, uint32_t cost, uint64_t now)
{
	struct shared_bucket *shared = &w->shared_buckets[policy];
	struct police_end end;

	if (unlikely(policer_limits_end(w)) && limit_has_ended(w, state, policy, &end))
		police_borrow_ended(state, shared, cost, now, &end);
	else if (police_is_simple(state))
		police_borrow(state, shared, cost, now);
	else
		police_borrow_other(state, shared, cost, now);
}

/*
 * Returns the hash of a flow for a flow sample. A device chooses the queue by the low bits of its
 * hash, so these can be the same for all flows of a worker. This mixes the other bits into the low
 * bits, which the sample uses.
 */
static uint32_t spread_hash(uint32_t hash)
{
	hash *= POLICE_WEYL;
	return hash ^ hash >> 16;
}

/* Gets the hash of a packet's flow. Returns false if the policy does not sample the packet. */
static bool sampled_hash(
	const struct policy_state *state, struct rx_burst *burst, unsigned i, uint32_t *hash)
{
	const struct packet *packet;

	if (burst_has_hash(burst, i) && !police_samples_tcp_only(state)) {
		*hash = spread_hash(burst->mbufs[i]->hash.rss);
		return true;
	}
	packet = burst_packet(burst, i);
	*hash = spread_hash(packet_flow_hash(packet, burst->frames.data[i]));
	return police_samples_packet(state, packet);
}

void policer_fetch_above(struct worker *w, uint32_t slot)
{
	uint32_t slots[POLICY_LEVELS_MOST];
	unsigned n = lineage_of(w, slot, slots);

	for (unsigned k = 1; k < n; k++)
		rte_prefetch0(&w->policies[slots[k]]);
}

void policer_sample(struct worker *w, struct rx_burst *burst, unsigned i, uint32_t cost)
{
	policer_sample_of(w, burst, i, burst->frames.policy[i], cost);
}

/* Out of line, because few packets come here and the others need the registers. */
__rte_noinline void policer_sample_of(
	struct worker *w, struct rx_burst *burst, unsigned i, uint32_t policy, uint32_t cost)
{
	uint32_t hash;
	const struct policy_state *state = &w->policies[policy];
	uint64_t now = burst->frames.now;

	if (!sample_bound_takes(&w->own.bound, now) || !sampled_hash(state, burst, i, &hash))
		return;
	burst->sampled[burst->n_sampled++] = (struct sampled){
		.sample = w->samples[policy],
		.bytes = police_sample_bytes(state, cost) << sample_bound_took(&w->own.bound, now),
		.hash = hash,
	};
	flow_sample_prefetch(w->samples[policy], hash);
}

__rte_noinline uint32_t burst_keep_flow_hash(struct rx_burst *burst, unsigned i)
{
	struct packet *packet = burst_packet(burst, i);

	packet->flow_hash = packet_flow_hash(packet, burst->frames.data[i]);
	return packet->flow_hash;
}

void policer_costs_alike(
	uint32_t *costs, const struct rx_burst *burst, enum accounting accounting, uint16_t n)
{
	const uint32_t l2 = accounting == ACCOUNTING_L3 ? UINT32_MAX : 0;
	const uint32_t more = accounting == ACCOUNTING_WIRE ? POLICE_WIRE : 0;

	for (uint16_t i = 0; i < n; i++)
		costs[i] = burst->len[i] - (burst->frames.uncharged[i] & l2) + more;
}
