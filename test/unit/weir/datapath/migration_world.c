/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */

/* Same as in app/weir/datapath/distribute.c: ThreadSanitizer understands C11 atomics. */
#define RTE_USE_C11_MEM_MODEL

#include "migration_world.h"

static struct rte_ring *ring_open(void)
{
	size_t bytes = (size_t)rte_ring_get_memsize(MIGRATION_LANE);
	struct rte_ring *ring = aligned_alloc(RTE_CACHE_LINE_SIZE, bytes);

	assert_non_null(ring);
	memset(ring, 0, bytes);
	assert_int_equal(
		rte_ring_init(ring, "lane", MIGRATION_LANE, RING_F_SP_ENQ | RING_F_SC_DEQ), 0);
	return ring;
}

static void worker_open(struct migration_world *world, unsigned i)
{
	struct fake_worker *worker = &world->workers[i];

	worker->tail = &worker->head;
	prng_seed(&worker->prng, world->seed * MIGRATION_WORKERS + i + 1);
	if (i != MIGRATION_OWNER) {
		worker->out = ring_open();
		worker->back = ring_open();
	}
	world->reta.queues[i] = (struct reta_queue){&worker->waited, &worker->left};
	world->migration.peers[i] = (struct migration_peer){
		&worker->turn, worker->out, worker->back};
}

void migration_world_open(struct migration_world *world, uint64_t seed)
{
	const struct place_key key = {24, 64};

	memset(world, 0, sizeof(*world));
	world->seed = seed;
	world->ahead = MIGRATION_LANE / 2;
	prng_seed(&world->prng, seed);
	world->packets = calloc(MIGRATION_PACKETS, sizeof(*world->packets));
	assert_non_null(world->packets);
	reta_target_init(&world->reta_target, &key, 0);
	reta_init(&world->reta, &world->reta_target);
	migration_init(&world->migration, MIGRATION_OWNER, MIGRATION_WORKERS);
	for (unsigned i = 0; i < MIGRATION_WORKERS; i++)
		worker_open(world, i);
}

void migration_world_close(struct migration_world *world)
{
	for (unsigned i = 0; i < MIGRATION_WORKERS; i++) {
		free(world->workers[i].out);
		free(world->workers[i].back);
	}
	free(world->packets);
}

static void migration_packet_out(struct migration_world *world, const struct fake_packet *packet)
{
	uint32_t *seen = &world->seen[packet->source];

	if (packet->serial <= *seen)
		fail_msg("seed %llu: source %u: %u after %u", (unsigned long long)world->seed,
			packet->source, packet->serial, *seen);
	*seen = packet->serial;
	world->n_out++;
}

/*
 * Removes the first packet of the queue, which might not be due. Stores in the order of the packet
 * path.
 */
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

/* Returns true if the packet passes. Otherwise it waits; it always waits while others do. */
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

	/* The owner must empty a full ring. The rest of the turn follows later. */
	memmove(worker->hand, worker->hand + n, (worker->n_hand - n) * sizeof(worker->hand[0]));
	worker->n_hand -= n;
}

static void take_fake_packets(struct fake_worker *worker)
{
	worker->n_hand = rte_ring_sc_dequeue_burst(worker->out, (void **)worker->hand,
		1 + prng_below(&worker->prng, MIGRATION_BURST), NULL);
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
		while (worker->n_hand < MIGRATION_BURST && (packet = release_fake_packet(worker)))
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

static void collect_fake_packets(struct migration_world *world)
{
	struct fake_packet *packets[MIGRATION_BURST];

	for (unsigned i = 0; i < MIGRATION_WORKERS; i++) {
		struct rte_ring *back = world->workers[i].back;
		unsigned n = back ? rte_ring_sc_dequeue_burst(
					    back, (void **)packets, MIGRATION_BURST, NULL)
				  : 0;

		for (unsigned j = 0; j < n; j++)
			migration_packet_out(world, packets[j]);
	}
}

static void decide_own(struct migration_world *world, struct fake_packet *packet)
{
	if (fake_packet_passes(&world->workers[MIGRATION_OWNER], packet))
		migration_packet_out(world, packet);
}

static void hand_on(struct migration_world *world, struct fake_packet *packet)
{
	unsigned bucket = packet->source % RETA_SIZE, at = reta_worker(&world->reta, bucket);
	int ret = 0;

	if (migration_keeps(&world->migration, &world->reta, bucket))
		ret = migration_keep(&world->migration, packet, (uint8_t)bucket) ? 0 : -1;
	else if (at == MIGRATION_OWNER)
		decide_own(world, packet);
	else
		ret = rte_ring_sp_enqueue(world->workers[at].out, packet);
	world->n_lost += ret != 0;
}

static void receive_fake_packets(struct migration_world *world, unsigned n, unsigned sources)
{
	for (unsigned i = 0; i < n && world->n_packets < MIGRATION_PACKETS; i++) {
		if (world->n_packets - world->n_out - world->n_lost > world->ahead)
			break;
		struct fake_packet *packet = &world->packets[world->n_packets++];

		packet->source = prng_below(&world->prng, sources);
		packet->serial = ++world->sent[packet->source];
		hand_on(world, packet);
	}
}

void migration_world_turn(struct migration_world *world, unsigned n, unsigned sources)
{
	struct fake_worker *self = &world->workers[MIGRATION_OWNER];
	struct fake_packet *packet, *own[MIGRATION_BURST];
	unsigned n_own;

	while ((packet = release_fake_packet(self)))
		migration_packet_out(world, packet);
	collect_fake_packets(world);
	if (migration_is_idle(&world->migration) && world->wants)
		world->wants = migration_begin(&world->migration, &world->reta);
	migration_advance(&world->migration);
	n_own = migration_give(&world->migration, (void **)own, MIGRATION_BURST);
	for (unsigned i = 0; i < n_own; i++)
		decide_own(world, own[i]);
	if (n_own == 0 && world->migration.step != MIGRATION_GIVE)
		receive_fake_packets(world, n, sources);
}

void migration_world_want(struct migration_world *world, unsigned n)
{
	while (n-- > 0)
		reta_target_set(&world->reta_target, prng_below(&world->prng, RETA_SIZE),
			(uint8_t)prng_below(&world->prng, MIGRATION_WORKERS));
	world->wants = true;
}

void migration_world_check(const struct migration_world *world)
{
	if (world->n_out + world->n_lost != world->n_packets)
		fail_msg("seed %llu: of %u packets %u left and %u were lost",
			(unsigned long long)world->seed, world->n_packets, world->n_out,
			world->n_lost);
	for (unsigned i = 0; i < MIGRATION_SOURCES && world->n_lost == 0; i++)
		assert_int_equal(world->seen[i], world->sent[i]);
	assert_true(migration_is_idle(&world->migration));
	for (unsigned i = 0; i < RETA_SIZE; i++)
		assert_int_equal(
			reta_worker(&world->reta, i), reta_target_of(&world->reta_target, i));
}
