/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A tap that takes packets by lot (flow/packet_sample.h), of each no more than who sent what to
 * whom: to estimate from. Bursts are judged as they always are; a packet that is taken is looked at
 * before, and found again among those that pass or are dropped.
 */
#ifndef WEIR_APP_TAP_LOTS_H
#define WEIR_APP_TAP_LOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tap.h"
#include "worker_data.h"

struct rte_mbuf;
struct rx_burst;

/* Beside TAP_ANY and TAP_NO_POLICY in tap->slot: of whatever policy, that were not understood. */
#define TAP_UNPARSED (TAP_ANY - 2)

/* A packet that was taken: of what is classified, which may be in a tunnel. */
struct tap_lot {
	uint32_t slot;      /* of its policy, or CLASSIFY_NONE */
	uint32_t len;       /* bytes of the frame */
	uint8_t shift;      /* it stands for 2^shift packets */
	uint8_t verdict;    /* TAP_PASS, TAP_DROP or TAP_WAIT */
	uint8_t family;     /* enum packet_family */
	uint8_t proto;      /* 0: unknown */
	uint8_t unparsed;   /* enum packet_unparsed */
	uint16_t vlan;      /* or PARSE_NO_VLAN */
	uint16_t ethertype; /* of what is no IP; 0 unknown */
	uint16_t src_port, dst_port;
	uint16_t path;
	uint8_t src[16], dst[16]; /* an address as long as the family's; of others a MAC address */
};

/* Those of a burst. */
struct tap_lots {
	unsigned n;
	const struct rte_mbuf *mbufs[BURST];
	struct tap_lot each[BURST];
};

/*
 * Control: a tap that takes about so many packets a second of those that it is to want, on a
 * counter of hz; tap_destroy() is due. NULL when out of memory.
 */
struct tap *tap_lots_create(
	unsigned worker, uint64_t number, uint64_t seed, uint32_t rate, uint64_t hz);

/* Control: the oldest one; false if there is none. */
bool tap_lots_read(struct tap *tap, struct tap_lot *lot);

/* Which of n packets that were looked up, and not yet decided, are taken. The worker. */
void tap_lots_draw(struct tap *tap, struct rx_burst *burst, unsigned n, struct tap_lots *lots);

/* Tells what became of them: of those that neither pass nor are dropped, that they wait. */
void tap_lots_take(struct tap *tap, struct tap_lots *lots, struct rte_mbuf *const *passing,
	unsigned n_pass, struct rte_mbuf *const *dropped, unsigned n_dropped);

#endif
