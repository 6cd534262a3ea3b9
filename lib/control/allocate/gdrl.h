/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Generalized distributed rate limiting (Stanojevic and Shorten, IWQoS 2009, "GDRL"): limiters give
 * each other capacity over the edges of a graph until their performance indicators q are equal. An
 * indicator falls when capacity grows (GDRL, assumption 1: decreasing, convex); who has the higher
 * one is worse off.
 *
 *     C_i += sum over the edges of eta_ij × (q_i - q_j)                 (figure 1, equation 7)
 *
 * This is one limiter's part of a step: what it grants to whom. Where it departs from the paper:
 *
 * - Only the better-off of two gives; the other one's capacity grows when the ledger brings it. So
 *   the sum is the limit or, while grants are under way, less (lemma 1: both act at once).
 * - eta is of an edge. With g = f^-1, g(q) being the capacity at which the indicator would be q,
 *   i gives to j, where q_i < q_j,
 *
 *       the least of  (C_i - g_i(q_j)) / 2 d_i  and  -g_j'(q_j) × (q_j - q_i) / 2 d_j
 *
 *   of which i knows the first and j states the second's factor as its gain. Nobody needs to know
 *   the whole group, as bound (9) does; where g is a line of one slope and all degrees are d it is
 *   that bound, eta = 1/2d × slope. What theorem 1 is proved by holds. A taker, from all its
 *   edges, takes no more than half of -g_j'(q_j) × (q_j - m), which is by convexity no more than
 *   half of g_j(m) - C_j: its q does not fall below the least one, m. A giver gives no more than
 *   half of C_i - g_i(M): its q does not rise above the largest one, M. Who does both ends between
 *   the two. So [m, M] only ever shrinks, and by what steps 3 and 4 of the proof say, each eta_ij
 *   being at least half of the least slope in [m, M] by the larger degree. (Bound (9) takes g' at
 *   q(0) of each limiter; but -g' of a convex g is least at the largest q, M(0), so that step 1 of
 *   the paper's proof is right for lines, and else with g' taken there.)
 * - A configured eta applies where it is lower, and never makes it unstable: what exceeds the bound
 *   is cut down to it.
 * - Amounts are whole bytes per second, rounded towards nothing: neighbours rest within 1/eta of
 *   each other. Nobody goes below its floor, or gives what the ledger holds to be promised; where
 *   that cuts, all neighbours are given less in the same proportion. The paper's capacities may
 *   fall below zero: who is asked for little may then be left better off than the others, at its
 *   floor, where q is a rate (spare, drops) and the limit is short by more than its demand. Where q
 *   is a part (utilisation, loss) that does not happen.
 * - Statements take time and get lost. What a neighbour states is used once, and only when it has
 *   been made after the neighbour received all that it was granted before. So what is under way to
 *   a limiter is never more than its half, each edge's part of it being based on one statement;
 *   a pair that acts alone (theorem 2, bound 17) is the case of one edge. With delays the paper
 *   has no proof (section IV) and we have none: an edge that is slower than the others may bring
 *   what they have brought by then, half of the step at most. test_gdrl_world.c shows that it
 *   settles.
 *
 * A round, as tools/study/gdrl/gdrl_world.c has it: what a neighbour says goes to ledger_hear()
 * and, if that takes it for new, to gdrl_hear(); then gdrl_step(), ledger_grant() of each amount,
 * settling; then gdrl_state() and ledger_state() to every neighbour, together.
 *
 * Pure functions. Rates in bytes per second, or whatever the limit counts in whatever time: of a
 * ledger that counts packets a minute, demands are packets a minute, and the size of a packet is
 * 60, so that the delay comes out in seconds. Control thread (or a simulator).
 */
#ifndef WEIR_ALLOCATE_GDRL_H
#define WEIR_ALLOCATE_GDRL_H

#include <stdbool.h>
#include <stdint.h>

/* What a limiter knows of itself. */
struct gdrl_measure {
	double demand;   /* arrivals, smoothed */
	double capacity; /* the local limit, C_i */
	double dropped;  /* of the arrivals, smoothed; negative: what exceeds the capacity */
	double delay_s;  /* mean, measured; 0: that of an M/M/1 queue with these rates */
	double packet;   /* mean size of one, above 0: units over spare capacity are seconds */
	double least;    /* a rate, below which none is divided by; 0: a packet a second */
};

/*
 * A performance indicator: one row of a table, and an operator's own is one more. f must be
 * decreasing and convex in the capacity with all else as it is; flat parts at its least are fine.
 */
struct gdrl_indicator {
	const char *name;
	const char *unit;                                          /* of q */
	double (*value)(const struct gdrl_measure *m);             /* q = f(C) */
	double (*inverse)(const struct gdrl_measure *m, double q); /* g(q), where q is above f(C) */
	double (*slope)(const struct gdrl_measure *m);             /* -g'(f(C)), above 0 */
};

/* What a neighbour is told, beside the ledger's statement and together with it. */
struct gdrl_statement {
	double q;
	double gain; /* of one edge: capacity that may be given per unit of q; above 0 */
};

/* What is known of one edge. Zeroed before its first use. */
struct gdrl_neighbour {
	struct gdrl_statement heard;
	bool fresh;         /* `heard` has not been used */
	bool in_use;        /* the edge: of the graph, and its far end alive; the caller's */
	uint64_t in_flight; /* granted, and not yet said to be received; the caller's */
};

/* One limiter at one step. */
struct gdrl_self {
	const struct gdrl_indicator *indicator;
	struct gdrl_measure measure;
	unsigned degree; /* edges in use */
	double eta;      /* capacity per unit of q on one edge; 0: as much as is stable */
	uint64_t held;   /* the ledger's balance, 0 for a debt */
	uint64_t free;   /* of it, what may be granted: ledger_free() */
	uint64_t floor;  /* what is kept */
};

/* The indicator of that name, or NULL: spare, utilisation, loss, drops, delay. */
const struct gdrl_indicator *gdrl_indicator_find(const char *name);

/* The names, for messages. */
const char *gdrl_indicator_names(void);

/* What to state now: made after all that was received has been added to the capacity. */
struct gdrl_statement gdrl_state(const struct gdrl_self *self);

/*
 * A statement that came with one of the ledger's that is newer than all before it (LEDGER_NEWS or
 * LEDGER_HEARD). False: not a number, or no gain; nothing is believed.
 */
bool gdrl_hear(struct gdrl_neighbour *neighbour, const struct gdrl_statement *statement);

/*
 * What to grant to each of n neighbours now; uses up their statements. Returns the sum, at most
 * `free`, and `held` less it is at least `floor` unless it was below that before.
 */
uint64_t gdrl_step(const struct gdrl_self *self, struct gdrl_neighbour *neighbours, unsigned n,
	uint64_t *amounts);

/*
 * Bound (9) on a configured eta, for messages: the largest that is never cut down where all slopes
 * are at least this one, and degrees at most that.
 */
static inline double gdrl_eta_bound(double slope, unsigned degree)
{
	return degree ? slope / (2.0 * degree) : slope / 2;
}

/* The rows of the table. */
extern const struct gdrl_indicator gdrl_spare, gdrl_utilisation, gdrl_loss, gdrl_drops, gdrl_delay;

#endif
