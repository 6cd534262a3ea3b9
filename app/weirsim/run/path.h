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
#include "world/link_queue.h"
#include "shape/shape.h"
#include "sim.h"

#define SOURCE_BYTES 4

struct node;

struct flow {
	const struct traffic *traffic;
	unsigned limiter, policy;
	unsigned record;     /* its number in the results */
	unsigned references; /* events that know it */
	bool over;           /* nothing more will be sent: freed with the last reference */
	uint64_t start_ns, stop_ns, rtt_ns;
	uint64_t sent_until_ns, back_until_ns; /* nothing overtakes within a flow */
	struct link_queue own, *link;          /* link: own, or the entry's */
	struct packet packet;                  /* as a parser would describe its packets */
	uint8_t source[2 * SOURCE_BYTES];      /* IPv4 address of its sender, and that of nobody */
	uint64_t timer_ns;                     /* of the timer event that counts; 0 none */
	uint64_t on_until_ns;                  /* on-off */
	uint64_t left_over;                    /* cbr, on-off: of a spacing, as in a link_queue */
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

/* The sender gives a packet to the path; at the receiver, or not at all, the path gives it back. */
void path_send(struct sim *sim, struct flow *flow, const struct segment *segment, uint32_t bytes);

/* The receiver's answer. */
void path_answer(struct sim *sim, struct flow *flow, const struct segment *segment);

/* What waits at a limiter that is about to crash is lost. */
void path_lose(struct sim *sim, struct node *node);

/* An event_fn, of a node and a worker: what waited there and may leave does. */
void path_release(void *world, void *object, uint64_t worker);

/* Packets between their sender and their receiver: of the events to come, and those that wait. */
uint64_t path_under_way(const struct sim *sim);

/* An end of a flow takes a segment. */
typedef void (*path_end)(struct sim *sim, struct flow *flow, const struct segment *segment);

/* A reference ends; the last one of a flow that is over frees it. */
void flow_release(struct sim *sim, struct flow *flow);

/* From the pool, zeroed where it matters; NULL when out of memory (which ends the run). */
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
