/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Forwarding rates over time as SVG: all limiters together, each of the first few, and the limit.
 */
#include <errno.h>
#include <math.h>

#include "command/chart.h"
#include "rates.h"
#include "report.h"
#include "scenario_keys.h"

#define AGGREGATE_STYLE "stroke=\"#222\" stroke-width=\"1.8\""
#define LIMIT_STYLE     "stroke=\"#c62828\" stroke-width=\"1.5\" stroke-dasharray=\"7 5\""

/* Intervals a point. */
static unsigned step_of(const struct sim *sim)
{
	return sim->record->bin / CHART_POINTS + 1;
}

/* limiter: its number, or that of them all for the aggregate. */
static double rate_at(
	const struct sim *sim, unsigned policy, unsigned limiter, struct rate_window w)
{
	if (limiter == sim->scenario->n_limiters)
		return rates_aggregate(sim, policy, w);
	return rates_limiter(sim, policy, limiter, w);
}

static void print_line(const struct sim *sim, const struct chart *chart, unsigned policy,
	unsigned limiter, const char *style)
{
	unsigned step = step_of(sim);

	chart_line(chart, style);
	for (unsigned i = 0; i + step <= sim->record->bin; i += step)
		chart_point(chart, (i + step / 2.0) * (double)sim->record->bin_ns / 1e9,
			rate_at(sim, policy, limiter, (struct rate_window){i, i + step}));
	chart_line_end(chart);
}

static struct chart chart_of(const struct sim *sim, unsigned policy, FILE *out)
{
	const struct policy *limited = &sim->scenario->group.policies[policy];
	double limit = summary_has_ratio(limited) ? (double)limited->limit_bps : 0, top = limit;
	struct chart chart = {.out = out, .unit = 1e6, .x = "seconds", .y = "Mbit/s"};
	unsigned step = step_of(sim);

	for (unsigned i = 0; i + step <= sim->record->bin; i += step)
		top = fmax(top, rates_aggregate(sim, policy, (struct rate_window){i, i + step}));
	chart.right = (double)sim->scenario->duration_ns / 1e9;
	/* What is far above its limit is not to hide the rest; and nothing at all has axes too. */
	chart.top = 1.08 * (limit > 0 ? fmin(top, 3 * limit) : fmax(top, 1e3));
	return chart;
}

static void print_limiters(const struct sim *sim, const struct chart *chart, unsigned policy)
{
	const struct scenario *s = sim->scenario;

	for (unsigned i = 0; i < s->n_limiters && i < CHART_COLOURS && s->n_limiters > 1; i++) {
		char style[64];

		snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"1.5\"",
			chart_colours[i]);
		print_line(sim, chart, policy, i, style);
		chart_legend(chart, 2 + i, style, s->limiters[i].name);
	}
}

int report_plot(const struct sim *sim, unsigned policy, FILE *out)
{
	const struct scenario *s = sim->scenario;
	struct chart chart = chart_of(sim, policy, out);
	char title[128];

	snprintf(title, sizeof(title), "%s, seed %llu", s->name, (unsigned long long)sim->seed);
	chart_begin(out, 1);
	chart_panel(&chart, 0, title);
	print_limiters(sim, &chart, policy);
	print_line(sim, &chart, policy, s->n_limiters, AGGREGATE_STYLE);
	chart_legend(&chart, 0, AGGREGATE_STYLE, "all limiters");
	if (summary_has_ratio(&s->group.policies[policy])) {
		chart_level(&chart, LIMIT_STYLE, (double)s->group.policies[policy].limit_bps);
		chart_legend(&chart, 1, LIMIT_STYLE, "limit");
	}
	chart_panel_end(&chart);
	chart_end(out);
	return ferror(out) ? -EIO : 0;
}
