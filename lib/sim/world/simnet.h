/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The network of all simulations, in virtual time. A datagram between numbered nodes is copied,
 * delayed and passed to its receiver, unless the network is partitioned by then. A link can lose,
 * delay, duplicate and reorder datagrams (simnet_send), or the sender's world chooses the time
 * (simnet_carry). One thread.
 */
#ifndef WEIR_SIM_SIMNET_H
#define WEIR_SIM_SIMNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "world/events.h"

/* A drop-tail queue that drains at a rate, in virtual time. */

#define LINK_QUEUE_FULL UINT64_MAX
#define LINK_QUEUE_BYTE UINT64_C(8000000000) /* nanoseconds × bit/s */

/* Zeroed before use. */
struct link_queue {
	uint64_t busy_until_ns;
	uint64_t left_over; /* nanoseconds × bit/s: remainder, which keeps the rate exact */
};

/*
 * Returns the time at which a packet that arrives at now_ns has left the link, or LINK_QUEUE_FULL
 * if the queue has no room for its bytes. The unsent part of the current packet counts as queued.
 * An idle link accepts any packet. A packet has less than 2 MB; calls come in order of time.
 */
static inline uint64_t link_queue_pass(struct link_queue *queue, uint64_t now_ns, uint64_t bytes,
	uint64_t rate_bps, uint64_t room_bytes)
{
	unsigned __int128 waiting; /* bytes, in the unit of left_over */
	uint64_t work;

	if (queue->busy_until_ns <= now_ns)
		*queue = (struct link_queue){.busy_until_ns = now_ns};
	waiting = (unsigned __int128)(queue->busy_until_ns - now_ns) * rate_bps;
	work = bytes * LINK_QUEUE_BYTE;
	if (waiting && waiting + work > (unsigned __int128)room_bytes * LINK_QUEUE_BYTE)
		return LINK_QUEUE_FULL;
	work += queue->left_over;
	queue->busy_until_ns += work / rate_bps;
	queue->left_over = work % rate_bps;
	return queue->busy_until_ns;
}

#define UDP_OVERHEAD 28 /* bytes of IPv4 and UDP headers */

enum delay_kind { DELAY_CONSTANT, DELAY_UNIFORM, DELAY_NORMAL, DELAY_EXPONENTIAL, DELAY_PARETO };

struct network_pair;

/* The properties of the network between any two nodes, in one direction. */
struct network {
	enum delay_kind kind;
	uint64_t delay_ns;  /* constant: the delay; normal: mean; others: least */
	uint64_t spread_ns; /* uniform: width; normal: deviation; exponential, pareto: mean of the
	                     * part above the least */
	double loss, duplicate;
	double reorder; /* part of the datagrams that wait reorder_ns longer and are overtaken */
	uint64_t reorder_ns;
	uint64_t rate_bps;          /* rate at which a node can send; 0: unlimited */
	uint64_t queue_bytes;       /* queue in front of that bottleneck */
	struct network_pair *pairs; /* pairs of nodes with another link; the last one counts */
	unsigned n_pairs;
};

/*
 * Another link between each node of a first set and each node of a second one, in both directions.
 */
struct network_pair {
	struct network link; /* without its own rate, queue and pairs */
	uint32_t *sets;      /* by node: bit 0: in the first set, bit 1: in the second */
};

struct simnet_totals {
	uint64_t datagrams, bytes; /* sent, with IP and UDP headers */
	uint64_t lost, lost_bytes; /* because of loss, a partition, a full queue, or no receiver */
};

/* Receives a datagram, whose bytes can be changed. Returns false if there is no receiver. */
typedef bool (*simnet_receive)(void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len);

/* Zeroed before use, except the first two members. */
struct simnet {
	struct events *events; /* its world is passed to `receive` */
	simnet_receive receive;
	const uint32_t *side;   /* by node: nodes of one side reach each other; NULL: all do */
	struct link_queue *out; /* by node; used if the network has a rate */
	struct simnet_totals totals;
};

/* Delivers a copy of the bytes at at_ns. Without memory the run ends with -ENOMEM. */
void simnet_carry(struct simnet *net, unsigned from, unsigned to, uint64_t at_ns, const void *bytes,
	size_t len);

/* Sends a datagram now. The link's probabilities determine its delay, loss and duplication. */
void simnet_send(struct simnet *net, const struct network *network, struct prng *prng,
	unsigned from, unsigned to, const uint8_t *bytes, size_t len);

/*
 * Returns the link between two nodes: that of the last pair that contains both, or the network's.
 */
const struct network *network_between(const struct network *network, unsigned a, unsigned b);

/* Returns true if no partition separates two nodes now. */
bool simnet_joins(const struct simnet *net, unsigned a, unsigned b);

/* Frees datagrams in flight. Call it before events_free(). */
void simnet_free(struct simnet *net);

/* Returns a random one-way delay of the network's distribution. */
uint64_t network_delay(const struct network *network, struct prng *prng);

#endif
