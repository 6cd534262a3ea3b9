/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "decide.h"

#include <string.h>

#include <rte_prefetch.h>

#include "shape_in.h"
#include "police/charge.h"
#include "police/sample.h"
#include "police/borrow.h"
#include "police/expire.h"
#include "packet/mark.h"
#include "police/shaped.h"
#include "trying.h"
#include "worker_own.h"

/*
 * Marks a packet, if its bytes are ours alone and its IP header is in its first segment: to copy
 * what others share would take a buffer that may not be there.
 */
static bool mark_packet(struct rte_mbuf *m, const struct packet *packet, int how)
{
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
	       mark_frame(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, packet, how);
}

/* Whether a packet's sender would take CoDel's mark for what it is. */
static bool speaks_ecn(struct rx_burst *burst, unsigned i)
{
	return mark_understood(burst->frames.data[i], burst->frames.len[i], burst_packet(burst, i));
}

/*
 * The device's hash for a sample of flows. Its low bits have chosen the queue, and those that one
 * worker sees may all be alike: bring the others down to where the sample looks.
 */
static uint32_t spread_hash(uint32_t hash)
{
	hash *= POLICE_WEYL;
	return hash ^ hash >> 16;
}

/* The hash of a packet's flow; false if the policy does not want to see it. */
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

/*
 * Notes a packet that its policy would sample, if the worker's bound allows, and begins to fetch
 * what will be written for it. Out of line, as few packets come here and the others need the
 * registers.
 */
static __rte_noinline void sample_packet(
	struct worker *w, struct rx_burst *burst, unsigned i, uint32_t cost)
{
	uint32_t policy = burst->frames.policy[i], hash;
	const struct policy_state *state = &w->policies[policy];
	uint64_t now = burst->frames.now;

	if (!sample_bound_takes(&worker_own(w)->bound, now) ||
		!sampled_hash(state, burst, i, &hash))
		return;
	burst->sampled[burst->n_sampled++] = (struct sampled){
		.sample = w->samples[policy],
		.bytes = police_sample_bytes(state, cost)
			 << sample_bound_took(&worker_own(w)->bound, now),
		.hash = hash,
	};
	flow_sample_prefetch(w->samples[policy], hash);
}

/*
 * judge_packets() for policies whose packets wait. One may be marked if it says so, or not: at
 * worst it is dropped when it should be.
 */
static bool judge_shaped(struct worker *w, struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now)
{
	uint32_t bytes = police_bytes(state, burst->frames.l2_len[i], burst->len[i]);
	const struct held held = {
		.m = burst->mbufs[i],
		.slot = burst->frames.policy[i],
		.cost = state->other->count == COUNT_PACKETS ? 1 : bytes,
		.path = burst->path,
		.ecn = shaped_marks(state) && speaks_ecn(burst, i),
	};
	enum shape_verdict verdict;

	if (police_samples(state))
		sample_packet(w, burst, i, held.cost);
	verdict = shape_in_arrive(w, state, &held, now);
	burst->held |= (uint64_t)(verdict == SHAPE_WAITS) << i;
	burst->n_held += verdict == SHAPE_WAITS;
	burst->refused += verdict > SHAPE_WAITS;
	return verdict == SHAPE_PASSES;
}

/* What a policy that is not plain takes from a shared bucket; its limit may have ended. */
static void lend_other(
	struct worker *w, struct policy_state *state, uint32_t policy, uint32_t cost, uint64_t now)
{
	struct shared_bucket *shared = &w->shared_buckets[policy];

	if (unlikely(worker_own(w)->ended && w->ending[policy]))
		police_borrow_ended(
			state, shared, cost, now, w->ending[policy], worker_own(w)->ended);
	else
		police_borrow_other(state, shared, cost, now);
}

/* judge_packets() for policies that are not plain. */
static bool judge_other(struct worker *w, struct policy_state *state, struct rx_burst *burst,
	unsigned i, uint64_t now)
{
	const struct packet *packet = burst_packet(burst, i);
	const uint8_t *data = burst->frames.data[i];
	uint32_t cost = police_cost(state, packet, data, burst->len[i], now);
	enum verdict verdict;
	bool marked;

	if (police_samples(state))
		sample_packet(w, burst, i, cost);
	if (sourced_knows(&burst->sourced, i)) {
		verdict = police_enact(
			state, packet, data, cost, now, sourced_conforms(&burst->sourced, i));
	} else {
		if (police_borrows(state))
			lend_other(w, state, burst->frames.policy[i], cost, now);
		verdict = police_charge(state, packet, data, cost, now);
	}
	if (verdict == VERDICT_DROP)
		burst->unpaid += police_is_quota(state);
	if (verdict != VERDICT_MARK)
		return verdict != VERDICT_DROP;
	marked = mark_packet(burst->mbufs[i], packet, police_mark(state));
	police_marked(state, packet, data, cost, now, marked);
	burst->unmarkable += !marked;
	return marked;
}

/* Judges those that need not look into the packet: the mask that says "dropped". */
static uint64_t judge_total(
	struct policy_state *state, struct rx_burst *burst, unsigned i, uint64_t now)
{
	uint32_t bytes = police_bytes(state, burst->frames.l2_len[i], burst->len[i]);
	uint64_t over = police_over_total(state, bytes, now);

	burst->unpaid += over & 1;
	return over;
}

/* A hash that the device has not told is kept, as it will be asked for again. */
static __rte_noinline uint32_t keep_flow_hash(struct rx_burst *burst, unsigned i)
{
	struct packet *packet = burst_packet(burst, i);

	packet->flow_hash = packet_flow_hash(packet, burst->frames.data[i]);
	return packet->flow_hash;
}

/* The hash of a packet's flow. */
static inline uint32_t burst_flow_hash(struct rx_burst *burst, unsigned i)
{
	return burst_has_hash(burst, i) ? burst->mbufs[i]->hash.rss : keep_flow_hash(burst, i);
}

/* Judges where it takes to know the packet's flow. */
static __rte_noinline uint64_t judge_flow(
	struct policy_state *state, struct rx_burst *burst, unsigned i, uint32_t bytes)
{
	return police_over_flow(state, bytes, burst_flow_hash(burst, i));
}

/* Judges those that flows share, whose buckets have been refilled. */
static __rte_always_inline uint64_t judge_phantom(struct worker *w, struct policy_state *state,
	struct rx_burst *burst, unsigned i, uint32_t bytes)
{
	uint64_t over;

	if (unlikely(police_samples(state)))
		sample_packet(w, burst, i, bytes);
	over = police_over_line(state, bytes);
	return over == POLICE_ASKS_FLOW ? judge_flow(state, burst, i, bytes) : over;
}

/*
 * Refills what flows share, and begins to fetch what judge_flow() will read. The others are decided
 * by the line that is refilled: nothing else is fetched for them, and no flow hashed.
 */
static __rte_noinline void fetch_phantoms(struct policy_state *const *states,
	struct rx_burst *burst, uint32_t costs[][BURST], uint16_t n, uint64_t now)
{
	uint64_t phantoms = 0;

	for (unsigned i = 0; i < n; i++) {
		struct policy_state *state = states[i];
		uint32_t cost = costs[police_accounting(state)][i];

		if (police_is_phantom(state))
			phantoms |= (uint64_t)police_fetch_phantom(state, cost, now) << i;
	}
	for (; phantoms; phantoms &= phantoms - 1) {
		unsigned i = (unsigned)__builtin_ctzll(phantoms);

		police_fetch_class(states[i], burst_flow_hash(burst, i));
	}
}

/* Begins to fetch the queues that judge_shaped() will put packets into, and what they put there. */
static __rte_noinline void fetch_queues(
	struct policy_state *const *states, struct rx_burst *burst, uint16_t n)
{
	uint64_t shaped = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!police_is_shaped(states[i]))
			continue;
		shaped_fetch(states[i]);
		rte_prefetch0(shape_in_of(burst->mbufs[i]));
		shaped |= UINT64_C(1) << i;
	}
	for (; shaped; shaped &= shaped - 1)
		shape_prefetch_tail(&states[__builtin_ctzll(shaped)]->other->shape->queue);
}

/* How plain policies come by their tokens: earned, or borrowed, also by a limit that has ended. */
enum loan { LOAN_NONE, LOAN_SHARED, LOAN_ENDED };

static enum loan loan_of(const struct worker *w)
{
	if (!w->shared_buckets)
		return LOAN_NONE;
	return worker_own_const(w)->ended ? LOAN_ENDED : LOAN_SHARED;
}

/* Limits may have ended. A packet without a policy has nothing to borrow. */
static __rte_noinline void lend_tokens(
	struct worker *w, struct policy_state *state, uint32_t policy, uint32_t bytes, uint64_t now)
{
	if (policy == CLASSIFY_NONE)
		return;
	if (unlikely(worker_own(w)->ended && w->ending[policy]))
		police_borrow_ended(state, &w->shared_buckets[policy], bytes, now,
			w->ending[policy], worker_own(w)->ended);
	else
		police_borrow(state, &w->shared_buckets[policy], bytes, now);
}

/* police_over() of a policy that may be borrowed what it takes. */
static __rte_always_inline uint64_t charge_plain(struct worker *w, struct policy_state *state,
	uint32_t policy, uint32_t bytes, uint64_t now, enum loan loan)
{
	if (loan == LOAN_SHARED)
		police_borrow(state, &w->shared_buckets[policy], bytes, now);
	else if (loan == LOAN_ENDED)
		lend_tokens(w, state, policy, bytes, now);
	return police_over(state, bytes, now);
}

#define JUDGE_PLAIN 2 /* neither of police_over()'s two answers */

/* judge_packets() of what is not just charged, trials aside; a plain one's packet is sampled. */
static __rte_always_inline uint64_t judge_untried(struct worker *w, struct policy_state *state,
	struct rx_burst *burst, unsigned i, uint64_t now)
{
	uint32_t bytes;

	if (police_is_total(state))
		return judge_total(state, burst, i, now);
	if (police_is_shaped(state)) /* first: no other question reads but the state's line */
		return -(uint64_t)!judge_shaped(w, state, burst, i, now);
	if (police_is_extended(state))
		return -(uint64_t)!judge_other(w, state, burst, i, now);
	bytes = police_bytes(state, burst->frames.l2_len[i], burst->len[i]);
	if (police_is_phantom(state)) {
		token_bucket_refill(&state->bucket, &state->limit, now);
		return judge_phantom(w, state, burst, i, bytes);
	}
	sample_packet(w, burst, i, bytes);
	return JUDGE_PLAIN;
}

/* A plain policy that has a trial comes here with every packet, and most are not sampled. */
static __rte_noinline uint64_t judge_tried(struct worker *w, struct policy_state *state,
	struct rx_burst *burst, unsigned i, uint64_t now)
{
	try_packet(w, state, burst, i, now);
	if (police_is_simple(state) && !police_samples(state))
		return JUDGE_PLAIN;
	return judge_untried(w, state, burst, i, now);
}

/*
 * judge_packets() of policies that are not plain: the mask that says "dropped". What is plain, and
 * was to be sampled or tried, is left to be charged.
 */
static __rte_noinline uint64_t judge_aside(
	struct worker *w, struct rx_burst *burst, unsigned i, uint64_t now)
{
	struct policy_state *state = &w->policies[burst->frames.policy[i]];

	if (unlikely(police_trial(state)))
		return judge_tried(w, state, burst, i, now);
	return judge_untried(w, state, burst, i, now);
}

/* Begins to fetch the meters of all sources that have one. */
static __rte_noinline void add_sources(struct worker *w, struct rx_burst *burst, uint16_t n)
{
	const uint32_t *policies = burst->frames.policy;

	for (uint16_t i = 0; i < n; i++) {
		struct policy_state *state;

		if (policies[i] == CLASSIFY_NONE)
			continue;
		state = &w->policies[policies[i]];
		if (police_sources(state))
			sourced_add(&burst->sourced, i, state, burst_packet(burst, i),
				burst->frames.data[i], burst->len[i]);
	}
}

/* The state of each packet's policy, which begins to be fetched; of those without one, `none`. */
static void states_of(struct policy_state *states[], struct worker *w, struct rx_burst *burst,
	uint16_t n, struct policy_state *none)
{
	const uint32_t *policies = burst->frames.policy;
	struct policy_state *first = w->policies;

#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++) {
		if (unlikely(policies[i] == CLASSIFY_NONE)) {
			states[i] = none;
			continue;
		}
		states[i] = &first[policies[i]];
		rte_prefetch0(states[i]);
	}
	burst->sourced.packets = 0;
	if (unlikely(worker_own(w)->view.n_sourced))
		add_sources(w, burst, n);
}

/* Leaves those of `passes`, a bit each, at the front, in order. */
static uint16_t split_passed_dropped(
	struct rte_mbuf **mbufs, uint64_t passes, uint16_t n, struct rte_mbuf **dropped)
{
	unsigned n_pass = 0;

	if (passes == UINT64_MAX >> (64 - n))
		return n;
	if (passes == 0) {
		memcpy(dropped, mbufs, n * sizeof(*dropped));
		return 0;
	}
	for (unsigned i = 0; i < n; i++, passes >>= 1) {
		struct rte_mbuf *m = mbufs[i];

		mbufs[n_pass] = m;
		dropped[i - n_pass] = m;
		n_pass += passes & 1;
	}
	return (uint16_t)n_pass;
}

/* police_bytes() of every packet by every accounting: with vectors, where one by one would ask. */
static void costs_of(uint32_t costs[][BURST], const struct rx_burst *burst)
{
	for (unsigned i = 0; i < BURST; i++) {
		costs[ACCOUNTING_L2][i] = burst->len[i];
		costs[ACCOUNTING_L3][i] = burst->len[i] - burst->frames.l2_len[i];
		costs[ACCOUNTING_WIRE][i] = burst->len[i] + POLICE_WIRE;
	}
}

/* Which packets of a burst are dropped, a bit each, that of the last one lowest. */
static __rte_always_inline uint64_t judge_packets(struct worker *w, struct rx_burst *burst,
	struct policy_state *const *states, uint32_t costs[][BURST], uint16_t n, uint64_t now,
	enum loan loan, bool phantoms)
{
	uint64_t drops = 0;

	for (size_t i = 0; i < n; i++) {
		struct policy_state *state = states[i];
		uint32_t cost = costs[police_accounting(state)][i];
		uint64_t over = JUDGE_PLAIN;

		if (phantoms && police_is_phantom_alone(state))
			over = judge_phantom(w, state, burst, i, cost);
		else if (unlikely(police_is_slow(state)))
			over = judge_aside(w, burst, i, now);
		if (over == JUDGE_PLAIN)
			over = charge_plain(w, state, burst->frames.policy[i], cost, now, loan);
		drops = 2 * drops - over;
	}
	return drops;
}

static uint64_t reverse_bits(uint64_t bits)
{
	bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
	bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
	bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
	return __builtin_bswap64(bits);
}

/* Those that wait are not to be dropped: the others close up. */
static __rte_noinline void leave_held(
	struct rte_mbuf **dropped, uint64_t passes, uint64_t held, uint16_t n)
{
	unsigned from = 0, to = 0;

	for (unsigned i = 0; i < n; i++) {
		if (passes >> i & 1)
			continue;
		dropped[to] = dropped[from++];
		to += !(held >> i & 1);
	}
}

/* Those that are not to pass: no packets without a policy either. */
static __rte_noinline void refuse_unparsed(struct worker *w, struct rx_burst *burst)
{
	burst->n_refused = (uint16_t)__builtin_popcountll(burst->frames.refused);
	counter_add(&w->counters.dropped[DROP_UNPARSED], burst->n_refused);
}

/* Whatever became of them. */
static __rte_noinline void count_unparsed(struct worker *w, struct rx_burst *burst, uint16_t n)
{
	uint64_t unparsed = burst->frames.unparsed & UINT64_MAX >> (64 - n);

	for (; unparsed; unparsed &= unparsed - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(unparsed);

		counter_add(&w->counters.unparsed[burst->frames.packet[i].unparsed], 1);
	}
}

static uint16_t decide_each(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	/* Plain, never empty and never full: packets without a policy need no question. */
	struct policy_state none = {
		.bucket.tokens = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE,
		.bucket.fraction = police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L2),
		.bucket.last = now,
		.limit.burst = TOKEN_BUCKET_MAX_BURST << TOKEN_BYTE,
	};
	bool phantoms = __atomic_load_n(&w->phantoms, __ATOMIC_RELAXED);
	enum loan loan = loan_of(w);
	uint32_t costs[ACCOUNTING_WIRE + 1][BURST];
	struct policy_state *states[BURST];
	uint64_t drops, passes;
	uint16_t n_pass;

	states_of(states, w, burst, n, &none);
	costs_of(costs, burst);
	if (unlikely(phantoms))
		fetch_phantoms(states, burst, costs, n, now);
	if (unlikely(worker_own(w)->view.shapes))
		fetch_queues(states, burst, n);
	if (unlikely(burst->sourced.packets))
		sourced_meter(&burst->sourced, now);
	if (unlikely(phantoms || loan == LOAN_ENDED))
		drops = judge_packets(w, burst, states, costs, n, now, loan, true);
	else if (loan == LOAN_SHARED)
		drops = judge_packets(w, burst, states, costs, n, now, LOAN_SHARED, false);
	else
		drops = judge_packets(w, burst, states, costs, n, now, LOAN_NONE, false);
	if (unlikely(burst->frames.refused))
		refuse_unparsed(w, burst);
	counter_add(&w->counters.unmatched_packets, none.packets - burst->n_refused);
	passes = reverse_bits(~drops) >> (64 - n) & ~burst->frames.refused;
	n_pass = split_passed_dropped(burst->mbufs, passes, n, dropped);
	if (unlikely(burst->n_held))
		leave_held(dropped, passes, burst->held, n);
	return n_pass;
}

/* police_charge_burst() of a bucket that is borrowed to: at one go, or else packet by packet. */
static uint64_t charge_borrowed(struct policy_state *state, struct shared_bucket *shared,
	const uint32_t *costs, uint16_t n, uint64_t now)
{
	uint32_t refused = UINT32_MAX; /* as much or more will be, at this tick */
	uint64_t sum = 0, passes = 0;

	for (uint16_t i = 0; i < n; i++)
		sum += costs[i];
	if (police_borrow(state, shared, sum, now))
		return police_charge_burst(state, costs, n, now);
	for (uint16_t i = 0; i < n; i++) {
		if (costs[i] < refused && !police_borrow(state, shared, costs[i], now))
			refused = costs[i];
		if (police_charge_simple(state, costs[i], now) == VERDICT_PASS)
			passes |= UINT64_C(1) << i;
	}
	return passes;
}

/* police_bytes() of every packet by one accounting: with vectors, as those are masks. */
static void costs_alike(
	uint32_t *costs, const struct rx_burst *burst, enum accounting accounting, uint16_t n)
{
	const uint32_t l2 = accounting == ACCOUNTING_L3 ? UINT32_MAX : 0;
	const uint32_t more = accounting == ACCOUNTING_WIRE ? POLICE_WIRE : 0;

	for (uint16_t i = 0; i < n; i++)
		costs[i] = burst->len[i] - (burst->frames.l2_len[i] & l2) + more;
}

/* A whole burst of one plain policy. */
static uint16_t decide_alike(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	uint32_t policy = burst->frames.policy[0], costs[BURST];
	struct policy_state *state = &w->policies[policy];
	uint64_t passes;

	if (unlikely(police_trial(state)))
		try_burst(w, state, burst, n, now);
	costs_alike(costs, burst, police_accounting(state), n);
	for (uint64_t samples = police_samples_burst(state, n); samples; samples &= samples - 1) {
		unsigned i = (unsigned)__builtin_ctzll(samples);

		sample_packet(w, burst, i, costs[i]);
	}
	if (w->shared_buckets)
		passes = charge_borrowed(state, &w->shared_buckets[policy], costs, n, now);
	else
		passes = police_charge_burst(state, costs, n, now);
	return split_passed_dropped(burst->mbufs, passes, n, dropped);
}

/* Charges where each packet's flow counts. */
static __rte_noinline uint64_t charge_flows(struct policy_state *state, struct rx_burst *burst,
	const uint32_t *costs, uint16_t n, uint64_t now)
{
	uint32_t hashes[BURST];

	for (uint16_t i = 0; i < n; i++)
		hashes[i] = burst_flow_hash(burst, i);
	return police_charge_flows(state, costs, hashes, n, now);
}

/* A whole burst of one policy that police_is_phantom(). */
static uint16_t decide_flows(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	struct policy_state *state = &w->policies[burst->frames.policy[0]];
	uint32_t costs[BURST], least = UINT32_MAX;
	uint64_t sum = 0;

	if (unlikely(police_trial(state)))
		try_burst(w, state, burst, n, now);
	costs_alike(costs, burst, police_accounting(state), n);
	for (uint16_t i = 0; i < n; i++) {
		least = costs[i] < least ? costs[i] : least;
		sum += costs[i];
	}
	for (uint64_t samples = police_samples_burst(state, n); samples; samples &= samples - 1) {
		unsigned i = (unsigned)__builtin_ctzll(samples);

		sample_packet(w, burst, i, costs[i]);
	}
	if (police_charge_free(state, n, sum, now))
		return n;
	if (police_refuse_all(state, n, sum, least))
		return split_passed_dropped(burst->mbufs, 0, n, dropped);
	return split_passed_dropped(
		burst->mbufs, charge_flows(state, burst, costs, n, now), n, dropped);
}

static bool all_same_policy(const uint32_t *policies, uint16_t n)
{
	uint32_t different = 0;

	for (uint16_t i = 0; i < n; i++)
		different |= policies[i] ^ policies[0];
	return different == 0;
}

uint16_t decide(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	bool alike = all_same_policy(burst->frames.policy, n) && burst->frames.refused == 0;
	uint32_t first = burst->frames.policy[0];
	uint16_t n_pass;

	burst->unmarkable = 0;
	burst->unpaid = 0;
	burst->refused = 0;
	burst->n_refused = 0;
	burst->n_held = 0;
	burst->held = 0;
	burst->n_sampled = 0;
	if (alike && first == CLASSIFY_NONE) {
		counter_add(&w->counters.unmatched_packets, n);
		if (unlikely(burst->frames.unparsed))
			count_unparsed(w, burst, n);
		return n;
	}
	if (alike && unlikely(worker_own(w)->ended))
		alike = false; /* what is borrowed is looked at packet by packet */
	if (alike && police_is_simple(&w->policies[first]))
		n_pass = decide_alike(w, burst, n, now, dropped);
	else if (alike && police_is_phantom(&w->policies[first]))
		n_pass = decide_flows(w, burst, n, now, dropped);
	else
		n_pass = decide_each(w, burst, n, now, dropped);
	counter_add(&w->counters.dropped[DROP_LIMIT], n - n_pass - burst->unmarkable -
							      burst->unpaid - burst->refused -
							      burst->n_held - burst->n_refused);
	if (unlikely(burst->frames.unparsed))
		count_unparsed(w, burst, n);
	counter_add(&w->counters.dropped[DROP_QUOTA], burst->unpaid);
	counter_add(&w->counters.dropped[DROP_UNMARKABLE], burst->unmarkable);
	return n_pass;
}
