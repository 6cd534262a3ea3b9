/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a parsed and classified packet to its verdict: charge, sample, meter, action. The worker
 * lcores, the simulator and the replay of captures all decide here: no lock, no allocation, no
 * clock.
 *
 * A packet's way, for callers with time to prefetch between the steps:
 *
 *     cost = police_cost(...);
 *     if (police_samples(...))                     FPS uses the sample
 *             police_sample(..., cost);
 *     verdict = police_charge(..., cost, now);     counts, except for VERDICT_MARK
 *     if (verdict == VERDICT_MARK)
 *             police_marked(..., mark_frame(...)); counts then
 *
 * Plain policies are decided inline, from and into their line; police_charge_burst() decides a
 * burst of one such policy in one call. If flows share the bucket, police_charge_free() decides in
 * the same line while there is no pressure on it; otherwise a struct phantom decides. All others
 * cost a call.
 */
#ifndef WEIR_POLICE_CHARGE_H
#define WEIR_POLICE_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"
#include "police/policy_state.h"

#define POLICE_WIRE 24 /* bytes of FCS, preamble and inter-frame gap */

enum verdict {
	VERDICT_PASS,
	VERDICT_DROP,
	VERDICT_MARK,  /* passes if it can be marked, see police_marked(); otherwise dropped */
	VERDICT_COUNT, /* passes; would have been dropped */
};

/*
 * Charges a packet of police_bytes() to a policy that police_is_total(), and counts it: 0 if it
 * passes, all ones if it is dropped. The state's one writer.
 */
uint64_t police_over_total(struct policy_state *state, uint32_t bytes, uint64_t now);

/* police_over_flow() of a packet that is not refused at a look. */
uint64_t police_over_class(struct policy_state *state, uint32_t bytes, uint32_t hash);

/*
 * Charges n packets (at most 64) to such a policy, which arrived at `now`, and counts them. Returns
 * a bit for each, 1 if it passes.
 */
uint64_t police_charge_flows(struct policy_state *state, const uint32_t *bytes,
	const uint32_t *hashes, unsigned n, uint64_t now);

/* police_cost() and police_charge() of policies that are not plain. */
uint32_t police_cost_other(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t bytes, uint64_t now);
enum verdict police_charge_other(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now);

/*
 * Returns the bytes that a policy charges for a frame of frame_len bytes by its "accounting".
 * l2_len of them are not of layer 3: before the L3 header, or padding.
 */
static inline uint32_t police_bytes(
	const struct policy_state *state, uint32_t l2_len, uint32_t frame_len)
{
	enum accounting accounting = police_accounting(state);

	return frame_len - (accounting == ACCOUNTING_L3 ? l2_len : 0) +
	       (accounting == ACCOUNTING_WIRE ? POLICE_WIRE : 0);
}

/*
 * Returns the cost of a packet: its bytes; 1, when packets are counted; or, when flows are, 1 if it
 * begins a flow and otherwise 0.
 *
 * A flow begins with each TCP SYN without ACK (also a repeated one), and with a UDP packet whose
 * flow has not passed in the last 30 s (lib/datapath/flow/new_flow.h). Only the first fragment
 * counts. A packet whose flags are out of sight counts as a SYN: after headers that are not
 * understood, or a first fragment without them (RFC 1858). All other packets begin nothing. The two
 * directions of a UDP flow are two flows; TCP's other direction begins with a SYN-ACK, and so none.
 */
static inline uint32_t police_cost(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t frame_len, uint64_t now)
{
	uint32_t bytes = police_bytes(state, packet->l2_len + packet->padding, frame_len);

	if (__builtin_expect(!police_is_extended(state), 1))
		return bytes;
	return police_cost_other(state, packet, data, bytes, now);
}

/* Charges a packet to a plain policy, and counts it: 0 if it passes, all ones if it is dropped. */
static inline uint64_t police_over(struct policy_state *state, uint32_t cost, uint64_t now)
{
	uint64_t over;

	token_bucket_refill(&state->bucket, &state->limit, now);
	over = token_bucket_over(&state->bucket, cost);
	/* Sums, not branches, as in the meter. */
	police_count(state, 1, cost, -(uint32_t)over, cost & over);
	return over;
}

/* police_charge() of a plain policy; for loops that have called police_is_simple() already. */
static inline enum verdict police_charge_simple(
	struct policy_state *state, uint32_t cost, uint64_t now)
{
	return police_over(state, cost, now) ? VERDICT_DROP : VERDICT_PASS;
}

/* Costs of some packets: their sum, and that of the cheapest. */
struct police_costs {
	uint64_t sum;
	uint32_t least;
};

static inline struct police_costs police_sum_costs(const uint32_t *costs, unsigned n)
{
	struct police_costs found = {.least = UINT32_MAX};

	for (unsigned i = 0; i < n; i++) {
		found.least = costs[i] < found.least ? costs[i] : found.least;
		found.sum += costs[i];
	}
	return found;
}

/*
 * Charges n packets that cost `sum` bytes and arrived at `now`, and counts them, if there are
 * tokens for all. Returns false, and has only refilled the bucket, if there are not. The state's
 * one writer.
 */
static inline bool police_pass_all(
	struct policy_state *state, uint32_t n, uint64_t sum, uint64_t now)
{
	token_bucket_refill(&state->bucket, &state->limit, now);
	if (state->bucket.tokens < sum << TOKEN_BYTE)
		return false;
	state->bucket.tokens -= sum << TOKEN_BYTE;
	police_count(state, n, sum, 0, 0);
	return true;
}

/*
 * Returns the verdicts of police_charge_simple() for n packets (at most 64) that arrived at `now`,
 * one by one: a bit each, 1 if it passes. Bucket and counters are read and written once. If all
 * packets pass, or none can, they are not compared one by one. *all: police_sum_costs() of them.
 */
static inline uint64_t police_charge_burst(struct policy_state *state, const uint32_t *costs,
	unsigned n, const struct police_costs *all, uint64_t now)
{
	uint64_t sum = all->sum, passed_bytes = 0, passes = 0, tokens;
	uint32_t least = all->least;

	if (police_pass_all(state, n, sum, now))
		return n ? UINT64_MAX >> (64 - n) : 0;
	tokens = state->bucket.tokens;
	if (tokens < (uint64_t)least << TOKEN_BYTE) {
		police_count(state, n, sum, n, sum);
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t conforms = tokens >= (uint64_t)costs[i] << TOKEN_BYTE;
		uint64_t taken = costs[i] & -conforms;

		tokens -= taken << TOKEN_BYTE;
		passed_bytes += taken;
		passes |= conforms << i;
	}
	state->bucket.tokens = tokens;
	police_count(state, n, sum, n - (uint32_t)__builtin_popcountll(passes), sum - passed_bytes);
	return passes;
}

/*
 * Charges packets of so many bytes to a policy that police_is_phantom(), and counts them, if they
 * can pass for any flow: then only the line is read. Otherwise the bucket is refilled, and they
 * remain to be charged. The state's one writer.
 */
static inline bool police_charge_free(
	struct policy_state *state, uint32_t packets, uint64_t bytes, uint64_t now)
{
	token_bucket_refill(&state->bucket, &state->limit, now);
	if (!phantom_take_free(&state->bucket, &state->limit, bytes))
		return false;
	counter_add32(&state->packets, packets);
	counter_add(&state->bytes, bytes);
	return true;
}

/*
 * Counts the dropped packets of such a policy, and their bytes; as packets they are counted
 * already.
 */
static inline void police_count_refused(
	struct policy_state *state, uint32_t packets, uint64_t bytes)
{
	counter_add32(&state->dropped_packets, packets);
	counter_add(&state->phantom->refused, bytes);
}

/*
 * Charges packets that police_charge_free() did not, and counts them, if there are no tokens even
 * for the least of them: all are dropped, for any flow. Otherwise they remain to be charged. The
 * state's one writer.
 */
static inline bool police_refuse_all(
	struct policy_state *state, uint32_t packets, uint64_t bytes, uint32_t least)
{
	if (state->bucket.tokens >= (uint64_t)least << TOKEN_BYTE)
		return false;
	police_count_refused(state, packets, bytes);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	counter_add32(&state->packets, packets);
	counter_add(&state->bytes, bytes);
	return true;
}

#define POLICE_ASKS_FLOW 1 /* neither of police_over()'s two answers */

/*
 * police_over() of a packet of such a policy, by the line alone: it passes for any flow, or there
 * are no tokens for it. Otherwise police_over_flow() is due. The bucket has been refilled, by
 * token_bucket_refill() or police_fetch_phantom(). The state's one writer.
 */
static inline uint64_t police_over_line(struct policy_state *state, uint32_t bytes)
{
	counter_add32(&state->packets, 1);
	counter_add(&state->bytes, bytes);
	if (phantom_take_free(&state->bucket, &state->limit, bytes))
		return 0;
	if (phantom_asks(&state->bucket, &state->limit, bytes))
		return POLICE_ASKS_FLOW;
	police_count_refused(state, 1, bytes);
	return UINT64_MAX;
}

/*
 * police_over() of one that police_is_phantom(), by the hash of the packet's flow, after
 * POLICE_ASKS_FLOW of police_over_line(): it only counts a drop. The state's one writer.
 */
static inline uint64_t police_over_flow(struct policy_state *state, uint32_t bytes, uint32_t hash)
{
	if (!phantom_refuses(state->phantom, hash, &state->bucket, &state->limit, bytes))
		return police_over_class(state, bytes, hash);
	police_count_refused(state, 1, bytes);
	return UINT64_MAX;
}

/*
 * Refills the bucket, and begins to fetch the phantom unless the packet passes regardless of its
 * flow. Returns true if police_over_flow() will be due. That is the first step; the second one
 * reads the data that the first has fetched. The state's one writer.
 */
static inline bool police_fetch_phantom(struct policy_state *state, uint32_t bytes, uint64_t now)
{
	uint64_t left;

	token_bucket_refill(&state->bucket, &state->limit, now);
	left = state->bucket.tokens - ((uint64_t)bytes << TOKEN_BYTE);
	if ((int64_t)left >= (int64_t)phantom_mark(&state->limit))
		return false;
	__builtin_prefetch(state->phantom, 1);
	return (int64_t)left >= 0;
}

static inline void police_fetch_class(const struct policy_state *state, uint32_t hash)
{
	phantom_fetch_class(state->phantom, hash);
}

/*
 * Meters a packet of that cost, and counts it. `data` are the bytes that `packet` was parsed from.
 * With VERDICT_MARK nothing is counted yet: the caller tries to mark and calls police_marked().
 */
static inline enum verdict police_charge(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	if (__builtin_expect(police_is_simple(state), 1))
		return police_charge_simple(state, cost, now);
	return police_charge_other(state, packet, data, cost, now);
}

/*
 * police_charge() of a packet that is metered already (police/sourced.h), of a policy that is not
 * plain.
 */
enum verdict police_enact(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now, bool conforming);

/* Counts a packet of VERDICT_MARK: as passed if it has been marked, otherwise as dropped. */
void police_marked(struct policy_state *state, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now, bool marked);

/*
 * Makes `profile` the limit from tick `now` on: earlier earnings are at the old rate. Its policy
 * and kind are the state's. The state's one writer.
 */
void police_limit(struct policy_state *state, const struct limit_profile *profile, uint64_t now);

#endif
