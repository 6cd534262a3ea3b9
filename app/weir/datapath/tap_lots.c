/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "tap_lots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "base/counter.h"
#include "classify/classify.h"
#include "rx_burst.h"
#include "flow/packet_sample.h"
#include "packet/parse.h"
#include "tick.h"

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
