/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How waiting packets leave a worker: when they conform, when their policy leaves, or when the
 * worker stops.
 */
#include "shape_steps.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include "distribute.h"
#include "leases_end.h"
#include "shape_mbuf.h"
#include "rx_rings.h"
#include "packet/mark.h"
#include "police/shaped.h"
#include "snapshot.h"
#include "tx.h"
#include "worker_data.h"
#include "tick.h"

/*
 * Bursts of waiting packets in one turn: as many as the wires of a usual node receive in one, so
 * that queues do not fall behind.
 */
#define BURSTS_A_TURN 4

/* Queues that are examined in one turn: each is one line to fetch, or three. */
#define QUEUES_A_TURN 1024

/*
 * Flushed packets come faster than a wire takes them, so the worker waits for room this long. A
 * ring of 1024 descriptors is empty after 12 ms at 1 Gbit/s. A device that frees descriptors in
 * groups of 32 does so every 4 ms at 100 Mbit/s. A wire that takes none for longer is down.
 *
 * If another worker owns the queue, it can be asleep or without a CPU for longer. So this also
 * waits until the owner has emptied its rings twice, at least once with these packets in them, but
 * not for ever. A wire that takes packets of other workers meanwhile is up.
 */
#define PATIENCE_US      20000
#define PATIENCE_MOST_US 1000000
#define LOOKS_LEAST      2

/* Packets that leave, and their paths. */
struct leaving {
	struct rte_mbuf *mbufs[BURST], *dropped[BURST];
	uint16_t paths[BURST];
	uint16_t n, n_dropped;
};

/* Sets CoDel's mark, if the buffer is not shared, like the mark of a policy. */
static bool mark_codel(struct rte_mbuf *m)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	struct packet packet;

	packet_parse(data, m->data_len, &packet);
	return RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1 &&
	       mark_frame(data, m->data_len, &packet, MARK_ECN);
}

static void drop_departing(struct worker *w, struct leaving *leaving, struct shape_packet *packet,
	struct policy_state *state, enum drop_reason why)
{
	shaped_counts_drop(state, packet->cost, why);
	counter_add(&w->paths[packet->path].counters.waiting, -UINT64_C(1));
	worker_drops(w, &w->paths[packet->path], why, 1);
	leaving->dropped[leaving->n_dropped++] = shape_mbuf_of(packet);
}

/*
 * Returns true if a packet that has left its queue is transmitted; otherwise sets *why. `flushed`:
 * it was not due yet.
 */
static bool may_leave(const struct policy_shape *shape, const struct shape_packet *packet,
	struct rte_mbuf *m, bool flushed, enum drop_reason *why)
{
	*why = packet->flags & SHAPE_DELAY_EXCEEDED ? DROP_DELAY_EXCEEDED : DROP_CODEL;
	if (unlikely(packet->flags & SHAPE_DROP) ||
		unlikely(packet->flags & SHAPE_MARK && !mark_codel(m)))
		return false;
	*why = DROP_STOPPED;
	return likely(!flushed) || !shaped_is_strict(shape);
}

/* Returns the ticks that a packet has waited. Clocks of cores differ a little. */
static uint64_t waited_by(const struct shape_packet *packet, uint64_t now)
{
	return now > packet->arrival ? now - packet->arrival : 0;
}

static void take_departing(struct worker *w, struct leaving *leaving, struct shape_packet *packet,
	uint64_t now, bool flushed)
{
	struct rte_mbuf *m = shape_mbuf_of(packet);
	struct policy_state *state = &w->policies[shape_mbuf_slot(m)];
	struct policy_shape *shape = police_shape(state->other);
	enum drop_reason why;

	shaped_leaves(shape, packet->cost);
	if (unlikely(m->nb_segs > 1))
		shaper_hold(w->shaper, 1 - m->nb_segs);
	if (unlikely(shape->seat != NULL))
		shaped_steering_leave(shape->seat);
	if (unlikely(!may_leave(shape, packet, m, flushed, &why))) {
		/*
		 * If the shaper drops a packet, it has already given back the tokens of the levels
		 * above.
		 */
		if (shape->terms.below && !flushed && !(packet->flags & SHAPE_DROP))
			shape_above_give(w, shape, packet);
		drop_departing(w, leaving, packet, state, why);
		return;
	}
	if (unlikely(shape->terms.below))
		shape_above_leave(w, shape, packet, !flushed);
	if (unlikely(packet->flags & SHAPE_MARK))
		counter_add(&shape->marked, 1);
	delay_add(&shape->delay, w->delay_unit, waited_by(packet, now));
	leaving->mbufs[leaving->n] = m;
	leaving->paths[leaving->n++] = packet->path;
}

/*
 * Begins to fetch the data that take_departing() will read. Each packet is of another queue, whose
 * data has left the cache since the packet arrived. Each step reads data that the previous one
 * fetched.
 */
static void fetch_departing(
	const struct worker *w, struct shape_packet *const *out, unsigned n, uint64_t now)
{
	for (unsigned i = 0; i < n; i++) {
		rte_prefetch0(shape_mbuf_of(out[i]));
		rte_prefetch0(out[i]);
	}
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(&w->policies[shape_mbuf_slot(shape_mbuf_of(out[i]))]);
	for (unsigned i = 0; i < n; i++)
		shaped_fetch_leaving(&w->policies[shape_mbuf_slot(shape_mbuf_of(out[i]))],
			w->delay_unit, waited_by(out[i], now));
}

static void take_all(struct worker *w, struct leaving *leaving, struct shape_packet *const *out,
	unsigned n, uint64_t now, bool flushed)
{
	leaving->n = 0;
	leaving->n_dropped = 0;
	fetch_departing(w, out, n, now);
	for (unsigned i = 0; i < n; i++)
		take_departing(w, leaving, out[i], now, flushed);
	if (leaving->n_dropped)
		drop_all(leaving->dropped, leaving->n_dropped);
}

/* Moves the packets of the first one's path to mbufs[], in order. Returns their number. */
static uint16_t next_path(struct worker *w, struct leaving *leaving, struct rte_mbuf **mbufs)
{
	uint16_t path = leaving->paths[0], n = 0, rest = 0;

	for (uint16_t i = 0; i < leaving->n; i++) {
		if (leaving->paths[i] == path) {
			mbufs[n++] = leaving->mbufs[i];
			continue;
		}
		leaving->mbufs[rest] = leaving->mbufs[i];
		leaving->paths[rest++] = leaving->paths[i];
	}
	leaving->n = rest;
	counter_add(&w->paths[path].counters.waiting, -(uint64_t)n);
	return n;
}

static void send_departing(struct worker *w, struct leaving *leaving)
{
	struct rte_mbuf *mbufs[BURST];

	while (leaving->n > 0) {
		struct path *path = &w->paths[leaving->paths[0]];

		tx_pass_on(w, path, mbufs, next_path(w, leaving, mbufs));
	}
}

/* A path that takes no packets: since when, and the owner's counters then. */
struct stall {
	uint64_t since;
	uint32_t looks, moved;
};

static struct stall stall_now(const struct path *path)
{
	struct stall stall = {.since = tick_now()};

	if (path->rings) { /* the looks first: each makes visible all that had moved by then */
		stall.looks = rx_rings_looks(path->rings);
		stall.moved = rx_rings_moved(path->rings);
	}
	return stall;
}

/*
 * Returns true if the path probably takes packets of no worker. The next attempt must confirm it.
 */
static bool seems_down(const struct worker *w, const struct path *path, struct stall *stall)
{
	uint64_t waited = tick_now() - stall->since;
	struct stall now;

	if (waited <= PATIENCE_US * w->ticks_per_us)
		return false;
	now = stall_now(path);
	if (now.moved != stall->moved) {
		*stall = now;
		return false;
	}
	return rx_rings_owned(path->rings, w->index) ||
	       waited > PATIENCE_MOST_US * w->ticks_per_us ||
	       now.looks - stall->looks >= LOOKS_LEAST;
}

/*
 * Transmits packets until the path has taken none for too long. Any time can pass between two steps
 * here. So the path is down only if it takes none even after seems_down() has returned true.
 */
static void send_patiently(struct worker *w, struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	struct stall stall = stall_now(path);
	uint16_t sent = 0;

	while (sent < n && w->own.patient) {
		bool down = seems_down(w, path, &stall);
		uint16_t taken = tx_try_pass_on(w, path, mbufs + sent, n - sent);

		sent += taken;
		if (taken > 0)
			stall = stall_now(path);
		else if (down)
			w->own.patient = false;
		else if (!distribute_collect(w)) /* or two could wait for each other for ever */
			rte_pause();
	}
	if (sent < n)
		tx_pass_on(w, path, mbufs + sent, n - sent);
}

static void send_all_patiently(struct worker *w, struct leaving *leaving)
{
	struct rte_mbuf *mbufs[BURST];

	while (leaving->n > 0) {
		struct path *path = &w->paths[leaving->paths[0]];

		send_patiently(w, path, mbufs, next_path(w, leaving, mbufs));
	}
}

static void send_flushed(struct worker *w, struct shape_packet *const *out, unsigned n)
{
	struct leaving leaving;

	take_all(w, &leaving, out, n, tick_now(), true);
	send_all_patiently(w, &leaving);
}

void shape_out_clock(struct worker *w, uint64_t now)
{
	struct shape_packet *out[BURST];
	unsigned n;

	if (likely(!shaper_is_ahead(w->shaper, now)))
		return;
	while ((n = shaper_flush(w->shaper, out, BURST)) > 0)
		send_flushed(w, out, n);
	shaper_restart(w->shaper, now);
}

bool shape_out_due(struct worker *w)
{
	struct shape_packet *out[BURST];
	struct leaving leaving;
	uint64_t now;
	unsigned n = 0;

	if (likely(!shaper_waits(w->shaper)))
		return false;
	now = tick_now();
	expire_look(w, now);
	shape_out_clock(w, now);
	for (unsigned i = 0; i < BURSTS_A_TURN; i++) {
		unsigned due = shaper_release(w->shaper, now, out, BURST);

		take_all(w, &leaving, out, due, now, false);
		send_departing(w, &leaving);
		n += due;
		if (due < BURST)
			break;
	}
	if (n == 0)
		return false;
	w->own.idle_since = now;
	counter_add(&w->counters.busy_cycles, tick_now() - now);
	return true;
}

static const struct shape_queue *queue_of(const struct shape_packet *packet, void *worker)
{
	const struct worker *w = worker;
	const struct rte_mbuf *m = shape_mbuf_of((struct shape_packet *)(uintptr_t)packet);

	return &police_shape(w->policies[shape_mbuf_slot(m)].other)->queue;
}

/* Flushes the timed queues after shape_leave(), at most *bursts. Returns true if they are empty. */
static bool empty_timed(struct worker *w, unsigned *bursts)
{
	const struct shape_whose whose = {.queue = queue_of, .context = w};
	struct shape_packet *out[BURST];

	while (shaper_leaves(w->shaper)) {
		unsigned n;

		if (*bursts == 0)
			return false;
		n = shaper_flush_leaving(w->shaper, &whose, out, BURST);
		send_flushed(w, out, n);
		--*bursts;
	}
	return true;
}

/*
 * Flushes one queue, at most *bursts. Returns true if it is empty, or will be after empty_timed().
 */
static bool empty_queue(struct worker *w, uint32_t slot, unsigned *bursts)
{
	struct policy_shape *shape = police_shape(w->policies[slot].other);
	struct shape_packet *out[BURST];

	if (shape_is_timed(&shape->queue)) {
		shape_leave(w->shaper, &shape->queue);
		return true;
	}
	/*
	 * New packets for an empty queue can be dropped, so empty the timed queues before this one.
	 */
	if (!empty_timed(w, bursts))
		return false;
	for (; *bursts > 0; --*bursts) {
		unsigned n = shape_flush(w->shaper, &shape->queue, out, BURST);

		if (n == 0) {
			shape->leaving = true;
			return true;
		}
		send_flushed(w, out, n);
	}
	return false;
}

/* Packets that have their tokens leave with them. The worker can have slept before. */
static void send_due_packets(struct worker *w, uint64_t now)
{
	struct shape_packet *out[BURST];
	struct leaving leaving;

	expire_look(w, now);
	/*
	 * shaper_release() can return none after many queues, although later ones have due packets.
	 */
	while (shaper_waits(w->shaper) && shaper_next(w->shaper, now) == now) {
		unsigned n = shaper_release(w->shaper, now, out, BURST);

		take_all(w, &leaving, out, n, now, false);
		send_all_patiently(w, &leaving);
	}
}

static void begin_to_empty(struct worker *w)
{
	w->own.patient = true;
	send_due_packets(w, tick_now());
}

bool shape_out_leaving(struct worker *w, const struct snapshot *newer)
{
	unsigned bursts = BURSTS_A_TURN, queues = QUEUES_A_TURN;
	struct worker_own *own = &w->own;

	if (!own->empties && newer->n_leaving > 0) {
		begin_to_empty(w);
		own->empties = true;
	}
	for (; own->left < newer->n_leaving; own->left++) {
		if (queues-- == 0 || !empty_queue(w, newer->leaving[own->left], &bursts))
			return false;
	}
	if (!empty_timed(w, &bursts))
		return false;
	own->left = 0;
	own->empties = false;
	return true;
}

void shape_out_all(struct worker *w)
{
	struct shape_packet *out[BURST];
	unsigned n;

	begin_to_empty(w);
	while ((n = shaper_flush(w->shaper, out, BURST)) > 0)
		send_flushed(w, out, n);
}
