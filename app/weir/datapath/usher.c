/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */

/* As in distribute.c. */
#define RTE_USE_C11_MEM_MODEL

#include "usher.h"

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "classify/frames.h"
#include "lanes.h"
#include "pages.h"
#include "slots.h"
#include "worker_own.h"

static void set_up_peers(struct usher *usher, unsigned owner, unsigned n_workers,
	struct rte_ring *const *out, struct rte_ring *const *back)
{
	mover_init(&usher->mover, owner, n_workers);
	for (unsigned i = 0; i < n_workers; i++)
		usher->mover.peers[i] = (struct mover_peer){
			.turn = &usher->workers[i].turn, .out = out[i], .back = back[i]};
}

struct usher *usher_create(unsigned owner, struct worker *workers, unsigned n_workers,
	struct rte_ring *const *out, struct rte_ring *const *back, unsigned n_slots)
{
	struct usher *usher = rte_zmalloc("usher", sizeof(*usher), RTE_CACHE_LINE_SIZE);
	ssize_t bytes = rte_ring_get_memsize(USHER_ASKS);

	if (!usher)
		return NULL;
	usher->workers = workers;
	usher->n_slots = n_slots;
	usher->slot = SLOT_NONE;
	usher->entries = pages_alloc(n_slots * sizeof(*usher->entries), 0, SOCKET_ID_ANY);
	usher->asks = rte_zmalloc("asks", (size_t)bytes, RTE_CACHE_LINE_SIZE);
	if (!usher->entries || !usher->asks ||
		rte_ring_init(usher->asks, "asks", USHER_ASKS, RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		usher_destroy(usher);
		return NULL;
	}
	set_up_peers(usher, owner, n_workers, out, back);
	return usher;
}

void usher_destroy(struct usher *usher)
{
	void *kept[BURST];
	unsigned n;

	if (!usher)
		return;
	while ((n = mover_flush(&usher->mover, kept, BURST)) > 0)
		rte_pktmbuf_free_bulk((struct rte_mbuf **)kept, n);
	pages_free(usher->entries, usher->n_slots * sizeof(*usher->entries));
	rte_free(usher->fragments);
	rte_free(usher->asks);
	rte_free(usher);
}

void usher_add(struct usher *usher, uint32_t slot, struct owner_seats *seats)
{
	struct usher_entry *entry = &usher->entries[slot];

	entry->seats = seats;
	__atomic_store_n(&entry->movable, seats, __ATOMIC_RELEASE);
	__atomic_store_n(&usher->n_seats, usher->n_seats + 1, __ATOMIC_RELEASE);
}

void usher_leave(struct usher *usher, uint32_t slot)
{
	__atomic_store_n(&usher->entries[slot].movable, NULL, __ATOMIC_RELAXED);
}

bool usher_is_done(const struct usher *usher, uint32_t slot)
{
	/* Acquire pairs with the release at a move's end. */
	return __atomic_load_n(&usher->mover.seats, __ATOMIC_ACQUIRE) != usher->entries[slot].seats;
}

void usher_remove(struct usher *usher, uint32_t slot)
{
	if (!usher->entries[slot].seats)
		return;
	usher_leave(usher, slot);
	usher->entries[slot].seats = NULL;
	__atomic_store_n(&usher->n_seats, usher->n_seats - 1, __ATOMIC_RELAXED);
}

bool usher_ask(struct usher *usher, uint32_t slot)
{
	return rte_ring_sp_enqueue(usher->asks, (void *)(uintptr_t)slot) == 0;
}

static uint32_t load_acquire(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* A step of the hush begins: what each worker has to have come to. */
static void enter_pause_step(struct usher *usher, enum usher_hush hush, uint64_t generation)
{
	usher->hush = hush;
	if (hush == HUSH_RING)
		usher->hush_generation = generation;
	for (unsigned i = 0; i < usher->mover.n_peers; i++) {
		const struct mover_peer *peer = &usher->mover.peers[i];

		if (!peer->out) /* the owner himself */
			continue;
		if (hush == HUSH_RING)
			usher->marks[i] = peer->out->prod.tail;
		else if (hush == HUSH_TURN)
			usher->marks[i] = load_acquire(peer->turn);
		else if (hush == HUSH_BACK)
			usher->marks[i] = load_acquire(&peer->back->prod.tail);
	}
}

static bool has_come(const struct usher *usher, unsigned i)
{
	const struct mover_peer *peer = &usher->mover.peers[i];

	if (!peer->out)
		return true;
	if (usher->hush == HUSH_RING)
		return mover_passed(load_acquire(&peer->out->cons.tail), usher->marks[i]) &&
		       __atomic_load_n(&usher->workers[i].generation, __ATOMIC_ACQUIRE) >=
			       usher->hush_generation;
	if (usher->hush == HUSH_TURN)
		return load_acquire(peer->turn) != usher->marks[i];
	return mover_passed(peer->back->cons.tail, usher->marks[i]);
}

static bool all_have(const struct usher *usher)
{
	for (unsigned i = 0; i < usher->mover.n_peers; i++)
		if (!has_come(usher, i))
			return false;
	return true;
}

/*
 * Nothing is handed out while packets of another classifier are on their way. Returns whether that
 * is still so.
 */
static bool advance_pause(struct usher *usher, const struct worker *w)
{
	uint64_t generation = worker_own_const(w)->view.seated;

	if (usher->hush == HUSH_NONE) {
		usher->hush = HUSH_MOVE;
		mover_call_off(&usher->mover); /* it might wait for a long queue */
	}
	if (usher->hush == HUSH_MOVE && mover_is_idle(&usher->mover))
		enter_pause_step(usher, HUSH_RING, generation);
	while (usher->hush >= HUSH_RING && all_have(usher)) {
		if (usher->hush < HUSH_BACK) {
			enter_pause_step(usher, usher->hush + 1, generation);
		} else if (usher->hush_generation != generation) {
			enter_pause_step(usher, HUSH_RING, generation); /* there is a newer one */
		} else {
			usher->hush = HUSH_NONE;
			usher->generation = generation;
			return false;
		}
	}
	return true;
}

/* The next policy that control has asked for, unless it is on its way out. */
static struct owner_seats *next_asked(struct usher *usher)
{
	void *slot;

	if (usher->slot == SLOT_NONE) {
		if (rte_ring_sc_dequeue(usher->asks, &slot))
			return NULL;
		usher->slot = (uint32_t)(uintptr_t)slot;
	}
	return __atomic_load_n(&usher->entries[usher->slot].movable, __ATOMIC_ACQUIRE);
}

/* A bucket that alone is too much to be kept back waits until control asks again. */
static void begin_next_move(struct usher *usher)
{
	struct owner_seats *seats = next_asked(usher);
	struct mover *mover = &usher->mover;

	if (usher->slot == SLOT_NONE)
		return;
	if (!seats || (mover->off && mover->n_moving == 1) || !mover_begin(mover, seats)) {
		usher->slot = SLOT_NONE;
		mover->off = false;
	}
}

bool usher_turn(struct usher *usher, const struct worker *w, struct rte_mbuf **mbufs, uint16_t *n)
{
	bool hush = unlikely(usher->generation != worker_own_const(w)->view.seated) &&
		    advance_pause(usher, w);

	if (!hush && mover_is_idle(&usher->mover))
		begin_next_move(usher);
	*n = 0;
	if (likely(mover_is_idle(&usher->mover)))
		return hush;
	mover_advance(&usher->mover);
	*n = (uint16_t)mover_give(&usher->mover, (void **)mbufs, BURST);
	/* What comes meanwhile is behind what is left: more than is given, and it never ended. */
	return hush || usher->mover.step == MOVER_GIVE;
}

/* Where the first segments are, in which nearly all headers lie whole. */
static void locate_headers(struct frames *frames, const struct usher *usher, const struct worker *w,
	struct rte_mbuf **mbufs, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		frames->data[i] = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		frames->len[i] = mbufs[i]->data_len;
		rte_prefetch0(frames->data[i]);
	}
	frames->tunnels = w->tunnels;
	frames->fragments = __atomic_load_n(&usher->fragments, __ATOMIC_ACQUIRE);
	frames->now = rte_rdtsc();
}

/* A packet of a placed policy: its worker, or n_workers if it is not to go to any yet. */
static uint8_t bucket_to_worker(struct usher *usher, struct worker *w, struct owner_seats *seats,
	struct rte_mbuf *m, uint8_t bucket, uint16_t *lost)
{
	seat_count(seats, bucket, m->pkt_len);
	if (likely(!mover_keeps(&usher->mover, seats, bucket)))
		return seat_at(seats, bucket);
	if (!mover_keep(&usher->mover, m, bucket)) {
		counter_add(&w->counters.dropped[DROP_RING_FULL], 1);
		rte_pktmbuf_free(m);
		++*lost;
	}
	return (uint8_t)usher->mover.n_peers;
}

void usher_show(struct usher *usher, struct worker *w, const struct path *path,
	struct rte_mbuf **mbufs, uint16_t n, uint8_t *targets, uint16_t *counts, uint16_t *lost)
{
	struct frames frames;

	locate_headers(&frames, usher, w, mbufs, n);
	classify_frames(worker_own(w)->view.classifier, path->wire, path->direction, &frames, n);
	for (uint16_t i = 0; i < n; i++) {
		uint32_t slot = frames.policy[i];
		struct owner_seats *seats = slot == CLASSIFY_NONE ? NULL
								  : usher->entries[slot].seats;

		if (seats)
			targets[i] = bucket_to_worker(usher, w, seats, mbufs[i],
				seat_bucket(&seats->seating->key, frames_packet(&frames, i),
					frames.data[i]),
				lost);
		else
			targets[i] = lanes_worker_of(path->lanes, mbufs[i], path->rx_hash);
		counts[targets[i]]++;
	}
}
