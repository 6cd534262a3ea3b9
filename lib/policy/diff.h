/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The policies of one limiter in two configurations: which of them stay, by name, and what of them
 * changes. config/compare.h makes it.
 */
#ifndef WEIR_POLICY_DIFF_H
#define WEIR_POLICY_DIFF_H

#include <limits.h>
#include <stdint.h>

#define POLICY_NEW UINT_MAX

/* What differs of a policy; several may. 0: nothing. The table of its keys has one for each key. */
enum policy_change {
	POLICY_ADDED = 1, /* no other is set beside it */
	POLICY_MATCH = 2, /* other packets are its own */
	POLICY_TERMS = 4, /* its state goes on */
	POLICY_ANEW = 8,  /* its state begins anew */
};

struct config_diff {
	unsigned n;       /* policies of the new configuration */
	unsigned *from;   /* n: index in the old one, or POLICY_NEW */
	uint8_t *changes; /* n: of enum policy_change */
	unsigned added, removed, changed;
};

#endif
