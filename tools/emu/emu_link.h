/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One direction of an emulated link: a queue that drains at a rate, then a line that delays. A pure
 * state machine: the time is an argument, packets are opaque pointers, and it uses no port or
 * clock. Single thread.
 *
 *   lane_push ─▶ [ waiting: tail drop ] ─▶ serialised at rate ─▶ [ in flight: delay ] ─▶ lane_pop
 *
 * Times are computed, not observed: a late caller gets its packets late, but that does not delay
 * the packets after them.
 */
#ifndef WEIR_EMU_LINK_H
#define WEIR_EMU_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define LANE_NEVER          UINT64_MAX
#define LANE_LATE_BUCKETS   24 /* the last one holds 2^22 µs = 4 s and later */
#define LANE_QUEUE_DEFAULT  1000
#define LANE_RATE_UNLIMITED 0

struct lane_params {
	uint64_t delay_ns;
	uint64_t rate_bps;      /* frame bytes without FCS; LANE_RATE_UNLIMITED: no serialisation */
	uint64_t queue_packets; /* most packets waiting; 0: only queue_bytes counts */
	uint64_t queue_bytes;   /* most bytes waiting; 0: only queue_packets counts */
	double loss;            /* probability 0–1, before the queue */
};

struct lane_counters {
	uint64_t received, received_bytes;
	uint64_t sent, sent_bytes;
	uint64_t lost;       /* by chance, see params.loss */
	uint64_t queue_full; /* tail drop */
	uint64_t overrun;    /* beyond the size of the ring */
	uint64_t refused;    /* popped, but rejected by the port: see lane_refuse() */
	uint64_t late_ns;    /* sum over the packets popped of (popped − due) */
	uint64_t late_max_ns;
	uint64_t late[LANE_LATE_BUCKETS]; /* [0]: < 1 µs, [k]: < 2^k µs */
};

struct lane_entry {
	void *packet;
	uint64_t time_ns; /* waiting: arrival; in flight: release */
	uint32_t bytes;
};

/* Entries [head, mid) are in flight, [mid, tail) wait; the indices run freely, masked on use. */
struct lane {
	struct lane_params params;
	struct lane_counters counters;
	struct lane_entry *ring;
	uint32_t mask, head, mid, tail;
	uint64_t waiting_bytes;
	uint64_t free_at_ns; /* end of the last transmission */
	uint64_t random;     /* state of the loss generator */
};

/* Verdict on a pushed packet. Only with LANE_QUEUED does the lane own it. */
enum lane_verdict { LANE_QUEUED, LANE_LOST, LANE_QUEUE_FULL, LANE_OVERRUN };

/* Returns the number of entries that a lane with these params needs, a power of two. */
uint32_t lane_capacity(const struct lane_params *params);

/* Returns 0 or -ENOMEM. The same seed loses the same packets, counted from the first one pushed. */
int lane_init(
	struct lane *lane, const struct lane_params *params, uint32_t capacity, uint64_t seed);

/* Frees the ring; the caller has popped the packets until LANE_NEVER. */
void lane_fini(struct lane *lane);

enum lane_verdict lane_push(struct lane *lane, void *packet, uint32_t bytes, uint64_t now_ns);

/* Returns the next packet that is due, in order of arrival, or NULL. */
void *lane_pop(struct lane *lane, uint64_t now_ns);

/* Subtracts a popped packet from the sent ones, because the port had no room. */
void lane_refuse(struct lane *lane, uint32_t bytes);

/* Returns when lane_pop() can next return a packet, or LANE_NEVER. */
uint64_t lane_next(const struct lane *lane);

static inline uint32_t lane_waiting(const struct lane *lane)
{
	return lane->tail - lane->mid;
}

static inline uint32_t lane_in_flight(const struct lane *lane)
{
	return lane->mid - lane->head;
}

#endif
