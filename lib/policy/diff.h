/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is between two configurations of one limiter: which of its policies stay, by name, and what
 * of them changes. What a limiter cannot change while packets flow is refused. Control thread.
 */
#ifndef WEIR_POLICY_DIFF_H
#define WEIR_POLICY_DIFF_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/complaint.h"
#include "policy/config.h"

#define POLICY_NEW UINT_MAX

/* What differs of a policy; several may. 0: nothing. */
enum policy_change {
	POLICY_ADDED = 1, /* no other is set beside it */
	POLICY_MATCH = 2, /* other packets are its own */
	/*
	 * limit, burst, window, interval, ewma, weigh, action, accounting, total, indicator, eta,
	 * shape, slo, place, parent, weight, guaranteed
	 */
	POLICY_TERMS = 4,
	/* count, meter, per, sources, allocator, guarantee, period: its state begins anew */
	POLICY_ANEW = 8,
};

struct config_diff {
	unsigned n;       /* policies of the new configuration */
	unsigned *from;   /* n: index in the old one, or POLICY_NEW */
	uint8_t *changes; /* n: of enum policy_change */
	unsigned added, removed, changed;
};

/*
 * Tells of each place of the new configuration that differs and cannot change while the limiter
 * runs, such as "gossip.roster" or "ports.NAME". Returns how many. What config_load_beside() asks,
 * which knows the lines.
 */
unsigned config_fixed(
	const struct config *old, const struct config *config, const struct complaint_sink *to);

/*
 * Compares them. Returns 0 and a diff for config_diff_free(); -EINVAL when something else than the
 * policies differs, each place reported to err as `FILE: gossip.roster: cannot change while the
 * limiter runs: restart it`; or -ENOMEM. In neither case has anything changed.
 */
int config_diff(const struct config *old, const struct config *config, const char *file, FILE *err,
	struct config_diff **out);

void config_diff_free(struct config_diff *diff);

#endif
