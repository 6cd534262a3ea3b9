/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker's limits that end when control has not said for a lease that they go on: base/expiry.h.
 * The worker looks with the time of a burst, before it meters that, or lets packets leave that
 * waited; and before it takes limits that lay in its ring while it slept. What that costs is a load
 * and a comparison a burst.
 */
#ifndef WEIR_APP_LEASES_END_H
#define WEIR_APP_LEASES_END_H

#include <stdint.h>

#include <rte_branch_prediction.h>

#include "worker_data.h"

/* Carries out the end of the limits, if it has not been seen yet. The worker. */
void expire_limits(struct worker *w, uint64_t now);

/*
 * Whether those have ended that may be exceeded: by the membership, which the kernel's CPUs look at
 * as well (drivers/xdp/plane.h). By a clock that has been set back they have not.
 */
void expire_membership(struct worker *w, uint64_t now);

static inline void expire_look(struct worker *w, uint64_t now)
{
	if (unlikely(expiry_is_past(&w->expiry, now)))
		expire_limits(w, now);
	if (unlikely(w->membership))
		expire_membership(w, now);
}

/* Whether limits have ended and control has not answered yet; asked before limits are taken. */
bool expire_lasts(struct worker *w);

/* A limit that control told before it knew: what ends of it has ended, too. */
void expire_told(struct worker *w, uint32_t slot, uint64_t now);

/* Policies that have come with another snapshot since the end. */
void expire_added(struct worker *w);

#endif
