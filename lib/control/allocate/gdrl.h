/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Generalized distributed rate limiting (Stanojevic and Shorten, IWQoS 2009, "GDRL"): limiters give
 * each other capacity over the edges of a graph until their performance indicators q are equal. An
 * indicator falls when capacity grows (GDRL, assumption 1: decreasing, convex); the limiter with
 * the higher one is worse off.
 *
 *     C_i += sum over the edges of eta_ij × (q_i - q_j)                 (figure 1, equation 7)
 *
 * This is one limiter's part of a step: its grant to each neighbour. Where it departs from the
 * paper:
 *
 * - Only the better-off of two gives; the other one's capacity grows when the ledger brings it. So
 *   the sum is the limit or, while grants are under way, less (lemma 1: both act together).
 * - Each edge has its own eta. With g = f^-1, so that g(q) is the capacity at which the indicator
 *   would be q, i gives to j, if q_i < q_j,
 *
 *       the least of  (C_i - g_i(q_j)) / 2 d_i  and  -g_j'(q_j) × (q_j - q_i) / 2 d_j
 *
 *   i computes the first, and j states the second's factor as its gain. No limiter needs data of
 *   the whole group, unlike for bound (9). If g is a line of one slope and all degrees are d it is
 *   that bound, eta = 1/2d × slope. The premises of theorem 1's proof hold. A taker, from all its
 *   edges, takes no more than half of -g_j'(q_j) × (q_j - m). By convexity that is no more than
 *   half of g_j(m) - C_j: its q does not fall below the least one, m. A giver gives no more than
 *   half of C_i - g_i(M): its q does not rise above the largest one, M. A limiter that does both
 *   ends between the two. So [m, M] only ever shrinks, by the amount in steps 3 and 4 of the proof,
 *   because each eta_ij is at least half of the least slope in [m, M] by the larger degree. (Bound
 *   (9) takes g' at q(0) of each limiter. But -g' of a convex g is least at the largest q, M(0). So
 *   step 1 of the paper's proof is right for lines, and otherwise with g' taken there.)
 * - A configured eta applies if it is lower, and never makes it unstable: a larger one is cut down
 *   to the bound.
 * - Amounts are whole bytes per second, rounded towards zero: neighbours rest within 1/eta of each
 *   other. No limiter goes below its floor, or gives capacity that the ledger has promised. If that
 *   cuts, all neighbours get less in the same proportion. The paper's capacities can fall below
 *   zero. So here a limiter with little demand can stay better off than the others, at its floor,
 *   if q is a rate (spare, drops) and the limit is short by more than its demand. If q is a part
 *   (utilisation, loss) that does not happen.
 * - Statements take time and get lost. A neighbour's statement is used once, and only if the
 *   neighbour made it after it received all earlier grants. So the capacity under way to a limiter
 *   is never more than its half, because each edge's part of it is based on one statement. A pair
 *   that acts alone (theorem 2, bound 17) is the case of one edge. With delays the paper has no
 *   proof (section IV) and we have none: an edge that is slower than the others can deliver as much
 *   as they did by then, half of the step at most. test_gdrl_world.c shows that it settles.
 *
 * A round, like in tools/study/gdrl/gdrl_world.c: ledger_receive() takes a neighbour's message and,
 * if it is new there, gdrl_receive() takes its statement. Then follow gdrl_step(), ledger_grant()
 * of each amount, and settling. Then gdrl_state() and ledger_state() go to every neighbour,
 * together.
 *
 * Pure functions. Rates are in bytes per second, or in the unit and time of the limit. For a ledger
 * that counts packets a minute, demands are packets a minute, and the size of a packet is 60, so
 * that the delay is in seconds. Control thread (or a simulator).
 */
#ifndef WEIR_ALLOCATE_GDRL_H
#define WEIR_ALLOCATE_GDRL_H

#include <stdbool.h>
#include <stdint.h>

/* Measurements of a limiter itself. */
struct gdrl_measure {
	double demand;   /* arrivals, smoothed */
	double capacity; /* the local limit, C_i */
	double dropped;  /* dropped arrivals, smoothed; negative: use the excess of the capacity */
	double delay_s;  /* mean, measured; 0: that of an M/M/1 queue with these rates */
	double packet;   /* mean size of one, above 0: units over spare capacity are seconds */
	double least;    /* least rate used as a divisor; 0: a packet a second */
};

/*
 * A performance indicator, one row of a table. An operator's own indicator is one more row. The
 * function f must be decreasing and convex in the capacity, all other values fixed; it can be flat
 * at its minimum.
 */
struct gdrl_indicator {
	const char *name;
	const char *unit;                                          /* unit of q */
	double (*value)(const struct gdrl_measure *m);             /* q = f(C) */
	double (*inverse)(const struct gdrl_measure *m, double q); /* g(q), for q above f(C) */
	double (*slope)(const struct gdrl_measure *m);             /* -g'(f(C)), above 0 */
};

/* Statement to a neighbour, sent together with that of the ledger. */
struct gdrl_statement {
	double q;
	double gain; /* for one edge: most capacity to give per unit of q; above 0 */
};

/* State of one edge. Zeroed before its first use. */
struct gdrl_neighbour {
	struct gdrl_statement reported;
	bool fresh;         /* `reported` has not been used */
	bool in_use;        /* the edge is in the graph, its far end alive; set by the caller */
	uint64_t in_flight; /* granted, and not yet confirmed; set by the caller */
};

/* One limiter at one step. */
struct gdrl_self {
	const struct gdrl_indicator *indicator;
	struct gdrl_measure measure;
	unsigned degree; /* edges in use */
	double eta;      /* capacity per unit of q on one edge; 0: as much as is stable */
	uint64_t held;   /* the ledger's balance, 0 for a debt */
	uint64_t free;   /* part of it that can be granted: ledger_free() */
	uint64_t floor;  /* part of it that is kept */
};

/* Returns the indicator of that name, or NULL: spare, utilisation, loss, drops, delay. */
const struct gdrl_indicator *gdrl_indicator_find(const char *name);

/* Returns the names, for messages. */
const char *gdrl_indicator_names(void);

/* Returns the statement to send now, after all received grants were added to the capacity. */
struct gdrl_statement gdrl_state(const struct gdrl_self *self);

/*
 * Takes a statement that arrived with one of the ledger that is newer than all before it
 * (LEDGER_NEWS or LEDGER_HEARD). Returns false if it is rejected: not a number, or no gain.
 */
bool gdrl_receive(struct gdrl_neighbour *neighbour, const struct gdrl_statement *statement);

/*
 * Computes the grants to n neighbours now; uses up their statements. Returns the sum: at most
 * `free`, and `held` less the sum is at least `floor` unless it was below that before.
 */
uint64_t gdrl_step(const struct gdrl_self *self, struct gdrl_neighbour *neighbours, unsigned n,
	uint64_t *amounts);

/*
 * Returns bound (9) on a configured eta, for messages: the largest that is never cut down if all
 * slopes are at least this one, and degrees at most that.
 */
static inline double gdrl_eta_bound(double slope, unsigned degree)
{
	return degree ? slope / (2.0 * degree) : slope / 2;
}

/* The rows of the table. */
extern const struct gdrl_indicator gdrl_spare, gdrl_utilisation, gdrl_loss, gdrl_drops, gdrl_delay;

#endif
