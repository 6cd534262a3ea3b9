/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sums and means over a record's intervals.
 */
#include "report.h"

#include <errno.h>

#include "base/time.h"
#include "record.h"

struct rate_window rates_measured(const struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	return (struct rate_window){(unsigned)(s->warmup_ns / s->interval_ns), sim->record->n_bins};
}

unsigned rates_bins_1s(const struct sim *sim)
{
	return (unsigned)(SECOND_NS / sim->record->bin_ns);
}

double rates_limiter(const struct sim *sim, unsigned policy, unsigned limiter, struct rate_window w)
{
	const uint64_t *row = sim->record->forwarded + record_row(sim, policy, limiter);
	const double seconds = (double)(w.to - w.from) * (double)sim->record->bin_ns / 1e9;
	uint64_t bytes = 0;

	for (unsigned i = w.from; i < w.to; i++)
		bytes += row[i];
	return (double)bytes * 8 / seconds;
}

double rates_aggregate(const struct sim *sim, unsigned policy, struct rate_window w)
{
	double sum = 0;

	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		sum += rates_limiter(sim, policy, i, w);
	return sum;
}

double rates_in_force(const struct sim *sim, unsigned policy, struct rate_window w)
{
	const double *row = sim->record->in_force + (size_t)policy * sim->record->n_bins;
	double sum = 0;

	for (unsigned i = w.from; i < w.to; i++)
		sum += row[i];
	return sum * 8 / (w.to - w.from);
}

double rates_flow(
	const struct sim *sim, const struct flow_record *flow, struct rate_window w, double *lived)
{
	uint64_t from = w.from * sim->record->bin_ns, to = w.to * sim->record->bin_ns, bytes = 0;
	uint64_t end = flow->end_ns ? flow->end_ns : to;

	if (flow->start_ns > from)
		from = flow->start_ns;
	if (end < to)
		to = end;
	*lived = to > from ? (double)(to - from) / 1e9 : 0;
	for (unsigned i = w.from; i < w.to; i++)
		bytes += flow->delivered[i];
	return *lived > 0 ? (double)bytes * 8 / *lived : 0;
}

double rates_jain(const struct sim *sim, unsigned policy, struct rate_window w, double least)
{
	double sum = 0, squares = 0, n = 0;

	for (unsigned i = 0; i < sim->record->n_flows; i++) {
		const struct flow_record *flow = &sim->record->flows[i];
		const enum traffic_kind kind = sim->scenario->traffic[flow->traffic].kind;
		/* The flow adapts to its throughput, and has a line of its own. */
		const bool is_elastic = kind == TRAFFIC_TCP || kind == TRAFFIC_QUIC;
		double lived, rate = rates_flow(sim, flow, w, &lived);

		if (flow->policy != policy || lived < least || !is_elastic)
			continue;
		sum += rate;
		squares += rate * rate;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : 0;
}

double rates_jain_1s(const struct sim *sim, unsigned policy, struct rate_window w)
{
	unsigned bins = rates_bins_1s(sim), n = 0;
	double sum = 0;

	for (unsigned from = w.from; from + bins <= w.to; from += bins) {
		double jain = rates_jain(
			sim, policy, (struct rate_window){from, from + bins}, 0.999);

		if (jain <= 0)
			continue;
		sum += jain;
		n++;
	}
	return n ? sum / n : 0;
}

/* --- series ----------------------------------------------------------------------------------- */

/*
 * The record as CSV, one row an interval: all rates in bit/s. Columns of a policy: the forwarded
 * rate, the sum of its local limits, then both for every limiter. The last columns are each flow's
 * goodput.
 */

static void print_heads(const struct sim *sim, FILE *out)
{
	const struct scenario *s = sim->scenario;

	fputs("time_s", out);
	for (unsigned p = 0; p < s->group.n_policies; p++) {
		const char *name = s->group.policies[p].name;

		fprintf(out, ",%s,%s:limits", name, name);
		for (unsigned i = 0; i < s->n_limiters; i++)
			fprintf(out, ",%s/%s,%s/%s:limit", name, s->limiters[i].name, name,
				s->limiters[i].name);
	}
	for (unsigned i = 0; i < sim->record->n_flows; i++)
		fprintf(out, ",flow%u@%s/%s", i + 1,
			s->limiters[sim->record->flows[i].limiter].name,
			s->traffic[sim->record->flows[i].traffic].name);
	fputc('\n', out);
}

static void print_series_row(const struct sim *sim, unsigned bin, double bytes_to_bps, FILE *out)
{
	const struct scenario *s = sim->scenario;
	const struct record *r = sim->record;
	struct rate_window w = {bin, bin + 1};

	fprintf(out, "%.3f", (double)(bin + 1) * (double)r->bin_ns / 1e9);
	for (unsigned p = 0; p < s->group.n_policies; p++) {
		fprintf(out, ",%.0f,%.0f", rates_aggregate(sim, p, w),
			r->sum_of_limits[(size_t)p * r->n_bins + bin] * 8);
		for (unsigned i = 0; i < s->n_limiters; i++)
			fprintf(out, ",%.0f,%.0f", rates_limiter(sim, p, i, w),
				(double)r->local_limit[record_row(sim, p, i) + bin] * 8);
	}
	for (unsigned i = 0; i < r->n_flows; i++)
		fprintf(out, ",%.0f", r->flows[i].delivered[bin] * bytes_to_bps);
	fputc('\n', out);
}

int report_series(const struct sim *sim, FILE *out)
{
	print_heads(sim, out);
	for (unsigned bin = 0; bin < sim->record->bin; bin++)
		print_series_row(sim, bin, 8e9 / (double)sim->record->bin_ns, out);
	return ferror(out) ? -EIO : 0;
}
