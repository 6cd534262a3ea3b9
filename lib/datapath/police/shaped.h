/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose packets wait (ACTION_SHAPE): their state on a worker in addition to struct
 * policy_extended, and how it gets their limit. The packets themselves are their owner's business;
 * the queue that they wait in is lib/datapath/shape's.
 */
#ifndef WEIR_POLICE_SHAPED_H
#define WEIR_POLICE_SHAPED_H

#include <stddef.h>
#include <stdint.h>

#include "drop/drop_reason.h"
#include "police/policy_state.h"
#include "shape/delay.h"
#include "shape/shape.h"

struct policy_start;
struct shared_bucket;

/*
 * Only for policies whose sources move between workers: the owners of their queues must have the
 * packets that are still on their way. One writer, the worker; any thread can read, with atomics.
 */
struct shaped_steering {
	struct delay_bins reach; /* all packets' delays, from arrival until they were decided */
	uint64_t left;           /* packets that have left the queue, in any way */
};

/*
 * One writer, the worker; any thread can read counters. A line has the data that every packet
 * needs, on its way in and out.
 */
struct policy_shape {
	struct shape_queue queue;
	uint64_t waited;         /* packets that did: the limit held them back */
	uint32_t waiting, units; /* packets that wait, and their cost */
	uint64_t arrival;        /* the newest packet's: arrivals in a queue do not run backwards */
	struct shaped_steering
		*seat;            /* control's, set before the worker sees the policy; or NULL */
	struct shape_terms terms; /* in force */
	bool by_packet;           /* whose cost is 1, not their bytes */
	bool leaving;             /* no packets are sent here any more, none is still on its way */
	uint32_t slot;            /* its policy's on the worker */
	struct delay_bins delay __attribute__((aligned(CACHE_LINE))); /* arrival to departure */
	uint64_t dropped[DROP_SHAPE_REASONS], marked; /* the first is of DROP_SHAPE_FIRST */
} __attribute__((aligned(CACHE_LINE)));

static_assert(offsetof(struct policy_shape, queue) == 0, "see shaped_fetch()");
static_assert(offsetof(struct policy_shape, waited) % CACHE_LINE == 0 &&
		      offsetof(struct policy_shape, delay) ==
			      offsetof(struct policy_shape, waited) + CACHE_LINE,
	"fields that every packet needs fit in a cache line");

/* Returns "shape" as a worker gets it. Control. */
struct shape_terms shaped_terms(const struct policy *policy);

/*
 * Begins with an empty queue, under a limit, before a full bucket or start->shared bucket. Control,
 * before the worker sees the policy; again, if its first limit is another after all.
 */
void shaped_init(struct policy_state *state, const struct limit_profile *profile,
	const struct policy_start *start);

/*
 * Makes `profile` the limit and the terms from tick `now` on, in addition to police_limit(). The
 * state's one writer, whose shaper it is.
 */
void shaped_limit(struct shaper *shaper, struct policy_state *state,
	const struct limit_profile *profile, uint64_t now, uint64_t hz);

/* police_expire() of a policy whose packets wait. The state's one writer, whose shaper it is. */
void shaped_expire(
	struct shaper *shaper, struct policy_state *state, uint8_t ending, uint64_t from);

/* A packet of that cost waits from now on, or no more. The one writer. */
static inline void shaped_waits(struct policy_shape *shape, uint32_t cost)
{
	counter_add(&shape->waited, 1);
	counter_add32(&shape->waiting, 1);
	counter_add32(&shape->units, cost);
}

static inline void shaped_leaves(struct policy_shape *shape, uint32_t cost)
{
	counter_add32(&shape->waiting, -1U);
	counter_add32(&shape->units, -cost);
}

/* A packet has left the queue, in any way. The one writer. */
static inline void shaped_steering_leave(struct shaped_steering *seat)
{
	/* Release: a reader that sees it gone sees the turn in which it went, or a later one. */
	__atomic_store_n(&seat->left, seat->left + 1, __ATOMIC_RELEASE);
}

/*
 * Prefetches the data for a packet that arrives: of the state itself, which is here, only its
 * place. shaped_fetch_tail() is next, when that has come. The one writer.
 */
static inline void shaped_fetch(const struct policy_state *state)
{
	const struct policy_shape *shape = police_shape(state->other);

	__builtin_prefetch(&shape->waited, 1);
	shape_prefetch(&shape->queue);
}

/* Prefetches the tail, if the packet waits after others. The one writer. */
static inline void shaped_fetch_tail(const struct policy_state *state)
{
	shape_prefetch_tail(&police_shape(state->other)->queue);
}

/*
 * Prefetches the data for a packet that leaves after so many ticks, counted in bins of that unit.
 */
static inline void shaped_fetch_leaving(
	const struct policy_state *state, unsigned unit, uint64_t ticks)
{
	const struct policy_shape *shape = police_shape(state->other);

	__builtin_prefetch(&shape->waited, 1);
	__builtin_prefetch(&shape->delay.bins[delay_bin(ticks, unit)], 1);
}

/*
 * Returns true if its packets leave with their tokens or not at all: also when the queue ends
 * before these have come. For others all waiting packets are sent then. The one writer.
 */
static inline bool shaped_is_strict(const struct policy_shape *shape)
{
	return shape->terms.hard;
}

/* Returns the cost of a packet of so many bytes. The one writer. */
static inline uint32_t shaped_cost(const struct policy_state *state, uint32_t bytes)
{
	return police_shape(state->other)->by_packet ? 1 : bytes;
}

/* Returns true if packets that can be marked are, rather than dropped. The one writer. */
static inline bool shaped_marks(const struct policy_state *state)
{
	return police_shape(state->other)->terms.ecn;
}

/* Packets of a policy that had to wait, 0 of others. Any thread. */
static inline uint64_t shaped_waited(const struct policy_state *state)
{
	return police_is_shaped(state) ? counter_read(&police_shape(state->other)->waited) : 0;
}

/* A packet of that cost has arrived: passes, waits, or is dropped and why. The one writer. */
void shaped_counts_arrival(struct policy_state *state, uint32_t cost);
void shaped_counts_refusal(struct policy_state *state, uint32_t cost, enum drop_reason why);

/* One that had waited, and so was counted as arrived, is dropped. The one writer. */
void shaped_counts_drop(struct policy_state *state, uint32_t cost, enum drop_reason why);

#endif
