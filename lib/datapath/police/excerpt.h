/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The part of a policy's state on a worker that one packet depends on, for any size of the rest. So
 * the functions that decide packets can decide it on a copy, and nothing changes.
 *
 * The copy has the original's layout: a line, and memory of as many bytes as policy_state_memory()
 * has, zero except for the pieces. Data that a policy shares with other workers is not a piece: its
 * copies are given to police_excerpt_settle().
 */
#ifndef WEIR_POLICE_EXCERPT_H
#define WEIR_POLICE_EXCERPT_H

#include <stdint.h>

#include "base/extents.h"
#include "packet/parse.h"
#include "police/policy_state.h"

struct credit;
struct shape_packet;
struct shared_bucket;

/*
 * Adds the pieces next to the line itself, which lie in its memory. `data` are the bytes that
 * `packet` was parsed from. The state's one writer.
 */
void police_excerpt(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, struct extents *extents);

/* The credit that a policy with a total draws from, or NULL. The state's one writer. */
const struct credit *police_credit(const struct policy_state *state);

/* The shared bucket that a policy's packets wait for, or NULL. The state's one writer. */
const struct shared_bucket *police_shape_shared(const struct policy_state *state);

/* The copy's own data, for pointers of the original. */
struct police_secondary {
	const void *from; /* the original's memory */
	void *to;         /* the copy's */
	struct credit *credit;
	struct shared_bucket *shared;
	struct shape_packet *last; /* a packet that the others wait before */
};

/*
 * Redirects a copy's pointers: they then lead only to itself and to `secondary`. The copy's owner.
 */
void police_excerpt_settle(struct policy_state *copy, const struct police_secondary *secondary);

#endif
