/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/prng.h"

#define NS       1e9
#define BIN      125       /* units: an eighth of a message */
#define BINS     (1 << 20) /* larger values go into the last bin */
#define MAY_WAIT 0.01

double broker_rate(const struct broker_traffic *traffic)
{
	return traffic->rate * traffic->publishers;
}

static unsigned groups_of(const struct broker_traffic *t)
{
	return (t->publishers + t->group - 1) / t->group;
}

/*
 * Returns the number of publishers first, first + 1, … in a group; the last group can be smaller.
 */
static unsigned members_of(const struct broker_traffic *t, unsigned group)
{
	unsigned left = t->publishers - group * t->group;

	return left < t->group ? left : t->group;
}

static void add_trace_group(
	struct broker_trace *trace, const struct broker_traffic *t, unsigned group, double at)
{
	unsigned members = members_of(t, group);
	double step = members > 1 ? t->spread * NS / (members - 1) : 0;

	for (unsigned i = 0; i < members; i++)
		trace->events[trace->n++] = (struct broker_event){
			(uint64_t)(at + i * step), group * t->group + i};
}

static int compare_events(const void *a, const void *b)
{
	const struct broker_event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

struct phase {
	double at; /* ns */
	unsigned group;
};

static int compare_group_phases(const void *a, const void *b)
{
	const struct phase *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* Groups take turns, by their phases. */
static int add_periods(struct broker_trace *trace, const struct broker_traffic *t, uint64_t most,
	struct prng *prng)
{
	unsigned n = groups_of(t);
	double period = NS * t->batch / t->rate;
	struct phase *phases = calloc(n, sizeof(*phases));

	if (!phases)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		phases[i] = (struct phase){prng_unit(prng) * period, i};
	qsort(phases, n, sizeof(*phases), compare_group_phases);
	for (uint64_t round = 0; trace->n + t->publishers <= most; round++)
		for (unsigned i = 0; i < n; i++)
			add_trace_group(
				trace, t, phases[i].group, (double)round * period + phases[i].at);
	free(phases);
	return 0;
}

/* All groups together are a Poisson process too; each event's group is random. */
static void add_random(struct broker_trace *trace, const struct broker_traffic *t, uint64_t most,
	struct prng *prng)
{
	unsigned n = groups_of(t);
	double gap = NS * t->batch / t->rate / n, at = 0;

	while (trace->n + t->group <= most) {
		at -= log1p(-prng_unit(prng)) * gap;
		add_trace_group(trace, t, prng_below(prng, n), at);
	}
}

int broker_trace_make(
	struct broker_trace *trace, const struct broker_traffic *traffic, uint64_t seed)
{
	uint64_t most = traffic->messages / traffic->batch + traffic->publishers;
	struct prng prng;
	int err = 0;

	*trace = (struct broker_trace){.events = calloc(most, sizeof(*trace->events))};
	if (!trace->events)
		return -ENOMEM;
	prng_seed(&prng, seed);
	if (traffic->periodic)
		err = add_periods(trace, traffic, most, &prng);
	else
		add_random(trace, traffic, most, &prng);
	if (traffic->spread > 0)
		qsort(trace->events, trace->n, sizeof(*trace->events), compare_events);
	if (err)
		broker_trace_free(trace);
	return err;
}

void broker_trace_free(struct broker_trace *trace)
{
	free(trace->events);
	trace->events = NULL;
}

/* The units that one bucket of any depth lacks, including the message of each step. */
struct trace_backlog {
	uint64_t at;
	double units, limit;
};

static double backlog_add(struct trace_backlog *backlog, uint64_t at)
{
	backlog->units = fmax(0, backlog->units - (double)(at - backlog->at) / NS * backlog->limit);
	backlog->units += BROKER_MESSAGE;
	backlog->at = at;
	return backlog->units;
}

int broker_trace_burst(
	const struct broker_trace *trace, unsigned batch, uint64_t limit, uint64_t *burst)
{
	struct trace_backlog backlog = {.limit = (double)limit};
	uint64_t may_wait = (uint64_t)(MAY_WAIT * (double)(trace->n * batch)), above = 0;
	uint32_t *bins = calloc(BINS, sizeof(*bins));
	unsigned bin = BINS - 1;

	if (!bins)
		return -ENOMEM;
	for (uint64_t i = 0; i < trace->n * batch; i++) {
		double at = ceil(backlog_add(&backlog, trace->events[i / batch].at) / BIN);

		bins[at < BINS ? (unsigned)at : BINS - 1]++;
	}
	while (bin > 0 && (above += bins[bin]) <= may_wait)
		bin--;
	free(bins);
	*burst = (uint64_t)bin * BIN;
	return 0;
}
