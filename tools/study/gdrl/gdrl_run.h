/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A case of GDRL's evaluation from its first slot to its last, and its results.
 */
#ifndef WEIR_SIM_GDRL_RUN_H
#define WEIR_SIM_GDRL_RUN_H

#include "gdrl_world.h"

#define GDRL_GOAL    0.99 /* index from which indicators count as equal */
#define GDRL_NEVER   UINT32_MAX
#define GDRL_CHANGES 3
#define GDRL_DRAWN   16 /* number of servers up to which each is recorded */

/* Effects of a change of the demands, up to the next change. */
struct gdrl_change {
	unsigned at;    /* slot */
	double least;   /* least index */
	unsigned until; /* slots from it on until the index stays at the goal; or GDRL_NEVER */
};

struct gdrl_run {
	struct gdrl_case c;
	const char *name, *paper;     /* figures; the paper's statement about them, or NULL */
	int error;                    /* 0, or the return code of gdrl_world_step() in slot `n` */
	unsigned n;                   /* slots, with slot 0 at the beginning */
	double *jain, *true_jain;     /* by slot */
	float *q, *demand, *estimate; /* [slot][server], or NULL: too many */
	double spread;                /* spread of the indicators, at the end */
	unsigned reached, stays; /* first slot at the goal; first slot from which it stays there */
	double mean, least, true_mean; /* index in the last quarter */
	double least_ever;             /* index in all slots after the first */
	struct gdrl_change changes[GDRL_CHANGES];
	unsigned n_changes;
	struct gdrl_totals totals;
};

/* Runs a case whose case and name are set. Returns 0, or a negative errno: nothing was run. */
int gdrl_run(struct gdrl_run *run);
void gdrl_run_free(struct gdrl_run *run);

#endif
