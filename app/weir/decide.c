/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "decide.h"

#include <string.h>

#include <rte_prefetch.h>

#include "police/mark.h"

static bool has_hash(const struct burst *burst, unsigned i)
{
	return burst->rx_hash && burst->mbufs[i]->ol_flags & RTE_MBUF_F_RX_RSS_HASH;
}

/* All that is to be known of a packet, its flow's hash from the device if that tells it. */
static const struct packet *packet_of(struct burst *burst, unsigned i)
{
	struct packet *packet = frames_packet(&burst->frames, i);

	if (has_hash(burst, i))
		packet->flow_hash = burst->mbufs[i]->hash.rss;
	return packet;
}

/*
 * Marks a packet, if its bytes are ours alone and its IP header is in its first segment: to copy
 * what others share would take a buffer that may not be there.
 */
static bool mark(struct rte_mbuf *m, const struct packet *packet, int how)
{
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
	       mark_frame(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, packet, how);
}

/* The hash of a packet's flow; false if the policy does not want to see it. */
static bool sampled_hash(
	const struct policy_state *state, struct burst *burst, unsigned i, uint32_t *hash)
{
	const struct packet *packet;

	if (has_hash(burst, i) && !police_samples_tcp_only(state)) {
		*hash = burst->mbufs[i]->hash.rss;
		return true;
	}
	packet = packet_of(burst, i);
	*hash = packet_flow_hash(packet, burst->frames.data[i]);
	return police_samples_packet(state, packet);
}

/*
 * Notes a packet that is sampled, and begins to fetch what will be written for it. Out of line, as
 * few packets come here and the others need the registers.
 */
static __rte_noinline void sample(struct worker *w, struct burst *burst, unsigned i, uint32_t cost)
{
	uint32_t policy = burst->frames.policy[i], hash;
	const struct policy_state *state = &w->policies[policy];

	if (!sampled_hash(state, burst, i, &hash))
		return;
	burst->sampled[burst->n_sampled++] = (struct sampled){
		.sample = w->samples[policy],
		.bytes = police_sample_bytes(state, cost),
		.hash = hash,
	};
	flow_sample_prefetch(w->samples[policy], hash);
}

/* judge() for policies that are not plain. */
static __rte_noinline bool judge_other(
	struct worker *w, struct burst *burst, unsigned i, uint64_t now)
{
	struct policy_state *state = &w->policies[burst->frames.policy[i]];
	const struct packet *packet = packet_of(burst, i);
	const uint8_t *data = burst->frames.data[i];
	uint32_t cost = police_cost(state, packet, data, burst->len[i], now);
	enum verdict verdict;
	bool marked;

	if (police_samples(state))
		sample(w, burst, i, cost);
	verdict = police_charge(state, packet, data, cost, now);
	if (verdict != VERDICT_MARK)
		return verdict != VERDICT_DROP;
	marked = mark(burst->mbufs[i], packet, police_mark(state));
	police_marked(state, packet, data, cost, now, marked);
	burst->unmarkable += !marked;
	return marked;
}

/* Samples, meters and counts a packet, and marks it if that is its fate; whether it may pass. */
static inline bool judge(
	struct worker *w, struct policy_state *state, struct burst *burst, unsigned i, uint64_t now)
{
	uint32_t bytes;

	if (unlikely(!police_is_plain(state)))
		return judge_other(w, burst, i, now);
	bytes = police_bytes(state, burst->frames.l2_len[i], burst->len[i]);
	if (unlikely(police_samples(state)))
		sample(w, burst, i, bytes);
	return police_charge_plain(state, bytes, now) == VERDICT_PASS;
}

static void prefetch_sources(struct worker *w, struct burst *burst, uint16_t n)
{
	const uint32_t *policies = burst->frames.policy;

	for (uint16_t i = 0; i < n; i++)
		if (policies[i] != CLASSIFY_NONE && police_sources(&w->policies[policies[i]]))
			police_prefetch_source(&w->policies[policies[i]], packet_of(burst, i),
				burst->frames.data[i]);
}

static void prefetch_burst(struct worker *w, struct burst *burst, uint16_t n)
{
	const uint32_t *policies = burst->frames.policy;

	for (uint16_t i = 0; i < n; i++)
		if (policies[i] != CLASSIFY_NONE)
			rte_prefetch0(&w->policies[policies[i]]);
	if (unlikely(w->n_sourced))
		prefetch_sources(w, burst, n);
}

static uint16_t decide_each(
	struct worker *w, struct burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	struct policy_state *policies = w->policies;
	unsigned n_pass = 0, unmatched = 0;

	prefetch_burst(w, burst, n);
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = burst->mbufs[i];
		bool passes = true;

		if (burst->frames.policy[i] == CLASSIFY_NONE)
			unmatched++;
		else
			passes = judge(w, &policies[burst->frames.policy[i]], burst, i, now);
		/* Both stores, one of which counts: no branch on the verdict. */
		burst->mbufs[n_pass] = m;
		dropped[i - n_pass] = m;
		n_pass += passes;
	}
	counter_add(&w->counters.unmatched_packets, unmatched);
	return (uint16_t)n_pass;
}

/* Leaves those of `passes`, a bit each, at the front, in order. */
static uint16_t divide(
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

/* A whole burst of one plain policy. */
static uint16_t decide_alike(
	struct worker *w, struct burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	struct policy_state *state = &w->policies[burst->frames.policy[0]];
	uint32_t costs[BURST];

	for (uint16_t i = 0; i < n; i++)
		costs[i] = police_bytes(state, burst->frames.l2_len[i], burst->len[i]);
	for (uint64_t samples = police_samples_burst(state, n); samples; samples &= samples - 1) {
		unsigned i = (unsigned)__builtin_ctzll(samples);

		sample(w, burst, i, costs[i]);
	}
	return divide(burst->mbufs, police_charge_burst(state, costs, n, now), n, dropped);
}

static bool all_alike(const uint32_t *policies, uint16_t n)
{
	uint32_t different = 0;

	for (uint16_t i = 0; i < n; i++)
		different |= policies[i] ^ policies[0];
	return different == 0;
}

uint16_t decide(
	struct worker *w, struct burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	bool alike = all_alike(burst->frames.policy, n);
	uint32_t first = burst->frames.policy[0];
	uint16_t n_pass;

	burst->unmarkable = 0;
	burst->n_sampled = 0;
	if (alike && first == CLASSIFY_NONE) {
		counter_add(&w->counters.unmatched_packets, n);
		return n;
	}
	if (alike && police_is_plain(&w->policies[first]))
		n_pass = decide_alike(w, burst, n, now, dropped);
	else
		n_pass = decide_each(w, burst, n, now, dropped);
	counter_add(&w->counters.dropped[DROP_LIMIT], n - n_pass - burst->unmarkable);
	counter_add(&w->counters.dropped[DROP_UNMARKABLE], burst->unmarkable);
	return n_pass;
}
