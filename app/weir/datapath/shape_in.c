/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "shape_in.h"

#include <rte_mbuf.h>

#include "police/shaped.h"
#include "shape_above.h"
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
