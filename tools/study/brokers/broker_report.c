/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_report.h"

#define MS 1e6 /* ns */

unsigned broker_out_of_order(const struct broker_results *results)
{
	const struct broker_figure *f = results->figure;
	unsigned n = 0;

	for (unsigned panel = 0; panel < f->n_panels; panel++)
		for (unsigned point = 0; point < f->n_points; point++)
			n += broker_wanted(results, panel) &&
			     !broker_in_order(results, panel, point);
	return n;
}

static unsigned broker_panels(const struct broker_results *results)
{
	return results->panel ? 1 : results->figure->n_panels;
}

static void print_broker_cell(const struct broker_cell *cell, FILE *out)
{
	fprintf(out, "  %7.2f +/-%5.2f %4.1f %3u/%-3u", cell->p99 / MS, broker_deviation(cell) / MS,
		cell->k, cell->met, cell->seeds);
}

static void print_broker_head(const struct broker_figure *f, bool bounded, FILE *out)
{
	fprintf(out, "%10s", f->x_name);
	for (unsigned i = 0; i < f->n_contenders; i++)
		fprintf(out, "  %7s  p99, sd    k     met", broker_names[f->contenders[i]]);
	fputs(bounded ? "  least\n" : "\n", out);
}

static void print_panel(const struct broker_results *results, unsigned panel, FILE *out)
{
	const struct broker_figure *f = results->figure;

	fprintf(out, "\n%s\n", f->panels[panel].title);
	print_broker_head(f, results->bounds[panel][0] > 0 && f->n_contenders > 1, out);
	for (unsigned point = 0; point < f->n_points; point++) {
		const struct broker_cell *cells = results->cells[panel][point];

		fprintf(out, "%10g", f->x[point]);
		for (unsigned i = 0; i < f->n_contenders; i++)
			print_broker_cell(&cells[i], out);
		if (f->n_contenders == 1)
			fprintf(out, "   p50 %.2f  p95 %.2f  tokens p99 %.2f", cells[0].p50 / MS,
				cells[0].p95 / MS, cells[0].access_p99 / MS);
		if (results->bounds[panel][point] > 0 && f->n_contenders > 1)
			fprintf(out, "  %5.2f", results->bounds[panel][point] / MS);
		fputs(broker_in_order(results, panel, point) ? "\n" : "  ORDER\n", out);
	}
}

void broker_report_text(const void *what, FILE *out)
{
	const struct broker_results *results = what;
	const struct broker_figure *f = results->figure;

	fprintf(out, "Figure %u: %s. Milliseconds.\n", f->number, f->title);
	for (unsigned i = 0; i < f->n_panels; i++)
		if (broker_wanted(results, i))
			print_panel(results, i, out);
	if (f->n_contenders > 1)
		fprintf(out, "\nThe paper's order, %s not above %s: at %u of %u points.\n",
			broker_names[f->contenders[f->better]],
			broker_names[f->contenders[f->worse]],
			broker_panels(results) * f->n_points - broker_out_of_order(results),
			broker_panels(results) * f->n_points);
}

static json_t *cell_json(const struct broker_cell *cell, enum broker_method method)
{
	return json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:i,s:i}", "contender",
		broker_names[method], "p50_ms", cell->p50 / MS, "p95_ms", cell->p95 / MS, "p99_ms",
		cell->p99 / MS, "deviation_ms", broker_deviation(cell) / MS, "access_p99_ms",
		cell->access_p99 / MS, "brokers", cell->k, "rounds", cell->rounds, "seeds",
		(int)cell->seeds, "met", (int)cell->met);
}

static json_t *point_json(const struct broker_results *results, unsigned panel, unsigned point)
{
	const struct broker_figure *f = results->figure;
	json_t *cells = json_array();

	for (unsigned i = 0; i < f->n_contenders; i++)
		json_array_append_new(
			cells, cell_json(&results->cells[panel][point][i], f->contenders[i]));
	return json_pack("{s:f,s:o,s:b,s:o}", f->x_name, f->x[point], "least_ms",
		results->bounds[panel][point] > 0 ? json_real(results->bounds[panel][point] / MS)
						  : json_null(),
		"in_order", (int)broker_in_order(results, panel, point), "contenders", cells);
}

json_t *broker_report_json(const void *what)
{
	const struct broker_results *results = what;
	const struct broker_figure *f = results->figure;
	json_t *panels = json_array();

	for (unsigned panel = 0; panel < f->n_panels; panel++) {
		json_t *points;

		if (!broker_wanted(results, panel))
			continue;
		points = json_array();
		for (unsigned point = 0; point < f->n_points; point++)
			json_array_append_new(points, point_json(results, panel, point));
		json_array_append_new(panels,
			json_pack("{s:s,s:o}", "panel", f->panels[panel].title, "points", points));
	}
	return json_pack("{s:i,s:s,s:i,s:o}", "figure", (int)f->number, "title", f->title,
		"out_of_order", (int)broker_out_of_order(results), "panels", panels);
}

void broker_table_text(const void *what, FILE *out)
{
	const struct broker_table *table = what;
	double paper = 0, search = 0, weir = 0, confirmed = 0;

	fputs("Table I: rounds of measurement until a placement is settled; means over the seeds.\n"
	      "search: the paper's procedure here; Weir: with a prediction before each trial.\n\n"
	      "untried: predicted with enough certainty to take no round, and the number of these that\n"
	      "missed the objective.\n\n"
	      "group  paper  search  by iteration                        k    p99  met"
	      "    Weir    k    p99  met   untried  of search\n",
		out);
	for (unsigned i = 0; i < BROKER_ROWS; i++) {
		const struct broker_row *row = &table->rows[i];

		fprintf(out, "%5u  %5u  %6.1f ", row->group, row->paper, row->search);
		for (unsigned j = 0; j < BROKER_ITERATIONS - 2; j++)
			fprintf(out, " %4.1f", row->rounds[j]);
		fprintf(out, "  %5.1f  %5.2f %2u/%-2u", row->search_k, row->search_p99 / MS,
			row->search_met, row->seeds);
		fprintf(out, "  %4.1f  %3.1f  %5.2f %2u/%-2u  %4u, %-2u  %6.2f\n", row->weir,
			row->weir_k, row->weir_p99 / MS, row->weir_met, row->seeds, row->untried,
			row->mistaken, row->weir / row->search);
		paper += row->paper;
		search += row->search;
		weir += row->weir;
		confirmed += (double)(row->untried - row->mistaken) / row->seeds;
	}
	fprintf(out, "%5s  %5.0f  %6.1f %71.1f %36.2f\n", "all", paper, search, weir,
		weir / search);
	fprintf(out,
		"Weir's rounds, of the paper's: %.2f; with one more to confirm untried ones:\n"
		"%.1f, and %.2f. A round there takes %u s.\n",
		weir / paper, weir + confirmed, (weir + confirmed) / paper, BROKER_ROUND_S);
}

static json_t *broker_row_json(const struct broker_row *row)
{
	json_t *rounds = json_array();

	for (unsigned i = 0; i < BROKER_ITERATIONS; i++)
		json_array_append_new(rounds, json_real(row->rounds[i]));
	return json_pack("{s:i,s:i,s:i,s:{s:f,s:o,s:f,s:f,s:i},s:{s:f,s:f,s:f,s:i,s:i,s:i}}",
		"group", (int)row->group, "paper", (int)row->paper, "seeds", (int)row->seeds,
		"search", "rounds", row->search, "iterations", rounds, "brokers", row->search_k,
		"p99_ms", row->search_p99 / MS, "met", (int)row->search_met, "weir", "rounds",
		row->weir, "brokers", row->weir_k, "p99_ms", row->weir_p99 / MS, "met",
		(int)row->weir_met, "untried", (int)row->untried, "mistaken", (int)row->mistaken);
}

json_t *broker_table_json(const void *what)
{
	const struct broker_table *table = what;
	json_t *rows = json_array();

	for (unsigned i = 0; i < BROKER_ROWS; i++)
		json_array_append_new(rows, broker_row_json(&table->rows[i]));
	return json_pack("{s:s,s:o}", "figure", "table1", "rows", rows);
}
