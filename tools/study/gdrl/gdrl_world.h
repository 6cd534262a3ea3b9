/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * GDRL's evaluation (section III): servers in slots of time, with at most one packet a slot at
 * each, and their limiters, which move capacity over a graph. Ledgers, graph and steps are those of
 * lib/; only demand and the network between limiters are simulated here. Seeded: the same case
 * gives the same numbers. One thread.
 */
#ifndef WEIR_SIM_GDRL_WORLD_H
#define WEIR_SIM_GDRL_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "allocate/gdrl.h"
#include "group/overlay.h"

#define GDRL_UNIT 1e9 /* bytes per second of a packet a slot */

/* The parameters of a case. Parameters that are mostly 0 are last. */
struct gdrl_case {
	unsigned n, degree; /* a ring has degree 2, in the order of the servers */
	bool ring;
	const struct gdrl_indicator *indicator;
	double headroom; /* limit over the sum of the demands, less 1 */
	double alpha;    /* coefficient of the demand's filter; 0: exact demands */
	unsigned steps;  /* slots, each with a round of GDRL */
	uint64_t seed;
	double eta;      /* 0: by slopes and degrees; otherwise bytes per second per unit of q */
	unsigned period; /* slots until demands change (GDRL, section III-B); 0: they do not */
	unsigned delay;  /* slots that a statement takes, 1 to `delay`; 0: less than a round */
	double loss;     /* probability that a statement is lost */
	double rest;     /* probability that a limiter skips a round */
	bool cold;       /* filters start at 0; otherwise with the real demands */
};

struct gdrl_world;

/* Creates a world. Returns 0, -EINVAL or -ENOMEM. */
int gdrl_world_create(const struct gdrl_case *c, struct gdrl_world **out);
void gdrl_world_destroy(struct gdrl_world *w);

/*
 * Runs a slot. Returns 0; -ENOMEM; -EBADMSG if capacities plus amounts in flight differ from the
 * limit, or a ledger refused to grant an amount that it had reported as free.
 */
int gdrl_world_step(struct gdrl_world *w);

/* Server 1 to n, numbered like in the paper: its indicator, and demands in packets a slot. */
double gdrl_world_q(const struct gdrl_world *w, unsigned server);
double gdrl_world_demand(const struct gdrl_world *w, unsigned server);
double gdrl_world_estimate(const struct gdrl_world *w, unsigned server);

/* Return Jain's index of the indicators (equation 16), and their spread. */
double gdrl_world_jain(const struct gdrl_world *w);
double gdrl_world_spread(const struct gdrl_world *w);

/* Returns Jain's index for exact measurements of the present demands. */
double gdrl_world_true_jain(const struct gdrl_world *w);

struct gdrl_totals {
	uint64_t statements, lost, grants;
	uint64_t limit;     /* bytes per second, whole */
	int64_t held;       /* part of the limit held by the ledgers after the last slot */
	uint64_t in_flight; /* most in flight at the end of a slot, bytes per second */
};

struct gdrl_totals gdrl_world_totals(const struct gdrl_world *w);

#endif
