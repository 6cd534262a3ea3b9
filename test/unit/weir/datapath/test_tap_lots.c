/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A random sample of packets: the facts recorded of each, the filter, and the outcome of each
 * packet.
 */
#include "instance_world.h"
#include "scope.h"

#include <rte_mbuf.h>

#include "classify/classify.h"
#include "decide.h"
#include "frame_layers.h"
#include "tap.h"
#include "tick.h"

#define POLICY    3
#define RING_LOTS 2047 /* lots that fit into a ring */

static const layer tagged_v4[] = {
	{ETHER, T_VLAN}, {TAG, 7, T_IPV4}, {V4, UDP}, {UDP_HEADER, 53}, {PAYLOAD, 40}, {END}};
static const layer plain_v6[] = {
	{ETHER, T_IPV6}, {V6, UDP}, {UDP_HEADER, 4500}, {PAYLOAD, 20}, {END}};
static const layer arp[] = {{ETHER, T_ARP}, {PAYLOAD, 46}, {END}};
static const layer fragment_cut[] = {{ETHER, T_IPV6}, {V6, DEST}, {END}};

static const layer *const kinds[] = {tagged_v4, plain_v6, arp, fragment_cut};

enum { N_KINDS = COUNT(kinds) };

struct world {
	struct rx_burst *burst;
	struct rte_mbuf mbufs[BURST], *received[BURST];
	struct frame frames[N_KINDS];
	struct tap_lots lots;
	struct tap *tap;
};

/* Returns zeroed memory, aligned to cache lines. */
static void *new_lines(size_t size)
{
	void *lines = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(size, RTE_CACHE_LINE_SIZE));

	assert_non_null(lines);
	return memset(lines, 0, size);
}

/* A burst of four kinds of frames in turn. Every second packet has a policy. */
static struct world *world_new(uint32_t slot)
{
	static uint64_t number = 1000;
	struct world *world = new_lines(sizeof(*world));

	world->burst = new_lines(sizeof(*world->burst));
	world->burst->len = world->burst->frames.len;
	world->burst->mbufs = world->received;
	for (unsigned i = 0; i < N_KINDS; i++)
		build_frame(kinds[i], &world->frames[i]);
	for (unsigned i = 0; i < BURST; i++) {
		world->burst->mbufs[i] = &world->mbufs[i];
		world->burst->frames.data[i] = world->frames[i % N_KINDS].bytes;
		world->burst->frames.len[i] = world->frames[i % N_KINDS].len;
		world->burst->frames.policy[i] = i & 1 ? POLICY : CLASSIFY_NONE;
	}
	world->burst->frames.unparsed = 0x10;
	world->burst->frames.now = tick_now();
	world->burst->path = 2;
	world->tap = tap_lots_create(0, ++number, 5, 1000, tick_hz());
	assert_non_null(world->tap);
	world->tap->slot = slot;
	world->tap->until = tick_now() + 3600 * tick_hz();
	return world;
}

static void world_free(struct world *world)
{
	tap_destroy(world->tap);
	free(world->burst);
	free(world);
}

END_POINTER(world_free, struct world *)

static unsigned draw_all(struct world *world)
{
	tap_lots_draw(world->tap, world->burst, BURST, &world->lots);
	return world->lots.n;
}

TEST(told_of_each_kind)
{
	ENDED_BY(world_free_at) struct world *world = world_new(TAP_ANY);
	const struct tap_lot *v4, *v6, *other;

	assert_int_equal(draw_all(world), BURST);
	v4 = &world->lots.each[0];
	v6 = &world->lots.each[1];
	other = &world->lots.each[2];
	assert_int_equal(v4->family, 4);
	assert_int_equal(v4->vlan, 7);
	assert_int_equal(v4->proto, UDP);
	assert_int_equal(v4->dst_port, 53);
	assert_int_equal(v4->slot, CLASSIFY_NONE);
	assert_int_equal(v4->len, world->frames[0].len);
	assert_int_equal(v4->path, 2);
	assert_int_equal(v4->shift, 0);
	assert_memory_equal(v4->src, world->frames[0].bytes + 18 + 12, 4);
	assert_memory_equal(v4->dst, world->frames[0].bytes + 18 + 16, 4);
	assert_int_equal(v6->family, 6);
	assert_int_equal(v6->vlan, PARSE_NO_VLAN);
	assert_int_equal(v6->slot, POLICY);
	assert_int_equal(v6->dst_port, 4500);
	assert_memory_equal(v6->src, world->frames[1].bytes + 14 + 8, 16);
	assert_memory_equal(v6->dst, world->frames[1].bytes + 14 + 24, 16);
	assert_int_equal(other->family, PACKET_OTHER);
	assert_int_equal(other->ethertype, T_ARP);
	assert_memory_equal(other->dst, world->frames[2].bytes, 6);
	assert_memory_equal(other->src, world->frames[2].bytes + 6, 6);
	assert_int_equal(world->lots.each[3].unparsed, UNPARSED_CHAIN_CUT);
	assert_int_equal(world->tap->n_examined, BURST);
}

TEST(only_what_is_wanted)
{
	static const struct {
		uint32_t slot;
		unsigned want;
	} cases[] = {{POLICY, BURST / 2}, {TAP_NO_POLICY, BURST / 2}, {TAP_UNPARSED, 1},
		{POLICY + 1, 0}};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct world *world = world_new(cases[i].slot);

		assert_int_equal(draw_all(world), cases[i].want);
		assert_int_equal(world->tap->n_examined, cases[i].want);
		world_free(world);
	}
}

/*
 * The outcome of a lot is found by where its packet is afterwards. Lots that do not fit are lost
 * and counted.
 */
TEST(what_became_of_them)
{
	ENDED_BY(world_free_at) struct world *world = world_new(TAP_ANY);
	struct rte_mbuf *passing[] = {&world->mbufs[1], &world->mbufs[4]},
			*dropped[] = {&world->mbufs[0]};
	unsigned passed = 0, drops = 0, waits = 0, n = 0;
	struct tap_lot lot;

	draw_all(world);
	tap_lots_take(world->tap, &world->lots, passing, 2, dropped, 1);
	for (; tap_lots_read(world->tap, &lot); n++) {
		assert_int_equal(lot.verdict, n == 0             ? TAP_DROP
					      : n == 1 || n == 4 ? TAP_PASS
								 : TAP_WAIT);
		passed += lot.verdict == TAP_PASS;
		drops += lot.verdict == TAP_DROP;
		waits += lot.verdict == TAP_WAIT;
	}
	assert_int_equal(n, BURST);
	assert_true(passed == 2 && drops == 1 && waits == BURST - 3);
	for (unsigned i = 0; i < 100; i++)
		tap_lots_take(world->tap, &world->lots, passing, 2, dropped, 1);
	assert_int_equal(world->tap->n_taken, BURST + RING_LOTS);
	assert_int_equal(world->tap->n_lost, 100 * BURST - RING_LOTS);
	for (n = 0; tap_lots_read(world->tap, &lot); n++)
		;
	assert_int_equal(n, RING_LOTS);
}

/*
 * A burst that is not full draws only from its own packets, not from those left by another burst.
 */
TEST(only_of_the_burst)
{
	static const unsigned rows[] = {1, 2, BURST - 1, BURST};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct world *world = world_new(TAP_ANY);

		tap_lots_draw(world->tap, world->burst, rows[i], &world->lots);
		assert_int_equal(world->lots.n, rows[i]);
		assert_int_equal(world->tap->n_examined, rows[i]);
		for (unsigned k = 0; k < rows[i]; k++)
			assert_ptr_equal(world->lots.mbufs[k], &world->mbufs[k]);
		world_free(world);
		world = world_new(POLICY);
		tap_lots_draw(world->tap, world->burst, rows[i], &world->lots);
		assert_int_equal(world->lots.n, rows[i] / 2);
		world_free(world);
	}
}

/* A frame shorter than an Ethernet header has no addresses and no type. */
TEST(too_short)
{
	static const uint8_t none[16];
	static const struct {
		uint32_t len;
		bool told;
	} rows[] = {{0, false}, {13, false}, {14, true}, {15, true}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct world *world = world_new(TAP_ANY);
		const struct tap_lot *lot = &world->lots.each[2];

		world->burst->frames.len[2] = rows[i].len;
		tap_lots_draw(world->tap, world->burst, 3, &world->lots);
		assert_int_equal(lot->family, PACKET_OTHER);
		assert_int_equal(lot->len, rows[i].len);
		assert_int_equal(lot->ethertype, rows[i].told ? T_ARP : 0);
		assert_memory_equal(lot->dst, rows[i].told ? world->frames[2].bytes : none, 6);
		assert_memory_equal(lot->src, rows[i].told ? world->frames[2].bytes + 6 : none, 6);
		world_free(world);
	}
}

/* A second tap with the same worker and number is rejected. */
TEST(one_of_a_name)
{
	struct tap *tap = tap_lots_create(1, 7000, 5, 1000, tick_hz()), *others[2];

	assert_non_null(tap);
	for (unsigned i = 0; i < 2; i++) {
		others[i] = tap_lots_create(i, 7000 + i, 5, 1000, tick_hz());
		assert_non_null(others[i]);
	}
	tap_destroy(others[0]);
	tap_destroy(others[1]);
	assert_int_equal(tap->slot, TAP_ANY);
	assert_true(tap->by_lot);
	assert_null(tap_lots_create(1, 7000, 5, 1000, tick_hz()));
	tap_destroy(tap);
	tap = tap_lots_create(1, 7000, 5, 1000, tick_hz());
	assert_non_null(tap);
	tap_destroy(tap);
}

/* After its end the tap takes and counts nothing. */
TEST(ends_by_itself)
{
	ENDED_BY(world_free_at) struct world *world = world_new(TAP_ANY);

	world->tap->until = world->burst->frames.now;
	assert_int_equal(draw_all(world), 0);
	assert_int_equal(world->tap->n_examined, 0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
