/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker with a tap handles packets like one without. The tap records each packet as the counters
 * count it: all or the selected packets, limited by the ring's room, until the tap ends.
 */
#include "instance_world.h"
#include "scope.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "classify/classify.h"
#include "tap.h"
#include "tick.h"

END_POINTER(rte_pktmbuf_free, struct rte_mbuf *)
END_POINTER(tap_destroy, struct tap *)

#define POLICY "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '8kbit/s', 'burst': '2kB'}"

#define SHAPED                                                                                 \
	"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '8kbit/s', 'burst': '2kB', " \
	"'action': 'shape', 'shape': {'delay': '1s', 'queue': '500B'}}"

struct world {
	struct instance_world w;
	struct worker *worker;
	struct tap *tap;
	struct tap_record *record;
	uint64_t number;
};

static struct world *world_new_of(const char *policy)
{
	struct world *world = test_calloc(1, sizeof(*world));

	instance_world_open(&world->w, policy);
	world->worker = &world->w.inst.workers[0];
	world->record = malloc(sizeof(*world->record) + TAP_WHOLE);
	return world;
}

static struct world *world_new(void)
{
	return world_new_of(POLICY);
}

static void world_free(struct world *world)
{
	world->worker->tap = NULL;
	tap_destroy(world->tap);
	instance_world_close(&world->w);
	free(world->record);
	test_free(world);
}

END_POINTER(world_free, struct world *)

/* Replaces the tap by one of `rate` packets per second; 0: all. */
static void put_tap(struct world *world, uint64_t rate, bool whole)
{
	static uint64_t number;

	world->worker->tap = NULL;
	tap_destroy(world->tap);
	world->tap = tap_create(0, ++number, whole, rate, tick_hz());
	assert_non_null(world->tap);
	world->tap->until = tick_now() + 3600 * tick_hz();
	world->tap->examined.ticks = 0; /* all of them, however slowly this runs */
	world->worker->tap = world->tap;
}

struct seen {
	uint64_t packets, passed, limit, queue_full, waits, of_policy, bytes;
};

static struct seen read_all(struct world *world)
{
	struct seen seen = {0};

	while (tap_read(world->tap, world->record)) {
		seen.packets++;
		seen.passed += world->record->verdict == TAP_PASS;
		seen.limit += world->record->reason == DROP_LIMIT;
		seen.queue_full += world->record->reason == DROP_QUEUE_FULL;
		seen.waits += world->record->verdict == TAP_WAIT;
		seen.of_policy += world->record->slot != CLASSIFY_NONE;
		seen.bytes += world->record->captured;
	}
	return seen;
}

TEST(all_is_seen)
{
	ENDED_BY(world_free_at) struct world *world = world_new();
	const struct worker_counters *c = &world->worker->counters;
	struct seen seen;

	put_tap(world, 0, false);
	for (unsigned i = 0; i < 4; i++)
		instance_world_turn(&world->w, 0);
	seen = read_all(world);
	assert_int_equal(c->rx_packets, 4 * 2 * INSTANCE_BURST);
	assert_int_equal(seen.packets, c->rx_packets);
	assert_int_equal(seen.passed, c->tx_packets);
	assert_int_equal(seen.limit, c->dropped[DROP_LIMIT]);
	assert_true(seen.limit > 0 && seen.passed > 4 * INSTANCE_BURST);
	assert_int_equal(seen.packets - seen.of_policy, c->unmatched_packets);
	assert_int_equal(world->tap->n_taken, seen.packets);
}

TEST(only_what_is_wanted)
{
	ENDED_BY(world_free_at) struct world *world = world_new();
	struct seen seen;

	put_tap(world, 0, true);
	world->tap->reason = DROP_LIMIT;
	instance_world_turn(&world->w, 0);
	instance_world_turn(&world->w, 0);
	seen = read_all(world);
	assert_true(seen.packets > 0);
	assert_int_equal(seen.packets, world->worker->counters.dropped[DROP_LIMIT]);
	assert_int_equal(seen.limit, seen.packets);
	assert_int_equal(seen.bytes % seen.packets, 0);
	put_tap(world, 0, false);
	world->tap->slot = TAP_NO_POLICY;
	instance_world_turn(&world->w, 0);
	assert_int_equal(read_all(world).packets, INSTANCE_BURST);
}

/* A full ring loses records, and never a packet. */
TEST(full_ring_and_rate)
{
	ENDED_BY(world_free_at) struct world *world = world_new();
	const struct worker_counters *c = &world->worker->counters;
	uint64_t sum;

	put_tap(world, 0, true);
	for (unsigned i = 0; i < 4; i++)
		instance_world_turn(&world->w, 0);
	assert_true(world->tap->n_lost > 0);
	assert_int_equal(world->tap->n_taken + world->tap->n_lost, c->rx_packets);
	assert_int_equal(read_all(world).packets, world->tap->n_taken);
	assert_int_equal(c->rx_packets, c->tx_packets + c->dropped[DROP_LIMIT]);
	put_tap(world, 1, false);
	instance_world_turn(&world->w, 0);
	sum = world->tap->n_taken + world->tap->n_limited;
	assert_int_equal(sum, 2 * INSTANCE_BURST);
	assert_true(world->tap->n_limited > 0);
}

/* Returns the buffers that are outside of the ports' pools and the workers. */
static unsigned buffers_out(const struct world *world)
{
	const struct instance *inst = &world->w.inst;
	unsigned n = 0;

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		n += rte_mempool_in_use_count(inst->ports[i].pool);
	return n;
}

/* Each packet of a burst is sent or freed once, except the waiting ones. */
TEST(what_waits_stays)
{
	ENDED_BY(world_free_at) struct world *world = world_new_of(SHAPED);
	unsigned before = buffers_out(world);

	put_tap(world, 0, false);
	for (unsigned i = 0; i < 8; i++) {
		instance_world_turn(&world->w, 0);
		assert_int_equal(buffers_out(world) - before,
			engine_waiting(&world->w.inst.engine, 0).packets);
	}
	assert_true(buffers_out(world) > before);
	assert_true(world->worker->counters.dropped[DROP_QUEUE_FULL] > 0);
}

/* A rate allows a tenth of a second's packets together, and at least one. */
TEST(rates)
{
	const uint64_t hz = tick_hz(), later = 1000 * hz;
	ENDED_BY(tap_destroy_at) struct tap *tap = tap_create(0, 5000, false, 100, hz);

	assert_non_null(tap);
	tap->until = 2 * later;
	for (uint64_t now = later; now <= later + 100 * hz; now += 50 * hz) {
		const uint64_t examined = tap->n_examined, skipped = tap->n_skipped;

		assert_true(tap_examines(tap, TAP_EXAMINED_S / 10, now));
		assert_true(tap_examines(tap, 1, now));
		assert_false(tap_examines(tap, 3, now));
		assert_true(tap_examines(tap, 1, now + hz / TAP_EXAMINED_S));
		assert_false(tap_examines(tap, 1, now + hz / TAP_EXAMINED_S));
		assert_int_equal(tap->n_examined - examined, TAP_EXAMINED_S / 10 + 2);
		assert_int_equal(tap->n_skipped - skipped, 4);
	}
	assert_int_equal(tap->taken.ticks, hz / 100);
	assert_int_equal(tap->taken.depth, hz / 10);
	tap_destroy(tap);
	tap = tap_create(0, 5001, true, 2, hz);
	assert_int_equal(tap->taken.ticks, hz / 2);
	assert_int_equal(tap->taken.depth, hz / 2);
}

/* Waiting packets belong to the shaper. They are not recorded as sent or dropped. */
TEST(what_waits)
{
	ENDED_BY(world_free_at) struct world *world = world_new_of(SHAPED);
	const struct worker_counters *c = &world->worker->counters;
	struct seen seen;

	put_tap(world, 0, false);
	for (unsigned i = 0; i < 3; i++)
		instance_world_turn(&world->w, 0);
	seen = read_all(world);
	assert_int_equal(seen.packets, c->rx_packets);
	assert_int_equal(seen.queue_full, c->dropped[DROP_QUEUE_FULL]);
	assert_true(seen.queue_full > 0 && seen.waits > 0);
	assert_int_equal(seen.passed + seen.waits + seen.queue_full, seen.packets);
}

TEST(ends_by_itself)
{
	ENDED_BY(world_free_at) struct world *world = world_new();

	put_tap(world, 0, false);
	world->tap->until = tick_now();
	instance_world_turn(&world->w, 0);
	assert_int_equal(read_all(world).packets, 0);
	assert_int_equal(world->tap->n_examined, 0);
	assert_true(world->worker->counters.rx_packets > 0);
}

#define L3 14
#define L4 34

/* A frame with these headers. Bytes of unnamed fields would parse as other numbers. */
struct headed {
	const char *what;
	uint16_t type, part;   /* EtherType; the fragment word */
	uint8_t proto, offset; /* IPv4 protocol; byte 12 of the transport header */
	uint16_t len;
	uint32_t captured; /* with headers only */
};

static void put_word(uint8_t *at, uint16_t word)
{
	at[0] = (uint8_t)(word >> 8);
	at[1] = (uint8_t)word;
}

static uint16_t make_headed(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	const struct headed *row = context;

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *data = rte_pktmbuf_mtod(mbufs[i], uint8_t *);

		memset(data, 0xee, 256);
		memset(data, 2, L3);
		put_word(data + L3 - 2, row->type);
		memset(data + L3, 0, L4 - L3);
		data[L3] = 0x45;
		put_word(data + L3 + 2, 1000);
		put_word(data + L3 + 6, row->part);
		data[L3 + 9] = row->proto;
		data[L4 + 12] = row->offset;
		mbufs[i]->data_len = row->len;
		mbufs[i]->pkt_len = row->len;
	}
	return n;
}

/* Each captured packet of a burst has `bytes` bytes of the row's frame. */
static void expect_captured(struct world *world, const struct headed *row, uint32_t bytes)
{
	unsigned n = 0;

	instance_world_turn(&world->w, 0);
	while (tap_read(world->tap, world->record)) {
		n++;
		if (world->record->slot == CLASSIFY_NONE) /* from the other port */
			continue;
		if (world->record->captured != bytes)
			fail_msg("%s: %u bytes, expected %u", row->what, world->record->captured,
				bytes);
		assert_int_equal(world->record->len, row->len);
		assert_int_equal(world->record->bytes[0], 2);
	}
	assert_int_equal(n, 2 * INSTANCE_BURST);
}

/* All packets received at the first port become the row's frames. */
static const struct rte_eth_rxtx_callback *begin_headed(struct world *world, struct headed *row)
{
	struct path *path = &world->worker->paths[0];
	const struct rte_eth_rxtx_callback *made = rte_eth_add_rx_callback(
		path->rx_port, path->queue, make_headed, row);

	assert_non_null(made);
	world->w.pieces++; /* DPDK keeps removed callbacks */
	return made;
}

static void end_headed(struct world *world, const struct rte_eth_rxtx_callback *made)
{
	struct path *path = &world->worker->paths[0];

	assert_int_equal(rte_eth_remove_rx_callback(path->rx_port, path->queue, made), 0);
}

/* The captured bytes end with the transport header and contain no payload. */
TEST(headers_only)
{
	static struct headed rows[] = {
		{"UDP", 0x0800, 0, 17, 0xee, 200, L4 + 8},
		{"UDP of such bytes as TCP has", 0x0800, 0, 17, 0xf0, 200, L4 + 8},
		{"UDP without anything", 0x0800, 0, 17, 0xee, L4 + 8, L4 + 8},
		{"TCP", 0x0800, 0, 6, 0x50, 200, L4 + 20},
		{"TCP with a flag next to the offset", 0x0800, 0, 6, 0x5f, 200, L4 + 20},
		{"TCP with options", 0x0800, 0, 6, 0x80, 200, L4 + 32},
		{"TCP with most", 0x0800, 0, 6, 0xf0, 200, L4 + 60},
		{"TCP without anything", 0x0800, 0, 6, 0x50, L4 + 20, L4 + 20},
		{"TCP, cut in its options", 0x0800, 0, 6, 0x80, L4 + 30, L4 + 30},
		{"TCP, cut in its header", 0x0800, 0, 6, 0xf0, L4 + 19, L4 + 8},
		{"TCP, cut before the offset", 0x0800, 0, 6, 0xf0, L4 + 12, L4 + 8},
		{"ICMP", 0x0800, 0, 1, 0xee, 200, L4 + 8},
		{"a later fragment", 0x0800, 4, 6, 0xf0, 200, L3 + 60},
		{"what is no IP", 0x88b5, 0, 6, 0xf0, 200, L3 + 60},
		{"what is no IP, and short", 0x88b5, 0, 6, 0xf0, 60, 60},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world *world = world_new();
		const struct rte_eth_rxtx_callback *made = begin_headed(world, &rows[i]);

		put_tap(world, 0, false);
		expect_captured(world, &rows[i], rows[i].captured);
		put_tap(world, 0, true);
		world->tap->slot = 0;
		instance_world_turn(&world->w, 0);
		assert_true(tap_read(world->tap, world->record));
		assert_int_equal(world->record->captured, rows[i].len);
		end_headed(world, made);
		world_free(world);
	}
}

/* Actions on exceeding packets other than dropping them. */
TEST(what_passes_marked)
{
	static const struct {
		const char *policy;
		enum tap_verdict verdict, other;
	} rows[] = {
		{"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '8kbit/s', "
		 "'burst': '2kB', 'action': 'mark', 'mark': 8}",
			TAP_MARK, TAP_COUNT},
		{"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '8kbit/s', "
		 "'burst': '2kB', 'action': 'count'}",
			TAP_COUNT, TAP_MARK},
		/* An ancestor's action, if it comes first. */
		{"{'name': 'link', 'limit': '8kbit/s', 'burst': '2kB', 'action': 'mark', "
		 "'mark': 8}, {'name': 'p', 'parent': 'link', 'match': {'direction': 'a-to-b'}, "
		 "'limit': '1Gbit/s', 'burst': '1MB'}",
			TAP_MARK, TAP_COUNT},
		{"{'name': 'link', 'limit': '8kbit/s', 'burst': '2kB', 'action': 'mark', "
		 "'mark': 8}, {'name': 'p', 'parent': 'link', 'match': {'direction': 'a-to-b'}, "
		 "'limit': '8kbit/s', 'burst': '2kB', 'action': 'count'}",
			TAP_MARK, TAP_COUNT},
		{"{'name': 'link', 'limit': '8kbit/s', 'burst': '2kB', 'action': 'count'}, "
		 "{'name': 'p', 'parent': 'link', 'match': {'direction': 'a-to-b'}, "
		 "'limit': '1Gbit/s', 'burst': '1MB'}",
			TAP_COUNT, TAP_MARK},
	};

	static struct headed udp = {"UDP", 0x0800, 0, 17, 0xee, 200, 0};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world *world = world_new_of(rows[i].policy);
		const struct rte_eth_rxtx_callback *made = begin_headed(world, &udp);
		uint64_t n[TAP_VERDICTS] = {0}, over;

		put_tap(world, 0, false);
		for (unsigned turn = 0; turn < 4; turn++)
			instance_world_turn(&world->w, 0);
		while (tap_read(world->tap, world->record)) {
			n[world->record->verdict]++;
			assert_int_equal(world->record->reason, DROP_REASONS);
		}
		over = instance_world_totals(&world->w, 0).over_packets;
		assert_true(over > 0);
		assert_int_equal(n[rows[i].verdict], over);
		assert_int_equal(n[rows[i].other] + n[TAP_DROP] + n[TAP_WAIT], 0);
		assert_int_equal(n[TAP_PASS], world->worker->counters.tx_packets - over);
		end_headed(world, made);
		world_free(world);
	}
}

/* --- without a worker ------------------------------------------------------------------------- */

/* Returns a packet of two segments of these sizes, whose bytes count up from the start. */
static struct rte_mbuf *two_pieces(struct world *world, uint16_t first, uint16_t second)
{
	struct rte_mempool *pool = world->w.inst.ports[0].pool;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool), *more = rte_pktmbuf_alloc(pool);
	uint8_t *bytes;

	assert_true(m && more);
	bytes = (uint8_t *)rte_pktmbuf_append(m, first);
	for (unsigned i = 0; i < first; i++)
		bytes[i] = (uint8_t)i;
	bytes = (uint8_t *)rte_pktmbuf_append(more, second);
	for (unsigned i = 0; i < second; i++)
		bytes[i] = (uint8_t)(first + i);
	assert_int_equal(rte_pktmbuf_chain(m, more), 0);
	return m;
}

/*
 * The tap copies as many bytes as requested and available, from all segments. The other fields are
 * those of the call.
 */
TEST(bytes_of_pieces)
{
	static const struct {
		bool whole;
		uint32_t headers;
		uint16_t first, second;
		uint32_t captured;
	} rows[] = {
		{false, 40, 100, 100, 40},
		{false, 150, 100, 100, 150},
		{false, 300, 200, 200, TAP_HEADERS},
		{false, 100, 20, 30, 50},
		{false, 40, 20, 30, 40},
		{true, 40, 100, 100, 200},
		{true, 0, 1500, 0, 1500},
		{true, 0, 1000, 900, 1900},
	};
	const struct tap_record what = {
		.tick = 7, .slot = 3, .verdict = TAP_DROP, .reason = DROP_LIMIT, .path = 5};
	ENDED_BY(world_free_at) struct world *world = world_new();

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct rte_mbuf *m = two_pieces(world, rows[i].first, rows[i].second);

		put_tap(world, 0, rows[i].whole);
		tap_take(world->tap, m, &what, rows[i].headers);
		assert_true(tap_read(world->tap, world->record));
		assert_int_equal(world->record->captured, rows[i].captured);
		assert_int_equal(world->record->len, rows[i].first + rows[i].second);
		assert_int_equal(world->record->tick, 7);
		assert_int_equal(world->record->slot, 3);
		assert_int_equal(world->record->path, 5);
		for (unsigned k = 0; k < world->record->captured; k++)
			assert_int_equal(world->record->bytes[k], (uint8_t)k);
		assert_false(tap_read(world->tap, world->record));
		rte_pktmbuf_free(m);
	}
}

/* A packet must match each field of the filter. Unset fields match any packet. */
TEST(each_that_is_wanted)
{
	static const struct {
		uint32_t slot;
		unsigned verdict, reason;
		bool wanted[3]; /* for each packet below */
	} rows[] = {
		{TAP_ANY, TAP_ANY, TAP_ANY, {true, true, true}},
		{3, TAP_ANY, TAP_ANY, {true, false, false}},
		{0, TAP_ANY, TAP_ANY, {false, true, false}},
		{TAP_NO_POLICY, TAP_ANY, TAP_ANY, {false, false, true}},
		{TAP_ANY, TAP_DROP, TAP_ANY, {true, false, true}},
		{TAP_ANY, TAP_PASS, TAP_ANY, {false, true, false}},
		{TAP_ANY, TAP_ANY, DROP_LIMIT, {true, false, false}},
		{TAP_ANY, TAP_DROP, DROP_TX_FULL, {false, false, true}},
		{3, TAP_DROP, DROP_LIMIT, {true, false, false}},
		{3, TAP_DROP, DROP_TX_FULL, {false, false, false}},
		{0, TAP_DROP, TAP_ANY, {false, false, false}},
	};
	static const struct tap_record packets[] = {
		{.slot = 3, .verdict = TAP_DROP, .reason = DROP_LIMIT},
		{.slot = 0, .verdict = TAP_PASS, .reason = DROP_REASONS},
		{.slot = CLASSIFY_NONE, .verdict = TAP_DROP, .reason = DROP_TX_FULL},
	};
	ENDED_BY(world_free_at) struct world *world = world_new();
	ENDED_BY(rte_pktmbuf_free_at) struct rte_mbuf *m = two_pieces(world, 60, 4);

	for (size_t i = 0; i < COUNT(rows); i++)
		for (unsigned k = 0; k < 3; k++) {
			put_tap(world, 0, false);
			world->tap->slot = rows[i].slot;
			world->tap->verdict = rows[i].verdict;
			world->tap->reason = rows[i].reason;
			tap_take(world->tap, m, &packets[k], 40);
			if (tap_read(world->tap, world->record) != rows[i].wanted[k])
				fail_msg("row %zu, packet %u", i, k);
			assert_int_equal(world->tap->n_taken, rows[i].wanted[k]);
		}
}

/* A filter for a policy includes its children's packets, and not its parents'. */
TEST(asked_for_parents)
{
	static const uint32_t parents[] = {SLOT_NONE, 0, 1, 2, 0};
	static const struct {
		uint32_t asked;
		const uint32_t *parents;
		bool wanted[5]; /* for each slot */
	} rows[] = {
		{0, parents, {true, true, true, true, true}},
		{1, parents, {false, true, true, true, false}},
		{3, parents, {false, false, false, true, false}},
		{1, NULL, {false, true, false, false, false}},
		{TAP_NO_POLICY, parents, {false}},
		{TAP_ANY, parents, {true, true, true, true, true}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct tap tap = {.slot = rows[i].asked, .parents = rows[i].parents};

		for (uint32_t slot = 0; slot < 5; slot++)
			if (tap_asks_for(&tap, slot) != rows[i].wanted[slot])
				fail_msg("row %zu, slot %u", i, slot);
	}
}

/* A second tap with the same worker and number is rejected. Each verdict has a name. */
TEST(names)
{
	static const char *const verdicts[TAP_VERDICTS] = {"pass", "drop", "mark", "count", "wait"};
	struct tap *tap = tap_create(0, 7000, false, 0, 1000), *others[2];

	assert_non_null(tap);
	for (unsigned i = 0; i < 2; i++) {
		others[i] = tap_create(i, 7000 + !i, false, 0, 1000);
		assert_non_null(others[i]);
	}
	tap_destroy(others[0]);
	tap_destroy(others[1]);
	assert_int_equal((uintptr_t)tap % RTE_CACHE_LINE_SIZE, 0);
	assert_null(tap_create(0, 7000, false, 0, 1000));
	tap_destroy(tap);
	tap = tap_create(0, 7000, false, 0, 1000);
	assert_non_null(tap);
	tap_destroy(tap);
	tap_destroy(NULL);
	for (unsigned verdict = 0; verdict < TAP_VERDICTS; verdict++)
		assert_string_equal(tap_verdict_name(verdict), verdicts[verdict]);
}

/* Pacing is exact to the tick: the saved allowance, and its remainder. */
TEST(paces)
{
	/* 10 of 1000 ticks a second are taken: one packet each 100 ticks, and one is saved. */
	static const struct {
		uint64_t tick;
		bool limited;
	} rows[] = {
		{1000000, false}, /* saves at most a tenth of a second */
		{1000000, false},
		{1000000, true},
		{1000099, true},
		{1000100, false},
		{1000199, true},
		{1000200, false},
		{1000301, false},
		{1000399, true},
		{1000400, false},
	};
	struct world *world = world_new();
	struct rte_mbuf *m = two_pieces(world, 60, 4);
	struct tap *tap = tap_create(0, 8000, false, 10, 1000);

	assert_non_null(tap);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct tap_record what = {.tick = rows[i].tick, .slot = CLASSIFY_NONE};
		uint64_t limited = tap->n_limited;

		tap_take(tap, m, &what, 40);
		if (tap->n_limited - limited != rows[i].limited)
			fail_msg("row %zu", i);
	}
	tap_destroy(tap);
	rte_pktmbuf_free(m);
	world_free(world);
}

/* Without a rate all packets are recorded at any time, until the unread ring is full. */
TEST(no_pace)
{
	static const struct {
		bool whole;
		unsigned fit;
	} rows[] = {{false, 1023}, {true, 63}};
	ENDED_BY(world_free_at) struct world *world = world_new();
	ENDED_BY(rte_pktmbuf_free_at) struct rte_mbuf *m = two_pieces(world, 60, 4);

	for (unsigned row = 0; row < 2; row++) {
		struct tap *tap = tap_create(0, 9000 + row, rows[row].whole, 0, 1000);
		struct tap_record what = {.slot = CLASSIFY_NONE, .tick = 1000000};

		assert_non_null(tap);
		assert_int_equal(tap->taken.ticks, 0);
		for (unsigned i = 0; i < rows[row].fit + 5; i++, what.tick = i % 2)
			tap_take(tap, m, &what, 40);
		assert_int_equal(tap->n_limited, 0);
		assert_int_equal(tap->n_taken, rows[row].fit);
		assert_int_equal(tap->n_lost, 5);
		tap_destroy(tap);
	}
}

TEST_GROUP(instance_world_start, instance_world_stop)
