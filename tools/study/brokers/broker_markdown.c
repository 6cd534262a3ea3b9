/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The results of `weir-study brokers` as the tables of a document.
 */
#include "broker_report.h"

#define MS 1e6 /* ns */

static bool has_bound(const struct broker_results *results)
{
	const struct broker_figure *f = results->figure;

	for (unsigned panel = 0; panel < f->n_panels; panel++)
		if (results->bounds[panel][0] > 0 && f->n_contenders > 1)
			return true;
	return false;
}

static void markdown_head(const struct broker_results *results, FILE *out)
{
	const struct broker_figure *f = results->figure;

	fprintf(out, "| arrivals | %s |", f->x_name);
	for (unsigned i = 0; i < f->n_contenders; i++)
		fprintf(out, " %s, ms | brokers | kept by |", broker_names[f->contenders[i]]);
	fputs(has_bound(results) ? " least |\n|---|---|" : "\n|---|---|", out);
	for (unsigned i = 0; i < f->n_contenders; i++)
		fputs("---|---|---|", out);
	fputs(has_bound(results) ? "---|\n" : "\n", out);
}

static void print_point(
	const struct broker_results *results, unsigned panel, unsigned point, FILE *out)
{
	const struct broker_figure *f = results->figure;

	fprintf(out, "| %s | %g |", f->panels[panel].title, f->x[point]);
	for (unsigned i = 0; i < f->n_contenders; i++) {
		const struct broker_cell *cell = &results->cells[panel][point][i];

		fprintf(out, " %.2f ± %.2f | %.1f | %u of %u |", cell->p99 / MS,
			broker_deviation(cell) / MS, cell->k, cell->met, cell->seeds);
	}
	if (results->bounds[panel][point] > 0 && f->n_contenders > 1)
		fprintf(out, " %.2f |", results->bounds[panel][point] / MS);
	else if (has_bound(results))
		fputs(" – |", out);
	fputc('\n', out);
}

void broker_report_markdown(const void *what, FILE *out)
{
	const struct broker_results *results = what;

	markdown_head(results, out);
	for (unsigned panel = 0; panel < results->figure->n_panels; panel++)
		for (unsigned i = 0; broker_wanted(results, panel) && i < results->figure->n_points;
			i++)
			print_point(results, panel, i, out);
}

void broker_table_markdown(const void *what, FILE *out)
{
	const struct broker_table *table = what;
	double paper = 0, search = 0, weir = 0, all = 0;

	fputs("| groups of | paper: rounds | its procedure here | brokers | kept by | Weir: rounds | "
	      "with confirmation | brokers | kept by |\n"
	      "|---|---|---|---|---|---|---|---|---|\n",
		out);
	for (unsigned i = 0; i < BROKER_ROWS; i++) {
		const struct broker_row *row = &table->rows[i];
		double confirmed = row->weir + (double)(row->untried - row->mistaken) / row->seeds;

		fprintf(out,
			"| %u | %u | %.1f | %.1f | %u of %u | %.1f | %.1f | %.1f | %u of %u |\n",
			row->group, row->paper, row->search, row->search_k, row->search_met,
			row->seeds, row->weir, confirmed, row->weir_k, row->weir_met, row->seeds);
		paper += row->paper;
		search += row->search;
		weir += row->weir;
		all += confirmed;
	}
	fprintf(out, "| all | %.0f | %.1f | | | %.1f | %.1f | | |\n", paper, search, weir, all);
}
