/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random policies, and frames near their matches: addresses nest and lie at the ends of prefixes.
 * For all tests of classification.
 */
#ifndef WEIR_TEST_CLASSIFY_LOTS_H
#define WEIR_TEST_CLASSIFY_LOTS_H

#include "classify_world.h"

/* The fields that policies of one round can name. Fewer fields leave out more of a classifier. */
struct flavour {
	bool dst, src, v4, v6, vlan, dscp, proto, ports, wire, direction;
	bool wide;     /* addresses from everywhere, so that most prefixes do not nest */
	bool two_ways; /* destinations in one direction, sources in the other */
	bool l3;       /* a policy charges layer 3, which needs L2 lengths */
};

struct flavour random_flavour(void);

struct policy random_policy(const struct flavour *flavour);

/* Makes bursts of one form, nearly of one form, and of any forms. */
void random_frames(const struct policy *policies, unsigned n_policies, bool wide,
	struct frame *frames, unsigned n);

#endif
