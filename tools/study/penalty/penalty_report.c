/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_report.h"

#include <math.h>

#include "command/output.h"

#define TICKS_US 1e3 /* ticks of PENALTY_HZ in a microsecond */

static const char *const titles[PENALTY_ARRIVALS] = {
	"Poisson: a packet at a time, to any part",
	"periodic: publishers with a phase, and a part, each",
	"batch: Poisson, each batch to any one part",
	"spread: Poisson, each batch dealt out to the parts",
};

#define QUANTILES 4
static const double quantiles[QUANTILES] = {0.5, 0.95, 0.99, 0.999};
static const char *const quantile_names[QUANTILES] = {"p50_us", "p95_us", "p99_us", "p999_us"};

/* In microseconds; NaN where a formula does not apply. */
struct figures {
	double mean, error, exact, paper, ratio;
	double quantile[QUANTILES];
};

static void figures_of(
	const struct penalty_kind *kind, const struct penalty_row *row, struct figures *f)
{
	double one = kind->rows[0].mean;
	struct penalty_bucket part;

	*f = (struct figures){.mean = row->mean / TICKS_US,
		.error = penalty_error(row) / TICKS_US,
		.exact = NAN,
		.paper = NAN,
		.ratio = one > 0 ? row->mean / one : NAN};
	for (unsigned i = 0; i < QUANTILES; i++)
		f->quantile[i] = penalty_quantile(row, quantiles[i]) / TICKS_US;
	if (!penalty_part(&kind->c, row->parts, &part))
		return;
	f->exact = 1e6 * penalty_formula_exact(&part);
	f->paper = 1e6 * penalty_formula_paper(&part);
}

static void print_figure(FILE *out, int width, int digits, double value)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, digits, value);
}

static void print_penalty_row(
	const struct penalty_kind *kind, const struct penalty_row *row, FILE *out)
{
	struct figures f;

	figures_of(kind, row, &f);
	fprintf(out, "%5u", row->parts);
	print_figure(out, 10, 1, f.mean);
	print_figure(out, 7, 1, f.error);
	for (unsigned i = 0; i < QUANTILES; i++)
		print_figure(out, 9, 1, f.quantile[i]);
	print_figure(out, 10, 1, f.exact);
	print_figure(out, 10, 1, f.paper);
	print_figure(out, 8, 1, f.ratio);
	fputc('\n', out);
}

void penalty_report_text(const struct penalty_kind *kind, FILE *out)
{
	fprintf(out,
		"\n%s\nparts       mean    +/-       p50       p95       p99     p99.9"
		"      exact        (1)    ratio\n",
		titles[kind->c.arrivals]);
	for (unsigned i = 0; i < kind->n; i++)
		print_penalty_row(kind, &kind->rows[i], out);
}

static void print_penalty_cell(FILE *out, double value)
{
	if (isnan(value))
		fputs(" – |", out);
	else
		fprintf(out, " %.1f |", value);
}

static void print_markdown(
	const struct penalty_kind *kind, const struct penalty_row *row, FILE *out)
{
	struct figures f;

	figures_of(kind, row, &f);
	fprintf(out, "| %u | %.1f ± %.1f |", row->parts, f.mean, f.error);
	for (unsigned i = 0; i < QUANTILES; i++)
		print_penalty_cell(out, f.quantile[i]);
	print_penalty_cell(out, f.exact);
	print_penalty_cell(out, f.paper);
	print_penalty_cell(out, f.ratio);
	fputc('\n', out);
}

void penalty_report_markdown(const struct penalty_kind *kind, FILE *out)
{
	fprintf(out,
		"%s\n\n"
		"| parts | mean | p50 | p95 | p99 | p99.9 | exact | (1) | ratio |\n"
		"|---|---|---|---|---|---|---|---|---|\n",
		titles[kind->c.arrivals]);
	for (unsigned i = 0; i < kind->n; i++)
		print_markdown(kind, &kind->rows[i], out);
}

static json_t *penalty_row_json(const struct penalty_kind *kind, const struct penalty_row *row)
{
	json_t *out = json_object();
	struct figures f;

	figures_of(kind, row, &f);
	json_object_set_new(out, "parts", json_integer(row->parts));
	json_object_set_new(out, "packets", json_integer((json_int_t)row->n));
	output_number(out, "mean_us", f.mean);
	output_number(out, "error_us", f.error);
	for (unsigned i = 0; i < QUANTILES; i++)
		output_number(out, quantile_names[i], f.quantile[i]);
	output_number(out, "exact_us", f.exact);
	output_number(out, "paper_us", f.paper);
	output_number(out, "ratio", f.ratio);
	return out;
}

json_t *penalty_report_json(const struct penalty_kind *kind)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < kind->n; i++)
		json_array_append_new(rows, penalty_row_json(kind, &kind->rows[i]));
	return json_pack("{s:s,s:o}", "arrivals", penalty_names[kind->c.arrivals], "rows", rows);
}
