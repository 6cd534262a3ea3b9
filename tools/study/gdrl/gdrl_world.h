/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * GDRL's evaluation (section III): servers in slots of time, a packet or none arriving at each in
 * every slot, and their limiters moving capacity over a graph. Ledgers, graph and steps are those
 * of lib/; only demand and the network between limiters are made here. Seeded: the same case gives
 * the same numbers. One thread.
 */
#ifndef WEIR_SIM_GDRL_WORLD_H
#define WEIR_SIM_GDRL_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "allocate/gdrl.h"
#include "group/overlay.h"

#define GDRL_UNIT 1e9 /* bytes per second that a packet a slot is */

/* The parameters of a case; what is 0 in most of them stands last. */
struct gdrl_case {
	unsigned n, degree; /* degree 2 of a ring: in the order of the servers */
	bool ring;
	const struct gdrl_indicator *indicator;
	double headroom; /* limit by the sum of the demands, less 1 */
	double alpha;    /* of the demand's filter; 0: limiters know their demands */
	unsigned steps;  /* slots, each with a round of GDRL */
	uint64_t seed;
	double eta;      /* 0: by slopes and degrees; else bytes per second per unit of q */
	unsigned period; /* slots until demands change (GDRL, section III-B); 0: they do not */
	unsigned delay;  /* slots that a statement takes, 1 to so many; 0: less than a round */
	double loss;     /* of statements */
	double rest;     /* probability that a limiter lets a round pass */
	bool cold;       /* the filters begin with nothing; else with the demands as they are */
};

struct gdrl_world;

/* Returns 0, -EINVAL or -ENOMEM. */
int gdrl_world_create(const struct gdrl_case *c, struct gdrl_world **out);
void gdrl_world_destroy(struct gdrl_world *w);

/*
 * A slot. Returns 0; -ENOMEM; -EBADMSG when capacities and what is under way are not exactly the
 * limit any more, or a ledger refused a grant that it said was free.
 */
int gdrl_world_step(struct gdrl_world *w);

/* Server 1 to n, as the paper counts them: its indicator, and demands in packets a slot. */
double gdrl_world_q(const struct gdrl_world *w, unsigned server);
double gdrl_world_demand(const struct gdrl_world *w, unsigned server);
double gdrl_world_estimate(const struct gdrl_world *w, unsigned server);

/* Jain's index of the indicators (equation 16), and how far they are apart. */
double gdrl_world_jain(const struct gdrl_world *w);
double gdrl_world_spread(const struct gdrl_world *w);

/* Jain's index, had the limiters measured exactly what is asked of them now. */
double gdrl_world_true_jain(const struct gdrl_world *w);

struct gdrl_totals {
	uint64_t statements, lost, grants;
	uint64_t limit;     /* bytes per second, whole */
	int64_t held;       /* of it, by the ledgers at the end of the last slot */
	uint64_t in_flight; /* most that was under way at the end of a slot, bytes per second */
};

struct gdrl_totals gdrl_world_totals(const struct gdrl_world *w);

#endif
