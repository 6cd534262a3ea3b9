/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait until they conform: a queue for each policy, first in first out, before its
 * token bucket, and for each worker one timing wheel of the queues whose first packet is not due
 * yet. A packet leaves at the earliest tick at which the bucket has its tokens, never before, and
 * costs a constant number of steps however many wait (the idea is that of Carousel, SIGCOMM 2017;
 * what is on the wheel here is queues, not packets, so that another limit changes one due time and
 * no packet's place).
 *
 * Conformance is a matter of when packets arrived, not of when somebody looked: the bucket is
 * brought up to a packet's arrival, or to the departure of the one before it if that is later. So
 * packets that came well spaced and were received all at once all pass at once ("Impact of
 * Distributed Rate Limiting on Load Distribution", section V.B), and a worker that is late releases
 * late and charges at the due time: lateness does not add up.
 *
 * Pure: no clock, no memory of its own, no packets. The caller embeds struct shape_packet in his
 * buffers, and has one struct shaper a worker. All calls are the worker's, unless said otherwise.
 * A unit is what the policy counts. Ticks are of any monotonic counter.
 */
#ifndef WEIR_SHAPE_SHAPE_H
#define WEIR_SHAPE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/token_bucket.h"
#include "shape/delay.h"
#include "split/reserve.h"

/* What the shaper keeps of a packet that waits: in the packet's own buffer, 24 bytes of it. */
struct shape_packet {
	struct shape_packet *next;
	uint64_t arrival; /* tick */
	uint32_t cost;    /* units */
	uint16_t path;    /* the owner's: where it will leave */
	uint8_t flags;    /* SHAPE_ECN from the owner; SHAPE_MARK, SHAPE_DROP to him */
	uint8_t spare;
};

enum {
	SHAPE_ECN = 1 << 0,  /* the packet may be marked instead of dropped */
	SHAPE_MARK = 1 << 1, /* leaves, and is to be marked: CoDel */
	SHAPE_DROP = 1 << 2, /* does not leave: CoDel, or it has waited longer than a packet may */
	SHAPE_LATE = 1 << 3, /* with SHAPE_DROP: the latter */
};

enum shape_verdict {
	SHAPE_PASSES, /* conforms, and nobody waits before it */
	SHAPE_WAITS,  /* is the shaper's until shaper_release() gives it back */
	SHAPE_FULL,   /* refused: its policy's queue has no room */
	SHAPE_CROWDED /* refused: the worker holds as many packets as it may */
};

/* How a policy's packets wait; from struct policy, by shape_params(). Times in ticks. */
struct shape_params {
	uint64_t delay;            /* that a packet waits at most */
	uint64_t units;            /* that wait at most; 0: as many as leave in `delay` */
	bool codel;                /* else tail drop alone */
	bool ecn;                  /* CoDel marks packets of SHAPE_ECN */
	uint64_t target, interval; /* CoDel's */
};

struct shaper;
struct shape_queue; /* one policy on one worker; defined below, but only for its size */

/* One worker's: the wheel, and what all queues hold together. */
size_t shaper_bytes(void);

/*
 * In zeroed memory of shaper_bytes(), aligned to a cache line. hz: ticks a second; most: packets
 * that may wait, of all policies. Control thread, before the worker runs.
 */
void shaper_init(struct shaper *shaper, uint64_t hz, uint32_t most, uint64_t now);

/*
 * A queue that is empty, before a full bucket. With a reserve (which several workers draw from) the
 * queue has no tokens of its own, and each packet takes its own cost from there: then all workers
 * together are one bucket; `profile` says the rate alone. Control thread, before the worker sees
 * it.
 */
void shape_queue_init(struct shape_queue *queue, const struct shape_params *params,
	const struct token_bucket_profile *profile, struct reserve *reserve, uint64_t now);

/* As if the bucket had just been spent. Control thread, as above. */
void shape_queue_spend(struct shape_queue *queue);

/*
 * A packet that arrived at a tick not after `now`. Its cost is set in *packet, and what the owner
 * has there; the rest is written only if it waits.
 */
enum shape_verdict shape_arrive(struct shaper *shaper, struct shape_queue *queue,
	struct shape_packet *packet, uint64_t arrival, uint64_t now);

/*
 * Packets that are due by `now`, at most n of them, into out[], those of one queue in their order;
 * and those that do not leave, which say so in their flags. Returns how many. If n, there may be
 * more: call again, after others have had their turn.
 */
unsigned shaper_release(struct shaper *shaper, uint64_t now, struct shape_packet **out, unsigned n);

/* Whether anything waits; and a tick by which shaper_release() is due again, not after it is. */
bool shaper_waits(const struct shaper *shaper);
uint64_t shaper_next(const struct shaper *shaper, uint64_t now);

/*
 * Another limit, or other parameters, from tick `now` on: the tokens stay, and the first packet is
 * due when the new limit says. A queue that is longer than it may be now takes nothing until it has
 * become shorter.
 */
void shape_limit(struct shaper *shaper, struct shape_queue *queue,
	const struct token_bucket_profile *profile, uint64_t now);
void shape_change(struct shaper *shaper, struct shape_queue *queue,
	const struct shape_params *params, uint64_t now);

/*
 * Packets that wait in a queue, at most n, in order, whether they conform or not: before its policy
 * goes, or the worker. Returns how many; 0 when it is empty.
 */
unsigned shape_flush(
	struct shaper *shaper, struct shape_queue *queue, struct shape_packet **out, unsigned n);

/* The same of all queues of a worker, those of one queue in their order. */
unsigned shaper_flush(struct shaper *shaper, struct shape_packet **out, unsigned n);

#endif
