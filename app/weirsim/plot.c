/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Forwarding rates over time as SVG: all limiters together, each of the first few, and the limit.
 */
#include <errno.h>
#include <math.h>

#include "rates.h"
#include "report.h"
#include "scenario_keys.h"

#define WIDTH       960
#define HEIGHT      540
#define LEFT        74
#define RIGHT       24
#define TOP         58
#define BOTTOM      96
#define LINES_MAX   8   /* limiters that get a line of their own */
#define LEGEND_ROOM 14  /* characters of a name */
#define POINTS      600 /* of a line: more would not be seen */

static const char *const colours[LINES_MAX] = {
	"#1b6ca8", "#d1682e", "#3a8f5c", "#8c4f9f", "#b8860b", "#4d7c8a", "#a23b5e", "#6b6b2f"};

struct axes {
	double seconds, top; /* largest x and y */
	unsigned step;       /* intervals a point */
};

static double place_x(const struct axes *axes, double seconds)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * seconds / axes->seconds;
}

static double place_y(const struct axes *axes, double bps)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * bps / axes->top;
}

/* 1, 2 or 5 times a power of ten, about an eighth of the range. */
static double tick_step(double range)
{
	double raw = range / 8, magnitude = pow(10, floor(log10(raw)));

	for (double m = 1; m < 10; m = m == 2 ? 5 : 2 * m)
		if (m * magnitude >= raw)
			return m * magnitude;
	return 10 * magnitude;
}

/* As much as there is room for, without what XML would mind. */
static void print_text(const char *text, unsigned room, FILE *out)
{
	for (; *text; text++) {
		/* UTF-8: the bytes that follow the first of a character take no room. */
		if ((*text & 0xc0) != 0x80 && room-- == 0) {
			fputs("…", out);
			break;
		}
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else
			fputc(*text, out);
	}
}

static void print_head(const struct sim *sim, FILE *out)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n"
		"<style>text { font: 14px sans-serif; fill: #222 } .title { font-size: 17px; "
		"font-weight: bold } .grid { stroke: #e2e2e2 } .line { fill: none; "
		"stroke-linejoin: round }</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		"<text class=\"title\" x=\"%d\" y=\"30\">",
		WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	print_text(sim->scenario->name, CONFIG_NAME_MAX, out);
	fprintf(out, ", seed %llu</text>\n", (unsigned long long)sim->seed);
}

static void print_grid(const struct axes *axes, FILE *out)
{
	double step = tick_step(axes->top);

	for (double y = 0; y <= axes->top * 1.0001; y += step) {
		fprintf(out,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, WIDTH - RIGHT, place_y(axes, y), place_y(axes, y), LEFT - 8,
			place_y(axes, y) + 5, y / 1e6);
	}
	step = tick_step(axes->seconds);
	for (double x = 0; x <= axes->seconds * 1.0001; x += step)
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			place_x(axes, x), HEIGHT - BOTTOM + 20, x);
	fprintf(out,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">seconds</text>\n"
		"<text x=\"18\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 18 %d)\">"
		"Mbit/s</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 40, (TOP + HEIGHT - BOTTOM) / 2,
		(TOP + HEIGHT - BOTTOM) / 2);
}

/* limiter: its number, or that of them all for the aggregate. */
static double rate_at(const struct sim *sim, unsigned policy, unsigned limiter, struct window w)
{
	if (limiter == sim->scenario->n_limiters)
		return rates_aggregate(sim, policy, w);
	return rates_limiter(sim, policy, limiter, w);
}

static void print_line(const struct sim *sim, const struct axes *axes, unsigned policy,
	unsigned limiter, const char *style, FILE *out)
{
	fprintf(out, "<polyline class=\"line\" %s points=\"", style);
	for (unsigned i = 0; i + axes->step <= sim->record->bin; i += axes->step) {
		double middle = (i + axes->step / 2.0) * (double)sim->record->bin_ns / 1e9;

		fprintf(out, "%.1f,%.1f ", place_x(axes, middle),
			place_y(axes,
				rate_at(sim, policy, limiter, (struct window){i, i + axes->step})));
	}
	fputs("\"/>\n", out);
}

static void print_legend(unsigned place, const char *style, const char *text, FILE *out)
{
	int x = LEFT + (int)(place % 5) * 170, y = HEIGHT - 34 + (int)(place / 5) * 20;

	fprintf(out, "<line %s x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n<text x=\"%d\" y=\"%d\">",
		style, x, x + 26, y, y, x + 32, y + 5);
	print_text(text, LEGEND_ROOM, out);
	fputs("</text>\n", out);
}

static struct axes axes_of(const struct sim *sim, unsigned policy)
{
	const struct policy *limited = &sim->scenario->group.policies[policy];
	double limit = summary_has_ratio(limited) ? (double)limited->limit_bps : 0, top = limit;
	struct axes axes = {.step = sim->record->bin / POINTS + 1};

	for (unsigned i = 0; i + axes.step <= sim->record->bin; i += axes.step)
		top = fmax(top, rates_aggregate(sim, policy, (struct window){i, i + axes.step}));
	axes.seconds = (double)sim->scenario->duration_ns / 1e9;
	/* What is far above its limit is not to hide the rest; and nothing at all has axes too. */
	axes.top = 1.08 * (limit > 0 ? fmin(top, 3 * limit) : fmax(top, 1e3));
	return axes;
}

#define AGGREGATE_STYLE "stroke=\"#222\" stroke-width=\"1.8\""
#define LIMIT_STYLE     "stroke=\"#c62828\" stroke-width=\"1.5\" stroke-dasharray=\"7 5\""

static void print_limit(const struct axes *axes, double limit, FILE *out)
{
	fprintf(out, "<line " LIMIT_STYLE " x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
		WIDTH - RIGHT, place_y(axes, limit), place_y(axes, limit));
	print_legend(1, LIMIT_STYLE, "limit", out);
}

int report_plot(const struct sim *sim, unsigned policy, FILE *out)
{
	const struct scenario *s = sim->scenario;
	double limit = (double)s->group.policies[policy].limit_bps;
	struct axes axes = axes_of(sim, policy);

	print_head(sim, out);
	print_grid(&axes, out);
	for (unsigned i = 0; i < s->n_limiters && i < LINES_MAX && s->n_limiters > 1; i++) {
		char style[64];

		snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"1.5\"", colours[i]);
		print_line(sim, &axes, policy, i, style, out);
		print_legend(2 + i, style, s->limiters[i].name, out);
	}
	print_line(sim, &axes, policy, s->n_limiters, AGGREGATE_STYLE, out);
	print_legend(0, AGGREGATE_STYLE, "all limiters", out);
	if (summary_has_ratio(&s->group.policies[policy]))
		print_limit(&axes, limit, out);
	fputs("</svg>\n", out);
	return ferror(out) ? -EIO : 0;
}
