/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Distributes flows to all workers if a device has fewer queues than there are workers.
 */

/* Use C11 acquire and release in rings, instead of barriers for this CPU only. */
#define RTE_USE_C11_MEM_MODEL

#include "distribute.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>
#include <rte_ring_peek.h>

#include "shape_mbuf.h"
#include "rx_rings.h"
#include "tx.h"
#include "steering.h"
#include "stuck.h"
#include "worker_data.h"
#include "tick.h"

unsigned rx_rings_mbufs(unsigned n_workers)
{
	return 2 * (n_workers - 1) * RX_RING_PACKETS + MIGRATION_KEEPS;
}

static struct rte_ring *ring_create(void)
{
	struct rte_ring *ring = rte_zmalloc(
		"lane", (size_t)rte_ring_get_memsize(RX_RING_PACKETS), RTE_CACHE_LINE_SIZE);

	if (ring && rte_ring_init(ring, "lane", RX_RING_PACKETS, RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		rte_free(ring);
		return NULL;
	}
	return ring;
}

static void ring_destroy(struct rte_ring *ring)
{
	struct rte_mbuf *mbufs[BURST];
	unsigned n;

	while (ring && (n = rte_ring_sc_dequeue_burst(ring, (void **)mbufs, BURST, NULL)) > 0)
		rte_pktmbuf_free_bulk(mbufs, n);
	rte_free(ring);
}

struct rx_rings *rx_rings_create(unsigned owner, unsigned n_workers, uint64_t secret)
{
	struct rx_rings *rings = rte_zmalloc("rx_rings", sizeof(*rings), RTE_CACHE_LINE_SIZE);

	if (!rings)
		return NULL;
	rings->owner = owner;
	rings->n_workers = n_workers;
	source_key_init(&rings->key, secret);
	for (unsigned i = 0; i < n_workers; i++) {
		if (i == owner)
			continue;
		rings->out[i] = ring_create();
		rings->back[i] = ring_create();
		if (!rings->out[i] || !rings->back[i]) {
			rx_rings_destroy(rings);
			return NULL;
		}
	}
	return rings;
}

int rx_rings_open(struct rx_rings *rings, struct worker *workers, unsigned n_slots)
{
	rings->steering = steering_create(
		rings->owner, workers, rings->n_workers, rings->out, rings->back, n_slots);
	return rings->steering ? 0 : -ENOMEM;
}

void rx_rings_destroy(struct rx_rings *rings)
{
	if (rings)
		steering_destroy(rings->steering);
	for (unsigned i = 0; rings && i < rings->n_workers; i++) {
		ring_destroy(rings->out[i]);
		ring_destroy(rings->back[i]);
	}
	rte_free(rings);
}

/*
 * A wire that takes no packet for this time counts as down. Packets that were flushed from their
 * queues then no longer wait for it. They would fill the ring, and leave late when the link is
 * back.
 */
#define PATIENCE_US 50000

static bool is_stopped(const struct worker *w, const struct rx_rings *rings)
{
	return rings->stopped && rings->stopped_moved == rings->moved &&
	       tick_now() - rings->stopped > PATIENCE_US * w->ticks_per_us;
}

static void note_stop(struct rx_rings *rings)
{
	if (rings->stopped && rings->stopped_moved == rings->moved)
		return;
	rings->stopped = tick_now();
	rings->stopped_moved = rings->moved;
}

/* Transmits as much of a ring as the device takes. Returns the number of packets. */
static unsigned collect_patiently(struct worker *w, struct path *path, struct rte_ring *back)
{
	struct rte_mbuf *mbufs[BURST];
	unsigned n = rte_ring_dequeue_burst_start(back, (void **)mbufs, BURST, NULL);

	if (n == 0)
		return 0;
	n = tx_try_send(w, path, mbufs, (uint16_t)n);
	rte_ring_dequeue_finish(back, n);
	if (n == 0)
		note_stop(path->rings);
	return n;
}

static unsigned collect_returned(struct worker *w, struct path *path, unsigned from)
{
	struct rte_ring *back = path->rings->back[from];
	struct rte_mbuf *mbufs[BURST];
	uint32_t patient;
	unsigned n;

	if (!back)
		return 0;
	/* Acquire pairs with the release in tx_try_pass_on(). */
	patient = __atomic_load_n(&path->rings->patient[from], __ATOMIC_ACQUIRE);
	if (unlikely((int32_t)(patient - back->cons.tail) > 0) && !is_stopped(w, path->rings))
		return collect_patiently(w, path, back);
	n = rte_ring_sc_dequeue_burst(back, (void **)mbufs, BURST, NULL);
	if (n > 0)
		tx_send(w, path, mbufs, (uint16_t)n);
	return n;
}

/*
 * Returns the worker after that one. Skips the owner, or the worker after it would get two turns.
 */
static unsigned next_worker_index(const struct rx_rings *rings, unsigned i)
{
	i = i + 1 < rings->n_workers ? i + 1 : 0;
	if (i == rings->owner)
		i = i + 1 < rings->n_workers ? i + 1 : 0;
	return i;
}

static bool collect_path(struct worker *w, struct path *path)
{
	struct rx_rings *rings = path->rings;
	unsigned first = next_worker_index(rings, rings->first), n = 0;

	/* A slow wire mostly takes packets of the first worker, so the first one changes. */
	rings->first = first;
	for (unsigned i = first; i < rings->n_workers; i++)
		n += collect_returned(w, path, i);
	for (unsigned i = 0; i < first; i++)
		n += collect_returned(w, path, i);
	__atomic_store_n(&rings->looks, rings->looks + 1, __ATOMIC_RELEASE);
	return n > 0;
}

bool distribute_collect(struct worker *w)
{
	bool any = false;

	for (unsigned i = 0; i < w->n_paths; i++) {
		struct path *path = &w->paths[i];

		if (path->rings && rx_rings_owned(path->rings, w->index))
			any |= collect_path(w, path);
	}
	return any;
}

void distribute_drop(struct worker *w, struct path *path)
{
	struct rte_mbuf *mbufs[BURST];

	for (unsigned i = 0; i < path->rings->n_workers; i++) {
		struct rte_ring *back = path->rings->back[i];
		unsigned n;

		while (back &&
			(n = rte_ring_sc_dequeue_burst(back, (void **)mbufs, BURST, NULL)) > 0) {
			worker_drops(w, path, DROP_TX_FULL, n);
			drop_all(mbufs, n);
		}
	}
}

bool distribute_waits(const struct path *path)
{
	for (unsigned i = 0; i < path->rings->n_workers; i++)
		if (path->rings->back[i] && !rte_ring_empty(path->rings->back[i]))
			return true;
	return false;
}

static void count_targets(const struct path *path, struct rte_mbuf **mbufs, uint16_t n,
	uint8_t *targets, uint16_t *counts)
{
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
	for (uint16_t i = 0; i < n; i++) {
		targets[i] = rx_rings_worker_of(path->rings, mbufs[i], path->rx_hash);
		counts[targets[i]]++;
	}
}

/* A packet's time is that of its receipt by the owner or, if possible, by the device. */
static void stamp_arrival(
	const struct worker *w, const struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	uint64_t now = tick_now();

	for (uint16_t i = 0; i < n; i++)
		shape_mbuf_stamp(mbufs[i], now);
	if (path->clock)
		shape_mbuf_stamp_all(mbufs, n, path->clock, now, w->ticks_per_us);
}

static bool steers_here(const struct rx_rings *rings)
{
	return rings->steering && steering_has_tables(rings->steering);
}

/*
 * Returns true if a stalled worker gets no more packets: its ring is half full, or it has stalled
 * for long. Otherwise it can resume at any moment, and its packets stay in order.
 */
static bool takes_no_more(const struct path *path, const struct stuck *stuck, unsigned worker)
{
	return stuck_by_far(stuck) >> worker & 1 ||
	       rte_ring_count(path->rings->out[worker]) >= RX_RING_PACKETS / 2;
}

/*
 * Gives packets of stalled workers to others, by the hash of the flow. A flow is reordered once
 * when this begins and once when it ends. No packet is lost.
 */
static __rte_noinline void reroute_stuck(struct worker *w, const struct path *path, uint64_t stuck,
	struct rte_mbuf **mbufs, uint16_t n, uint8_t *targets, uint16_t *counts)
{
	unsigned n_workers = w->n_workers;

	for (uint16_t i = 0; i < n; i++) {
		uint8_t t = targets[i];
		uint32_t hash;

		if (t >= n_workers || t == w->index || !(stuck >> t & 1) ||
			!takes_no_more(path, w->stuck, t))
			continue;
		hash = rx_rings_flow_hash(path->rings, mbufs[i], path->rx_hash);
		hash *= RX_RINGS_MIX * RX_RINGS_MIX; /* independent of the worker's choice */
		counts[t]--;
		targets[i] = (uint8_t)stuck_stand_in(stuck, n_workers, w->index, hash);
		counts[targets[i]]++;
		counter_add(&w->counters.rerouted_packets, 1);
	}
}

/* Sorts a burst by worker, in order. Leaves the owner's part in mbufs and returns its length. */
static uint16_t distribute_burst(
	struct worker *w, struct path *path, struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t counts[CONFIG_WORKERS_MAX + 1] = {0}, ends[CONFIG_WORKERS_MAX + 1];
	uint16_t own = 0, lost = 0;
	unsigned n_workers = path->rings->n_workers;
	uint64_t stuck = stuck_workers(w->stuck);
	struct rte_mbuf *sorted[BURST];
	uint8_t targets[BURST];

	if (w->own.view.kinds >> POLICE_SHAPED & 1)
		stamp_arrival(w, path, mbufs, n);
	if (unlikely(steers_here(path->rings)))
		steering_show(path->rings->steering, w, path, mbufs, n, targets, counts, &lost);
	else
		count_targets(path, mbufs, n, targets, counts);
	if (unlikely(stuck != 0))
		reroute_stuck(w, path, stuck, mbufs, n, targets, counts);
	for (unsigned t = 0, end = 0; t <= n_workers; t++) {
		ends[t] = (uint16_t)end;
		end += counts[t];
	}
	for (uint16_t i = 0; i < n; i++)
		sorted[ends[targets[i]]++] = mbufs[i];
	for (unsigned t = 0; t < n_workers; t++) {
		struct rte_mbuf **part = sorted + ends[t] - counts[t];

		if (counts[t] == 0)
			continue;
		if (t == w->index) {
			own = counts[t];
			memcpy(mbufs, part, own * sizeof(*mbufs));
		} else {
			lost += tx_hand_over(w, path, path->rings->out[t], part, counts[t]);
		}
	}
	/*
	 * The worker that decides a packet counts it as received. No worker decides the lost ones,
	 * so count them here.
	 */
	worker_receives(w, path, lost);
	return own;
}

uint16_t distribute_receive(
	struct worker *w, struct path *path, struct rte_mbuf **mbufs, bool *busy)
{
	struct rx_rings *rings = path->rings;
	uint16_t n;

	if (!rx_rings_owned(rings, w->index)) {
		n = (uint16_t)rte_ring_sc_dequeue_burst(
			rings->out[w->index], (void **)mbufs, BURST, NULL);
		*busy |= n > 0;
		return n;
	}
	*busy |= collect_path(w, path);
	if (unlikely(steers_here(rings)) && (steering_turn(rings->steering, w, mbufs, &n) || n)) {
		*busy |= n > 0;
		return n;
	}
	n = rte_eth_rx_burst(path_rx(path), path->queue, mbufs, BURST);
	*busy |= n > 0;
	if (*busy) /* although possibly none of it is decided here */
		w->own.idle_since = tick_now();
	return n ? distribute_burst(w, path, mbufs, n) : 0;
}

void distribute_end(struct worker *w, struct path *path)
{
	struct steering *steering = path->rings->steering;
	struct rte_mbuf *mbufs[BURST];
	unsigned n;
	bool strict;

	if (!steering)
		return;
	strict = steering->migration.reta && steering->migration.reta->strict;
	while ((n = migration_flush(&steering->migration, (void **)mbufs, BURST)) > 0) {
		worker_receives(w, path, n); /* no other worker counts them */
		if (strict) {
			worker_drops(w, path, DROP_STOPPED, n);
			drop_all(mbufs, n);
		} else {
			tx_send(w, path, mbufs, (uint16_t)n);
		}
	}
}
