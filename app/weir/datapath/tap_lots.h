/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A tap that draws packets at random (flow/packet_sample.h), for estimates. Bursts are decided as
 * usual: a packet is described before the decision, and its verdict is looked up after it.
 */
#ifndef WEIR_APP_TAP_LOTS_H
#define WEIR_APP_TAP_LOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tap.h"
#include "worker_data.h"

struct rte_mbuf;
struct rx_burst;

/* For tap->slot, like TAP_ANY and TAP_NO_POLICY: unparsed packets of any policy. */
#define TAP_UNPARSED (TAP_ANY - 2)

/* A packet in the ring: its headers as classified, which can be in a tunnel. */
struct tap_lot {
	uint32_t slot;      /* the policy's, or CLASSIFY_NONE */
	uint32_t len;       /* bytes of the frame */
	uint8_t shift;      /* stands for 2^shift packets */
	uint8_t verdict;    /* TAP_PASS, TAP_DROP or TAP_WAIT */
	uint8_t family;     /* enum packet_family */
	uint8_t proto;      /* 0: unknown */
	uint8_t unparsed;   /* enum packet_unparsed */
	uint16_t vlan;      /* or PARSE_NO_VLAN */
	uint16_t ethertype; /* if the packet is not IP; 0: unknown */
	uint16_t src_port, dst_port;
	uint16_t path;
	uint8_t src[16], dst[16]; /* length by the family; MAC addresses if the packet is not IP */
};

/* The taken packets of a burst. */
struct tap_lots {
	unsigned n;
	const struct rte_mbuf *mbufs[BURST];
	struct tap_lot each[BURST];
};

/*
 * Creates a tap of about `rate` packets a second, with ticks of `hz`. Returns NULL if out of
 * memory. Free it with tap_destroy(). Control.
 */
struct tap *tap_lots_create(
	unsigned worker, uint64_t number, uint64_t seed, uint32_t rate, uint64_t hz);

/* Moves the oldest packet to *lot. Returns false if there is none. Control. */
bool tap_lots_read(struct tap *tap, struct tap_lot *lot);

/* Chooses some of n packets that are classified and not yet decided. The worker. */
void tap_lots_draw(struct tap *tap, struct rx_burst *burst, unsigned n, struct tap_lots *lots);

/*
 * Sets the verdicts of the chosen packets and puts them into the ring. A packet in neither array
 * gets TAP_WAIT. The worker.
 */
void tap_lots_take(struct tap *tap, struct tap_lots *lots, struct rte_mbuf *const *passing,
	unsigned n_pass, struct rte_mbuf *const *dropped, unsigned n_dropped);

#endif
