/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sample of a worker's packets for a capture, with the outcome of each.
 */
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "base/counter.h"
#include "classify/classify.h"
#include "flow/packet_sample.h"
#include "packet/parse.h"
#include "policy/policy.h"
#include "rx_burst.h"
#include "slot_map.h"
#include "tick.h"

#define RECORDS_HEADERS 1024
#define RECORDS_WHOLE   64
#define SAVED_PART      10 /* part of a second's packets that can be taken together */

static struct tap_pace pace_of(uint64_t per_s, uint64_t hz)
{
	struct tap_pace pace = {.ticks = per_s ? hz / per_s : 0, .depth = hz / SAVED_PART};

	if (pace.depth < pace.ticks)
		pace.depth = pace.ticks;
	return pace;
}

/* Takes n packets from the pace. Returns false if they exceed it. */
static bool pace_take(struct tap_pace *pace, uint64_t n, uint64_t now)
{
	if (pace->ticks == 0)
		return true;
	if ((int64_t)(now - pace->next) > (int64_t)pace->depth)
		pace->next = now - pace->depth;
	if ((int64_t)(now - pace->next) < 0)
		return false;
	pace->next += n * pace->ticks;
	return true;
}

struct tap *tap_create(unsigned worker, uint64_t number, bool whole, uint64_t rate, uint64_t hz)
{
	struct tap *tap = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(sizeof(*tap), 64));
	uint32_t bytes = whole ? TAP_WHOLE : TAP_HEADERS;
	char name[RTE_RING_NAMESIZE];

	if (!tap)
		return NULL;
	memset(tap, 0, sizeof(*tap));
	tap->slot = tap->reason = tap->verdict = TAP_ANY;
	tap->whole = whole;
	tap->record = (uint32_t)sizeof(struct tap_record) + bytes;
	tap->examined = pace_of(TAP_EXAMINED_S, hz);
	tap->taken = pace_of(rate, hz);
	snprintf(name, sizeof(name), "tap%u-%u", worker, (unsigned)number);
	tap->ring = rte_ring_create_elem(name, tap->record, whole ? RECORDS_WHOLE : RECORDS_HEADERS,
		SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (tap->ring)
		return tap;
	free(tap);
	return NULL;
}

void tap_destroy(struct tap *tap)
{
	if (tap)
		rte_ring_free(tap->ring);
	free(tap);
}

bool tap_read(struct tap *tap, struct tap_record *record)
{
	return rte_ring_sc_dequeue_elem(tap->ring, record, tap->record) == 0;
}

bool tap_examines(struct tap *tap, uint16_t n, uint64_t now)
{
	if ((int64_t)(now - __atomic_load_n(&tap->until, __ATOMIC_RELAXED)) >= 0)
		return false;
	if (pace_take(&tap->examined, n, now)) {
		counter_add(&tap->n_examined, n);
		return true;
	}
	counter_add(&tap->n_skipped, n);
	return false;
}

bool tap_asks_for(const struct tap *tap, uint32_t slot)
{
	if (tap->slot == TAP_ANY || slot == CLASSIFY_NONE)
		return tap->slot == TAP_ANY || tap->slot == TAP_NO_POLICY;
	for (unsigned level = 0; level < POLICY_LEVELS_MOST && slot != SLOT_NONE; level++) {
		if (slot == tap->slot)
			return true;
		slot = tap->parents ? tap->parents[slot] : SLOT_NONE;
	}
	return false;
}

void tap_take(
	struct tap *tap, const struct rte_mbuf *m, const struct tap_record *what, uint32_t headers)
{
	uint32_t most = tap->whole ? TAP_WHOLE : RTE_MIN(headers, (uint32_t)TAP_HEADERS);
	struct tap_record *record = (struct tap_record *)tap->room;
	const bool wanted = tap_asks_for(tap, what->slot) &&
			    (tap->reason == TAP_ANY || tap->reason == what->reason) &&
			    (tap->verdict == TAP_ANY || tap->verdict == what->verdict);
	const void *bytes;

	if (!wanted)
		return;
	if (!pace_take(&tap->taken, 1, what->tick)) {
		counter_add(&tap->n_limited, 1);
		return;
	}
	*record = *what;
	record->len = m->pkt_len;
	record->captured = RTE_MIN(m->pkt_len, most);
	bytes = rte_pktmbuf_read(m, 0, record->captured, record->bytes);
	if (bytes != record->bytes)
		memcpy(record->bytes, bytes, record->captured);
	if (rte_ring_sp_enqueue_elem(tap->ring, record, tap->record))
		counter_add(&tap->n_lost, 1);
	else
		counter_add(&tap->n_taken, 1);
}

void tap_dropped(struct worker *w, uint16_t path, struct rte_mbuf *const *mbufs, unsigned n,
	enum drop_reason reason, uint64_t now)
{
	struct tap *tap = __atomic_load_n(&w->tap, __ATOMIC_ACQUIRE);
	const struct tap_record what = {.tick = now,
		.slot = CLASSIFY_NONE,
		.verdict = TAP_DROP,
		.reason = (uint8_t)reason,
		.path = path};

	if (!tap || tap->by_lot)
		return;
	for (unsigned i = 0; i < n; i++)
		if (tap_examines(tap, 1, now))
			tap_take(tap, mbufs[i], &what, TAP_HEADERS);
}

const char *tap_verdict_name(enum tap_verdict verdict)
{
	static const char *const names[TAP_VERDICTS] = {
		[TAP_PASS] = "pass",
		[TAP_DROP] = "drop",
		[TAP_MARK] = "mark",
		[TAP_COUNT] = "count",
		[TAP_WAIT] = "wait",
	};

	return names[verdict];
}

/* --- lots ------------------------------------------------------------------------------------- */

/*
 * Twice the packets that are taken at the start of a flood, before the sample adapts to its rate.
 */
#define LOTS 2048

#define IPV4_BYTES 4
#define IPV6_BYTES 16
#define MAC_BYTES  6
#define ETHER_HEAD 14

struct tap *tap_lots_create(
	unsigned worker, uint64_t number, uint64_t seed, uint32_t rate, uint64_t hz)
{
	struct tap *tap = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(sizeof(*tap), 64));
	char name[RTE_RING_NAMESIZE];

	if (!tap)
		return NULL;
	memset(tap, 0, sizeof(*tap));
	tap->slot = TAP_ANY;
	tap->by_lot = true;
	tap->record = RTE_ALIGN(sizeof(struct tap_lot), 4);
	packet_sample_init(&tap->sample, seed, rate, hz, tick_now());
	snprintf(name, sizeof(name), "tap%u-%u", worker, (unsigned)number);
	tap->ring = rte_ring_create_elem(
		name, tap->record, LOTS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (tap->ring)
		return tap;
	free(tap);
	return NULL;
}

bool tap_lots_read(struct tap *tap, struct tap_lot *lot)
{
	return rte_ring_sc_dequeue_elem(tap->ring, lot, tap->record) == 0;
}

/* Returns the wanted packets of n, as a bit mask. */
static uint64_t wanted_packets(const struct tap *tap, const struct rx_burst *burst, unsigned n)
{
	uint64_t wanted = 0;

	if (tap->slot == TAP_ANY)
		return UINT64_MAX >> (64 - n);
	if (tap->slot == TAP_UNPARSED)
		return burst->frames.unparsed;
	for (unsigned i = 0; i < n; i++)
		wanted |= (uint64_t)tap_asks_for(tap, burst->frames.policy[i]) << i;
	return wanted;
}

/* Copies the IP addresses; for other packets those of Ethernet, if the frame is long enough. */
static void copy_addresses(
	struct tap_lot *lot, const struct packet *packet, const uint8_t *data, uint32_t len)
{
	size_t bytes = packet->family == PACKET_IPV4 ? IPV4_BYTES : IPV6_BYTES;

	if (packet->family != PACKET_OTHER) {
		memcpy(lot->src, data + packet->src_off, bytes);
		memcpy(lot->dst, data + packet->dst_off, bytes);
	} else if (len >= ETHER_HEAD) {
		memcpy(lot->dst, data, MAC_BYTES);
		memcpy(lot->src, data + MAC_BYTES, MAC_BYTES);
		if (packet->l2_len >= ETHER_HEAD && packet->l2_len <= len)
			lot->ethertype = (uint16_t)(data[packet->l2_len - 2] << 8 |
						    data[packet->l2_len - 1]);
	}
}

static void describe_lot(struct tap_lot *lot, struct rx_burst *burst, unsigned i, unsigned shift)
{
	const struct packet *packet = frames_packet(&burst->frames, i);

	*lot = (struct tap_lot){
		.slot = burst->frames.policy[i],
		.len = burst->len[i],
		.shift = (uint8_t)shift,
		.family = packet->family,
		.proto = packet->proto,
		.unparsed = packet->unparsed,
		.vlan = packet->vlan,
		.src_port = packet->src_port,
		.dst_port = packet->dst_port,
		.path = burst->path,
	};
	copy_addresses(lot, packet, burst->frames.data[i], burst->frames.len[i]);
}

void tap_lots_draw(struct tap *tap, struct rx_burst *burst, unsigned n, struct tap_lots *lots)
{
	uint64_t now = burst->frames.now, wanted, taken;
	unsigned shift;

	lots->n = 0;
	if ((int64_t)(now - __atomic_load_n(&tap->until, __ATOMIC_RELAXED)) >= 0)
		return;
	wanted = wanted_packets(tap, burst, n);
	counter_add(&tap->n_examined, (unsigned)__builtin_popcountll(wanted));
	taken = packet_sample_take(&tap->sample, wanted, now, &shift);
	for (; taken; taken &= taken - 1) {
		unsigned i = (unsigned)__builtin_ctzll(taken);

		lots->mbufs[lots->n] = burst->mbufs[i];
		describe_lot(&lots->each[lots->n++], burst, i, shift);
	}
}

static bool is_among(const struct rte_mbuf *m, struct rte_mbuf *const *mbufs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (mbufs[i] == m)
			return true;
	return false;
}

void tap_lots_take(struct tap *tap, struct tap_lots *lots, struct rte_mbuf *const *passing,
	unsigned n_pass, struct rte_mbuf *const *dropped, unsigned n_dropped)
{
	for (unsigned i = 0; i < lots->n; i++) {
		struct tap_lot *lot = &lots->each[i];

		lot->verdict = is_among(lots->mbufs[i], passing, n_pass)      ? TAP_PASS
			       : is_among(lots->mbufs[i], dropped, n_dropped) ? TAP_DROP
									      : TAP_WAIT;
		if (rte_ring_sp_enqueue_elem(tap->ring, lot, tap->record))
			counter_add(&tap->n_lost, 1);
		else
			counter_add(&tap->n_taken, 1);
	}
}
