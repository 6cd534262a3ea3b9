/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A policy on one worker: its state, its limit on the way there, and the readable data of both.
 * police/charge.h decides packets by it.
 *
 * The most common policies (a token bucket for the whole aggregate, in bytes, that drops) are
 * *plain*. All their data, including the limit, is in one line: the policy's state on a worker. The
 * same bucket that flows share (METER_PHANTOM) has a struct phantom in addition. All others have
 * their data beyond the line in a struct policy_extended of their own.
 *
 * State has one writer, which also applies new limits, by police_limit(): no other thread changes a
 * limit. Any thread can read counters, with counter_read(). None ever decreases. Counters of
 * packets have 32 bits, so a reader of totals must call counter_fold() at least once in 2^32
 * packets. That is every 28 s at 100 Gbit/s, which is far more than a worker can carry.
 */
#ifndef WEIR_POLICE_POLICY_STATE_H
#define WEIR_POLICE_POLICY_STATE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "meter/meter.h"
#include "meter/phantom.h"
#include "packet/parse.h"
#include "police/owner_word.h"
#include "policy/policy.h"
#include "source/source_hash.h"

#define CACHE_LINE 64

struct new_flows;
struct policy_shape;
struct source_table;

/* Counters of packets that passed and did not conform. */
struct police_over {
	uint64_t packets, bytes;
};

/* Counters of packets of a colour. */
struct coloured_count {
	uint64_t packets, bytes;
};

/*
 * One policy on one worker: all that a plain one reads or writes for a packet. "Bytes" are the
 * units of the policy: packets with COUNT_PACKETS, new flows with COUNT_FLOWS.
 */
struct policy_state {
	/*
	 * Its owner's bits: police_owner(). The rest, and the limit: unless police_is_extended().
	 */
	struct token_bucket bucket;
	union {
		struct token_bucket_profile limit;
		struct policy_extended *other;
		/* A CPU of the kernel's, which earns nothing by itself: passed, not conforming. */
		struct police_over over;
	};
	uint64_t bytes; /* all packets' bytes, */
	union {
		uint64_t dropped_bytes;  /* the dropped ones'; */
		struct phantom *phantom; /* police_is_phantom(): which counts these */
	};
	uint32_t packets, dropped_packets;
} __attribute__((aligned(CACHE_LINE)));

static_assert(sizeof(struct policy_state) == CACHE_LINE, "one line a packet");

/*
 * Data of all policies except those of police_is_simple() and police_is_phantom(). Only the worker
 * writes; counters as above.
 */
struct policy_extended {
	union meter meter; /* first: of METER_CREDIT both are one line */
	union meter_profile profile;
	struct source_table *sources; /* "per" a source */
	struct new_flows *flows;      /* "count" flows */
	bool borrows;               /* its bucket only holds borrowed tokens, see police/borrow.h */
	bool by_dscp;               /* METER_PHANTOM: a packet's class is its DSCP, not its flow */
	bool coloured;              /* METER_COLOURS, see police/coloured.h */
	uint8_t kind;               /* enum meter_kind */
	uint8_t count;              /* enum counting */
	uint8_t action;             /* enum action */
	int8_t mark;                /* MARK_ECN or a DSCP */
	uint8_t per_v4, per_v6;     /* bits of the source address that make a source; 0: none */
	uint8_t unit_bits;          /* see policy_unit_bits(): for its meter's charges */
	struct source_key flow_key; /* key of the hashes in `flows` */
	uint64_t over_packets, over_bytes; /* passed, not conforming */
	/* METER_CREDIT: packets that conformed by the fallback, not paid by the total */
	uint64_t fallback_packets, fallback_bytes;
} __attribute__((aligned(CACHE_LINE)));

/*
 * Settings of a shaper's queue, see struct shape_config. They hold in one unit of ticks, see
 * `clock`.
 */
struct shape_terms {
	uint64_t units; /* most units that wait; 0: as many as leave in the delay */
	uint32_t delay_us, target_us, interval_us;
	bool codel : 1, ecn : 1;
	bool hard : 1;  /* see shaped_is_strict() */
	bool timed : 1; /* see policy_is_timed() */
	bool below : 1; /* other levels decide, too: a parent, see police/lineage.h */
	uint8_t clock;  /* another one: ticks are of a clock that has been set back meanwhile */
};

/*
 * Memory after it: the classes of METER_PHANTOM, or the queue of ACTION_SHAPE (police/shaped.h).
 * Neither kind has sources or flows.
 */
static inline struct phantom *police_phantom(struct policy_extended *other)
{
	return (struct phantom *)(other + 1);
}

static inline struct policy_shape *police_shape(struct policy_extended *other)
{
	return (struct policy_shape *)(other + 1);
}

/* One policy's limit, on its way to one worker. Made by limit_profile_init(). */
struct limit_profile {
	union {
		union meter_profile meter;
		struct {
			struct token_bucket_profile bucket; /* meter.bucket */
			struct shape_terms terms;
		} shape; /* if police_is_shaped() */
	};
	uint32_t policy;      /* its index: the sender's and the receiver's */
	uint8_t kind;         /* enum meter_kind */
	uint8_t sample_shift; /* one packet in 2^this is sampled, or POLICE_UNSAMPLED */
	bool shaped;
	uint8_t ending; /* part of it that ends with the worker's leases, see base/expiry.h */
};

static_assert(sizeof(struct limit_profile) == 64, "a line in a ring");

static inline unsigned police_flags(const struct policy_state *state)
{
	return police_owner_flags(token_bucket_owner(&state->bucket));
}

static inline unsigned police_shift(const struct policy_state *state)
{
	return police_owner_shift(token_bucket_owner(&state->bucket));
}

static inline enum accounting police_accounting(const struct policy_state *state)
{
	return (enum accounting)police_owner_accounting(token_bucket_owner(&state->bucket));
}

/* Returns the line of the policy's trials that counts now; 0: there is none. Any thread. */
static inline unsigned police_trial(const struct policy_state *state)
{
	return police_flags(state) >> POLICE_TRIAL_SHIFT;
}

/* From the next packet on another line of its trials counts, or with 0 none. The one writer. */
static inline void police_set_trial(struct policy_state *state, unsigned trial)
{
	unsigned flags = police_flags(state) & ((1U << POLICE_TRIAL_SHIFT) - 1);

	token_bucket_set_owner(
		&state->bucket, police_owner(flags | trial << POLICE_TRIAL_SHIFT,
					police_shift(state), police_accounting(state)));
}

/* Any thread. */
static inline enum police_kind police_kind(const struct policy_state *state)
{
	return (enum police_kind)(police_flags(state) & ((1U << POLICE_KIND_BITS) - 1));
}

/* Returns true if its packets are charged to others as well, see police/lineage.h. Any thread. */
static inline bool police_is_below(const struct policy_state *state)
{
	return police_flags(state) & POLICE_BELOW;
}

/* Any thread. */
static inline bool police_is_simple(const struct policy_state *state)
{
	return police_kind(state) == POLICE_SIMPLE;
}

/*
 * Returns true if police_over_total() is all that a packet needs: a total in bytes, that drops. Any
 * thread.
 */
static inline bool police_is_total(const struct policy_state *state)
{
	return police_kind(state) == POLICE_TOTAL;
}

/* Returns true if packets that do not conform wait. Any thread. */
static inline bool police_is_shaped(const struct policy_state *state)
{
	return police_kind(state) == POLICE_SHAPED;
}

/*
 * Returns true if police_over_line() and police_over_flow() are all that a packet needs: flows that
 * share a limit in bytes, that drops. Any thread.
 */
static inline bool police_is_phantom(const struct policy_state *state)
{
	return police_kind(state) == POLICE_PHANTOM;
}

/* Returns false if its line, and its phantom if it is one, are all its data. Any thread. */
static inline bool police_is_extended(const struct policy_state *state)
{
	return !police_is_simple(state) && !police_is_phantom(state);
}

/* Returns true if it is not plain, but borrows like plain ones. Any thread. */
static inline bool police_borrows(const struct policy_state *state)
{
	return police_is_extended(state) && state->other->borrows;
}

/*
 * Counts packets of which some were dropped, and their bytes. Counts drops first, because a reader
 * reads them last: see police_fold().
 */
static inline void police_count(struct policy_state *state, uint32_t packets, uint64_t bytes,
	uint32_t dropped_packets, uint64_t dropped_bytes)
{
	counter_add32(&state->dropped_packets, dropped_packets);
	counter_add(&state->dropped_bytes, dropped_bytes);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	counter_add32(&state->packets, packets);
	counter_add(&state->bytes, bytes);
}

/*
 * A reader's counts of a policy's packets on one worker, from when the state began; zero at first.
 * The reader's own.
 */
struct police_totals {
	uint64_t packets, dropped_packets;
};

/*
 * Adds the packets counted since the last call to the totals. Due once in 2^32 packets. Reads the
 * drops last, so that a drop between the two reads does not count as a packet that passed.
 */
static inline void police_fold(struct police_totals *totals, const struct policy_state *state)
{
	counter_fold(&totals->packets, &state->packets);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	counter_fold(&totals->dropped_packets, &state->dropped_packets);
}

/*
 * Raises *passed, zero at first, to the packets or units that passed: all less those that were
 * dropped or wait. Workers change these counters meanwhile, so read `all` first: then the result is
 * too high only if a worker has counted a packet and not yet its drop. It can be too low until the
 * next call.
 */
static inline void police_passed(uint64_t *passed, uint64_t all, uint64_t dropped)
{
	if ((int64_t)(all - dropped - *passed) > 0)
		*passed = all - dropped;
}

/* The policy's DSCP to mark with, or MARK_ECN, after VERDICT_MARK. */
static inline int police_mark(const struct policy_state *state)
{
	return state->other->mark;
}

/*
 * Returns the weight of the classes that have a queue, for flows their number: as of the last
 * packet that used a class, or the last new limit. In the bucket's free part no packet uses one.
 * Any thread.
 */
static inline uint64_t police_backlogged(const struct policy_state *state)
{
	if (police_is_phantom(state))
		return phantom_backlogged(state->phantom);
	if (police_is_extended(state) && state->other->kind == METER_PHANTOM)
		return phantom_backlogged(police_phantom(state->other));
	return 0;
}

/* Bytes of the packets that were dropped. Any thread. */
static inline uint64_t police_dropped_bytes(const struct policy_state *state)
{
	return counter_read(
		police_is_phantom(state) ? &state->phantom->refused : &state->dropped_bytes);
}

/* Packets or bytes that passed and did not conform; 0 for most. Any thread. */
static inline uint64_t police_over_packets(const struct policy_state *state)
{
	return police_is_extended(state) ? counter_read(&state->other->over_packets) : 0;
}

static inline uint64_t police_over_bytes(const struct policy_state *state)
{
	return police_is_extended(state) ? counter_read(&state->other->over_bytes) : 0;
}

/* Returns true if its packets have colours. Any thread. */
static inline bool police_is_coloured(const struct policy_state *state)
{
	return police_is_extended(state) && state->other && state->other->coloured;
}

/* Returns true if the policy drops packets beyond a total, and not a rate. Any thread. */
static inline bool police_is_quota(const struct policy_state *state)
{
	return police_is_extended(state) && state->other->kind == METER_CREDIT;
}

/* Packets or bytes that passed by the fallback, not paid by the total. Any thread. */
static inline uint64_t police_fallback_packets(const struct policy_state *state)
{
	return police_is_extended(state) ? counter_read(&state->other->fallback_packets) : 0;
}

static inline uint64_t police_fallback_bytes(const struct policy_state *state)
{
	return police_is_extended(state) ? counter_read(&state->other->fallback_bytes) : 0;
}

/*
 * Returns units of a total that are here and can be given back to a credit of this generation, see
 * credit_cache_returns(). Control, when no thread charges packets to the state any more.
 */
static inline uint64_t police_returns(const struct policy_state *state, uint16_t generation)
{
	const struct policy_extended *other = state->other;

	if (!police_is_quota(state))
		return 0;
	return credit_cache_returns(&other->meter.credit, &other->profile.credit, generation);
}

/* The policy's table of sources, or NULL. Any thread; its header states which parts can be read. */
static inline struct source_table *police_sources(const struct policy_state *state)
{
	return police_is_extended(state) ? state->other->sources : NULL;
}

/*
 * Returns the bits of the packet's source address that have a meter of their own. 0 if the policy
 * has one for all, or the packet no address, because such packets share one.
 */
static inline unsigned police_source_bits(
	const struct policy_state *state, const struct packet *packet)
{
	if (!police_is_extended(state) || packet->family == PACKET_OTHER)
		return 0;
	return packet->family == PACKET_IPV4 ? state->other->per_v4 : state->other->per_v6;
}

/*
 * The state of policies with a total on a worker: a credit (meter/credit.h), and counters of
 * packets that passed by its fallback.
 */

/*
 * Returns true if so many units pass: by units that are paid for, or otherwise by the fallback,
 * which is counted. The state's one writer.
 */
static inline bool police_pay(struct policy_extended *other, uint32_t cost, uint64_t now)
{
	enum credit_verdict verdict = credit_charge(
		&other->meter.credit, &other->profile.credit, now, cost);

	if (verdict == CREDIT_FALLBACK) {
		counter_add(&other->fallback_packets, 1);
		counter_add(&other->fallback_bytes, cost);
	}
	return verdict != CREDIT_REFUSES;
}

/*
 * Returns true if they would pass. Nothing is taken, and others can take the units. The state's one
 * writer.
 */
static inline bool police_can_pay(struct policy_extended *other, uint32_t cost, uint64_t now)
{
	return credit_look(&other->meter.credit, &other->profile.credit, now, cost) !=
	       CREDIT_REFUSES;
}

#endif
