/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */

/* As in app/weir/datapath/distribute.c: what ThreadSanitizer understands, too. */
#define RTE_USE_C11_MEM_MODEL

#include "mover_world.h"

#include <stdlib.h>
#include <string.h>

static struct rte_ring *ring_open(void)
{
	size_t bytes = (size_t)rte_ring_get_memsize(MOVER_LANE);
	struct rte_ring *ring = aligned_alloc(RTE_CACHE_LINE_SIZE, bytes);

	assert_non_null(ring);
	memset(ring, 0, bytes);
	assert_int_equal(rte_ring_init(ring, "lane", MOVER_LANE, RING_F_SP_ENQ | RING_F_SC_DEQ), 0);
	return ring;
}

static void worker_open(struct mover_world *world, unsigned i)
{
	struct fake_worker *worker = &world->workers[i];

	worker->tail = &worker->head;
	prng_seed(&worker->prng, world->seed * MOVER_WORKERS + i + 1);
	if (i != MOVER_OWNER) {
		worker->out = ring_open();
		worker->back = ring_open();
	}
	world->seats.queues[i] = (struct seat_queue){&worker->waited, &worker->left};
	world->mover.peers[i] = (struct mover_peer){&worker->turn, worker->out, worker->back};
}

void mover_world_open(struct mover_world *world, uint64_t seed)
{
	const struct place_key key = {24, 64};

	memset(world, 0, sizeof(*world));
	world->seed = seed;
	world->ahead = MOVER_LANE / 2;
	prng_seed(&world->prng, seed);
	world->packets = calloc(MOVER_PACKETS, sizeof(*world->packets));
	assert_non_null(world->packets);
	seating_init(&world->seating, &key, 0);
	owner_seats_init(&world->seats, &world->seating);
	mover_init(&world->mover, MOVER_OWNER, MOVER_WORKERS);
	for (unsigned i = 0; i < MOVER_WORKERS; i++)
		worker_open(world, i);
}

void mover_world_close(struct mover_world *world)
{
	for (unsigned i = 0; i < MOVER_WORKERS; i++) {
		free(world->workers[i].out);
		free(world->workers[i].back);
	}
	free(world->packets);
}

static void mover_packet_out(struct mover_world *world, const struct fake_packet *packet)
{
	uint32_t *seen = &world->seen[packet->source];

	if (packet->serial <= *seen)
		fail_msg("seed %llu: source %u: %u after %u", (unsigned long long)world->seed,
			packet->source, packet->serial, *seen);
	*seen = packet->serial;
	world->n_out++;
}

/* The first of the queue, which may not be due; stores as the packet path's. */
static struct fake_packet *release_fake_packet(struct fake_worker *worker)
{
	struct fake_packet *packet = worker->head;

	if (!packet || worker->stuck || prng_below(&worker->prng, 4) == 0)
		return NULL;
	worker->head = packet->next;
	if (!worker->head)
		worker->tail = &worker->head;
	__atomic_store_n(&worker->left, worker->left + 1, __ATOMIC_RELEASE);
	return packet;
}

/* Passes, or waits: behind others always. */
static bool fake_packet_passes(struct fake_worker *worker, struct fake_packet *packet)
{
	if (!worker->head && prng_below(&worker->prng, 2))
		return true;
	packet->next = NULL;
	*worker->tail = packet;
	worker->tail = &packet->next;
	counter_add(&worker->waited, 1);
	return false;
}

static void put_back(struct fake_worker *worker)
{
	unsigned n = rte_ring_sp_enqueue_burst(
		worker->back, (void *const *)worker->hand, worker->n_hand, NULL);

	/* A full ring is the owner's to empty; only a part of the turn is over. */
	memmove(worker->hand, worker->hand + n, (worker->n_hand - n) * sizeof(worker->hand[0]));
	worker->n_hand -= n;
}

static void take_fake_packets(struct fake_worker *worker)
{
	worker->n_hand = rte_ring_sc_dequeue_burst(worker->out, (void **)worker->hand,
		1 + prng_below(&worker->prng, MOVER_BURST), NULL);
}

static void decide_fake_packets(struct fake_worker *worker)
{
	unsigned n = 0;

	for (unsigned i = 0; i < worker->n_hand; i++)
		if (fake_packet_passes(worker, worker->hand[i]))
			worker->hand[n++] = worker->hand[i];
	worker->n_hand = n;
}

void fake_worker_step(struct fake_worker *worker)
{
	struct fake_packet *packet;

	switch (worker->phase) {
	case FAKE_RELEASE:
		while (worker->n_hand < MOVER_BURST && (packet = release_fake_packet(worker)))
			worker->hand[worker->n_hand++] = packet;
		break;
	case FAKE_RETURN:
	case FAKE_PASS:
		put_back(worker);
		if (worker->n_hand > 0)
			return;
		break;
	case FAKE_TAKE:
		take_fake_packets(worker);
		break;
	case FAKE_DECIDE:
		decide_fake_packets(worker);
		break;
	case FAKE_END:
		__atomic_store_n(&worker->turn, worker->turn + 1, __ATOMIC_RELEASE);
		worker->phase = FAKE_RELEASE;
		return;
	}
	worker->phase++;
}

static void collect_fake_packets(struct mover_world *world)
{
	struct fake_packet *packets[MOVER_BURST];

	for (unsigned i = 0; i < MOVER_WORKERS; i++) {
		struct rte_ring *back = world->workers[i].back;
		unsigned n = back ? rte_ring_sc_dequeue_burst(
					    back, (void **)packets, MOVER_BURST, NULL)
				  : 0;

		for (unsigned j = 0; j < n; j++)
			mover_packet_out(world, packets[j]);
	}
}

static void decide_own(struct mover_world *world, struct fake_packet *packet)
{
	if (fake_packet_passes(&world->workers[MOVER_OWNER], packet))
		mover_packet_out(world, packet);
}

static void hand_on(struct mover_world *world, struct fake_packet *packet)
{
	unsigned bucket = packet->source % SEATS, at = seat_at(&world->seats, bucket);
	int ret = 0;

	if (mover_keeps(&world->mover, &world->seats, bucket))
		ret = mover_keep(&world->mover, packet, (uint8_t)bucket) ? 0 : -1;
	else if (at == MOVER_OWNER)
		decide_own(world, packet);
	else
		ret = rte_ring_sp_enqueue(world->workers[at].out, packet);
	world->n_lost += ret != 0;
}

static void receive_fake_packets(struct mover_world *world, unsigned n, unsigned sources)
{
	for (unsigned i = 0; i < n && world->n_packets < MOVER_PACKETS; i++) {
		if (world->n_packets - world->n_out - world->n_lost > world->ahead)
			break;
		struct fake_packet *packet = &world->packets[world->n_packets++];

		packet->source = prng_below(&world->prng, sources);
		packet->serial = ++world->sent[packet->source];
		hand_on(world, packet);
	}
}

void mover_world_turn(struct mover_world *world, unsigned n, unsigned sources)
{
	struct fake_worker *self = &world->workers[MOVER_OWNER];
	struct fake_packet *packet, *own[MOVER_BURST];
	unsigned n_own;

	while ((packet = release_fake_packet(self)))
		mover_packet_out(world, packet);
	collect_fake_packets(world);
	if (mover_is_idle(&world->mover) && world->wants)
		world->wants = mover_begin(&world->mover, &world->seats);
	mover_advance(&world->mover);
	n_own = mover_give(&world->mover, (void **)own, MOVER_BURST);
	for (unsigned i = 0; i < n_own; i++)
		decide_own(world, own[i]);
	if (n_own == 0 && world->mover.step != MOVER_GIVE)
		receive_fake_packets(world, n, sources);
}

void mover_world_want(struct mover_world *world, unsigned n)
{
	while (n-- > 0)
		seating_want(&world->seating, prng_below(&world->prng, SEATS),
			(uint8_t)prng_below(&world->prng, MOVER_WORKERS));
	world->wants = true;
}

void mover_world_check(const struct mover_world *world)
{
	if (world->n_out + world->n_lost != world->n_packets)
		fail_msg("seed %llu: of %u packets %u left and %u were lost",
			(unsigned long long)world->seed, world->n_packets, world->n_out,
			world->n_lost);
	for (unsigned i = 0; i < MOVER_SOURCES && world->n_lost == 0; i++)
		assert_int_equal(world->seen[i], world->sent[i]);
	assert_true(mover_is_idle(&world->mover));
	for (unsigned i = 0; i < SEATS; i++)
		assert_int_equal(seat_at(&world->seats, i), seat_wanted(&world->seating, i));
}
