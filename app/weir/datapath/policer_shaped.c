/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose packets wait: a packet passes immediately, joins a queue, or finds it full.
 */
#include "policer.h"

#include "packet/mark.h"
#include "police/shaped.h"
#include "shape_in.h"
#include "shape_mbuf.h"

/* Begins to fetch the queues that packets will join, and the memory that is written for them. */
static void fetch_queues(struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	(void)now;
	for (uint64_t left = packets; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		shaped_fetch(burst_policy(w, burst, i));
		if (police_is_below(burst_policy(w, burst, i)))
			policer_fetch_above(w, burst->frames.policy[i]);
		rte_prefetch0(shape_mbuf_packet(burst->mbufs[i]));
	}
	for (; packets; packets &= packets - 1)
		shaped_fetch_tail(burst_policy(w, burst, (unsigned)__builtin_ctzll(packets)));
}

/* Returns true if a packet's sender understands CoDel's mark (ECN). */
static bool speaks_ecn(struct rx_burst *burst, unsigned i)
{
	return mark_understood(burst->frames.data[i], burst->frames.len[i], burst_packet(burst, i));
}

/*
 * Charges a packet. Returns true if it passes immediately. `ecn` is only a first check: if the mark
 * turns out to be impossible later, the packet is dropped instead.
 */
static bool charge_shaped(struct worker *w, struct rx_burst *burst, unsigned i, uint64_t now)
{
	struct policy_state *state = burst_policy(w, burst, i);
	const struct held held = {
		.m = burst->mbufs[i],
		.slot = burst->frames.policy[i],
		.cost = shaped_cost(state, policer_bytes(state, burst, i)),
		.path = burst->path,
		.ecn = shaped_marks(state) && speaks_ecn(burst, i),
	};
	enum shape_verdict verdict;

	if (police_samples(state))
		policer_sample(w, burst, i, held.cost);
	verdict = shape_in_arrive(w, state, &held, now);
	burst->held |= (uint64_t)(verdict == SHAPE_WAITS) << i;
	burst->n_held += verdict == SHAPE_WAITS;
	burst->refused += verdict > SHAPE_WAITS;
	return verdict == SHAPE_PASSES;
}

static uint64_t charge_all_shaped(
	struct worker *w, struct rx_burst *burst, uint64_t packets, uint64_t now)
{
	uint64_t drops = 0;

	for (; packets; packets &= packets - 1) {
		unsigned i = (unsigned)__builtin_ctzll(packets);

		drops |= (uint64_t)!charge_shaped(w, burst, i, now) << i;
	}
	return drops;
}

const struct policer policer_shaped = {.fetch = fetch_queues, .charge = charge_all_shaped};
