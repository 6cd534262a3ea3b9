/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Input of an allocator with a sliding history: average rates, and largest backlogs.
 *
 * The backlog is that of a virtual queue, which all arrivals enter and which is served at the local
 * limit. For most policies the only data are the workers' counters at the ends of estimate
 * intervals, which show:
 *
 *   - bytes that arrive evenly within each interval: a lower bound, because a burst within one
 *     leaves no trace. An interval of T can hide a burst of up to local limit × T;
 *   - a drop: the bucket was empty, so the queue was as long as the bucket is deep, or longer;
 *   - if packets do wait (struct limiter_sample), the most that waited: the bucket is empty
 *     meanwhile, so the queue was its depth longer than that.
 *
 * The largest of these counts, up to the global burst. A policer drops packets that a queue would
 * keep, and they are counted as if they had been kept. So the result is the part of a bucket that
 * the arrivals would have used.
 *
 * The rate is the average over the history, or over the newest steps if that is more. So a rise
 * counts immediately, a fall when the history has forgotten the old rate. A burst is no such rise,
 * or each would take from the others the rate that they live by.
 */
#include <math.h>
#include <stdlib.h>

#include "limiter/aggregate.h"

static double largest_backlog(const struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, const struct allocate_input *in)
{
	double bucket = (double)aggregate_burst(l, a), most = a->queue, waited;

	a->queue = backlog_after(a->queue, in->demand_now * in->interval_s,
		a->state.local_limit * in->interval_s, in->burst);
	most = a->queue > most ? a->queue : most;
	if (in->dropped && bucket > most)
		most = bucket;
	waited = sample->backlog > 0 ? bucket + (double)sample->backlog : 0;
	most = waited > most ? waited : most;
	return most < in->burst ? most : in->burst;
}

/*
 * Makes the history with the first byte, as with flows; and again when it is to be of another
 * length.
 */
static struct history *history_of(struct aggregate *a, const struct allocate_input *in)
{
	if (!a->history && in->demand_now > 0)
		a->history = history_create(
			a->policy.history_ns, a->policy.step_ns, a->measured_ns);
	return a->history;
}

void aggregate_remember(const struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, struct allocate_input *in, uint64_t now_ns)
{
	double backlog = largest_backlog(l, a, sample, in);
	struct history *history = history_of(a, in);

	/* Without memory for one, or need, it is of this interval alone. */
	in->demand = in->demand_now;
	in->backlog = backlog;
	if (!history)
		return;
	history_add(history, a->measured_ns, now_ns, in->demand_now * in->interval_s, backlog);
	in->demand = fmax(
		history_rate(history, now_ns), history_recent(history, now_ns, in->burst));
	in->backlog = history_backlog(history, now_ns);
}

bool aggregate_remembers(const struct aggregate *a, uint64_t now_ns)
{
	return a->queue > 0 || (a->history && (history_rate(a->history, now_ns) > 0 ||
						      history_backlog(a->history, now_ns) > 0));
}

void aggregate_forget(struct aggregate *a)
{
	free(a->history);
	a->history = NULL;
	a->queue = 0;
}
