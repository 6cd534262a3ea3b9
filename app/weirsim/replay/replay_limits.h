/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that a limiter would enforce during the capture, from lib/control/limiter in the capture's
 * time. The capture is all the traffic of its group, so each policy has its whole limit and quota.
 * Or it is the traffic of one of N limiters without communication, each with an N-th.
 */
#ifndef WEIR_SIM_REPLAY_LIMITS_H
#define WEIR_SIM_REPLAY_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "group/roster.h"
#include "limiter/limiter.h"
#include "policy/config.h"

struct replay_limits {
	struct roster *roster; /* peers that never send anything */
	struct limiter *limiter;
	uint64_t longest_ns; /* longest of the estimate intervals */
	uint64_t busy_ns;    /* time of the last packet */
	bool needs_demand;   /* some meter uses the demand; otherwise intervals need not end */
};

/* Starts at now_ns, for one of n limiters. Returns 0 or -ENOMEM. */
int limits_create(
	struct replay_limits *limits, const struct config *config, unsigned n, uint64_t now_ns);
void limits_destroy(struct replay_limits *limits);

/*
 * Ends every estimate interval up to now_ns, before the packets of that time are counted. Returns
 * true if any ended, so that views might have changed. Time must not step back.
 */
bool limits_advance(
	struct replay_limits *limits, uint64_t now_ns, limiter_measure measure, void *context);

#endif
