/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Renews the workers' lease of hard limits (base/expiry.h). Control renews it in each run of
 * its loop. If control stalls for a lease, or a worker stalled, the worker continues with the
 * unreserved share, and control sends it all its limits again. Control.
 */
#ifndef WEIR_APP_RENEWAL_H
#define WEIR_APP_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* Zeroed before use. */
struct renewal {
	uint64_t span;     /* ticks that limits can last at most; 0: none ever ends */
	uint64_t until;    /* tick: latest end that any worker has */
	uint64_t late;     /* times that control ran after `until` */
	uint64_t expired;  /* times that a worker's limits had ended, as last read */
	uint64_t logged;   /* workers whose ended limits were logged: one bit each */
	bool kernel_ended; /* the kernel CPUs' limits have ended, and are not renewed yet */
};

/* Called before the workers run, after the limiter was created. */
void renewal_start(struct instance *inst);

/*
 * Called before limits are published: makes every worker's limits end with the first of all leases.
 */
void renewal_shorten(struct instance *inst);

/*
 * Called in each loop, after publishing: renews the limits of each worker that has taken all its
 * limits. Workers whose limits had ended get them again by publish_rest().
 */
void renewal_run(struct instance *inst);

/* Returns true if some worker's limits cannot be renewed until it takes its published limits. */
bool renewal_waits(const struct instance *inst);

#endif
