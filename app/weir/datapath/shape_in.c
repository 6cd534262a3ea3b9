/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "shape_in.h"

#include <rte_errno.h>

#include "nic_clock.h"
#include "shape_above.h"

/* What a device says is not believed if a packet would have lain in its ring for so long. */
#define NIC_MOST_US 1000000

int shape_in_offset, shape_in_nic_offset;
uint64_t shape_in_stamped, shape_in_nic_flag;

int shape_in_register(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "weir_shape_packet",
		.size = sizeof(struct shape_packet),
		.align = __alignof__(struct shape_packet),
	};
	static const struct rte_mbuf_dynflag flag = {.name = "weir_arrival"};
	int offset = rte_mbuf_dynfield_register(&field), bit;

	if (offset < 0)
		return -rte_errno;
	bit = rte_mbuf_dynflag_register(&flag);
	if (bit < 0)
		return -rte_errno;
	if (rte_mbuf_dyn_rx_timestamp_register(&shape_in_nic_offset, &shape_in_nic_flag) < 0)
		return -rte_errno;
	shape_in_offset = offset;
	shape_in_stamped = UINT64_C(1) << bit;
	return 0;
}

/* How long it was on its way here, for who decides where its source is decided. */
static void note_reach(const struct worker *w, struct shaped_steering *seat, uint64_t ticks)
{
	delay_add(&seat->reach, w->delay_unit, (int64_t)ticks > 0 ? ticks : 0);
}

/* Clocks of cores differ a little, and owners of queues take turns: a queue's time only grows. */
static uint64_t arrival_of(
	const struct worker *w, struct policy_shape *shape, struct rte_mbuf *m, uint64_t now)
{
	uint64_t arrival = m->ol_flags & shape_in_stamped ? shape_in_of(m)->arrival : now;

	if (unlikely(shape->seat != NULL))
		note_reach(w, shape->seat, now - arrival);
	if (arrival < shape->arrival)
		arrival = shape->arrival;
	if (arrival > now)
		arrival = now;
	shape->arrival = arrival;
	return arrival;
}

void shape_in_stamp_all(struct rte_mbuf **mbufs, uint16_t n, const struct nic_clock *clock,
	uint64_t now, uint64_t ticks_per_us)
{
	uint64_t most = NIC_MOST_US * ticks_per_us;
	struct nic_relation relation;

	if (!nic_clock_relation(clock, &relation))
		return;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = mbufs[i];
		uint64_t nic = *RTE_MBUF_DYNFIELD(m, shape_in_nic_offset, uint64_t *);

		if (m->ol_flags & shape_in_nic_flag)
			shape_in_stamp(m, nic_clock_tick(&relation, nic, now, most));
	}
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
	struct shape_packet *packet = shape_in_of(held->m);
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
		shape_in_set_slot(held->m, held->slot);
		if (unlikely(held->m->nb_segs > 1))
			shaper_hold(w->shaper, held->m->nb_segs - 1);
	} else {
		delay_add(&shape->delay, w->delay_unit, now - arrival);
		if (unlikely(shape->terms.below))
			shape_above_leave(w, shape, packet, !shape->leaving);
	}
	return verdict;
}
