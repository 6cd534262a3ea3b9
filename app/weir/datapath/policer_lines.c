/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain policies are decided from and into their line, by arithmetic without a branch on the
 * verdict. Packets without a policy are charged to a line that is never empty.
 */

#include "policer.h"
#include "police/eights.h"

static_assert(POLICE_NONE == CLASSIFY_NONE, "eights have the numbers of frames");

/* How plain policies get tokens: earned, borrowed, or borrowed when limits might have ended. */
enum loan { LOAN_NONE, LOAN_SHARED, LOAN_ENDED };

static enum loan loan_of(const struct worker *w)
{
	if (!w->shared_buckets)
		return LOAN_NONE;
	return policer_limits_end(w) ? LOAN_ENDED : LOAN_SHARED;
}

/* Lends when limits might have ended. A packet without a policy borrows nothing. */
static __rte_noinline void lend_tokens(
	struct worker *w, struct policy_state *state, uint32_t policy, uint32_t bytes, uint64_t now)
{
	if (policy != CLASSIFY_NONE)
		policer_lend(w, state, policy, bytes, now);
}

/* police_over() of a policy that can borrow. */
static __rte_always_inline uint64_t charge_plain(struct worker *w, struct policy_state *state,
	uint32_t policy, uint32_t bytes, uint64_t now, enum loan loan)
{
	if (loan == LOAN_SHARED)
		police_borrow(state, &w->shared_buckets[policy], bytes, now);
	else if (loan == LOAN_ENDED)
		lend_tokens(w, state, policy, bytes, now);
	return police_over(state, bytes, now);
}

/*
 * Fills in states[], with `none` for packets that are not charged. Begins to fetch the lines if all
 * packets are charged.
 */
static void states_of(struct policy_state *states[], struct worker *w, const struct rx_burst *burst,
	uint64_t matched, struct policy_state *none)
{
	const uint32_t *policies = burst->frames.policy;
	struct policy_state *first = w->policies;
	uint16_t n = burst->n;

	if (unlikely(matched != burst_mask(n))) {
		for (uint16_t i = 0; i < n; i++)
			states[i] = matched >> i & 1 ? &first[policies[i]] : none;
		return;
	}
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++) {
		states[i] = &first[policies[i]];
		rte_prefetch0(states[i]);
	}
}

/*
 * police_bytes() of every packet by each accounting: vectors instead of a branch for each packet.
 */
static void costs_of(uint32_t costs[][BURST], const struct rx_burst *burst)
{
	for (unsigned i = 0; i < BURST; i++) {
		costs[ACCOUNTING_L2][i] = burst->len[i];
		costs[ACCOUNTING_L3][i] = burst->len[i] - burst->frames.uncharged[i];
		costs[ACCOUNTING_WIRE][i] = burst->len[i] + POLICE_WIRE;
	}
}

/* Tries and samples a packet of police_is_slow(), before it is charged. */
static __rte_noinline void look_aside(
	struct worker *w, struct rx_burst *burst, unsigned i, uint32_t bytes, uint64_t now)
{
	struct policy_state *state = burst_policy(w, burst, i);

	if (unlikely(police_trial(state)))
		try_packet(w, state, burst, i, now);
	if (police_samples(state))
		policer_sample(w, burst, i, bytes);
}

static uint64_t reverse_bits(uint64_t bits)
{
	bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
	bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
	bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
	return __builtin_bswap64(bits);
}

/* Charges one packet. Returns all ones if it does not pass, otherwise 0. */
static __rte_always_inline uint64_t charge_line(struct worker *w, struct rx_burst *burst, size_t i,
	struct policy_state *state, uint32_t cost, uint64_t now, enum loan loan)
{
	if (unlikely(police_is_slow(state)))
		look_aside(w, burst, (unsigned)i, cost, now);
	return charge_plain(w, state, burst->frames.policy[i], cost, now, loan);
}

static __rte_always_inline uint64_t charge_lines(struct worker *w, struct rx_burst *burst,
	const struct policer_lines *lines, uint16_t n, uint64_t now, enum loan loan)
{
	uint64_t drops = 0; /* lowest bit: the last packet */

	for (size_t i = 0; i < n; i++) {
		struct policy_state *state = lines->states[i];
		uint32_t cost = lines->costs[police_accounting(state)][i];

		drops = 2 * drops - charge_line(w, burst, i, state, cost, now, loan);
	}
	return reverse_bits(drops) >> (64 - n);
}

void policer_lines_find(struct policer_lines *lines, struct worker *w, const struct rx_burst *burst,
	uint64_t matched, uint64_t now)
{
	lines->none = (struct policy_state){
		.bucket.tokens = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE,
		.bucket.fraction = police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2),
		.bucket.last = now,
		.limit.burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE,
	};
	states_of(lines->states, w, burst, matched, &lines->none);
	costs_of(lines->costs, burst); /* the lines arrive meanwhile */
}

uint64_t policer_lines_charge(
	struct policer_lines *lines, struct worker *w, struct rx_burst *burst, uint64_t now)
{
	enum loan loan = loan_of(w);
	uint16_t n = burst->n;

	if (unlikely(loan == LOAN_ENDED))
		return charge_lines(w, burst, lines, n, now, LOAN_ENDED);
	if (loan == LOAN_SHARED)
		return charge_lines(w, burst, lines, n, now, LOAN_SHARED);
	return charge_lines(w, burst, lines, n, now, LOAN_NONE);
}

/* Charges packets that police_charge_eights() has left. Returns those that do not pass. */
static __rte_noinline uint64_t charge_left(
	struct worker *w, struct rx_burst *burst, uint64_t left, uint64_t now, enum loan loan)
{
	uint64_t drops = 0;

	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		struct policy_state *state = burst_policy(w, burst, i);
		uint32_t cost = policer_bytes(state, burst, i);

		drops |= charge_line(w, burst, i, state, cost, now, loan) & (left & -left);
	}
	return drops;
}

bool policer_lines_charge_eights(
	struct worker *w, struct rx_burst *burst, uint64_t matched, uint64_t now, uint64_t *drops)
{
	enum loan loan = loan_of(w);
	struct police_eights packets = {
		.lines = w->policies,
		.policies = burst->frames.policy,
		.len = burst->len,
		.uncharged = burst->frames.uncharged,
		.which = matched,
		.lends = loan == LOAN_SHARED,
	};
	uint16_t n = burst->n;

	if (!w->own.eights || unlikely(loan == LOAN_ENDED))
		return false;
	packets.repeated = police_find_repeated(burst->frames.policy, n);
	if (packets.repeated & (packets.repeated - 1))
		return false;
	*drops = 0;
	for (unsigned at = 0; at < n;) {
		uint64_t left = 0;

		at = police_charge_eights(&packets, at, n, now, drops, &left);
		if (left == 0) { /* the rest is less than eight */
			left = at < n ? matched & -(UINT64_C(1) << at) : 0;
			at = n;
		}
		if (left)
			*drops |= charge_left(w, burst, left, now, loan);
	}
	return true;
}
