/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds packets that begin a new flow, for policies that count new flows. A UDP packet does if its
 * flow was not seen within NEW_FLOW_SECONDS. (TCP needs no memory: a SYN without ACK begins a
 * flow.)
 *
 * The table has a fixed size, in the caller's memory. A flow's hash selects its set, and a set is
 * one cache line. A flow that comes into a full set replaces the one unseen for longest. Only flows
 * whose first packet passed are recorded, so a refused flow stays new.
 *
 * Collisions: the identity of a flow is its 32-bit hash. Among n recorded flows, a new one is
 * mistaken for a recorded one with probability n / 2^32: 1 in 65,536 at 65,536 flows. It then
 * passes uncounted. The caller computes the hash. If attackers could compute it too, they could
 * choose flows of one set or of one identity. So it must have a secret key (packet_keyed_hash())
 * and not come from a device.
 *
 * Floods: records grow no faster than the limit lets flows begin, at any load. With room for
 * NEW_FLOW_SECONDS of that, and twice that because sets do not fill evenly, hardly any flow is
 * removed early. With less room, silent flows are removed before active ones. A flow that sends
 * again after its removal counts as new, and is refused if the limit is spent.
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

#define NEW_FLOW_SECONDS 30 /* up to a quarter of a second more: time is coarse */
#define NEW_FLOW_WAYS    8  /* entries of a set */

#define NEW_FLOW_MAX_ENTRIES (UINT32_C(1) << 30) /* 8 GB; a larger table is not made */

/* Tag in the upper half, never 0. Coarse time of the flow's last packet in the lower half. */
struct new_flow_set {
	uint64_t entry[NEW_FLOW_WAYS]; /* 0: free */
} __attribute__((aligned(64)));

struct new_flows {
	uint32_t n_sets;    /* a power of two */
	int32_t seen_limit; /* coarse ticks for which a flow is recorded */
	uint8_t set_shift;  /* shift of a 32-bit product: its upper bits are the set's index */
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

/* Returns the bytes of a table of at least so many entries. Control thread. */
static inline size_t new_flows_bytes(unsigned entries)
{
	return sizeof(struct new_flows) + new_flows_sets(entries) * sizeof(struct new_flow_set);
}

/*
 * Initializes an empty table in memory of new_flows_bytes(entries), aligned to 64 bytes. hz: ticks
 * per second. Control thread, before its user starts.
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
 * Returns the set of a flow. It multiplies and uses the upper bits, because a queue's flows have
 * equal lower bits of their hashes: RSS selects a queue by these.
 */
static inline struct new_flow_set *new_flow_set(struct new_flows *flows, uint32_t hash)
{
	const uint32_t golden = 0x9e3779b1; /* 2^32 over the golden ratio */

	return &flows->sets[(uint64_t)(uint32_t)(hash * golden) >> flows->set_shift];
}

/* Returns the coarse ticks since an entry was seen; below 0 if the clock stepped back. */
static inline int32_t new_flow_unseen(uint64_t entry, uint32_t time)
{
	return (int32_t)(time - (uint32_t)entry);
}

/* Returns whether the flow was seen within NEW_FLOW_SECONDS. If so, updates its time. */
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

/*
 * Returns the entry for a new flow: its own expired one, a free one, or the one unseen for longest.
 */
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
 * Records a flow. To be called when its first packet has passed, not before. Otherwise the retries
 * of a refused flow would pass.
 */
static inline void new_flows_remember(struct new_flows *flows, uint32_t hash, uint64_t now)
{
	uint32_t time = new_flow_time(flows, now), tag = new_flow_tag(hash);

	*new_flow_victim(new_flow_set(flows, hash), tag, time) = (uint64_t)tag << 32 | time;
}

/* Adds the parts of the table that a flow's next packet can access: its head and one set. */
static inline void new_flows_extents(
	struct new_flows *flows, uint32_t hash, struct extents *extents)
{
	extents_add(extents, flows, offsetof(struct new_flows, sets));
	extents_add(extents, new_flow_set(flows, hash), sizeof(struct new_flow_set));
}

static_assert(sizeof(struct new_flow_set) == 64, "a look costs one cache line");
static_assert(offsetof(struct new_flows, sets) % 64 == 0, "sets are lines if the table is");

#endif
