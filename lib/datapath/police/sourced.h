/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The packets of a burst whose sources have a meter each, metered together
 * (lib/datapath/source/source_burst.h). The lines of all are prefetched before the first is read,
 * and each policy's packets are decided together. Then the verdict of police_charge() on each is
 * ready:
 *
 *     sourced_begin(&sourced);
 *     for each packet of a policy "per" source
 *             sourced_add(&sourced, i, ...);
 *     sourced_meter(&sourced, now);
 *     for each packet
 *             verdict = sourced_settles(&sourced) >> i & 1
 *                     ? sourced_count(&sourced, i) ? VERDICT_DROP : VERDICT_PASS
 *                     : sourced_knows(&sourced, i)
 *                     ? police_enact(..., sourced_conforms(&sourced, i))
 *                     : police_charge(...);
 */
#ifndef WEIR_POLICE_SOURCED_H
#define WEIR_POLICE_SOURCED_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"
#include "source/source_burst.h"

#define SOURCED_MAX SOURCE_BURST /* packets of a burst: bits of a word */

struct sourced {
	/* Sets of packets of the burst, a bit each. */
	uint64_t packets;    /* sourced_meter() meters them */
	uint64_t below;      /* for sourced_take(), once limits above their policies were checked */
	uint64_t conforming; /* conforming ones of `packets`, after sourced_meter() */
	uint64_t enacted;    /* if they do not conform, police_enact() acts on them */
	struct source_burst asked; /* meter and charge of each packet, by its number */
	struct policy_state *state[SOURCED_MAX];
	uint32_t count[SOURCED_MAX]; /* units of each packet, in the unit of its policy */
};

/* A packet's source address, if it has one, and its police_bytes(). */
struct sourced_packet {
	enum packet_family family;
	const uint8_t *src; /* PACKET_OTHER: any value */
	uint32_t bytes;
};

/* Begins a burst without packets. Worker lcores. */
static inline void sourced_begin(struct sourced *sourced)
{
	sourced->packets = 0;
	sourced->below = 0;
	sourced->enacted = 0;
}

/* Data of a policy of POLICE_SOURCED for adding its packets: read once for all of them. */
struct sourced_policy {
	struct policy_state *state;
	const struct source_table *table;
	uint8_t v4, v6; /* bits of an address that are its source; 0: it has none */
	uint8_t unit_bits;
	bool by_packets; /* otherwise by bytes */
	bool by_flows;   /* otherwise; sourced_meter() does not decide such packets */
	bool below, enacts;
};

/* Policies of POLICE_SOURCED. Any thread that can read the state. */
static inline struct sourced_policy sourced_policy(struct policy_state *state)
{
	const struct policy_extended *other = state->other;

	return (struct sourced_policy){
		.state = state,
		.table = other->sources,
		.v4 = other->per_v4,
		.v6 = other->per_v6,
		.unit_bits = other->unit_bits,
		.by_packets = other->count == COUNT_PACKETS,
		.by_flows = other->count == COUNT_FLOWS,
		.below = police_is_below(state),
		.enacts = other->action == ACTION_MARK || other->action == ACTION_COUNT,
	};
}

/*
 * Begins to fetch the meter of the source of packet i of a burst. Returns true if the packet can be
 * added. It cannot if it has no address; or if flows are counted, because its cost depends on the
 * verdict on the packet before it.
 */
static inline bool sourced_fetch(struct sourced *sourced, unsigned i,
	const struct sourced_policy *policy, const struct sourced_packet *packet)
{
	const struct source_table *table = policy->table;
	uint64_t hash;

	/* One by one, so that an address's mask is made once for all packets. */
	if (packet->family == PACKET_IPV4 && policy->v4)
		hash = source_hash(table, packet->src, PACKET_IPV4, policy->v4);
	else if (packet->family == PACKET_IPV6 && policy->v6)
		hash = source_hash(table, packet->src, PACKET_IPV6, policy->v6);
	else
		return false;
	source_table_prefetch(table, hash);
	sourced->state[i] = policy->state;
	sourced->count[i] = policy->by_packets ? 1 : packet->bytes;
	source_burst_set(&sourced->asked, i, table, hash, sourced->count[i] << policy->unit_bits);
	return !policy->by_flows;
}

/*
 * Adds packets of one policy, a bit each, for which sourced_fetch() returned true. If the policy
 * has a parent, sourced_meter() ignores them until sourced_take().
 */
static inline void sourced_add(
	struct sourced *sourced, const struct sourced_policy *policy, uint64_t packets)
{
	if (policy->below)
		sourced->below |= packets;
	else
		sourced->packets |= packets;
	if (policy->enacts)
		sourced->enacted |= packets;
}

/*
 * Meters all that were added, in the order of their numbers, at `now`, and takes their cost; each
 * must then be counted, by police_enact(). The states' one writer.
 */
void sourced_meter(struct sourced *sourced, uint64_t now);

/* Does the same if all added packets are of one policy. */
void sourced_meter_alike(struct sourced *sourced, uint64_t now);

/* Selects the ready ones of these packets, a bit each, for sourced_meter(), and no others. */
static inline void sourced_take(struct sourced *sourced, uint64_t packets)
{
	sourced->packets = packets & sourced->below;
}

static inline bool sourced_knows(const struct sourced *sourced, unsigned i)
{
	return sourced->packets >> i & 1;
}

/*
 * Returns the packets of sourced_knows() for which only sourced_count() is due, a bit each: they
 * conform, or are dropped.
 */
static inline uint64_t sourced_settles(const struct sourced *sourced)
{
	return sourced->packets & (sourced->conforming | ~sourced->enacted);
}

/* Returns the cost, as of police_cost(), of a packet that sourced_knows(). */
static inline uint32_t sourced_cost(const struct sourced *sourced, unsigned i)
{
	return sourced->count[i];
}

/* Returns true if a packet that sourced_knows() conforms. */
static inline bool sourced_conforms(const struct sourced *sourced, unsigned i)
{
	return sourced->conforming >> i & 1;
}

/*
 * Counts n packets of one policy, all of a burst and all of sourced_settles(). Returns the dropped
 * ones, a bit each. Its one writer.
 */
uint64_t sourced_count_alike(const struct sourced *sourced, unsigned n);

/* Counts a packet of sourced_settles(): 0 if it passes, 1 if it is dropped. Its one writer. */
static inline uint64_t sourced_count(const struct sourced *sourced, unsigned i)
{
	uint32_t cost = sourced->count[i], over = !sourced_conforms(sourced, i);

	police_count(sourced->state[i], 1, cost, over, cost & -over);
	return over;
}

#endif
