/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Figures 3 to 7 of GDRL: demands, indicators, and Jain's index over time.
 */
#include <errno.h>
#include <math.h>

#include "command/chart.h"
#include "gdrl_report.h"

#define GOAL_STYLE "stroke=\"#c62828\" stroke-width=\"1\" stroke-dasharray=\"7 5\""

static void style_of(char *style, size_t len, unsigned number, const char *dash)
{
	snprintf(style, len, "stroke=\"%s\" stroke-width=\"1.5\"%s",
		chart_colours[number % CHART_COLOURS], dash);
}

/* A line for each server, of what was recorded by [slot][server]. */
static void draw_servers(const struct chart *chart, const struct gdrl_run *run, const float *values,
	const char *opacity, bool named)
{
	unsigned step = run->n / CHART_POINTS + 1;
	char again[64]; /* colours that come a second time */

	snprintf(again, sizeof(again), "%s stroke-dasharray=\"5 3\"", opacity);
	for (unsigned i = 0; i < run->c.n; i++) {
		char style[128], name[24];

		style_of(style, sizeof(style), i, i < CHART_COLOURS ? opacity : again);
		chart_line(chart, style);
		for (unsigned t = 0; t < run->n; t += step)
			chart_point(chart, t, values[(size_t)t * run->c.n + i]);
		chart_line_end(chart);
		snprintf(name, sizeof(name), "server %u", i + 1);
		if (named && i < 10)
			chart_legend(chart, i, style, name);
	}
}

static struct chart chart_of(const struct gdrl_run *run, const float *values, FILE *out)
{
	struct chart chart = {.out = out, .right = run->n, .unit = 1, .x = "slots", .y = "q"};
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < (size_t)run->n * run->c.n; i++) {
		least = fmin(least, values[i]);
		most = fmax(most, values[i]);
	}
	chart.bottom = least - 0.04 * (most - least) - 1e-12;
	chart.top = most + 0.04 * (most - least) + 1e-12;
	return chart;
}

static void draw_demands(const struct gdrl_run *run, unsigned panel, FILE *out)
{
	struct chart chart = chart_of(run, run->estimate, out);

	chart.y = "packets a slot";
	chart_panel(
		&chart, panel, "Demands, and what the limiters think they are (GDRL, figure 5)");
	draw_servers(&chart, run, run->demand, " opacity=\"0.4\"", false);
	draw_servers(&chart, run, run->estimate, "", true);
	chart_panel_end(&chart);
}

static void draw_indicators(const struct gdrl_run *run, unsigned panel, FILE *out)
{
	struct chart chart = chart_of(run, run->q, out);
	char title[128];

	chart.unit = fabs(chart.bottom) > 1e6 || chart.top > 1e6 ? GDRL_UNIT : 1;
	snprintf(title, sizeof(title), "Indicators: %s (GDRL, figure %s)", run->c.indicator->name,
		run->c.period ? "6" : "3");
	chart_panel(&chart, panel, title);
	draw_servers(&chart, run, run->q, "", true);
	chart_panel_end(&chart);
}

static void draw_index(const struct gdrl_run *run, unsigned panel, FILE *out)
{
	struct chart chart = {
		.out = out, .right = run->n, .top = 1.02, .unit = 1, .x = "slots", .y = "index"};
	unsigned step = run->n / CHART_POINTS + 1;

	chart_panel(&chart, panel,
		run->c.period ? "Jain's index of the indicators (GDRL, figure 6)"
			      : "Jain's index of the indicators (GDRL, figure 4)");
	chart_level(&chart, GOAL_STYLE, GDRL_GOAL);
	chart_line(&chart, "stroke=\"#222\" stroke-width=\"1.5\"");
	for (unsigned t = 0; t < run->n; t += step)
		chart_point(&chart, t, run->jain[t]);
	chart_line_end(&chart);
	chart_panel_end(&chart);
}

static bool draws_demands(const struct gdrl_run *run)
{
	return run->q && run->c.period > 0;
}

static unsigned panels_of(const struct gdrl_run *run)
{
	return 1 + (run->q != NULL) + draws_demands(run);
}

/* By the logarithm of the slots: the slowest takes a thousand times as long as the quickest. */
static void draw_scaling_line(const struct chart *chart, const struct gdrl_run *run, unsigned place)
{
	static const char *const dashes[] = {
		"", " stroke-dasharray=\"8 4\"", " stroke-dasharray=\"2 3\""};
	unsigned of_size = run->c.n >= 1000 ? 2 : run->c.n >= 100;
	unsigned of_degree = run->c.degree >= 8 ? 2 : run->c.degree >= 4;
	char style[96], name[48];

	style_of(style, sizeof(style), of_size, dashes[of_degree]);
	chart_line(chart, style);
	for (double at = 1; at < run->n;
		at = fmax(at + 1, at * pow(10, chart->right / CHART_POINTS)))
		chart_point(chart, log10(at), run->jain[(unsigned)at]);
	chart_line_end(chart);
	snprintf(name, sizeof(name), "%u, d = %u", run->c.n, run->c.degree);
	chart_legend(chart, place, style, name);
}

static bool is_scaling(const struct gdrl_run *run)
{
	return run->name[0] == '7';
}

static void draw_scaling(const struct gdrl_runs *all, unsigned panel, FILE *out)
{
	struct chart chart = {.out = out,
		.right = 1,
		.top = 1.02,
		.unit = 1,
		.x = "slots, power of ten",
		.y = "index"};
	unsigned place = 0;

	for (unsigned i = 0; i < all->n; i++)
		if (is_scaling(&all->runs[i]))
			chart.right = fmax(chart.right, log10(all->runs[i].n));
	chart_panel(&chart, panel, "Jain's index by limiters and degree (GDRL, figure 7)");
	chart_level(&chart, GOAL_STYLE, GDRL_GOAL);
	for (unsigned i = 0; i < all->n; i++)
		if (is_scaling(&all->runs[i]))
			draw_scaling_line(&chart, &all->runs[i], place++);
	chart_panel_end(&chart);
}

static unsigned draw_run(const struct gdrl_run *run, unsigned panel, FILE *out)
{
	if (draws_demands(run))
		draw_demands(run, panel++, out);
	if (run->q)
		draw_indicators(run, panel++, out);
	draw_index(run, panel++, out);
	return panel;
}

int gdrl_report_plot(const void *runs, FILE *out)
{
	const struct gdrl_runs *all = runs;
	unsigned panels = 0, panel = 0, scaling = 0;

	for (unsigned i = 0; i < all->n; i++) {
		scaling += is_scaling(&all->runs[i]);
		panels += is_scaling(&all->runs[i]) ? 0 : panels_of(&all->runs[i]);
	}
	chart_begin(out, panels + (scaling > 0));
	for (unsigned i = 0; i < all->n; i++)
		if (!is_scaling(&all->runs[i]))
			panel = draw_run(&all->runs[i], panel, out);
	if (scaling)
		draw_scaling(all, panel, out);
	chart_end(out);
	return ferror(out) ? -EIO : 0;
}
