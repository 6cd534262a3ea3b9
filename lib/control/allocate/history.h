/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sliding history of arrivals and of their backlogs. The TB Adaptor of Li et al., "Impact of
 * Distributed Rate Limiting on Load Distribution in a Latency-sensitive Messaging Service" (section
 * V.D) divides rate and burst by it. Pure. Control thread or simulator.
 *
 * Time is cut into steps, of which the newest `n` are kept. So the history reaches back between
 * n - 1 and n steps, and its average slides with every interval that is added, not once a step.
 * The arrivals of an interval are spread over its steps; its backlog belongs to the last step.
 */
#ifndef WEIR_ALLOCATE_HISTORY_H
#define WEIR_ALLOCATE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* Steps of a history: a single one does not slide, and more than the maximum add nothing. */
#define HISTORY_STEPS_MIN 2
#define HISTORY_STEPS_MAX 64

#define HISTORY_RECENT 2 /* steps */

struct history_step {
	double bytes;   /* arrivals in it, bytes */
	double backlog; /* largest in it, bytes */
};

struct history {
	uint64_t step_ns;
	uint64_t begun_ns; /* start of the history */
	uint64_t step;     /* number of the newest step, since time 0 */
	unsigned n;
	struct history_step steps[]; /* by their number, modulo n */
};

/*
 * Returns a history of length_ns in steps of step_ns that begins at now_ns; for free(). NULL: out
 * of memory. The number of steps is cut to these bounds.
 */
struct history *history_create(uint64_t length_ns, uint64_t step_ns, uint64_t now_ns);

/*
 * Adds an interval from from_ns, before now, that ends now: bytes that arrived, and the largest
 * backlog in it.
 */
void history_add(
	struct history *history, uint64_t from_ns, uint64_t now_ns, double bytes, double backlog);

/*
 * Return values at now_ns, which is not before the last added interval. The rate is the average of
 * arrivals in bytes per second, 0 before any time has passed. The recent rate is that of the newest
 * HISTORY_RECENT steps alone, less a burst of so many bytes. The backlog is the largest one, in
 * bytes.
 */
double history_rate(const struct history *history, uint64_t now_ns);
double history_recent(const struct history *history, uint64_t now_ns, double burst);
double history_backlog(const struct history *history, uint64_t now_ns);

/*
 * Returns the unfinished work of a queue, from 0 to `most` bytes, after an interval with so many
 * bytes that arrived and that could leave. It assumes even arrivals within an interval, because the
 * counts do not show more.
 */
static inline double backlog_after(double before, double arrived, double left, double most)
{
	double after = before + arrived - left;

	after = after < most ? after : most;
	return after > 0 ? after : 0;
}

#endif
