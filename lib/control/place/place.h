/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Assigns the sources of an aggregate to brokers, and divides the aggregate's bucket among the
 * brokers. A broker is a meter: a worker of a limiter, or a limiter of a group. A source is traffic
 * that can be sent to one broker and not to another: a prefix, a device, a publisher.
 *
 * Every split of a bucket costs delay ("Impact of Distributed Rate Limiting on Load Distribution in
 * a Latency-sensitive Messaging Service", Proposition 1). So there are three principles from its
 * section III. Each has a switch, so that its effect can be measured:
 *
 * 	PLACE_CONCENTRATE  the fewest brokers that have room; off: all of them
 * 	PLACE_MAX_MIN      the smallest part as large as possible; off: equal loads, including
 * 	                   the brokers' loads of other aggregates
 * 	PLACE_CORRELATED   sources that burst together go to different brokers, each group in
 * 	                   proportion to the brokers' quotas; off: random order
 *
 * A fourth one is not from the paper:
 *
 * 	PLACE_BALANCED     parts of the bucket such that all units wait equally long; off: in
 * 	                   proportion to the rates, so that those of the smallest part wait longest
 *
 * The aggregate's policy defines the unit: a byte or a packet. Rates are in units per second, times
 * in seconds. Pure: only placer_init() allocates memory. A prediction takes some 100,000
 * multiplications, or a pass over the record. Control threads.
 */
#ifndef WEIR_PLACE_PLACE_H
#define WEIR_PLACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_BROKERS 64         /* at most */
#define PLACE_NOWHERE UINT32_MAX /* for a source without room */

enum {
	PLACE_CONCENTRATE = 1 << 0,
	PLACE_MAX_MIN = 1 << 1,
	PLACE_CORRELATED = 1 << 2,
	PLACE_BALANCED = 1 << 3,
	PLACE_PAPER = PLACE_CONCENTRATE | PLACE_MAX_MIN | PLACE_CORRELATED,
	PLACE_ALL = PLACE_PAPER | PLACE_BALANCED,
};

struct place_source {
	double rate;    /* above 0 */
	double batch;   /* units that arrive together, above 0 */
	double period;  /* between batches, if they are regular; 0: random */
	double spread;  /* time over which the batches of a group arrive */
	uint32_t group; /* number of a correlation key; 0: none */
};

struct place_broker {
	double capacity;   /* units per second that it can serve within the objective */
	double speed;      /* units per second that it can serve at all; 0: unlimited */
	double load;       /* from other aggregates, units per second of this kind */
	double load_batch; /* units of `load` that arrive together; 0: very few */
	bool full;         /* accepts no more, regardless of capacity */
};

struct place_aggregate {
	uint64_t limit;  /* units per second, at least 1 */
	uint64_t burst;  /* units */
	uint64_t least;  /* smallest burst of a part: the largest packet fits */
	double slo;      /* delay that at most 1 of 100 units exceeds */
	double constant; /* part of the delay that placement cannot change: the network */
	/*
	 * Backlog that 1 % of units exceed, measured on the unsplit bucket from its full level
	 * down. It is a measurement, so it gives the value of the burst better than any model of
	 * arrivals. 0: not measured.
	 */
	double backlog; /* units */
};

/* Units of a source that arrive together. */
struct place_arrival {
	double at; /* seconds, of any monotonic clock */
	double units;
	uint32_t source;
};

/* Arrivals of all sources for some time, in order of time. Memory of the caller. */
struct place_record {
	const struct place_arrival *arrivals;
	uint32_t n;
};

struct place_problem {
	struct place_aggregate aggregate;
	const struct place_source *sources;
	uint32_t n_sources;
	const struct place_broker *brokers;
	unsigned n_brokers;  /* 1 to PLACE_BROKERS */
	unsigned principles; /* PLACE_CONCENTRATE and so on */
	uint64_t seed;       /* for the random order */
	/*
	 * Contains facts that rates do not: which periodic sources follow one another, and which
	 * are apart. If all sources are periodic, the record also predicts the future: parts and
	 * predicted delays then come from it. NULL: no record.
	 */
	const struct place_record *record;
};

/* Part of one broker. */
struct place_part {
	double rate; /* sum over its sources */
	uint64_t limit, burst;
	uint32_t sources;
};

struct placement {
	uint32_t *at; /* broker of each source, or PLACE_NOWHERE; memory of the caller */
	struct place_part parts[PLACE_BROKERS];
	unsigned used;    /* brokers that have sources */
	uint32_t nowhere; /* sources without room */
};

/* A problem and the orders in which its sources are assigned. */
struct placer {
	const struct place_problem *problem; /* memory of the caller; only brokers can change */
	uint32_t *by_group;                  /* sources by group, then by falling rate */
	uint32_t *by_lot;
	double *phases; /* phases of sources in the record; NULL: no record */
	double rate;    /* sum over all sources */
	double level;   /* like aggregate.backlog, from the record; 0: it does not repeat */
};

/* Returns 0, -EINVAL for invalid numbers, or -ENOMEM. Call placer_free() if it is 0. */
int placer_init(struct placer *placer, const struct place_problem *problem);
void placer_free(struct placer *placer);

/*
 * Enumerates subsets of the principles. *some is `all` at first. PLACE_CONCENTRATE, which limits
 * the number of brokers, is in every subset. Returns false after the last one.
 */
bool place_fewer_principles(unsigned all, unsigned *some);

/* Returns the rate for which a broker has room, 0 or more. */
double place_room(const struct place_broker *broker);

/*
 * Returns the least number of brokers with room for the rate of all sources; all brokers if there
 * is none.
 */
unsigned place_fewest(const struct placer *placer);

/*
 * Places all sources on the k brokers with the most room. Sources without room are counted in
 * `nowhere`. If any source is placed, the parts' limits and bursts add up to exactly the
 * aggregate's. Returns 0, or -ERANGE if the burst is too small to be divided; then the parts have
 * none.
 */
int place_on(const struct placer *placer, unsigned k, struct placement *placement);

/*
 * Divides an assignment: counts rates and sources from at[], then sets limits and bursts by the
 * principles. `whole` is false for trials: sources with PLACE_NOWHERE are elsewhere and keep their
 * part, and limits and bursts are proportional to the rates. Returns the same as place_on().
 */
int place_split(const struct placer *placer, bool whole, struct placement *placement);

/*
 * Lowers the capacity of brokers whose delay exceeds the objective, to slightly less than their
 * present rate. The next placement gives the difference to others. delays[] has one value for each
 * broker, in the unit of slo. Returns false without a change if no broker with sources exceeds the
 * objective, or if all do.
 */
bool place_shed(const struct placement *placement, const double *delays, double slo,
	struct place_broker *brokers, unsigned n);

#define PLACE_HEADROOM 0.95 /* part of the objective; slower predictions are not tried */

struct place_delay {
	double access_p99; /* wait for tokens only */
	double p50, p99;   /* total, including the constant; HUGE_VAL: overloaded */
	/*
	 * Upper bound of p99, with chance and model errors. HUGE_VAL if the value of the burst was
	 * not measured, or if the broker has other load, of which only the rate is available.
	 */
	double most;
};

/* Predicts the waits of the units of one broker, which has sources. */
void place_predict(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay);

/* Returns the largest p99 of all brokers with sources; 0 without any. */
double place_predict_worst(const struct placer *placer, const struct placement *placement);

/*
 * Returns a lower bound of the predictions for all placements, in seconds, for independent random
 * sources with batches of one size. 0: unknown, for others. An uneven split needs fewer tokens, but
 * the largest part must be served. It is a prediction from the tails' asymptotes, not a proof. It
 * ignores brokers' room, so the best possible delay can be far above it.
 */
double place_bound(const struct placer *placer);

#endif
