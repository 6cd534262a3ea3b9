/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Allocators compute the local limit from this limiter's measurements and its peers' reports. Pure
 * functions of their arguments and of one small state per aggregate; no clock, no I/O, no globals.
 * Control thread (or a simulator). A new algorithm is one file and one row of ALLOCATORS.
 */
#ifndef WEIR_ALLOCATE_ALLOCATE_H
#define WEIR_ALLOCATE_ALLOCATE_H

#include <stdbool.h>
#include <stdint.h>

/* Input of an allocator at the end of an estimate interval. Rates in bytes per second. */
struct allocate_input {
	double interval_s;    /* length of the interval that just ended */
	double keep;          /* share of an old value kept over this interval: p^(T/1 s) */
	unsigned n;           /* N: limiters in the roster, at least 1 */
	unsigned lost;        /* peers that are lost now, 0 to N - 1 */
	double limit;         /* configured global limit */
	double demand_now;    /* arrivals here in this interval alone */
	double demand;        /* arrivals here, smoothed by keep, or over a history */
	double demand_slow;   /* arrivals here, smoothed like the flows' rates */
	bool dropped;         /* the meter dropped in this interval */
	bool waits;           /* packets wait at its end */
	double remote_weight; /* sum of the weights of the active peers */
	double remote_demand; /* sum of their demands */
	const double *flow;   /* smoothed rates of the sampled flows, in any order */
	unsigned n_flows;
	double old_part;    /* part of flows of FLOW_OLD_S and older in these rates, 0 to 1 */
	double burst;       /* configured global burst, bytes */
	double burst_least; /* least size of a bucket that lets flows pass, bytes */
	double backlog;     /* with a history: the largest in it, bytes */
	bool parent;        /* has child policies, whose packets are also its own */
	double wanted;      /* for a parent: demand that its children here may pass, with room */
	double least;       /* limit to keep here without demand, bytes per second */
};

/* Output of an allocator. */
struct allocate_output {
	double local_limit; /* bytes per second, in [0, limit] */
	double weight;      /* to gossip; the allocator's own unit, at least 0 */
};

enum allocate_regime {
	ALLOCATE_IDLE,           /* no demand */
	ALLOCATE_BOTTLENECKED,   /* all flows are held back elsewhere */
	ALLOCATE_UNBOTTLENECKED, /* this limiter holds at least one flow back */
};

/* Per aggregate; zeroed before its first use. */
struct allocate_state {
	double weight;       /* last answer */
	double count;        /* FPS: unbottlenecked flows that the demand amounts to, smoothed */
	double local_limit;  /* last answer */
	double local_burst;  /* adaptor: last answer, bytes in [0, burst] */
	double drain;        /* GTB: tokens that others take beyond the limit, bytes per second */
	double drop;         /* part of the arrivals to drop, for a meter that drops at random */
	double flow_rate;    /* FPS: rate taken for an unbottlenecked flow, bytes per second */
	double since_drop_s; /* FPS: time since the meter last dropped */
	double pressure;     /* FPS: part of the intervals in which the meter drops, smoothed */
	double since_byte_s; /* FPS: time since a byte last arrived */
	enum allocate_regime regime;
};

struct allocator {
	const char *name;
	bool alone;         /* one limiter enforces it all: not for a roster of several */
	bool gossips;       /* needs the peers' records */
	bool samples_flows; /* needs flow rates */
	bool remembers;     /* divides by a sliding history: rate and burst, each by itself */
	bool whole_burst;   /* each limiter's bucket stands for the global one */
	bool drains;        /* a local limit may be below 0, see allocate_state */
	bool moves;         /* GDRL: the limit is moved by an indicator, see allocate/gdrl.h */
	bool counts_units;  /* a quota of units; the limit applies when it is spent */
	void (*allocate)(struct allocate_state *state, const struct allocate_input *input,
		struct allocate_output *output);
};

/* Returns the allocator of that name, or NULL. */
const struct allocator *allocator_find(const char *name);

/* Returns the names, for messages: `central, static, fps`. */
const char *allocator_names(void);

/* Returns "idle", "bottlenecked" or "unbottlenecked". */
const char *allocate_regime_name(enum allocate_regime regime);

/*
 * Returns the limit to share. Shares are never limit/alive (section 5.6 of "Cloud Control with
 * Distributed Rate Limiting"). Each lost peer takes 1/N of the limit with it. So a full partition
 * ends at limit/N each.
 */
static inline double allocate_effective_limit(const struct allocate_input *input)
{
	return input->limit * (double)(input->n - input->lost) / (double)input->n;
}

/* Adds seconds in which nothing is allocated, because nothing arrives. */
static inline void allocate_rest(struct allocate_state *state, double seconds)
{
	state->since_drop_s += seconds;
	state->since_byte_s += seconds;
}

/*
 * Share of the limit that is reserved for limiters without demand, so that a first packet passes.
 */
#define ALLOCATE_FLOOR 0.01

/*
 * Returns a reserve, and the rest of the limit after all reserves in proportion to the weights
 * (line 10 of figure 2). All weights zero: equal parts.
 */
static inline double allocate_share(
	const struct allocate_input *input, double weight, double remote, double limit)
{
	double sum = weight + remote, reserve = ALLOCATE_FLOOR * limit / input->n;
	unsigned present = input->n - input->lost;

	if (sum <= 0)
		return limit / present;
	return reserve + (limit - present * reserve) * weight / sum;
}

/* Returns the share of a demand that a meter must drop at random, so that the limit remains. */
static inline double allocate_drop(double limit, double demand)
{
	return demand > limit ? 1 - limit / demand : 0;
}

/* All allocators, in the order of messages: allocator_NAME is the one called NAME. */
#define ALLOCATORS(row) \
	row(central) row(static) row(fps) row(gtb) row(grd) row(adaptor) row(gdrl) row(quota)

#define ALLOCATOR_EXTERN(name) extern const struct allocator allocator_##name;
ALLOCATORS(ALLOCATOR_EXTERN)
#undef ALLOCATOR_EXTERN

#endif
