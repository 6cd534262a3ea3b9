/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The network of all simulations, in virtual time: a datagram between numbered nodes is copied,
 * takes its time, and is handed to its receiver, unless the network has parted meanwhile. It can be
 * lost, delayed, repeated and reordered by the properties of a link (simnet_send), or as its
 * sender's world draws it (simnet_carry). One thread.
 */
#ifndef WEIR_SIM_SIMNET_H
#define WEIR_SIM_SIMNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"
#include "world/events.h"
#include "world/link_queue.h"

#define UDP_OVERHEAD 28 /* bytes of IPv4 and UDP headers */

enum delay_kind { DELAY_CONSTANT, DELAY_UNIFORM, DELAY_NORMAL, DELAY_EXPONENTIAL, DELAY_PARETO };

struct network_pair;

/* What lies between any two nodes, one way. */
struct network {
	enum delay_kind kind;
	uint64_t delay_ns;  /* constant: that; normal: mean; the others: least */
	uint64_t spread_ns; /* uniform: width; normal: deviation; exponential, pareto: mean of the
	                     * part above the least */
	double loss, duplicate;
	double reorder; /* of the datagrams wait reorder_ns longer, so that others overtake */
	uint64_t reorder_ns;
	uint64_t rate_bps;          /* that a node can send at; 0: any */
	uint64_t queue_bytes;       /* before that bottleneck */
	struct network_pair *pairs; /* nodes between which there is another link; the last counts */
	unsigned n_pairs;
};

/* Another link from each node of a first set to each node of a second one, and back. */
struct network_pair {
	struct network link; /* without rate, queue and pairs of its own */
	uint32_t *sets;      /* by node: bit 0: in the first set, bit 1: in the second */
};

struct simnet_totals {
	uint64_t datagrams, bytes; /* sent, with IP and UDP headers */
	uint64_t lost, lost_bytes; /* by loss, partition, a full queue, or nobody there */
};

/* Takes a datagram, of which the bytes may be written to; false when nobody is there. */
typedef bool (*simnet_receive)(void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len);

/* Zeroed before use, but for the first two. */
struct simnet {
	struct events *events; /* whose world is the receiver's */
	simnet_receive receive;
	const uint32_t *side;   /* of each node: only those of one side reach each other; or NULL */
	struct link_queue *out; /* of each node: where the network has a rate */
	struct simnet_totals totals;
};

/* A copy of the bytes arrives at at_ns. Out of memory ends the run. */
void simnet_carry(struct simnet *net, unsigned from, unsigned to, uint64_t at_ns, const void *bytes,
	size_t len);

/* The link decides, by its probabilities, what becomes of a datagram that is sent now. */
void simnet_send(struct simnet *net, const struct network *network, struct prng *prng,
	unsigned from, unsigned to, const uint8_t *bytes, size_t len);

/* The link between two nodes: that of the last of the pairs that name both, or the network. */
const struct network *network_between(const struct network *network, unsigned a, unsigned b);

/* Whether nothing parts two nodes now. */
bool simnet_joins(const struct simnet *net, unsigned a, unsigned b);

/* Frees what is under way; before events_free(). */
void simnet_free(struct simnet *net);

/* One way, drawn from a network's distribution. */
uint64_t network_delay(const struct network *network, struct prng *prng);

#endif
