/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Which packets begin a new flow, for policies that count new flows: those of UDP flows that were
 * not seen within NEW_FLOW_SECONDS. (TCP needs no memory: a SYN without ACK begins one.)
 *
 * A table of fixed size, in memory that the caller gives: a flow's hash says its set, a set is one
 * cache line, and a flow that comes into a full set takes the place of the one longest unseen. Only
 * flows whose first packet was let through are remembered, so a refused flow stays new.
 *
 * Collisions: the identity of a flow is its 32-bit hash. Among n remembered flows a new one is
 * taken for known with probability n / 2^32: 1 in 65,536 at 65,536 flows. It then passes
 * uncounted. The hash is the caller's: if strangers can compute it they can choose flows of one set
 * or one identity. So it has to be one with a secret key (packet_keyed_hash()), and not a device's.
 *
 * Floods: what is remembered grows by no more than the limit lets begin, whatever arrives. With
 * room for NEW_FLOW_SECONDS of that, and as much again since sets do not fill evenly, hardly any
 * flow is forgotten early. With less, flows that are silent go before those that speak; one that
 * speaks again after it was displaced counts as new, and is refused when the limit is spent.
 *
 * One writer, which is also the reader.
 */
#ifndef WEIR_FLOW_NEW_FLOW_H
#define WEIR_FLOW_NEW_FLOW_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/extents.h"

#define NEW_FLOW_SECONDS 30 /* and up to a quarter of a second more: time is coarse */
#define NEW_FLOW_WAYS    8  /* entries of a set */

#define NEW_FLOW_MAX_ENTRIES (UINT32_C(1) << 30) /* 8 GB; more are not made */

/* Tag in the upper half, never 0; coarse time at which the flow was last seen in the lower. */
struct new_flow_set {
	uint64_t entry[NEW_FLOW_WAYS]; /* 0: free */
} __attribute__((aligned(64)));

struct new_flows {
	uint32_t n_sets;    /* a power of two */
	int32_t seen_limit; /* coarse ticks that a flow is known for */
	uint8_t set_shift;  /* of a 32-bit product: its upper bits are the set's number */
	uint8_t time_shift; /* ticks to coarse ticks: 1/8 to 1/16 second, wraps after 8 years */
	struct new_flow_set sets[];
};

static inline uint32_t new_flows_sets(unsigned entries)
{
	uint32_t sets = 1;

	while (sets * NEW_FLOW_WAYS < entries && sets * NEW_FLOW_WAYS < NEW_FLOW_MAX_ENTRIES)
		sets *= 2;
	return sets;
}

/* Bytes that a table of at least so many entries takes. Control thread. */
static inline size_t new_flows_bytes(unsigned entries)
{
	return sizeof(struct new_flows) + new_flows_sets(entries) * sizeof(struct new_flow_set);
}

/*
 * An empty table in memory of new_flows_bytes(entries), aligned to 64 bytes, on a counter of hz
 * ticks a second. Control thread, before its user starts.
 */
static inline void new_flows_init(struct new_flows *flows, unsigned entries, uint64_t hz)
{
	uint32_t n_sets = new_flows_sets(entries);
	unsigned time_shift = 0;

	while (hz >> (time_shift + 4))
		time_shift++;
	*flows = (struct new_flows){
		.n_sets = n_sets,
		.seen_limit = (int32_t)(NEW_FLOW_SECONDS * hz >> time_shift) + 1,
		.set_shift = (uint8_t)(32 - __builtin_ctz(n_sets)),
		.time_shift = (uint8_t)time_shift,
	};
	for (uint32_t i = 0; i < n_sets; i++)
		flows->sets[i] = (struct new_flow_set){0};
}

static inline uint32_t new_flow_tag(uint32_t hash)
{
	return hash ? hash : 1;
}

static inline uint32_t new_flow_time(const struct new_flows *flows, uint64_t now)
{
	return (uint32_t)(now >> flows->time_shift);
}

/*
 * Multiplied, and then the upper bits: a queue's flows agree in the lower bits of their hashes,
 * because that is what RSS chooses a queue by.
 */
static inline struct new_flow_set *new_flow_set(struct new_flows *flows, uint32_t hash)
{
	const uint32_t golden = 0x9e3779b1; /* 2^32 over the golden ratio */

	return &flows->sets[(uint64_t)(uint32_t)(hash * golden) >> flows->set_shift];
}

/* Coarse ticks since an entry was seen; below 0 if the clock stepped back. */
static inline int32_t new_flow_unseen(uint64_t entry, uint32_t time)
{
	return (int32_t)(time - (uint32_t)entry);
}

/* Whether the flow was seen within NEW_FLOW_SECONDS; it is then seen again. */
static inline bool new_flows_known(struct new_flows *flows, uint32_t hash, uint64_t now)
{
	struct new_flow_set *set = new_flow_set(flows, hash);
	uint32_t time = new_flow_time(flows, now), tag = new_flow_tag(hash);

	for (unsigned i = 0; i < NEW_FLOW_WAYS; i++) {
		uint64_t entry = set->entry[i];
		int32_t unseen = new_flow_unseen(entry, time);

		if (entry >> 32 != tag)
			continue;
		if (unseen > flows->seen_limit)
			return false;
		if (unseen > 0) /* once per coarse tick, so that the line stays clean */
			set->entry[i] = (uint64_t)tag << 32 | time;
		return true;
	}
	return false;
}

/* The entry for a flow that is not known: its own of old, a free one, or the one longest unseen. */
static inline uint64_t *new_flow_victim(struct new_flow_set *set, uint32_t tag, uint32_t time)
{
	uint64_t *victim = &set->entry[0];
	int64_t longest = INT64_MIN;

	for (unsigned i = 0; i < NEW_FLOW_WAYS; i++) {
		uint64_t entry = set->entry[i];
		int64_t unseen = entry ? new_flow_unseen(entry, time) : INT64_MAX;

		if (entry >> 32 == tag)
			return &set->entry[i];
		if (unseen > longest) {
			longest = unseen;
			victim = &set->entry[i];
		}
	}
	return victim;
}

/*
 * Makes a flow known from now on, when its first packet has been let through: not before, or the
 * retries of a refused one would pass.
 */
static inline void new_flows_remember(struct new_flows *flows, uint32_t hash, uint64_t now)
{
	uint32_t time = new_flow_time(flows, now), tag = new_flow_tag(hash);

	*new_flow_victim(new_flow_set(flows, hash), tag, time) = (uint64_t)tag << 32 | time;
}

/* What of the table a flow's next packet may touch: its head, and one line. */
static inline void new_flows_extents(
	struct new_flows *flows, uint32_t hash, struct extents *extents)
{
	extents_add(extents, flows, offsetof(struct new_flows, sets));
	extents_add(extents, new_flow_set(flows, hash), sizeof(struct new_flow_set));
}

static_assert(sizeof(struct new_flow_set) == 64, "a look costs one cache line");
static_assert(offsetof(struct new_flows, sets) % 64 == 0, "sets are lines if the table is");

#endif
