/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "quota_report.h"

#include <math.h>

#include "command/output.h"

static const char *const contenders[QUOTA_CONTENDERS] = {
	"centralised", "polling", "parallel polling", "weir"};
const char *const quota_workloads[QUOTA_WORKLOADS] = {"zipf", "worldcup"};

/* "A tree-based protocol for enforcing quotas in clouds". The 42 % is of no size that it names. */
static const struct quota_published published[] = {
	{10, QUOTA_ZIPF, 0, 0, 0, 6.35, 19.74},
	{20, QUOTA_ZIPF, 92, 85, 42, 13, 69.5},
	{20, QUOTA_WORLDCUP, 92, 85, 42, 22.7, 75.8},
	{100, QUOTA_ZIPF, 0, 0, 0, 25, 346},
};

const struct quota_published *quota_published(const struct quota_row *row)
{
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
		if (published[i].n == row->n && published[i].workload == row->workload)
			return &published[i];
	return NULL;
}

static void add_quota_mean(double *mean, unsigned n, double value)
{
	*mean += (value - *mean) / n;
}

static double percent_saved(uint64_t cost, uint64_t whole)
{
	return whole ? 100 * (1 - (double)cost / (double)whole) : 0;
}

static void add_spread(double *mean, double *squares, unsigned n, double value)
{
	double off = value - *mean;

	add_quota_mean(mean, n, value);
	*squares += off * (value - *mean);
}

void quota_row_add(struct quota_row *row, const struct quota_case *c,
	const struct quota_result results[QUOTA_CONTENDERS])
{
	const struct quota_result *central = &results[QUOTA_CENTRAL];
	const struct quota_result *polling = &results[QUOTA_POLL];
	unsigned n = ++row->seeds;

	for (unsigned k = 0; k < QUOTA_CONTENDERS; k++) {
		const struct quota_result *r = &results[k];
		struct quota_score *s = &row->of[k];
		double used = 100 * (double)r->units / (double)c->total;
		double each = r->reallocations ? r->response_ns / (double)r->reallocations : NAN;

		add_spread(&s->reduction, &s->squares, n, percent_saved(r->hops, central->hops));
		add_spread(&s->fewer, &s->fewer_squares, n, percent_saved(r->hops, polling->hops));
		add_quota_mean(
			&s->last, n, r->hops ? 100 * (double)r->tenths[0] / (double)r->hops : 0);
		add_quota_mean(
			&s->reduction_flat, n, percent_saved(r->messages, central->messages));
		add_quota_mean(&s->hops, n, (double)r->hops);
		add_quota_mean(&s->reallocations, n, (double)r->reallocations);
		add_quota_mean(&s->response_ms, n, each / 1e6);
		add_quota_mean(
			&s->stalled_ms, n, r->stalled_ns / 1e6 / fmax((double)r->requests, 1));
		add_quota_mean(&s->used, n, used);
		s->used_least = n == 1 ? used : fmin(s->used_least, used);
		for (unsigned i = 0; i < QUOTA_TENTHS; i++)
			add_quota_mean(&s->tenths[i], n, (double)r->tenths[i]);
		s->exceeded |= r->exceeded;
	}
}

double quota_deviation(double squares, unsigned seeds)
{
	return seeds > 1 ? sqrt(squares / (seeds - 1)) : 0;
}

/* Prints "none" without a response, because 0 would be a time. */
static void print_response(double ms, FILE *out)
{
	if (isfinite(ms))
		fprintf(out, " %9.2f ms", ms);
	else
		fprintf(out, " %12s", "none");
}

static void print_quota_row(const struct quota_row *row, FILE *out)
{
	const struct quota_published *p = quota_published(row);

	fprintf(out, "\n%u nodes, %s, %u requests, mean of %u seeds\n", row->n,
		quota_workloads[row->workload], row->requests, row->seeds);
	fputs("                     hops  less  (flat)  reallocations  response  stalled  used  "
	      "(least)\n",
		out);
	for (unsigned k = 0; k < QUOTA_CONTENDERS; k++) {
		const struct quota_score *s = &row->of[k];

		fprintf(out, "  %-16s %8.0f %5.1f%% %6.1f%% %10.0f", contenders[k], s->hops,
			s->reduction, s->reduction_flat, s->reallocations);
		print_response(s->response_ms, out);
		fprintf(out, " %5.2f ms %.3f%% (%.3f%%)%s\n", s->stalled_ms, s->used, s->used_least,
			s->exceeded ? "  EXCEEDED" : "");
	}
	fprintf(out,
		"  hops: %.1f %% less than polling; of all, %.0f %% in the last tenth, polling %.0f %%\n",
		row->of[QUOTA_TREE].fewer, row->of[QUOTA_TREE].last, row->of[QUOTA_POLL].last);
	fprintf(out, "  faster than polling %.1f times, than parallel polling %.1f times\n",
		row->of[QUOTA_POLL].response_ms / row->of[QUOTA_TREE].response_ms,
		row->of[QUOTA_POLL_AT_ONCE].response_ms / row->of[QUOTA_TREE].response_ms);
	if (!p)
		return;
	fprintf(out, "  the paper: response %.2f ms of %.2f ms, %.1f times faster", p->response_ms,
		p->response_polling_ms, p->response_polling_ms / p->response_ms);
	if (p->reduction > 0)
		fprintf(out, "; %.0f %% less than centralised, its polling %.0f %%", p->reduction,
			p->reduction_polling);
	fputs("\n", out);
}

void quota_report_text(const struct quota_row *rows, unsigned n, FILE *out)
{
	fputs("Hops: a message costs 1 for each edge of the tree that it goes over; less: than the\n"
	      "centralised does; flat: each message costs 1. Used: of the total, before the first\n"
	      "request is refused.\n",
		out);
	for (unsigned i = 0; i < n; i++)
		print_quota_row(&rows[i], out);
}

static json_t *score_json(const struct quota_score *s, unsigned seeds)
{
	json_t *out = json_object(), *tenths = json_array();

	output_number(out, "reduction_percent", s->reduction);
	output_number(out, "reduction_deviation", quota_deviation(s->squares, seeds));
	output_number(out, "fewer_than_polling_percent", s->fewer);
	output_number(
		out, "fewer_than_polling_deviation", quota_deviation(s->fewer_squares, seeds));
	output_number(out, "last_tenth_percent", s->last);
	output_number(out, "reduction_flat_percent", s->reduction_flat);
	output_number(out, "hops", s->hops);
	output_number(out, "reallocations", s->reallocations);
	output_number(out, "response_ms", s->response_ms);
	output_number(out, "stalled_ms", s->stalled_ms);
	output_number(out, "used_percent", s->used);
	output_number(out, "used_least_percent", s->used_least);
	for (unsigned i = 0; i < QUOTA_TENTHS; i++)
		json_array_append_new(tenths, json_real(s->tenths[i]));
	json_object_set_new(out, "hops_by_tenth_left", tenths);
	json_object_set_new(out, "exceeded", json_boolean(s->exceeded));
	return out;
}

static json_t *published_json(const struct quota_published *p)
{
	json_t *out = json_object();

	output_number(out, "response_ms", p->response_ms);
	output_number(out, "polling_response_ms", p->response_polling_ms);
	if (p->reduction > 0) {
		output_number(out, "reduction_percent", p->reduction);
		output_number(out, "polling_reduction_percent", p->reduction_polling);
	}
	return out;
}

json_t *quota_report_json(const struct quota_row *rows, unsigned n)
{
	json_t *out = json_object(), *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		const struct quota_published *p = quota_published(&rows[i]);
		json_t *row = json_object();

		json_object_set_new(row, "nodes", json_integer(rows[i].n));
		json_object_set_new(
			row, "workload", json_string(quota_workloads[rows[i].workload]));
		json_object_set_new(row, "requests", json_integer(rows[i].requests));
		json_object_set_new(row, "seeds", json_integer(rows[i].seeds));
		for (unsigned k = 0; k < QUOTA_CONTENDERS; k++)
			json_object_set_new(
				row, contenders[k], score_json(&rows[i].of[k], rows[i].seeds));
		if (p)
			json_object_set_new(row, "paper", published_json(p));
		json_array_append_new(list, row);
	}
	json_object_set_new(out, "rows", list);
	return out;
}
