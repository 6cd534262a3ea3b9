/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose meter gives colours (METER_COLOURS): their state on a worker in addition to struct
 * policy_extended, which has the committed bucket and the profile of both. Each packet's colour
 * decides its action and its mark. These take the place of the policy's own (`action`, `mark`),
 * which so are those of the last packet.
 */
#ifndef WEIR_POLICE_COLOURED_H
#define WEIR_POLICE_COLOURED_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/parse.h"
#include "police/policy_state.h"

/* The worker's own; counters as in policy_state.h. */
struct coloured {
	struct token_bucket second;
	struct coloured_count counts[COLOURS]; /* all packets, with any action */
	uint64_t beyond;                       /* packets that just passed, and were not green */
	bool aware;                            /* uses the colour of arriving packets, */
	uint8_t colour;                        /* enum colour: the last packet's */
	uint8_t action[COLOURS];               /* enum action */
	int8_t mark[COLOURS];
	uint8_t of_dscp[COLOUR_DSCPS]; /* which is that of their DSCP */
} __attribute__((aligned(CACHE_LINE)));

/* Such a policy has no sources, no flows and no classes. */
static inline struct coloured *police_coloured(struct policy_extended *other)
{
	return (struct coloured *)(other + 1);
}

/* With its first profile. Control thread, before the worker sees it. */
void coloured_init(struct policy_extended *other, const struct policy *policy, uint64_t now);

/* Empties both buckets. Control thread, before the worker sees it. */
void coloured_spend(struct policy_extended *other, uint64_t now);

/*
 * Colours and counts a packet of so many units, and sets the policy's action and mark for it.
 * Returns true if it just passes. The state's one writer.
 */
bool coloured_passes(
	struct policy_extended *other, const struct packet *packet, uint32_t units, uint64_t now);

/* The last packet's colour. The state's one writer. */
enum colour coloured_last(const struct policy_extended *other);

/* police_limit() of such a policy. */
void coloured_limit(
	struct policy_extended *other, const struct colour_profile *profile, uint64_t now);

#endif
