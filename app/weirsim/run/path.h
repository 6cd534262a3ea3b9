/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The path of one flow's packets, in order, through its limiter.
 */
#ifndef WEIR_SIM_PATH_H
#define WEIR_SIM_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"
#include "transport/conn_state.h"
#include "world/simnet.h"
#include "shape/shape.h"
#include "sim.h"

#define SOURCE_BYTES 4

struct node;

struct flow {
	const struct traffic *traffic;
	unsigned limiter, policy;
	unsigned record;     /* index in the results */
	unsigned references; /* events that point to it */
	bool over;           /* nothing more will be sent: freed with the last reference */
	uint64_t start_ns, stop_ns, rtt_ns;
	uint64_t sent_until_ns, back_until_ns; /* packets of a flow keep their order */
	struct link_queue own, *link;          /* link: own, or the entry's */
	struct packet packet;                  /* its packets as a parser describes them */
	uint8_t source[2 * SOURCE_BYTES];      /* IPv4 source and destination, which is 0.0.0.0 */
	uint64_t timer_ns;                     /* time of the valid timer event; 0: none */
	uint64_t on_until_ns;                  /* on-off */
	uint64_t left_over; /* cbr, on-off: rest of a spacing, as in a link_queue */
	struct conn_params params;
	struct conn conn;
	struct flow *next_free;
};

/* A packet under way. */
struct carried {
	struct flow *flow;
	struct segment segment;
	uint32_t bytes; /* IP packet */
	struct shape_packet waiting;
	struct carried *next_free;
};

/* Sends a packet on the path, which owns it until it is at the receiver or lost. */
void path_send(struct sim *sim, struct flow *flow, const struct segment *segment, uint32_t bytes);

/* Sends the receiver's answer. */
void path_answer(struct sim *sim, struct flow *flow, const struct segment *segment);

/* Drops the packets that wait at a limiter that is about to crash. */
void path_lose(struct sim *sim, struct node *node);

/* An event_fn, of a node and a worker: releases waiting packets that are due. */
void path_release(void *world, void *object, uint64_t worker);

/* Returns the packets between sender and receiver, in future events or waiting at limiters. */
uint64_t path_under_way(const struct sim *sim);

/* Called when a segment arrives at an end of a flow. */
typedef void (*path_end)(struct sim *sim, struct flow *flow, const struct segment *segment);

/* Drops a reference; the last one frees a flow that is over. */
void flow_release(struct sim *sim, struct flow *flow);

/* Takes a zeroed flow from the pool; NULL when out of memory (which ends the run). */
struct flow *flow_take(struct sim *sim);

struct flows {
	path_end arrived, answered; /* at the receiver, and at the sender */
	struct flow *free_flows;
	struct carried *free_carried;
	struct link_queue *shared; /* one each entry */
	void **slabs;
	unsigned n_slabs;
	unsigned live;
	uint32_t next_id;
};

#endif
