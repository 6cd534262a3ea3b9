/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "command/chart.h"

#include <math.h>

#define WIDTH       960
#define HEIGHT      540
#define LEFT        74
#define RIGHT       24
#define TOP         58
#define BOTTOM      96
#define LEGEND_ROOM 14 /* characters of a name */
#define TITLE_ROOM  100

const char *const chart_colours[CHART_COLOURS] = {
	"#1b6ca8", "#d1682e", "#3a8f5c", "#8c4f9f", "#b8860b", "#4d7c8a", "#a23b5e", "#6b6b2f"};

static double place_x(const struct chart *chart, double x)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * x / chart->right;
}

static double place_y(const struct chart *chart, double y)
{
	return HEIGHT - BOTTOM -
	       (HEIGHT - TOP - BOTTOM) * (y - chart->bottom) / (chart->top - chart->bottom);
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

void chart_begin(FILE *out, unsigned panels)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\">\n"
		"<style>text { font: 14px sans-serif; fill: #222 } .title { font-size: 17px; "
		"font-weight: bold } .grid { stroke: #e2e2e2 } .line { fill: none; "
		"stroke-linejoin: round }</style>\n"
		"<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n",
		WIDTH, HEIGHT * panels, WIDTH, HEIGHT * panels);
}

void chart_end(FILE *out)
{
	fputs("</svg>\n", out);
}

static void print_y(const struct chart *chart)
{
	double step = tick_step(chart->top - chart->bottom);

	for (double k = ceil(chart->bottom / step); k * step <= chart->top * 1.0001; k++)
		fprintf(chart->out,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, WIDTH - RIGHT, place_y(chart, k * step), place_y(chart, k * step),
			LEFT - 8, place_y(chart, k * step) + 5, k * step / chart->unit);
}

static void print_x(const struct chart *chart)
{
	double step = tick_step(chart->right);

	for (double x = 0; x <= chart->right * 1.0001; x += step)
		fprintf(chart->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			place_x(chart, x), HEIGHT - BOTTOM + 20, x);
}

static void print_names(const struct chart *chart)
{
	fprintf(chart->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 40, chart->x);
	fprintf(chart->out,
		"<text x=\"18\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 18 %d)\">"
		"%s</text>\n",
		(TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2, chart->y);
}

void chart_panel(const struct chart *chart, unsigned number, const char *title)
{
	if (number > 0)
		fprintf(chart->out, "<g transform=\"translate(0 %u)\">\n", number * HEIGHT);
	else
		fputs("<g>\n", chart->out);
	fprintf(chart->out, "<text class=\"title\" x=\"%d\" y=\"30\">", LEFT);
	print_text(title, TITLE_ROOM, chart->out);
	fputs("</text>\n", chart->out);
	print_y(chart);
	print_x(chart);
	print_names(chart);
}

void chart_panel_end(const struct chart *chart)
{
	fputs("</g>\n", chart->out);
}

void chart_line(const struct chart *chart, const char *style)
{
	fprintf(chart->out, "<polyline class=\"line\" %s points=\"", style);
}

void chart_point(const struct chart *chart, double x, double y)
{
	fprintf(chart->out, "%.1f,%.1f ", place_x(chart, x), place_y(chart, y));
}

void chart_line_end(const struct chart *chart)
{
	fputs("\"/>\n", chart->out);
}

void chart_level(const struct chart *chart, const char *style, double y)
{
	fprintf(chart->out, "<line %s x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", style, LEFT,
		WIDTH - RIGHT, place_y(chart, y), place_y(chart, y));
}

void chart_legend(const struct chart *chart, unsigned place, const char *style, const char *text)
{
	int x = LEFT + (int)(place % 5) * 170, y = HEIGHT - 34 + (int)(place / 5) * 20;

	fprintf(chart->out,
		"<line %s x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n<text x=\"%d\" y=\"%d\">",
		style, x, x + 26, y, y, x + 32, y + 5);
	print_text(text, LEGEND_ROOM, chart->out);
	fputs("</text>\n", chart->out);
}
