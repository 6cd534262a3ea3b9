/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Difference between the policies of one limiter in two configurations: policies that stay, by
 * name, and their changes. See config/compare.h.
 */
#ifndef WEIR_POLICY_DIFF_H
#define WEIR_POLICY_DIFF_H

#include <limits.h>
#include <stdint.h>

#define POLICY_NEW UINT_MAX

/*
 * Differences of one policy, as bits; 0: none. Each key in the table of policy keys has one of
 * them.
 */
enum policy_change {
	POLICY_ADDED = 1,    /* no policy of the old configuration has its name */
	POLICY_MATCH = 2,    /* matches other packets */
	POLICY_TERMS = 4,    /* its state is kept */
	POLICY_RESTARTS = 8, /* its state starts empty */
};

struct config_diff {
	unsigned n;       /* policies of the new configuration */
	unsigned *from;   /* n: index in the old one, or POLICY_NEW */
	uint8_t *changes; /* n: bits of enum policy_change */
	unsigned added, removed, changed;
};

#endif
