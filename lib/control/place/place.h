/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Which source of an aggregate goes to which broker, and what part of the aggregate's bucket each
 * broker gets. A broker is whoever meters: a worker of a box, or a limiter of a group. A source is
 * what can be sent to one of them and not to another: a prefix, a device, a publisher.
 *
 * Every split of a bucket costs delay ("Impact of Distributed Rate Limiting on Load Distribution in
 * a Latency-sensitive Messaging Service", Proposition 1), so three principles of its section III,
 * each of them a switch, so that its worth can be seen:
 *
 *	PLACE_CONCENTRATE  the fewest brokers that there is room on; else all of them
 *	PLACE_MAX_MIN      the smallest part as large as can be; else equal loads, with what a
 *	                   broker has of other aggregates
 *	PLACE_CORRELATED   sources that burst together go to different brokers, of each group as
 *	                   many in proportion as of all; else sources by lot
 *
 * And a fourth, which is not the paper's:
 *
 *	PLACE_BALANCED     the bucket's parts such that all units wait equally long; else in
 *	                   proportion to the rates, so that those of the smallest part wait longest
 *
 * A unit is what the aggregate's policy counts, bytes or packets; rates are of units a second, and
 * times are in seconds. Pure: memory is taken by placer_init() alone. Control threads.
 */
#ifndef WEIR_PLACE_PLACE_H
#define WEIR_PLACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_BROKERS 64         /* at most */
#define PLACE_NOWHERE UINT32_MAX /* of a source that there is no room for */

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
	double batch;   /* units that arrive at once, above 0 */
	double period;  /* between batches, if they come regularly; 0: at random */
	double spread;  /* time over which the batches of a group arrive */
	uint32_t group; /* sources of one correlation key; 0: none */
};

struct place_broker {
	double capacity;   /* units a second that it can serve within the objective */
	double speed;      /* units a second that it can serve at all; 0: faster than matters */
	double load;       /* of other aggregates, in units a second of this one's kind */
	double load_batch; /* units of it that arrive at once; 0: none to speak of */
	bool full;         /* takes no more, whatever its capacity */
};

struct place_aggregate {
	uint64_t limit;  /* units a second, at least 1 */
	uint64_t burst;  /* units */
	uint64_t least;  /* burst of a part: what the largest packet needs */
	double slo;      /* delay that 99 of 100 units do not exceed */
	double constant; /* part of that which is nobody's doing: the network */
	/*
	 * The largest backlog, but for one unit of a hundred: what is taken out of the one bucket
	 * when it is full, up to there. As it is counted, it says what the burst is worth, better
	 * than any model of the arrivals. 0: not known.
	 */
	double backlog; /* units */
};

/* So many units of a source at once. */
struct place_arrival {
	double at; /* seconds, of any clock that does not step back */
	double units;
	uint32_t source;
};

/* What arrived, for some while: by time, of any of the sources, and the caller's. */
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
	uint64_t seed;       /* of the lot */
	/*
	 * Says what no rates do: which of the periodic sources follow one another, which are kept
	 * apart. And where all are periodic, it is what will come: parts are made, and delays are
	 * predicted, by what it comes to. NULL: nothing was recorded.
	 */
	const struct place_record *record;
};

/* What a broker gets. */
struct place_part {
	double rate; /* of its sources */
	uint64_t limit, burst;
	uint32_t sources;
};

struct placement {
	uint32_t *at; /* broker of each source, or PLACE_NOWHERE; the caller's memory */
	struct place_part parts[PLACE_BROKERS];
	unsigned used;    /* brokers that have sources */
	uint32_t nowhere; /* sources that there is no room for */
};

/* A problem and the orders in which its sources are dealt out. */
struct placer {
	const struct place_problem *problem; /* the caller's; sources and record stay as they are */
	uint32_t *by_group;                  /* sources: groups together, larger rates first */
	uint32_t *by_lot;
	double *phases; /* of sources, as recorded; NULL without a record */
	double rate;    /* of all sources */
	double level;   /* as the backlog, but of the record; 0: it does not repeat itself */
};

/* Returns 0, -EINVAL for numbers that make no sense, or -ENOMEM; to be freed if 0. */
int placer_init(struct placer *placer, const struct place_problem *problem);
void placer_free(struct placer *placer);

/*
 * The principles but for some that can be done without; *some is `all` at first. PLACE_CONCENTRATE,
 * which says how many brokers there may be, stays. False: there is no other part of them.
 */
bool place_fewer_principles(unsigned all, unsigned *some);

/* What a broker has room for, 0 or more. */
double place_room(const struct place_broker *broker);

/* The least number of brokers that have room for the rate; all of them if there is none such. */
unsigned place_fewest(const struct placer *placer);

/*
 * Places all sources on the k brokers that have the most room. Of sources that cannot all be placed
 * the rest is `nowhere`. The parts' limits and bursts add up to the aggregate's exactly, if any
 * source is placed. Returns 0, or -ERANGE when the burst is too small for parts of it; then the
 * parts have none.
 */
int place_on(const struct placer *placer, unsigned k, struct placement *placement);

/*
 * The parts of an assignment: rates and sources from at[], then limit and burst as the principles
 * say. Not `whole`: for trials, in which sources that are placed nowhere are still elsewhere, with
 * their part; and limits and bursts are in proportion to the rates. Returns as place_on().
 */
int place_split(const struct placer *placer, bool whole, struct placement *placement);

/*
 * Takes capacity from brokers whose delay (of any unit of time, one each) is above the objective,
 * down to a little below what the placement gives them, for the next placement to give that to
 * others. False: every broker that has sources is above it, or none is, and nothing is changed.
 */
bool place_shed(const struct placement *placement, const double *delays, double slo,
	struct place_broker *brokers, unsigned n);

#endif
