/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies by lot, and frames that are near to what they ask for: addresses nest, and lie where
 * prefixes end. For the tests of whatever classifies.
 */
#ifndef WEIR_TEST_CLASSIFY_LOTS_H
#define WEIR_TEST_CLASSIFY_LOTS_H

#include "classify_world.h"

/* What the policies of one round may name; the fewer, the more of a classifier is left out. */
struct flavour {
	bool dst, src, v4, v6, vlan, dscp, proto, ports, wire, direction;
	bool wide;     /* addresses from everywhere, so that most prefixes do not nest */
	bool two_ways; /* destinations in one direction, sources in the other */
	bool l3;       /* L2 lengths are asked for */
};

struct flavour random_flavour(void);

struct policy random_policy(const struct flavour *flavour);

/* Bursts of one kind, nearly of one kind, and of anything. */
void random_frames(const struct policy *policies, unsigned n_policies, bool wide,
	struct frame *frames, unsigned n);

#endif
