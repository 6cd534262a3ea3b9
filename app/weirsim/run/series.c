/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The record as CSV, one row an interval: all rates in bit/s. Columns of a policy: the forwarded
 * rate, the sum of its local limits, then both for every limiter. The last columns are each flow's
 * goodput.
 */
#include <errno.h>

#include "rates.h"
#include "report.h"

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
