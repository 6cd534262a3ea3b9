/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sliding history of arrivals and of what they would have had to wait for: what the TB Adaptor of
 * Li et al., "Impact of Distributed Rate Limiting on Load Distribution in a Latency-sensitive
 * Messaging Service" (section V.D) divides rate and burst by. Pure. Control thread or simulator.
 *
 * Time is cut into steps, of which the newest `n` are kept: so the history reaches back between
 * n - 1 and n steps, and its average slides with every interval that is added, not once a step.
 * What arrived in an interval is spread over the steps that it lies in; its backlog is of the last.
 */
#ifndef WEIR_DEMAND_HISTORY_H
#define WEIR_DEMAND_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* Steps of a history: of one there is no sliding, and more than so many say nothing more. */
#define HISTORY_STEPS_MIN 2
#define HISTORY_STEPS_MAX 64

#define HISTORY_RECENT 2 /* steps */

struct history_step {
	double bytes;   /* that arrived in it */
	double backlog; /* largest in it, bytes */
};

struct history {
	uint64_t step_ns;
	uint64_t begun_ns; /* nothing is known of before */
	uint64_t step;     /* number of the newest step, since time 0 */
	unsigned n;
	struct history_step steps[]; /* by their number, modulo n */
};

/*
 * One of length_ns in steps of step_ns, that knows of nothing before now_ns; for free(). NULL:
 * there is no memory. The number of steps is cut to these bounds.
 */
struct history *history_create(uint64_t length_ns, uint64_t step_ns, uint64_t now_ns);

/*
 * Adds an interval from from_ns, before now, that ends now: bytes that arrived, and the largest
 * backlog in it.
 */
void history_add(
	struct history *history, uint64_t from_ns, uint64_t now_ns, double bytes, double backlog);

/*
 * As of now, which is not before the last interval that was added: the average rate of arrivals in
 * bytes per second, 0 before any time has passed; that of the newest HISTORY_RECENT steps alone, of
 * what came in them beyond a burst of so many bytes; and the largest backlog.
 */
double history_rate(const struct history *history, uint64_t now_ns);
double history_recent(const struct history *history, uint64_t now_ns, double burst);
double history_backlog(const struct history *history, uint64_t now_ns);

/*
 * The unfinished work of a queue after an interval in which so many bytes have arrived and at most
 * so many could leave: no less than nothing, and no more than `most`. That bytes arrive evenly
 * within an interval is assumed, since counts say no more.
 */
static inline double backlog_after(double before, double arrived, double left, double most)
{
	double after = before + arrived - left;

	after = after < most ? after : most;
	return after > 0 ? after : 0;
}

#endif
