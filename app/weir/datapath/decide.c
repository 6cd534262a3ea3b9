/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides which packets of a classified burst pass.
 */
#include "decide.h"

#include <string.h>

#include "packet/parse.h"
#include "policer.h"
#include "rx.h"
#include "tap.h"
#include "worker_data.h"

static const struct policer *const policers[POLICERS] = {
	[POLICE_OTHER] = &policer_other,
	[POLICE_SIMPLE] = &policer_simple,
	[POLICE_TOTAL] = &policer_total,
	[POLICE_PHANTOM] = &policer_phantom,
	[POLICE_SHAPED] = &policer_shaped,
	[POLICE_SOURCED] = &policer_sourced,
	[POLICER_LEVEL] = &policer_level,
};

/* Moves `passes` (bit mask) to the front, in order, and the others to dropped[]. */
static uint16_t split_passed_dropped(
	struct rte_mbuf **mbufs, uint64_t passes, uint16_t n, struct rte_mbuf **dropped)
{
	unsigned n_pass = 0;

	if (passes == burst_mask(n))
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

/* Removes packets that wait from dropped[], and counts them. */
static __rte_noinline void leave_held(
	struct worker *w, const struct rx_burst *burst, struct rte_mbuf **dropped, uint64_t passes)
{
	unsigned from = 0, to = 0;

	counter_add(&w->paths[burst->path].counters.waiting, burst->n_held);
	for (unsigned i = 0; i < burst->n; i++) {
		if (passes >> i & 1)
			continue;
		dropped[to] = dropped[from++];
		to += !(burst->held >> i & 1);
	}
}

/* Counts packets that are dropped because they cannot be parsed or match no policy. */
static __rte_noinline void count_refused(struct worker *w, struct rx_burst *burst)
{
	uint64_t refused = burst->frames.refused;
	unsigned unparsed = (unsigned)__builtin_popcountll(refused & burst->frames.unparsed);
	struct path *path = &w->paths[burst->path];

	burst->n_refused = (uint16_t)__builtin_popcountll(refused);
	worker_drops(w, path, DROP_UNPARSED, unparsed);
	worker_drops(w, path, DROP_UNMATCHED, burst->n_refused - unparsed);
}

/* Counts all unparsed packets, whether they pass or not. */
static __rte_noinline void count_unparsed(struct worker *w, struct rx_burst *burst, uint16_t n)
{
	uint64_t unparsed = burst->frames.unparsed & burst_mask(n);

	for (; unparsed; unparsed &= unparsed - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(unparsed);

		counter_add(&w->counters.unparsed[burst->frames.packet[i].unparsed], 1);
	}
}

/* Returns true if the policies are of one kind and have no trials. */
static bool is_of_one_kind(const struct worker *w, const uint32_t *policies, uint16_t n)
{
	uint32_t any = 0, all = UINT32_MAX;

	for (uint16_t i = 0; i < n; i++) {
		uint32_t owner = token_bucket_owner(&w->policies[policies[i]].bucket);

		any |= owner;
		all &= owner;
	}
	any = police_owner_flags(any);
	return ((any ^ police_owner_flags(all)) & ~POLICE_TCP_ONLY) == 0 &&
	       any >> POLICE_TRIAL_SHIFT == 0;
}

/*
 * Divides a burst by the kinds of its policies, and makes their trials. Packets without a policy
 * count as plain.
 */
static void divide_burst(
	struct worker *w, struct rx_burst *burst, uint64_t *packets, uint16_t n, uint64_t now)
{
	const uint32_t *policies = burst->frames.policy;
	const bool all = !burst->unmatched;

	for (uint16_t i = 0; i < n; i++)
		if (all || policies[i] != CLASSIFY_NONE)
			rte_prefetch0(&w->policies[policies[i]]);
	if (all && is_of_one_kind(w, policies, n)) {
		packets[policer_row(burst_policy(w, burst, 0))] = burst_mask(n);
		return;
	}
	for (uint16_t i = 0; i < n; i++) {
		unsigned row = POLICE_SIMPLE;
		const struct policy_state *state;

		if (policies[i] != CLASSIFY_NONE) {
			state = burst_policy(w, burst, i);
			row = policer_row(state);
			if (!policers[row]->tries && unlikely(police_trial(state)))
				try_packet(w, state, burst, i, now);
		}
		packets[row] |= UINT64_C(1) << i;
	}
}

/* Charges each kind's packets by its row. Returns those that do not pass, as a bit mask. */
static __rte_noinline uint64_t charge_divided(
	struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	uint64_t packets[POLICERS] = {0}, drops = 0;

	divide_burst(w, burst, packets, n, now);
	sourced_begin(&burst->sourced);
	for (unsigned row = 0; row < POLICERS; row++)
		if (packets[row] && policers[row]->fetch)
			policers[row]->fetch(w, burst, packets[row], now);
	for (unsigned row = 0; row < POLICERS; row++)
		if (packets[row])
			drops |= policers[row]->charge(w, burst, packets[row], now);
	return drops;
}

/*
 * Returns the row of all policies if they have the same one, so that no burst is divided, or NULL.
 */
static const struct policer *only_row(const struct worker *w)
{
	const struct snapshot *view = &w->own.view;

	if (view->kinds & ~(1U << POLICE_SIMPLE))
		return NULL;
	if (!view->parents)
		return &policer_simple;
	/* policer_level decides packets without a policy only while limits have not ended. */
	return policer_loans_end(w) ? NULL : &policer_level;
}

static uint64_t charge_each(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	const struct policer *policer = only_row(w);

	if (unlikely(burst->frames.refused))
		count_refused(w, burst);
	if (likely(policer != NULL))
		return policer->charge(w, burst, burst_mask(n), now);
	return charge_divided(w, burst, n, now);
}

/* Returns true if all packets are of one policy. Notes whether some have none. */
static bool all_same_policy(struct rx_burst *burst, uint16_t n)
{
	const uint32_t *policies = burst->frames.policy;
	uint32_t different = 0, any = 0;

	for (uint16_t i = 0; i < n; i++) {
		different |= policies[i] ^ policies[0];
		any |= policies[i];
	}
	burst->unmatched = any >> 31; /* CLASSIFY_NONE has all bits */
	return different == 0;
}

/* Returns the row of a burst of one policy, if it can charge the whole burst; otherwise NULL. */
static const struct policer *policer_alike(const struct worker *w, const struct rx_burst *burst)
{
	const struct policy_state *state = &w->policies[burst->frames.policy[0]];
	const struct policer *policer = policers[policer_row(state)];

	/*
	 * After limits of shared buckets have ended, and with a trial, packets are charged one by
	 * one.
	 */
	if (unlikely(policer_loans_end(w) || police_trial(state)))
		return NULL;
	return policer->charge_alike ? policer : NULL;
}

static uint64_t charge_burst(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now)
{
	const struct policer *policer;

	if (!all_same_policy(burst, n) || burst->frames.refused)
		return charge_each(w, burst, n, now);
	if (burst->frames.policy[0] == CLASSIFY_NONE) {
		counter_add(&w->counters.unmatched_packets, n);
		return 0;
	}
	policer = policer_alike(w, burst);
	return policer ? policer->charge_alike(w, burst, n, now) : charge_each(w, burst, n, now);
}

/* Counts n dropped packets by reason, except those of the shaper and of count_refused(). */
static inline void count_dropped(struct worker *w, const struct rx_burst *burst, unsigned n)
{
	struct path *path = &w->paths[burst->path];

	worker_drops(w, path, DROP_LIMIT,
		n - burst->unmarkable - burst->unpaid - burst->refused - burst->n_refused);
	worker_drops(w, path, DROP_QUOTA, burst->unpaid);
	worker_drops(w, path, DROP_UNMARKABLE, burst->unmarkable);
}

uint16_t decide(struct worker *w, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	uint64_t passes;
	uint16_t n_pass;

	burst->n = n;
	burst->unmarkable = 0;
	burst->unpaid = 0;
	burst->refused = 0;
	burst->n_refused = 0;
	burst->n_held = 0;
	burst->held = 0;
	burst->n_sampled = 0;
	passes = ~charge_burst(w, burst, n, now) & burst_mask(n) & ~burst->frames.refused;
	n_pass = split_passed_dropped(burst->mbufs, passes, n, dropped);
	if (unlikely(burst->n_held))
		leave_held(w, burst, dropped, passes);
	if (n_pass + burst->n_held < n)
		count_dropped(w, burst, n - n_pass - burst->n_held);
	if (unlikely(burst->frames.unparsed))
		count_unparsed(w, burst, n);
	return n_pass;
}

/* The stages of a gathered burst: classify its packets, then decide them. */

/* Bytes of transport headers, and of a packet to show if its transport header is unknown. */
#define TAP_TCP     20u
#define TAP_UDP     8u
#define TAP_UNKNOWN 60u

/* Returns the bytes of a packet up to the end of its transport header, or an estimate. */
static uint32_t header_bytes(const struct rx_burst *burst)
{
	const uint8_t *data = burst->frames.data[0];
	uint32_t len = burst->frames.len[0];
	struct packet packet;

	packet_parse(data, len, &packet);
	if (packet.l4_off == 0)
		return packet.l2_len + TAP_UNKNOWN;
	if (packet.proto == POLICE_TCP && packet.l4_off + TAP_TCP <= len)
		return packet.l4_off + (data[packet.l4_off + TAP_TCP - 8] >> 4) * 4u;
	return packet.l4_off + TAP_UDP;
}

/* Puts a decided packet into the tap. Finds its verdict in the counters that have changed. */
static void tap_decided(struct worker *w, struct tap *tap, const struct rx_burst *burst,
	const struct rte_mbuf *m, bool pass, const uint64_t *dropped, const struct counted *before)
{
	static const uint8_t passed[] = {
		[VERDICT_PASS] = TAP_PASS, [VERDICT_MARK] = TAP_MARK, [VERDICT_COUNT] = TAP_COUNT};
	struct tap_record what = {.tick = burst->frames.now,
		.slot = burst->frames.policy[0],
		.reason = DROP_REASONS,
		.path = burst->path};

	if (!pass && burst->n_held == 0)
		for (unsigned i = 0; i < DROP_REASONS; i++)
			if (w->counters.dropped[i] != dropped[i])
				what.reason = (uint8_t)i;
	what.verdict = burst->n_held ? TAP_WAIT
		       : pass        ? passed[counted_verdict(before, w)]
				     : TAP_DROP;
	tap_take(tap, m, &what, tap->whole ? UINT32_MAX : header_bytes(burst));
}

/* Decides the packets one by one, and puts each with its verdict into the tap. */
static __rte_noinline uint16_t decide_one_by_one(struct worker *w, struct tap *tap,
	const struct path *path, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	struct rte_mbuf *all[BURST], *passing[BURST], **mbufs = burst->mbufs;
	uint16_t n_pass = 0, n_dropped = 0, n_held = 0;

	memcpy(all, mbufs, n * sizeof(*all));
	for (uint16_t i = 0; i < n; i++) {
		uint64_t dropped_before[DROP_REASONS];
		struct counted before;
		bool pass;

		burst->mbufs[0] = all[i];
		rx_gather(burst, 1);
		look_up_burst(w, path, burst, 1, now);
		memcpy(dropped_before, w->counters.dropped, sizeof(dropped_before));
		before = counted_before(w, burst->frames.policy[0]);
		pass = decide(w, burst, 1, now, &dropped[n_dropped]) == 1;
		decide_samples(burst);
		tap_decided(w, tap, burst, all[i], pass, dropped_before, &before);
		if (pass)
			passing[n_pass++] = all[i];
		n_held += burst->n_held;
		n_dropped += !pass && burst->n_held == 0;
	}
	memcpy(mbufs, passing, n_pass * sizeof(*passing));
	burst->n_held = n_held;
	burst->n_sampled = 0;
	return n_pass;
}

/* Decides the whole burst, and puts addresses of random packets into the tap. */
static __rte_noinline uint16_t decide_and_sample(struct worker *w, struct tap *tap,
	const struct path *path, struct rx_burst *burst, uint16_t n, uint64_t now,
	struct rte_mbuf **dropped)
{
	struct tap_lots lots;
	uint16_t pass;

	look_up_burst(w, path, burst, n, now);
	tap_lots_draw(tap, burst, n, &lots);
	pass = decide(w, burst, n, now, dropped);
	tap_lots_take(tap, &lots, burst->mbufs, pass, dropped, n - pass - burst->n_held);
	return pass;
}

uint16_t burst_decide_tapped(struct worker *w, struct tap *tap, const struct path *path,
	struct rx_burst *burst, uint16_t n, uint64_t now, struct rte_mbuf **dropped)
{
	tap->parents = w->own.view.parents;
	if (tap->by_lot)
		return decide_and_sample(w, tap, path, burst, n, now, dropped);
	if (tap_examines(tap, n, now))
		return decide_one_by_one(w, tap, path, burst, n, now, dropped);
	return burst_decide(w, path, burst, n, now, dropped);
}
