/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a limiter would enforce while the capture passes, decided by the appliance's own brain in
 * the capture's time. The capture is taken as all the traffic of its group, so each policy has its
 * whole limit and total; or as the traffic of one of N boxes that do not talk, each with an N-th.
 */
#ifndef WEIR_SIM_REPLAY_LIMITS_H
#define WEIR_SIM_REPLAY_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "group/roster.h"
#include "limiter/limiter.h"
#include "policy/config.h"

struct replay_limits {
	struct roster *roster; /* of strangers, that nobody ever hears from */
	struct limiter *limiter;
	uint64_t longest_ns; /* of the estimate intervals */
	uint64_t busy_ns;    /* of the last packet */
	bool needs_demand;   /* some meter follows the demand, else no interval need ever end */
};

/* From now_ns on, for one of n limiters. Returns 0 or -ENOMEM. */
int limits_create(
	struct replay_limits *limits, const struct config *config, unsigned n, uint64_t now_ns);
void limits_destroy(struct replay_limits *limits);

/*
 * Ends every estimate interval up to now_ns, before the packets of that time are counted. Returns
 * whether any ended, so that views may differ from before. Time must not step back.
 */
bool limits_advance(
	struct replay_limits *limits, uint64_t now_ns, limiter_measure measure, void *context);

#endif
