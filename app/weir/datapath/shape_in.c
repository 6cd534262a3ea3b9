/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets of policies with ACTION_SHAPE on their way into the worker's shaper.
 */
#include "shape_steps.h"

#include <rte_mbuf.h>

#include "packet/mark.h"
#include "police/shaped.h"
#include "policer.h"
#include "shape_mbuf.h"
#include "worker_data.h"

/* Notes how long the packet took to get here; control places sources by that. */
static void note_reach(const struct worker *w, struct shaped_steering *seat, uint64_t ticks)
{
	delay_add(&seat->reach, w->delay_unit, (int64_t)ticks > 0 ? ticks : 0);
}

/* A queue's time never falls: clocks of cores differ a little, and several owners send packets. */
static uint64_t arrival_of(
	const struct worker *w, struct policy_shape *shape, struct rte_mbuf *m, uint64_t now)
{
	uint64_t arrival = m->ol_flags & shape_mbuf_stamped ? shape_mbuf_packet(m)->arrival : now;

	if (unlikely(shape->seat != NULL))
		note_reach(w, shape->seat, now - arrival);
	if (arrival < shape->arrival)
		arrival = shape->arrival;
	if (arrival > now)
		arrival = now;
	shape->arrival = arrival;
	return arrival;
}

static enum shape_verdict shape_in_refuse(struct worker *w, struct policy_state *state,
	const struct held *held, enum shape_verdict why)
{
	shaped_counts_refusal(state, held->cost, (enum drop_reason)why);
	worker_drops(w, &w->paths[held->path], (enum drop_reason)why, 1);
	return why;
}

enum shape_verdict shape_in_arrive(
	struct worker *w, struct policy_state *state, const struct held *held, uint64_t now)
{
	struct policy_shape *shape = police_shape(state->other);
	struct shape_packet *packet = shape_mbuf_packet(held->m);
	uint64_t arrival = arrival_of(w, shape, held->m, now);
	enum shape_verdict verdict = SHAPE_PASSES;

	packet->cost = held->cost;
	packet->arrival = arrival;
	packet->path = held->path;
	packet->flags = held->ecn ? SHAPE_ECN : 0;
	if (likely(!shape->leaving))
		verdict = shape_arrive(w->shaper, &shape->queue, packet, held->cost, arrival, now);
	else if (shaped_is_strict(shape))
		verdict = SHAPE_STOPPED;
	if (verdict > SHAPE_WAITS)
		return shape_in_refuse(w, state, held, verdict);
	shaped_counts_arrival(state, held->cost);
	if (verdict == SHAPE_WAITS) {
		shaped_waits(shape, held->cost);
		shape_mbuf_set_slot(held->m, held->slot);
		if (unlikely(held->m->nb_segs > 1))
			shaper_hold(w->shaper, held->m->nb_segs - 1);
	} else {
		delay_add(&shape->delay, w->delay_unit, now - arrival);
		if (unlikely(shape->terms.below))
			shape_above_leave(w, shape, packet, !shape->leaving);
	}
	return verdict;
}

/* --- policer ---------------------------------------------------------------------------------- */

/* Policies whose packets wait: a packet passes immediately, joins a queue, or finds it full. */

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
