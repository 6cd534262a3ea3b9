/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lines over time as SVG: one panel, or several below each other.
 */
#ifndef WEIR_SIM_CHART_H
#define WEIR_SIM_CHART_H

#include <stdio.h>

#define CHART_COLOURS 8
#define CHART_POINTS  600 /* of a line: more would not be seen */

struct chart {
	FILE *out;
	double right, bottom, top; /* largest x; least and largest y */
	double unit;               /* of the numbers beside y; 1e6: mega */
	const char *x, *y;         /* what the axes are */
};

extern const char *const chart_colours[CHART_COLOURS];

/* The file's frame, around its panels. */
void chart_begin(FILE *out, unsigned panels);
void chart_end(FILE *out);

/* A panel by its number, with title and axes; and the panel's end. */
void chart_panel(const struct chart *chart, unsigned number, const char *title);
void chart_panel_end(const struct chart *chart);

/* style: attributes of the line. Points in between, by chart_point(). */
void chart_line(const struct chart *chart, const char *style);
void chart_point(const struct chart *chart, double x, double y);
void chart_line_end(const struct chart *chart);

/* From the left to the right. */
void chart_level(const struct chart *chart, const char *style, double y);

void chart_legend(const struct chart *chart, unsigned place, const char *style, const char *text);

#endif
