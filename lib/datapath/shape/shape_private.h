/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of this folder share; not for others.
 */
#ifndef WEIR_SHAPE_PRIVATE_H
#define WEIR_SHAPE_PRIVATE_H

#include "shape/calendar.h"
#include "shape/shape.h"
#include "shape/wheel.h"

struct shaper {
	uint32_t most, beside; /* buffers: what may be held, and is beside one a packet */
	struct shaper_counts counts __attribute__((aligned(64)));
	unsigned ahead; /* queues that are due next, whose memory has been asked for */

	struct shape_above above;
	uint32_t gone; /* entries of the calendar that have been taken out */
	/*
	 * Ticks of the slot in which the search for what leaves goes on, before which there is no
	 * such packet any more, and of the last one.
	 */
	uint64_t swept, until;
	struct calendar calendar;
	struct wheel wheel __attribute__((aligned(64))); /* last: its lines are behind it */
};

/* Bits of struct shape_queue's `state`. */
enum {
	QUEUE_LATE = 1 << 0,  /* the first packet is dropped when it is due: patience ends before */
	QUEUE_CODEL = 1 << 1, /* packets are dropped before the queue is full */
	QUEUE_BOOKED = 1 << 2,        /* of a shared bucket: the first packet's tokens are */
	QUEUE_GONE = 1 << 3,          /* `gone` is not 0 */
	QUEUE_SHARED_BUCKET = 1 << 4, /* there is one */
	QUEUE_LEAVES = 1 << 5,        /* of one that is timed: shape_leave() */
	QUEUE_SLOWED = 1 << 5,        /* of one that is not, with a shared bucket: shape_expire() */
	QUEUE_CLOSED = 1 << 6,        /* of one that is timed: its limit lets nothing pass */
	QUEUE_BELOW = 1 << 6          /* of one that is not: struct shape_params' */
};

/*
 * Works out what happens when to a packet that is now the first of its queue, or of those that have
 * not left yet: `due`, and whether it is late.
 */
void queue_start(struct shape_queue *queue, const struct shape_packet *packet);

/* That packet leaves when it is due: takes its tokens, or says in its flags that it is dropped. */
void queue_depart(struct shape_queue *queue, struct shape_packet *packet);

#define PATIENCE 6 /* a packet may wait for 1/2^this longer than its queue is made for */

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

/* What the public functions do for queues that are timed (timed.c). */
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

/* Takes n packets of so many units off the counts. */
static inline void queue_less(
	struct shaper *shaper, struct shape_queue *queue, unsigned n, uint64_t units)
{
	counter_add32(&queue->packets, -n);
	counter_add32(&queue->units, -(uint32_t)units);
	counter_add32(&shaper->counts.packets, -n);
}

#endif
