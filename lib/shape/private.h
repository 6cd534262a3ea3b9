/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of this folder share; not for others.
 */
#ifndef WEIR_SHAPE_PRIVATE_H
#define WEIR_SHAPE_PRIVATE_H

#include "shape/shape.h"
#include "shape/wheel.h"

struct shaper {
	uint32_t most, beside; /* buffers: what may be held, and is beside one a packet */
	struct shaper_counts counts __attribute__((aligned(64)));
	unsigned ahead; /* queues that are due next, whose memory has been asked for */
	struct wheel wheel __attribute__((aligned(64)));
};

/* Of struct shape_queue, `state`. */
enum {
	QUEUE_LATE = 1 << 0,  /* the first packet is dropped when it is due: patience ends before */
	QUEUE_CODEL = 1 << 1, /* packets are dropped before the queue is full */
	QUEUE_BOOKED = 1 << 2, /* of a reserve: the first packet's tokens are */
	QUEUE_GONE = 1 << 3,   /* `gone` is not 0 */
	QUEUE_RESERVE = 1 << 4 /* there is one */
};

/*
 * Works out what happens when to a packet that is now the first of its queue, or of those that have
 * not left yet: `due`, and whether it is late.
 */
void queue_start(struct shape_queue *queue, const struct shape_packet *packet);

/* That packet leaves when it is due: takes its tokens, or says in its flags that it is dropped. */
void queue_depart(struct shape_queue *queue, struct shape_packet *packet);

/* Of struct shape_queue, `gone`. */
static inline void queue_set_gone(struct shape_queue *queue, uint32_t gone)
{
	queue->gone = gone;
	queue->state &= (uint8_t)~QUEUE_GONE;
	queue->state |= gone ? QUEUE_GONE : 0;
}

/* Takes n packets of so many units off the counts. */
static inline void queue_less(
	struct shaper *shaper, struct shape_queue *queue, unsigned n, uint64_t units)
{
	counter_add32(&queue->packets, -n);
	counter_add32(&queue->units, -(uint32_t)units);
	counter_add32(&shaper->counts.packets, -n);
	counter_add(&shaper->counts.units, -units);
}

#endif
