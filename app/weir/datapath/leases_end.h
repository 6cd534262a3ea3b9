/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ends limits of a worker if control does not renew their lease: base/expiry.h. The worker checks
 * at the tick of a burst, before it meters the burst. It also checks before it releases waiting
 * packets, and before it takes limits from its ring after a sleep. The check costs a load and a
 * comparison a burst.
 */
#ifndef WEIR_APP_LEASES_END_H
#define WEIR_APP_LEASES_END_H

#include <stdint.h>

#include <rte_branch_prediction.h>

#include "worker_data.h"

/* Ends the limits, unless the worker has done so. The worker. */
void expire_limits(struct worker *w, uint64_t now);

/*
 * Checks whether soft limits have ended, by the membership, which CPUs of the kernel also check
 * (drivers/xdp/plane.h). After a clock has been set back they have not.
 */
void expire_membership(struct worker *w, uint64_t now);

static inline void expire_look(struct worker *w, uint64_t now)
{
	if (unlikely(expiry_is_past(&w->expiry, now)))
		expire_limits(w, now);
	if (unlikely(w->membership))
		expire_membership(w, now);
}

/*
 * Returns true if limits have ended and control has not renewed them. Call it before taking limits.
 */
bool expire_lasts(struct worker *w);

/* Ends a limit that control sent before it noticed the end. */
void expire_replaced(struct worker *w, uint32_t slot, uint64_t now);

/* Ends the limits of policies that a newer snapshot has added since the end. */
void expire_added(struct worker *w);

#endif
