/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private declarations that the files of this folder share.
 */
#ifndef WEIR_SHAPE_PRIVATE_H
#define WEIR_SHAPE_PRIVATE_H

#include "shape/calendar.h"
#include "shape/shape.h"
#include "shape/wheel.h"

struct shaper {
	uint32_t most, extra; /* buffers: limit, and those held beyond one a packet */
	struct shaper_counts counts __attribute__((aligned(64)));
	unsigned ahead; /* queues due next that are already prefetched */

	struct shape_above above;
	uint32_t gone; /* entries removed from within the calendar */
	/*
	 * Search for packets of leaving queues. swept: start of the slot where it goes on; none is
	 * left before it. until: tick of the last such packet.
	 */
	uint64_t swept, until;
	struct calendar calendar;
	struct wheel wheel __attribute__((aligned(64))); /* last: its lines follow it */
};

/* Bits of struct shape_queue's `state`. */
enum {
	QUEUE_LATE = 1 << 0,   /* the first packet is dropped when due: its patience ends before */
	QUEUE_CODEL = 1 << 1,  /* CoDel is on */
	QUEUE_BOOKED = 1 << 2, /* shared bucket: the first packet's tokens are booked */
	QUEUE_GONE = 1 << 3,   /* `gone` is not 0 */
	QUEUE_SHARED_BUCKET = 1 << 4, /* has a shared bucket */
	QUEUE_LEAVES = 1 << 5,        /* timed: shape_leave() was called */
	QUEUE_SLOWED = 1 << 5,        /* not timed, shared bucket: shape_expire() was called */
	QUEUE_CLOSED = 1 << 6,        /* timed: the limit passes nothing */
	QUEUE_BELOW = 1 << 6          /* not timed: struct shape_params' `below` */
};

/*
 * Computes `due` and QUEUE_LATE for a packet that is now the first of its queue, or the first that
 * has not departed.
 */
void queue_start(struct shape_queue *queue, const struct shape_packet *packet);

/* Charges a packet that departs at `due`, or sets the flag that it is dropped. */
void queue_depart(struct shape_queue *queue, struct shape_packet *packet);

#define PATIENCE 6 /* a packet can wait for 1/2^this longer than the configured delay */

/* Sets struct shape_queue's `patience` and `most`. */
static inline void shape_set_patience(struct shape_queue *queue, const struct shape_params *params)
{
	queue->patience = params->delay + (params->delay >> PATIENCE);
	queue->most = params->units && params->units < UINT32_MAX ? (uint32_t)params->units
								  : UINT32_MAX;
}

/* Sets struct shape_queue's `gone`. */
static inline void queue_set_gone(struct shape_queue *queue, uint32_t gone)
{
	queue->gone = gone;
	queue->state &= (uint8_t)~QUEUE_GONE;
	queue->state |= gone ? QUEUE_GONE : 0;
}

/* The public functions' implementation for timed queues (timed.c). */
enum shape_verdict timed_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint32_t cost, uint64_t arrival, uint64_t now);
unsigned timed_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n);
unsigned timed_flush(struct shaper *shaper, struct shape_packet **out, unsigned n);
void timed_init(
	struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now);
void timed_spend(struct shape_queue *queue);
void timed_limit(
	struct shape_queue *queue, const struct token_bucket_profile *profile, uint64_t now);
void timed_change(struct shape_queue *queue, const struct shape_params *params, uint64_t now);

/* Subtracts n packets of so many units from the counts. */
static inline void queue_less(
	struct shaper *shaper, struct shape_queue *queue, unsigned n, uint64_t units)
{
	counter_add32(&queue->packets, -n);
	counter_add32(&queue->units, -(uint32_t)units);
	counter_add32(&shaper->counts.packets, -n);
}

#endif
