/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The figures of section VI of "Impact of Distributed Rate Limiting on Load Distribution in a
 * Latency-sensitive Messaging Service": the parameter that each varies, and its contenders. Pure.
 */
#ifndef WEIR_SIM_BROKER_FIGURE_H
#define WEIR_SIM_BROKER_FIGURE_H

#include "broker_run.h"

#define BROKER_FIGURE_FIRST 4
#define BROKER_FIGURES      6 /* 4 to 9 */
#define BROKER_PANELS       4
#define BROKER_POINTS       6
#define BROKER_CONTENDERS   3

/* Results of one contender at one point, over all seeds. */
struct broker_cell {
	double p50, p95, p99, access_p99; /* means, in ns; p99 is that of the worst broker */
	double squares;                   /* sum of the p99s' squared distances from their mean */
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
	/* In the paper, of these two, the second one's delays are nowhere above the first one's. */
	unsigned worse, better;
	double loads[BROKERS];
};

struct broker_results {
	const struct broker_figure *figure;
	unsigned panel; /* only this one, counted from 1; 0: all */
	struct broker_cell cells[BROKER_PANELS][BROKER_POINTS][BROKER_CONTENDERS];
	/* Ns, means: bound below which no placing is predicted; 0: unknown */
	double bounds[BROKER_PANELS][BROKER_POINTS];
};

extern const char *const broker_names[BROKER_METHODS];

/* Returns NULL if the paper has no figure of that number, or one that is not a measurement. */
const struct broker_figure *broker_figure(unsigned number);

/* Runs a figure. messages: in each run. Returns 0 or -ENOMEM. */
int broker_figure_run(
	struct broker_results *results, uint64_t first, unsigned seeds, uint64_t messages);

/* Returns the standard deviation over the seeds, in ns. */
double broker_deviation(const struct broker_cell *cell);

/* Returns true if a panel was run. */
bool broker_wanted(const struct broker_results *results, unsigned panel);

/*
 * Returns true if the ranking equals the paper's at a point, within twice the means' standard
 * error.
 */
bool broker_in_order(const struct broker_results *results, unsigned panel, unsigned point);

/* How the placement of table I settles: iterations by their rounds. Means over the seeds. */
#define BROKER_ROWS       6
#define BROKER_ITERATIONS 8
#define BROKER_ROUND_S    60 /* seconds of a measurement, in the paper */

struct broker_row {
	unsigned group;
	unsigned paper;                   /* rounds in the paper */
	double rounds[BROKER_ITERATIONS]; /* rounds of the search, by iteration */
	double search, weir;              /* sum of rounds */
	double search_k, weir_k;          /* brokers */
	double search_p99, weir_p99;      /* ns, of the worst broker */
	unsigned seeds, search_met, weir_met;
	unsigned untried, mistaken; /* Weir's placements without a round; wrong ones among them */
};

struct broker_table {
	struct broker_row rows[BROKER_ROWS];
};

/* Returns 0 or -ENOMEM. */
int broker_table_run(struct broker_table *table, uint64_t first, unsigned seeds, uint64_t messages);

#endif
