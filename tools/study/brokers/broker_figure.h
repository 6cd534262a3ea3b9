/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The figures of section VI of "Impact of Distributed Rate Limiting on Load Distribution in a
 * Latency-sensitive Messaging Service": what each varies, and who contends. Pure.
 */
#ifndef WEIR_SIM_BROKER_FIGURE_H
#define WEIR_SIM_BROKER_FIGURE_H

#include "broker_run.h"

#define BROKER_FIGURE_FIRST 4
#define BROKER_FIGURES      6 /* 4 to 9 */
#define BROKER_PANELS       4
#define BROKER_POINTS       6
#define BROKER_CONTENDERS   3

/* Over seeds. */
struct broker_cell {
	double p50, p95, p99, access_p99; /* means, in ns; p99 is that of the worst broker */
	double squares;                   /* of the p99s' distances from their mean */
	double k, rounds;                 /* means */
	unsigned seeds, met;
};

struct broker_panel {
	const char *title;
	bool periodic;
	unsigned batch;
};

struct broker_figure {
	unsigned number;
	const char *title, *x_name;
	unsigned n_panels, n_points, n_contenders;
	struct broker_panel panels[BROKER_PANELS];
	double x[BROKER_POINTS];
	enum broker_method contenders[BROKER_CONTENDERS];
	/* The paper has, of these two, the second one's delays nowhere above the first one's. */
	unsigned worse, better;
	double loads[BROKERS];
};

struct broker_results {
	const struct broker_figure *figure;
	unsigned panel; /* only this one, counted from 1; 0: all */
	struct broker_cell cells[BROKER_PANELS][BROKER_POINTS][BROKER_CONTENDERS];
	/* ns, means: what no placing is predicted to do better than; 0: not known */
	double bounds[BROKER_PANELS][BROKER_POINTS];
};

extern const char *const broker_names[BROKER_METHODS];

/* NULL: the paper has none of that number, or it is no measurement. */
const struct broker_figure *broker_figure(unsigned number);

/* messages: of each run. Returns 0 or -ENOMEM. */
int broker_figure_run(
	struct broker_results *results, uint64_t first, unsigned seeds, uint64_t messages);

/* Standard deviation over the seeds, in ns. */
double broker_deviation(const struct broker_cell *cell);

/* Whether a panel is one of those that were run. */
bool broker_wanted(const struct broker_results *results, unsigned panel);

/* Whether the order is the paper's at a point, but for twice the standard error of the means. */
bool broker_in_order(const struct broker_results *results, unsigned panel, unsigned point);

/* How the placement of table I settles: iterations by their rounds. Means over the seeds. */
#define BROKER_ROWS       6
#define BROKER_ITERATIONS 8
#define BROKER_ROUND_S    60 /* of a measurement, in the paper */

struct broker_row {
	unsigned group;
	unsigned paper;                   /* rounds there */
	double rounds[BROKER_ITERATIONS]; /* of the search, by iteration */
	double search, weir;              /* rounds in all */
	double search_k, weir_k;          /* brokers */
	double search_p99, weir_p99;      /* ns, of the worst broker */
	unsigned seeds, search_met, weir_met;
	unsigned untried, mistaken; /* of Weir's: placed without a round; and not rightly */
};

struct broker_table {
	struct broker_row rows[BROKER_ROWS];
};

/* Returns 0 or -ENOMEM. */
int broker_table_run(struct broker_table *table, uint64_t first, unsigned seeds, uint64_t messages);

#endif
