/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The network between the limiters: it delays, loses, repeats, reorders and parts.
 */
#ifndef WEIR_SIM_NET_H
#define WEIR_SIM_NET_H

#include <stddef.h>
#include <stdint.h>

#include "sim.h"

#define UDP_OVERHEAD 28 /* IPv4 and UDP headers */

struct net_totals {
	uint64_t datagrams, bytes; /* sent, with IP and UDP headers */
	uint64_t lost;             /* by loss, partition, a full queue, or nobody there */
};

/* Returns 0 or -ENOMEM. */
int net_create(struct sim *sim);
void net_free(struct sim *sim);

/* A datagram goes on its way; buf is copied. */
void net_send(struct sim *sim, unsigned from, unsigned to, const uint8_t *buf, size_t len);

/* Only limiters of one side reach each other (side: one of each); NULL: all do again. */
void net_partition(struct sim *sim, const uint32_t *side);

void net_change(struct sim *sim, const struct network *network);

struct net_totals net_totals(const struct sim *sim);

/* One way, drawn from a network's distribution. */
uint64_t net_delay(const struct network *network, struct prng *prng);

#endif
