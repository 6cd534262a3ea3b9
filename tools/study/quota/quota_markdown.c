/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The contenders of `weir-study quota` as tables of a document.
 */
#include <math.h>

#include "quota_report.h"

/* Prints the percentage of saved hops; or, if there are more hops, the factor. */
static void print_less(double percent, double deviation, FILE *out)
{
	if (percent >= 0)
		fprintf(out, " %.1f ± %.1f %% |", percent, deviation);
	else
		fprintf(out, " %.1f ± %.1f times as many |", 1 - percent / 100, deviation / 100);
}

static void print_published(double value, const char *unit, FILE *out)
{
	if (value > 0)
		fprintf(out, " %g%s |", value, unit);
	else
		fputs(" |", out);
}

static void print_case(const struct quota_row *row, FILE *out)
{
	fprintf(out, "| %u | %s | %u |", row->n, quota_workloads[row->workload], row->requests);
}

static void print_cost(const struct quota_row *row, FILE *out)
{
	const struct quota_published none = {0}, *p = quota_published(row);
	const struct quota_score *weir = &row->of[QUOTA_TREE], *polls = &row->of[QUOTA_POLL];

	p = p ? p : &none;
	print_case(row, out);
	print_less(weir->reduction, quota_deviation(weir->squares, row->seeds), out);
	print_published(p->reduction, " %", out);
	print_less(polls->reduction, quota_deviation(polls->squares, row->seeds), out);
	print_published(p->reduction_polling, " %", out);
	print_less(weir->fewer, quota_deviation(weir->fewer_squares, row->seeds), out);
	print_published(p->fewer, " %", out);
	fprintf(out, " %.1f %% | %.0f %% | %.0f %% |\n", weir->reduction_flat, weir->last,
		polls->last);
}

static void print_times(double of, double by, FILE *out)
{
	if (isfinite(of / by))
		fprintf(out, " %.1f × faster |", of / by);
	else
		fputs(" – |", out);
}

static void print_time(const struct quota_row *row, FILE *out)
{
	const struct quota_published none = {0}, *p = quota_published(row);
	const struct quota_score *weir = &row->of[QUOTA_TREE];

	p = p ? p : &none;
	print_case(row, out);
	if (isfinite(weir->response_ms))
		fprintf(out, " %.2f ms |", weir->response_ms);
	else
		fputs(" none |", out);
	print_published(p->response_ms, " ms", out);
	print_times(row->of[QUOTA_POLL].response_ms, weir->response_ms, out);
	if (p->response_ms > 0)
		print_times(p->response_polling_ms, p->response_ms, out);
	else
		fputs(" |", out);
	print_times(row->of[QUOTA_POLL_AT_ONCE].response_ms, weir->response_ms, out);
	fprintf(out, " %.3f %% |\n", weir->used_least);
}

void quota_report_markdown(const struct quota_row *rows, unsigned n, FILE *out)
{
	fputs("| nodes | trace | requests | Weir: less than central | paper | polling: less than "
	      "central | paper | Weir: less than polling | paper | less than a centre, each message 1 | "
	      "Weir: in the last tenth | polling |\n"
	      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
		out);
	for (unsigned i = 0; i < n; i++)
		print_cost(&rows[i], out);
	fputs("\n| nodes | trace | requests | a reallocation takes | paper | than polling | paper | "
	      "than parallel polling | used before the first refusal |\n"
	      "|---|---|---|---|---|---|---|---|---|\n",
		out);
	for (unsigned i = 0; i < n; i++)
		print_time(&rows[i], out);
}
