/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_figure.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "place/place.h"

#define RATE 10 /* messages a second of each publisher */

#define TOPIC 1000 /* publishers, of figures 7 to 9 */
#define GROUP 25   /* publishers in a group, in figure 9 */

#define FOUR_PANELS                                                                         \
	{                                                                                   \
		{"Poisson, batches of 1", false, 1}, {"Poisson, batches of 10", false, 10}, \
			{"periodic, batches of 1", true, 1},                                \
		{                                                                           \
			"periodic, batches of 10", true, 10                                 \
		}                                                                           \
	}

#define TWO_PANELS                           \
	{                                    \
		{"Poisson", false, 10},      \
		{                            \
			"periodic", true, 10 \
		}                            \
	}

#define PUBLISHERS                            \
	{                                     \
		2000, 4000, 6000, 8000, 10000 \
	}
#define GROUPS                        \
	{                             \
		5, 10, 15, 20, 25, 30 \
	}

const char *const broker_names[BROKER_METHODS] = {"LB", "Conc", "Max-Min", "SRTM", "Weir"};

static const struct broker_figure figures[BROKER_FIGURES] = {
	{4, "the penalty of a split: 6000 Poisson publishers on k brokers", "k", 1, 6, 1,
		{{"Poisson, batches of 1", false, 1}}, {1, 2, 3, 4, 5, 6}, {BROKER_LB}, 0, 0, {0}},
	{5, "concentration", "publishers", 4, 5, 3, FOUR_PANELS, PUBLISHERS,
		{BROKER_LB, BROKER_CONC, BROKER_WEIR}, 0, 1, {0}},
	{6, "max-min: brokers with other topics", "publishers", 4, 5, 3, FOUR_PANELS, PUBLISHERS,
		{BROKER_CONC, BROKER_MAX_MIN, BROKER_WEIR}, 0, 1,
		{10000, 40000, 50000, 60000, 70000, 80000}},
	{7, "correlation: groups that send together", "group", 2, 6, 3, TWO_PANELS, GROUPS,
		{BROKER_MAX_MIN, BROKER_SRTM, BROKER_WEIR}, 0, 1, {0}},
	{8, "correlation, on as many brokers as SRTM", "group", 2, 6, 2, TWO_PANELS, GROUPS,
		{BROKER_MAX_MIN, BROKER_SRTM}, 0, 1, {0}},
	{9, "correlation: groups that send within some milliseconds", "ms", 2, 6, 3, TWO_PANELS,
		{0, 1, 2, 4, 8, 16}, {BROKER_MAX_MIN, BROKER_SRTM, BROKER_WEIR}, 0, 1, {0}},
};

const struct broker_figure *broker_figure(unsigned number)
{
	if (number < BROKER_FIGURE_FIRST || number >= BROKER_FIGURE_FIRST + BROKER_FIGURES)
		return NULL;
	return &figures[number - BROKER_FIGURE_FIRST];
}

static void case_of(struct broker_case *c, const struct broker_figure *f, unsigned panel,
	unsigned point, uint64_t messages)
{
	double x = f->x[point];

	*c = (struct broker_case){.traffic = {.periodic = f->panels[panel].periodic,
					  .publishers = TOPIC,
					  .rate = RATE,
					  .batch = f->panels[panel].batch,
					  .group = 1,
					  .messages = messages}};
	memcpy(c->loads, f->loads, sizeof(c->loads));
	if (f->number == 4)
		c->traffic.publishers = 6000;
	else if (f->number <= 6)
		c->traffic.publishers = (unsigned)x;
	else if (f->number <= 8)
		c->traffic.group = (unsigned)x;
	else
		c->traffic.group = GROUP;
	if (f->number == 9)
		c->traffic.spread = x / 1000;
}

static void add_point_mean(double *mean, unsigned n, double value)
{
	*mean += (value - *mean) / n;
}

static void add_outcome(struct broker_cell *cell, const struct broker_outcome *out)
{
	double off = out->measured.worst - cell->p99;
	unsigned n = ++cell->seeds;

	add_point_mean(&cell->p50, n, out->measured.p50);
	add_point_mean(&cell->p95, n, out->measured.p95);
	add_point_mean(&cell->access_p99, n, out->measured.access_p99);
	add_point_mean(&cell->p99, n, out->measured.worst);
	cell->squares += off * (out->measured.worst - cell->p99);
	add_point_mean(&cell->k, n, out->k);
	add_point_mean(&cell->rounds, n, out->rounds);
	cell->met += out->met;
}

/* In figure 4 the point sets the number of brokers; in figure 8 SRTM does. */
static int run_contenders(struct broker_world *world, const struct broker_figure *f, unsigned point,
	struct broker_outcome *outcomes)
{
	int err = 0;

	if (f->number == 4)
		return broker_run_on(world, f->contenders[0], (unsigned)f->x[point], outcomes);
	for (unsigned i = f->n_contenders; i-- > 0 && err == 0;)
		if (f->number == 8 && i == f->worse)
			err = broker_run_on(
				world, f->contenders[i], outcomes[f->better].k, &outcomes[i]);
		else
			err = broker_run(world, f->contenders[i], &outcomes[i]);
	return err;
}

static int compute_bound(const struct broker_world *world, double *ns)
{
	struct placer placer;
	int err = placer_init(&placer, &world->problem);

	if (err)
		return err;
	*ns = place_bound(&placer) * PENALTY_HZ;
	placer_free(&placer);
	return 0;
}

static int run_broker_seed(struct broker_results *results, const struct broker_case *c,
	double capacity, unsigned panel, unsigned point, uint64_t seed)
{
	const struct broker_figure *f = results->figure;
	struct broker_outcome outcomes[BROKER_CONTENDERS];
	struct broker_world world;
	double least = 0;
	int err = broker_world_init(&world, c, capacity, seed);

	if (err == 0)
		err = run_contenders(&world, f, point, outcomes);
	if (err == 0)
		err = compute_bound(&world, &least);
	broker_world_free(&world);
	for (unsigned i = 0; i < f->n_contenders && err == 0; i++)
		add_outcome(&results->cells[panel][point][i], &outcomes[i]);
	if (err == 0)
		add_point_mean(&results->bounds[panel][point],
			results->cells[panel][point][0].seeds, least);
	return err;
}

bool broker_wanted(const struct broker_results *results, unsigned panel)
{
	return results->panel == 0 || results->panel == panel + 1;
}

int broker_figure_run(
	struct broker_results *results, uint64_t first, unsigned seeds, uint64_t messages)
{
	const struct broker_figure *f = results->figure;

	memset(results->cells, 0, sizeof(results->cells));
	memset(results->bounds, 0, sizeof(results->bounds));
	for (unsigned panel = 0; panel < f->n_panels; panel++) {
		double capacity = 0;

		if (!broker_wanted(results, panel))
			continue;
		capacity = broker_capacity(f->panels[panel].batch);
		if (capacity < 0)
			return (int)capacity;
		for (unsigned i = 0; i < f->n_points * seeds; i++) {
			struct broker_case c;
			int err;

			case_of(&c, f, panel, i / seeds, messages);
			err = run_broker_seed(
				results, &c, capacity, panel, i / seeds, first + i % seeds);
			if (err)
				return err;
		}
	}
	return 0;
}

double broker_deviation(const struct broker_cell *cell)
{
	return cell->seeds > 1 ? sqrt(cell->squares / (cell->seeds - 1)) : 0;
}

bool broker_in_order(const struct broker_results *results, unsigned panel, unsigned point)
{
	const struct broker_figure *f = results->figure;
	const struct broker_cell *cells = results->cells[panel][point];
	const struct broker_cell *worse = &cells[f->worse], *better = &cells[f->better];
	double error = hypot(broker_deviation(worse), broker_deviation(better));

	return better->p99 <= worse->p99 + 2 * error / sqrt(better->seeds);
}

static int count_fit_rounds(struct broker_world *world, struct broker_row *row)
{
	struct broker_outcome out;
	struct place_fit fit;
	unsigned n = row->seeds + 1;
	int err = broker_fit(world, PLACE_SEARCH, &fit, &out);

	if (err)
		return err;
	for (unsigned i = 0; i < BROKER_ITERATIONS; i++)
		add_point_mean(&row->rounds[i], n, fit.rounds[i]);
	place_fit_free(&fit);
	add_point_mean(&row->search, n, out.rounds);
	add_point_mean(&row->search_k, n, out.k);
	add_point_mean(&row->search_p99, n, out.measured.worst);
	row->search_met += out.met;
	err = broker_run(world, BROKER_WEIR, &out);
	if (err)
		return err;
	add_point_mean(&row->weir, n, out.rounds);
	add_point_mean(&row->weir_k, n, out.k);
	add_point_mean(&row->weir_p99, n, out.measured.worst);
	row->weir_met += out.met;
	row->untried += out.untried;
	row->mistaken += out.mistaken;
	row->seeds = n;
	return 0;
}

int broker_table_run(struct broker_table *table, uint64_t first, unsigned seeds, uint64_t messages)
{
	static const unsigned paper[BROKER_ROWS] = {1, 3, 9, 12, 14, 17};
	const struct broker_figure *f = broker_figure(7);
	double capacity = broker_capacity(f->panels[0].batch);
	int err = capacity < 0 ? (int)capacity : 0;

	memset(table, 0, sizeof(*table));
	for (unsigned i = 0; i < BROKER_ROWS * seeds && err == 0; i++) {
		struct broker_row *row = &table->rows[i / seeds];
		struct broker_world world;
		struct broker_case c;

		case_of(&c, f, 0, i / seeds, messages);
		row->group = c.traffic.group;
		row->paper = paper[i / seeds];
		err = broker_world_init(&world, &c, capacity, first + i % seeds);
		if (err == 0)
			err = count_fit_rounds(&world, row);
		broker_world_free(&world);
	}
	return err;
}
