/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How the owner of a receive queue sends packets of placed policies to the workers of their
 * buckets.
 */

/* See distribute.c. */
#define RTE_USE_C11_MEM_MODEL

#include "steering.h"

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "classify/frames.h"
#include "rx_rings.h"
#include "pages.h"
#include "slot_map.h"
#include "stuck.h"
#include "worker_data.h"
#include "tick.h"

struct steering *steering_create(unsigned owner, struct worker *workers, unsigned n_workers,
	struct rte_ring *const *out, struct rte_ring *const *back, unsigned n_slots)
{
	struct steering *steering = rte_zmalloc("steering", sizeof(*steering), RTE_CACHE_LINE_SIZE);
	ssize_t bytes = rte_ring_get_memsize(STEERING_ASKS);

	if (!steering)
		return NULL;
	steering->workers = workers;
	steering->n_slots = n_slots;
	steering->slot = SLOT_NONE;
	steering->entries = pages_alloc(n_slots * sizeof(*steering->entries), 0, SOCKET_ID_ANY);
	steering->asks = rte_zmalloc("asks", (size_t)bytes, RTE_CACHE_LINE_SIZE);
	if (!steering->entries || !steering->asks ||
		rte_ring_init(
			steering->asks, "asks", STEERING_ASKS, RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		steering_destroy(steering);
		return NULL;
	}
	migration_init(&steering->migration, owner, n_workers);
	steering->migration.stuck = steering->workers->stuck;
	for (unsigned i = 0; i < n_workers; i++)
		steering->migration.peers[i] = (struct migration_peer){
			.turn = &steering->workers[i].turn, .out = out[i], .back = back[i]};
	return steering;
}

void steering_destroy(struct steering *steering)
{
	void *kept[BURST];
	unsigned n;

	if (!steering)
		return;
	while ((n = migration_flush(&steering->migration, kept, BURST)) > 0)
		rte_pktmbuf_free_bulk((struct rte_mbuf **)kept, n);
	pages_free(steering->entries, steering->n_slots * sizeof(*steering->entries));
	rte_free(steering->fragments);
	rte_free(steering->asks);
	rte_free(steering);
}

void steering_add(struct steering *steering, uint32_t slot, struct reta *reta)
{
	struct steering_entry *entry = &steering->entries[slot];

	entry->reta = reta;
	__atomic_store_n(&entry->movable, reta, __ATOMIC_RELEASE);
	__atomic_store_n(&steering->n_buckets, steering->n_buckets + 1, __ATOMIC_RELEASE);
}

void steering_leave(struct steering *steering, uint32_t slot)
{
	__atomic_store_n(&steering->entries[slot].movable, NULL, __ATOMIC_RELAXED);
}

bool steering_is_done(const struct steering *steering, uint32_t slot)
{
	/* Acquire pairs with the release at a move's end. */
	return __atomic_load_n(&steering->migration.reta, __ATOMIC_ACQUIRE) !=
	       steering->entries[slot].reta;
}

void steering_remove(struct steering *steering, uint32_t slot)
{
	if (!steering->entries[slot].reta)
		return;
	steering_leave(steering, slot);
	steering->entries[slot].reta = NULL;
	__atomic_store_n(&steering->n_buckets, steering->n_buckets - 1, __ATOMIC_RELAXED);
}

bool steering_ask(struct steering *steering, uint32_t slot)
{
	return rte_ring_sp_enqueue(steering->asks, (void *)(uintptr_t)slot) == 0;
}

static uint32_t load_acquire(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Begins a step of the drain, and notes the state that each worker must reach. */
static void enter_pause_step(
	struct steering *steering, enum steering_drain drain, uint64_t generation)
{
	steering->drain = drain;
	if (drain == DRAIN_RING)
		steering->drain_generation = generation;
	for (unsigned i = 0; i < steering->migration.n_peers; i++) {
		const struct migration_peer *peer = &steering->migration.peers[i];

		if (!peer->out) /* the owner itself */
			continue;
		if (drain == DRAIN_RING)
			steering->marks[i] = peer->out->prod.tail;
		else if (drain == DRAIN_TURN)
			steering->marks[i] = load_acquire(peer->turn);
		else if (drain == DRAIN_BACK)
			steering->marks[i] = load_acquire(&peer->back->prod.tail);
	}
}

static bool has_come(const struct steering *steering, unsigned i)
{
	const struct migration_peer *peer = &steering->migration.peers[i];

	if (!peer->out)
		return true;
	/* Packets of a stalled worker are late in any case. Other packets do not wait for them. */
	if (stuck_worker(steering->migration.stuck, i))
		return true;
	if (steering->drain == DRAIN_RING)
		return migration_passed(load_acquire(&peer->out->cons.tail), steering->marks[i]) &&
		       __atomic_load_n(&steering->workers[i].generation, __ATOMIC_ACQUIRE) >=
			       steering->drain_generation;
	if (steering->drain == DRAIN_TURN)
		return load_acquire(peer->turn) != steering->marks[i];
	return migration_passed(peer->back->cons.tail, steering->marks[i]);
}

static bool all_have(const struct steering *steering)
{
	for (unsigned i = 0; i < steering->migration.n_peers; i++)
		if (!has_come(steering, i))
			return false;
	return true;
}

/*
 * Advances the drain, so that nothing is handed out while packets of another classifier are in
 * flight. Returns true until it ends.
 */
static bool advance_pause(struct steering *steering, const struct worker *w)
{
	uint64_t generation = w->own.view.retargeted;

	if (steering->drain == DRAIN_NONE) {
		steering->drain = DRAIN_MOVE;
		migration_call_off(&steering->migration); /* the move might wait for a long queue */
	}
	if (steering->drain == DRAIN_MOVE && migration_is_idle(&steering->migration))
		enter_pause_step(steering, DRAIN_RING, generation);
	while (steering->drain >= DRAIN_RING && all_have(steering)) {
		if (steering->drain < DRAIN_BACK) {
			enter_pause_step(steering, steering->drain + 1, generation);
		} else if (steering->drain_generation != generation) {
			enter_pause_step(
				steering, DRAIN_RING, generation); /* there is a newer one */
		} else {
			steering->drain = DRAIN_NONE;
			steering->generation = generation;
			return false;
		}
	}
	return true;
}

/* Returns the next policy that control has requested; NULL if there is none or it is leaving. */
static struct reta *next_asked(struct steering *steering)
{
	void *slot;

	if (steering->slot == SLOT_NONE) {
		if (rte_ring_sc_dequeue(steering->asks, &slot))
			return NULL;
		steering->slot = (uint32_t)(uintptr_t)slot;
	}
	return __atomic_load_n(&steering->entries[steering->slot].movable, __ATOMIC_ACQUIRE);
}

/* A single bucket with too many packets waits until control requests it again. */
static void begin_next_move(struct steering *steering)
{
	struct reta *reta = next_asked(steering);
	struct migration *migration = &steering->migration;

	if (steering->slot == SLOT_NONE)
		return;
	if (!reta || (migration->off && migration->n_moving == 1) ||
		!migration_begin(migration, reta)) {
		steering->slot = SLOT_NONE;
		migration->off = false;
	}
}

bool steering_turn(
	struct steering *steering, const struct worker *w, struct rte_mbuf **mbufs, uint16_t *n)
{
	bool drain = unlikely(steering->generation != w->own.view.retargeted) &&
		     advance_pause(steering, w);

	if (!drain && migration_is_idle(&steering->migration))
		begin_next_move(steering);
	*n = 0;
	if (likely(migration_is_idle(&steering->migration)))
		return drain;
	migration_advance(&steering->migration);
	*n = (uint16_t)migration_give(&steering->migration, (void **)mbufs, BURST);
	/*
	 * New packets come after the kept ones. If it received more than it gives, this would not
	 * end.
	 */
	return drain || steering->migration.step == MIGRATION_GIVE;
}

/* Finds the first segments, which contain nearly all headers. */
static void locate_headers(struct frames *frames, uint32_t *whole, const struct steering *steering,
	const struct worker *w, struct rte_mbuf **mbufs, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		frames->data[i] = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		frames->len[i] = mbufs[i]->data_len;
		whole[i] = mbufs[i]->pkt_len;
		rte_prefetch0(frames->data[i]);
	}
	frames->whole = whole;
	frames->tunnels = w->tunnels;
	frames->fragments = __atomic_load_n(&steering->fragments, __ATOMIC_ACQUIRE);
	frames->now = tick_now();
	frames->lines = NULL;
	frames->wide = w->own.wide;
}

/*
 * Returns the worker of a packet of a placed policy, or n_workers if the packet is kept back or
 * dropped.
 */
static uint8_t bucket_to_worker(struct steering *steering, struct worker *w, struct path *path,
	struct reta *reta, struct rte_mbuf *m, uint8_t bucket, uint16_t *lost)
{
	reta_count(reta, bucket, m->pkt_len);
	if (likely(!migration_keeps(&steering->migration, reta, bucket)))
		return reta_worker(reta, bucket);
	if (!migration_keep(&steering->migration, m, bucket)) {
		worker_drops(w, path, DROP_RING_FULL, 1);
		rte_pktmbuf_free(m);
		++*lost;
	}
	return (uint8_t)steering->migration.n_peers;
}

void steering_show(struct steering *steering, struct worker *w, struct path *path,
	struct rte_mbuf **mbufs, uint16_t n, uint8_t *targets, uint16_t *counts, uint16_t *lost)
{
	uint32_t whole[FRAMES_MAX];
	struct frames frames;

	locate_headers(&frames, whole, steering, w, mbufs, n);
	classify_frames(w->own.view.classifier, path->wire, path->direction, &frames, n);
	for (uint16_t i = 0; i < n; i++) {
		uint32_t slot = frames.policy[i];
		struct reta *reta = slot == CLASSIFY_NONE ? NULL : steering->entries[slot].reta;

		if (reta)
			targets[i] = bucket_to_worker(steering, w, path, reta, mbufs[i],
				reta_bucket(&reta->reta_target->key, frames_packet(&frames, i),
					frames.data[i]),
				lost);
		else
			targets[i] = rx_rings_worker_of(path->rings, mbufs[i], path->rx_hash);
		counts[targets[i]]++;
	}
}
