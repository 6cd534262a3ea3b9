/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose packets wait (ACTION_SHAPE): what they have on a worker beside struct
 * policy_extended, and how they are told of their limit. The packets themselves are their owner's
 * business; the queue that they wait in is lib/datapath/shape's.
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
 * What only those have whose sources move between workers: the owners of their queues have to know
 * what is still on its way. One writer, the worker; anybody may read, with atomics.
 */
struct shaped_steering {
	struct delay_bins reach; /* of all packets, from their arrival until they were decided */
	uint64_t left;           /* packets that have left the queue, in whatever way */
};

/* One writer, the worker; counters may be read by anybody. */
struct policy_shape {
	struct shape_queue queue;
	struct delay_bins delay;                      /* of packets that left, from their arrival */
	uint64_t dropped[DROP_SHAPE_REASONS], marked; /* the first is of DROP_SHAPE_FIRST */
	uint64_t waited;          /* packets that did: the limit held them back */
	uint32_t waiting, units;  /* packets that do, and what they cost */
	uint64_t arrival;         /* of the newest packet: those of a queue do not run backwards */
	struct shape_terms terms; /* in force */
	struct shaped_steering
		*seat; /* control's, set before the worker sees the policy; or NULL */
	bool leaving;  /* nobody is led here any more: nothing that comes still waits */
} __attribute__((aligned(CACHE_LINE)));

static_assert(offsetof(struct policy_shape, queue) == 0, "see shaped_fetch()");

/* "shape" as a worker is told of it. Control. */
struct shape_terms shaped_terms(const struct policy *policy);

/*
 * Begins with an empty queue, under a limit, before a full bucket or start->shared bucket. Control,
 * before the worker sees the policy; again, if its first limit is another after all.
 */
void shaped_init(struct policy_state *state, const struct limit_profile *profile,
	const struct policy_start *start);

/*
 * The limit and the terms are `profile` from tick `now` on, beside police_limit(). The state's one
 * writer, whose shaper it is.
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

/* A packet has left the queue, in whatever way. The one writer. */
static inline void shaped_steering_leave(struct shaped_steering *seat)
{
	/* Release: who sees it gone sees the turn in which it went, or a later one. */
	__atomic_store_n(&seat->left, seat->left + 1, __ATOMIC_RELEASE);
}

/*
 * Asks for what a packet will need: of the state itself, which is here, only where all that lies.
 * shape_prefetch_tail() is next, when that has come. The one writer.
 */
static inline void shaped_fetch(const struct policy_state *state)
{
	const struct policy_extended *other = state->other;

	__builtin_prefetch(other);
	shape_prefetch((const struct shape_queue *)(other + 1)); /* its policy_shape's first */
}

/*
 * Whether its packets leave with their tokens or not at all: also when the queue ends before these
 * have come. Of others all that waits is sent then. The one writer.
 */
static inline bool shaped_is_strict(const struct policy_shape *shape)
{
	return shape->terms.conserved;
}

/* Whether packets are marked that may be, rather than dropped. The one writer. */
static inline bool shaped_marks(const struct policy_state *state)
{
	return state->other->shape->terms.ecn;
}

/* Packets of a policy that had to wait, 0 of others. Anybody. */
static inline uint64_t shaped_waited(const struct policy_state *state)
{
	return police_is_shaped(state) ? counter_read(&state->other->shape->waited) : 0;
}

/* A packet of that cost has arrived: passes, waits, or is dropped and why. The one writer. */
void shaped_counts_arrival(struct policy_state *state, uint32_t cost);
void shaped_counts_refusal(struct policy_state *state, uint32_t cost, enum drop_reason why);

/* One that had waited, and so was counted as arrived, is dropped. The one writer. */
void shaped_counts_drop(struct policy_state *state, uint32_t cost, enum drop_reason why);

#endif
