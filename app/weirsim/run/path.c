/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The path of one flow's packets, in order, through its limiter.
 */
#include "path.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/states.h"
#include "node.h"
#include "record.h"
#include "police/charge.h"

#define TCP_SYN 0x02
#define TCP_ACK 0x10

#define SLAB  256 /* objects that are allocated together */
#define BATCH 32  /* packets that leave together */

/* Allocates objects in slabs that are freed at the end: a run takes and returns millions. */
static void *alloc_slab(struct sim *sim, size_t size)
{
	struct flows *f = sim->flows;
	void **slabs = reallocarray(f->slabs, f->n_slabs + 1, sizeof(*slabs));
	void *memory = slabs ? calloc(SLAB, size) : NULL;

	if (slabs)
		f->slabs = slabs;
	if (memory)
		f->slabs[f->n_slabs++] = memory;
	else
		sim->events.error = -ENOMEM;
	return memory;
}

static struct carried *carried_take(struct sim *sim)
{
	struct flows *f = sim->flows;
	struct carried *taken = f->free_carried;

	if (!taken) {
		struct carried *more = alloc_slab(sim, sizeof(*more));

		for (unsigned i = 0; more && i < SLAB; i++) {
			more[i].next_free = f->free_carried;
			f->free_carried = &more[i];
		}
		taken = f->free_carried;
	}
	if (taken)
		f->free_carried = taken->next_free;
	return taken;
}

static void carried_free(struct sim *sim, struct carried *carried)
{
	struct flow *flow = carried->flow;

	carried->next_free = sim->flows->free_carried;
	sim->flows->free_carried = carried;
	flow_release(sim, flow);
}

struct flow *flow_take(struct sim *sim)
{
	struct flows *f = sim->flows;
	struct flow *taken = f->free_flows;

	if (!taken) {
		struct flow *more = alloc_slab(sim, sizeof(*more));

		for (unsigned i = 0; more && i < SLAB; i++) {
			more[i].next_free = f->free_flows;
			f->free_flows = &more[i];
		}
		taken = f->free_flows;
	}
	if (!taken)
		return NULL;
	f->free_flows = taken->next_free;
	f->live++;
	memset(taken, 0, sizeof(*taken));
	return taken;
}

void flow_release(struct sim *sim, struct flow *flow)
{
	flow->references--;
	if (flow->references > 0 || !flow->over)
		return;
	flow->next_free = sim->flows->free_flows;
	sim->flows->free_flows = flow;
	sim->flows->live--;
}

static void at_receiver(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct carried *carried = object;

	(void)argument;
	record_fate(sim, carried->flow->record, FATE_DELIVERED);
	sim->flows->arrived(sim, carried->flow, &carried->segment);
	carried_free(sim, carried);
}

static void leave_limiter(struct sim *sim, struct carried *carried)
{
	struct flow *flow = carried->flow;

	struct lineage_slots lineage = engine_states_lineage(
		sim->scenario->group.policies, flow->policy);

	for (unsigned i = 0; i < lineage.n; i++)
		record_forwarded(sim, lineage.slots[i], flow->limiter, carried->bytes);
	events_after(&sim->events, flow->rtt_ns / 4, at_receiver, carried, 0);
}

static void lose_packet(struct sim *sim, struct carried *carried, enum fate fate)
{
	record_fate(sim, carried->flow->record, fate);
	carried_free(sim, carried);
}

static void at_limiter(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct carried *carried = object;
	struct flow *flow = carried->flow;
	struct node *node = &sim->nodes[flow->limiter];
	struct packet packet = flow->packet; /* the parser's description */
	enum passage passage;

	(void)argument;
	packet.ecn = carried->segment.ecn;
	if (packet.proto == IPPROTO_TCP)
		packet.tcp_flags = carried->segment.syn ? TCP_SYN : TCP_ACK;
	passage = node_police(sim, node, flow->policy, &packet, flow->source,
		carried->bytes + ETHERNET_HEADER, &carried->waiting);
	carried->segment.ecn = packet.ecn;
	if (passage == PASSAGE_DROPPED)
		lose_packet(sim, carried, node->limiter ? FATE_LIMIT : FATE_DOWN);
	else if (passage == PASSAGE_PASSES)
		leave_limiter(sim, carried);
}

static struct carried *carried_of(struct shape_packet *waiting)
{
	return (struct carried *)((char *)waiting - offsetof(struct carried, waiting));
}

void path_release(void *world, void *object, uint64_t worker)
{
	struct sim *sim = world;
	struct node *node = object;
	struct shape_packet *out[BATCH];
	unsigned n;

	/* An event from before a crash, or one that was replaced by an earlier one. */
	if (!node->limiter || node->release_ns[worker] != sim->events.now_ns)
		return;
	node->release_ns[worker] = 0;
	do {
		n = node_release(sim, node, (unsigned)worker, out, BATCH);
		for (unsigned i = 0; i < n; i++) {
			struct carried *carried = carried_of(out[i]);

			if (out[i]->flags & SHAPE_MARK)
				carried->segment.ecn = ECN_CE;
			if (node_leaves(sim, node, (unsigned)worker, carried->flow->policy, out[i]))
				leave_limiter(sim, carried);
			else
				lose_packet(sim, carried, FATE_LIMIT);
		}
	} while (n == BATCH);
	node_await_release(sim, node, (unsigned)worker);
}

void path_lose(struct sim *sim, struct node *node)
{
	struct shape_packet *out[BATCH];
	unsigned n;

	while ((n = node_flush(node, out, BATCH)) > 0)
		for (unsigned i = 0; i < n; i++)
			lose_packet(sim, carried_of(out[i]), FATE_DOWN);
}

/* The upstream link takes packets in order of arrival, from all senders. */
static void at_bottleneck(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct carried *carried = object;
	struct flow *flow = carried->flow;
	const struct bottleneck *b = &flow->traffic->bottleneck;
	uint64_t at = sim->events.now_ns;

	(void)argument;
	if (at >= b->from_ns)
		at = link_queue_pass(flow->link, at, carried->bytes, b->rate_bps, b->queue_bytes);
	if (at == LINK_QUEUE_FULL) {
		record_fate(sim, flow->record, FATE_UPSTREAM);
		carried_free(sim, carried);
		return;
	}
	events_at(&sim->events, at + flow->rtt_ns / 4, at_limiter, carried, 0);
}

uint64_t path_under_way(const struct sim *sim)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sim->events.n; i++) {
		event_fn fn = sim->events.heap[i].fn;

		n += fn == at_bottleneck || fn == at_limiter || fn == at_receiver;
	}
	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		n += node_waiting(&sim->nodes[i]);
	return n;
}

static uint64_t draw_path_jitter(struct sim *sim, const struct flow *flow)
{
	double most = (double)flow->traffic->jitter_ns;

	return most > 0 ? (uint64_t)(most * prng_unit(&sim->prng[STREAM_JITTER])) : 0;
}

static struct carried *carry_segment(
	struct sim *sim, struct flow *flow, const struct segment *segment, uint32_t bytes)
{
	struct carried *carried = carried_take(sim);

	if (!carried)
		return NULL;
	carried->flow = flow;
	carried->segment = *segment;
	carried->bytes = bytes;
	flow->references++;
	return carried;
}

void path_send(struct sim *sim, struct flow *flow, const struct segment *segment, uint32_t bytes)
{
	uint64_t at = sim->events.now_ns + draw_path_jitter(sim, flow);
	struct carried *carried = carry_segment(sim, flow, segment, bytes);

	record_sent(sim, flow->record);
	if (at < flow->sent_until_ns)
		at = flow->sent_until_ns;
	flow->sent_until_ns = at;
	if (!carried)
		return;
	if (flow->traffic->bottleneck.rate_bps)
		events_at(&sim->events, at, at_bottleneck, carried, 0);
	else
		events_at(&sim->events, at + flow->rtt_ns / 4, at_limiter, carried, 0);
}

static void at_sender(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct carried *carried = object;

	(void)argument;
	sim->flows->answered(sim, carried->flow, &carried->segment);
	carried_free(sim, carried);
}

void path_answer(struct sim *sim, struct flow *flow, const struct segment *segment)
{
	uint64_t at = sim->events.now_ns + draw_path_jitter(sim, flow) + flow->rtt_ns / 2;
	struct carried *carried = carry_segment(sim, flow, segment, 0);

	if (at < flow->back_until_ns)
		at = flow->back_until_ns;
	flow->back_until_ns = at;
	if (carried)
		events_at(&sim->events, at, at_sender, carried, 0);
}
