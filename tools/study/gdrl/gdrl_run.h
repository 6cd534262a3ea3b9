/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A case of GDRL's evaluation from its first slot to its last, and what was seen.
 */
#ifndef WEIR_SIM_GDRL_RUN_H
#define WEIR_SIM_GDRL_RUN_H

#include "gdrl_world.h"

#define GDRL_GOAL    0.99 /* an index of which we say that indicators are equal */
#define GDRL_NEVER   UINT32_MAX
#define GDRL_CHANGES 3
#define GDRL_DRAWN   16 /* servers up to which each is recorded */

/* What followed a change of the demands, up to the next. */
struct gdrl_change {
	unsigned at;    /* slot */
	double least;   /* of the index */
	unsigned until; /* slots from it on until the index stays at the goal; or GDRL_NEVER */
};

struct gdrl_run {
	struct gdrl_case c;
	const char *name, *paper;     /* figures; what the paper says of them, or NULL */
	int error;                    /* 0 or what gdrl_world_step() said, in slot `n` */
	unsigned n;                   /* slots seen, 0 being the beginning */
	double *jain, *true_jain;     /* by slot */
	float *q, *demand, *estimate; /* [slot][server], or NULL: too many */
	double spread;                /* of the indicators, at the end */
	unsigned reached, stays; /* first slot at the goal; first from which on it stays there */
	double mean, least, true_mean; /* of the index, in the last quarter */
	double least_ever;             /* likewise, of all slots after the first */
	struct gdrl_change changes[GDRL_CHANGES];
	unsigned n_changes;
	struct gdrl_totals totals;
};

/* Fills in a run that has its case and its name. Returns 0, or a negative errno: none was made. */
int gdrl_run(struct gdrl_run *run);
void gdrl_run_free(struct gdrl_run *run);

#endif
