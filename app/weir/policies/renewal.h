/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Until when workers may go by their conserved limits, if control says nothing more: base/expiry.h.
 * While control runs it renews that in each of its turns; where it stands still for a lease, or a
 * worker has stood still, the worker goes on by what is promised to nobody, and is told all again.
 * Control.
 */
#ifndef WEIR_APP_RENEWAL_H
#define WEIR_APP_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

struct instance;

/* Zeroed before use. */
struct renewal {
	uint64_t span;     /* ticks that limits hold at most; 0: none ever ends */
	uint64_t until;    /* tick: as far as any worker's have been renewed */
	uint64_t late;     /* times that control came after that */
	uint64_t expired;  /* times that a worker's limits had ended, as last looked */
	uint64_t said;     /* workers of whom it has been said that theirs have: a bit each */
	bool kernel_ended; /* those of the kernel's CPUs have, and are not renewed yet */
};

/* Before the workers run, once the limiter is there. */
void renewal_start(struct instance *inst);

/* Before anything is told: no worker's limits hold longer than the first that ends of all. */
void renewal_shorten(struct instance *inst);

/*
 * In each turn, after what there was to tell: renews the limits of each worker that has taken all
 * that it was told. Workers whose limits had ended are told again, by publish_rest().
 */
void renewal_run(struct instance *inst);

/* Whether some worker's limits wait for it to take what it was told. */
bool renewal_waits(const struct instance *inst);

#endif
