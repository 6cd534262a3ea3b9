/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The packets of a burst whose sources have a meter each, metered together
 * (lib/datapath/source/source_burst.h): the lines of all are on their way before the first is read,
 * and each policy's are decided at one go. What police_charge() says of each is then known already:
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

#define SOURCED_MAX 64 /* packets of a burst: bits of a word */

struct sourced {
	uint64_t packets;    /* that are metered here, a bit each */
	uint64_t below;      /* that may be, of policies below others, who are asked first */
	uint64_t conforming; /* of them; once sourced_meter() has been asked */
	uint64_t enacted;    /* that police_enact() is asked of if they do not conform */
	uint64_t hash[SOURCED_MAX];
	struct policy_state *state[SOURCED_MAX];
	uint32_t cost[SOURCED_MAX];  /* as its meter is charged, */
	uint32_t count[SOURCED_MAX]; /* and as its policy counts */
};

/* A burst of which nothing has been added yet. */
static inline void sourced_begin(struct sourced *sourced)
{
	sourced->packets = 0;
	sourced->below = 0;
	sourced->enacted = 0;
}

/*
 * Adds packet i of a burst, and begins to fetch its source's meter. Not every packet is one of
 * these: it may have no address; and where flows are counted, what a packet costs depends on what
 * became of the one before it. One of a policy below others is only ready to be. The states' one
 * writer.
 */
void sourced_add(struct sourced *sourced, unsigned i, struct policy_state *state,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len);

/*
 * Meters all that were added, in the order of their numbers, at `now`, and takes their cost; each
 * must then be counted, by police_enact(). The states' one writer.
 */
void sourced_meter(struct sourced *sourced, uint64_t now);

/* Has sourced_meter() meter those packets that are ready, a bit each, and no others. */
static inline void sourced_take(struct sourced *sourced, uint64_t packets)
{
	sourced->packets = packets & sourced->below;
}

static inline bool sourced_knows(const struct sourced *sourced, unsigned i)
{
	return sourced->packets >> i & 1;
}

/*
 * Those of sourced_knows() of which nothing remains to be done but sourced_count(), a bit each:
 * they conform, or are dropped.
 */
static inline uint64_t sourced_settles(const struct sourced *sourced)
{
	return sourced->packets & (sourced->conforming | ~sourced->enacted);
}

/* What a packet costs that sourced_knows(), as police_cost() says. */
static inline uint32_t sourced_cost(const struct sourced *sourced, unsigned i)
{
	return sourced->count[i];
}

/* Whether a packet conforms that sourced_knows(). */
static inline bool sourced_conforms(const struct sourced *sourced, unsigned i)
{
	return sourced->conforming >> i & 1;
}

/* Counts a packet of sourced_settles(): 0 if it passes, 1 if it is dropped. Its one writer. */
static inline uint64_t sourced_count(const struct sourced *sourced, unsigned i)
{
	uint32_t cost = sourced->count[i], over = !sourced_conforms(sourced, i);

	police_count(sourced->state[i], 1, cost, over, cost & -over);
	return over;
}

#endif
