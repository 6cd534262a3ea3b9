/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How a worker decides the packets of each kind of policy (enum police_kind): a row a kind, which
 * has a file of its own. decide.c divides a burst by these rows; nearly all are of one kind, and
 * not divided. Private to this room; the worker's own thread.
 */
#ifndef WEIR_APP_JUDGE_H
#define WEIR_APP_JUDGE_H

#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "police/charge.h"
#include "police/sample.h"
#include "rx_burst.h"

/* Rows: one for each kind of state, and one for those that are charged to others as well. */
enum { JUDGE_LEVEL = POLICE_KINDS, JUDGES };

/* The row of a policy, by its state. Where packets wait, those above are asked as they leave. */
static inline unsigned judge_row(const struct policy_state *state)
{
	enum police_kind kind = police_kind(state);

	return police_is_below(state) && kind != POLICE_SHAPED ? JUDGE_LEVEL : kind;
}

struct judge {
	/*
	 * Begins to fetch what is read of packets, a bit each, beside their policies' lines, which
	 * are here already; or NULL.
	 */
	void (*fetch)(
		struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now);

	/*
	 * Charges packets, a bit each, in their order, samples and counts them; says which of them
	 * do not pass, a bit each.
	 */
	uint64_t (*charge)(
		struct worker *worker, struct rx_burst *burst, uint64_t packets, uint64_t now);

	/*
	 * Charges the whole burst of n likewise, which is of one policy; or NULL, where nothing is
	 * gained by that.
	 */
	uint64_t (*charge_alike)(
		struct worker *worker, struct rx_burst *burst, uint16_t n, uint64_t now);

	bool tries; /* it makes its packets' trials itself, as it charges them */
};

extern const struct judge judge_simple; /* and packets without a policy */
extern const struct judge judge_total;
extern const struct judge judge_phantom;
extern const struct judge judge_shaped;
extern const struct judge judge_sourced;
/* Those that police_is_below(); and while limits go on, those of judge_simple, too. */
extern const struct judge judge_level;
extern const struct judge judge_other;

/* The policy of a packet that has one. */
static inline struct policy_state *judge_policy(
	struct worker *worker, const struct rx_burst *burst, unsigned i)
{
	return &worker->policies[burst->frames.policy[i]];
}

/* Begins to fetch the lines of those above a policy in that slot. */
void judge_fetch_above(struct worker *worker, uint32_t slot);

/* What a packet's policy charges for its bytes. */
static inline uint32_t judge_bytes(
	const struct policy_state *state, const struct rx_burst *burst, unsigned i)
{
	return police_bytes(state, burst->frames.uncharged[i], burst->len[i]);
}

/* All of n packets, a bit each. */
static inline uint64_t judge_all(unsigned n)
{
	return UINT64_MAX >> (64 - n);
}

/* Returns those of a burst's packets, a bit each, that have a policy. */
static inline uint64_t judge_matched(const struct rx_burst *burst, uint64_t packets)
{
	if (likely(!burst->unmatched))
		return packets;
	for (unsigned i = 0; i < burst->n; i++)
		packets &= ~((uint64_t)(burst->frames.policy[i] == CLASSIFY_NONE) << i);
	return packets;
}

/*
 * Notes a packet that its policy would sample, if the worker's bound allows, and begins to fetch
 * what will be written for it.
 */
void judge_sample(struct worker *worker, struct rx_burst *burst, unsigned i, uint32_t cost);

/* For another policy, in that slot, that the packet is charged to. */
void judge_sample_of(
	struct worker *worker, struct rx_burst *burst, unsigned i, uint32_t slot, uint32_t cost);

/* judge_sample() of a burst that is of one policy, of which police_samples_burst() says which. */
static inline void judge_sample_alike(struct worker *worker, const struct policy_state *state,
	struct rx_burst *burst, const uint32_t *costs, uint16_t n)
{
	for (uint64_t samples = police_samples_burst(state, n); samples; samples &= samples - 1) {
		unsigned i = (unsigned)__builtin_ctzll(samples);

		judge_sample(worker, burst, i, costs[i]);
	}
}

/* police_bytes() of every packet by one accounting: with vectors, as those are masks. */
void judge_costs_alike(
	uint32_t *costs, const struct rx_burst *burst, enum accounting accounting, uint16_t n);

/* Begins to fetch the meter of a packet's source; whether it can be added, see sourced_fetch(). */
static inline uint64_t judge_fetch_source(
	struct rx_burst *burst, unsigned i, const struct sourced_policy *policy, uint32_t bytes)
{
	struct sourced_packet packet = {.bytes = bytes};

	packet.family = frames_source(&burst->frames, i, &packet.src);
	return sourced_fetch(&burst->sourced, i, policy, &packet);
}

/* Adds a packet of a policy that has a meter for each source to those that are metered together. */
static inline void judge_add_source(struct rx_burst *burst, unsigned i, struct policy_state *state)
{
	const struct sourced_policy policy = sourced_policy(state);
	const uint32_t bytes = judge_bytes(state, burst, i);

	sourced_add(&burst->sourced, &policy, judge_fetch_source(burst, i, &policy, bytes) << i);
}

/* All n packets of a burst that is of one such policy, and no others. */
static inline void judge_add_sources(struct rx_burst *burst, struct policy_state *state, uint16_t n)
{
	const struct sourced_policy policy = sourced_policy(state);
	uint32_t bytes[BURST];
	uint64_t packets = 0;

	sourced_begin(&burst->sourced);
	judge_costs_alike(bytes, burst, police_accounting(state), n);
	for (uint16_t i = 0; i < n; i++)
		packets |= judge_fetch_source(burst, i, &policy, bytes[i]) << i;
	sourced_add(&burst->sourced, &policy, packets);
}

/* judge_flow_hash() where the device has not told it: kept, as it will be asked for again. */
uint32_t judge_keep_flow_hash(struct rx_burst *burst, unsigned i);

/* The hash of a packet's flow. */
static inline uint32_t judge_flow_hash(struct rx_burst *burst, unsigned i)
{
	if (likely(burst_has_hash(burst, i)))
		return burst->mbufs[i]->hash.rss;
	return judge_keep_flow_hash(burst, i);
}

#endif
