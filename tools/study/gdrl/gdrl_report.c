/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gdrl_report.h"

#include <math.h>

#include "command/output.h"

#define SERIES_POINTS 200 /* points of the index in a summary */
#define DRAWN_POINTS  600 /* points of a line in a figure: more would not be visible */

void gdrl_report_head(FILE *out)
{
	fprintf(out,
		"                                                  slot from which the index   index in "
		"the last "
		"quarter\n"
		"figure  limiters  degree    slots  start  seed     reaches %.2f  stays there   mean    least   "
		"true    in the paper\n",
		GDRL_GOAL);
}

static void print_slot_column(unsigned slot, FILE *out)
{
	if (slot == GDRL_NEVER)
		fprintf(out, "  %11s", "never");
	else
		fprintf(out, "  %11u", slot);
}

void gdrl_report_row(const struct gdrl_run *run, FILE *out)
{
	fprintf(out, "%-6s  %8u  %6u  %7u  %-5s  %4llu  ", run->name, run->c.n, run->c.degree,
		run->c.steps, run->c.cold ? "cold" : "warm", (unsigned long long)run->c.seed);
	print_slot_column(run->reached, out);
	print_slot_column(run->stays, out);
	fprintf(out, "   %.4f  %.4f  %.4f  %s\n", run->mean, run->least, run->true_mean,
		run->paper ? run->paper : "");
}

static void print_change(const struct gdrl_change *change, const char *name, FILE *out)
{
	fprintf(out, "        slot %u, demands %s: index down to %.4f, at %.2f again ", change->at,
		name, change->least, GDRL_GOAL);
	if (change->until == GDRL_NEVER)
		fputs("never before the next\n", out);
	else
		fprintf(out, "after %u slots\n", change->until);
}

void gdrl_report_changes(const struct gdrl_run *run, FILE *out)
{
	static const char *const names[GDRL_CHANGES] = {
		"turned around suddenly", "begin to turn back", "are back"};

	for (unsigned k = 0; k < run->n_changes; k++)
		print_change(&run->changes[k], names[k], out);
}

static void put_slot(json_t *object, const char *key, unsigned slot)
{
	json_object_set_new(
		object, key, slot == GDRL_NEVER ? json_null() : json_integer((json_int_t)slot));
}

static void put_case(const struct gdrl_case *c, json_t *out)
{
	output_count(out, "limiters", c->n);
	output_text(out, "graph", c->ring ? "ring" : "random");
	output_count(out, "degree", c->degree);
	output_text(out, "indicator", c->indicator->name);
	output_text(out, "start", c->cold ? "cold" : "warm");
	output_number(out, "headroom", c->headroom);
	output_number(out, "alpha", c->alpha);
	output_count(out, "slots", c->steps);
	output_count(out, "seed", c->seed);
	output_number(out, "eta", c->eta);
	output_count(out, "period", c->period);
	output_count(out, "delay", c->delay);
	output_number(out, "loss", c->loss);
	output_number(out, "rest", c->rest);
}

static json_t *gdrl_changes_json(const struct gdrl_run *run)
{
	json_t *list = json_array();

	for (unsigned k = 0; k < run->n_changes; k++) {
		json_t *change = json_object();

		output_count(change, "slot", run->changes[k].at);
		output_number(change, "least", run->changes[k].least);
		put_slot(change, "slots_until_goal", run->changes[k].until);
		json_array_append_new(list, change);
	}
	return list;
}

/* Returns [slot, index], with smaller distances at the first slots. */
static json_t *index_of(const struct gdrl_run *run)
{
	json_t *list = json_array();
	double factor = pow(fmax(run->n, 2), 1.0 / SERIES_POINTS);

	for (double at = 0; at < run->n; at = fmax(at + 1, at * factor))
		json_array_append_new(
			list, json_pack("[I,f]", (json_int_t)at, run->jain[(unsigned)at]));
	return list;
}

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* Returns a list for each server, from values recorded by [slot][server]. */
static json_t *servers_of(const struct gdrl_run *run, const float *values, unsigned every)
{
	json_t *servers = json_array();

	for (unsigned i = 0; i < run->c.n; i++) {
		json_t *list = json_array();

		for (unsigned t = 0; t < run->n; t += every)
			json_array_append_new(list, real_or_null(values[(size_t)t * run->c.n + i]));
		json_array_append_new(servers, list);
	}
	return servers;
}

/* Returns the data of figures 3 to 6 of the paper, every few slots; demands only if they change. */
static json_t *drawn_of(const struct gdrl_run *run)
{
	unsigned every = run->n / DRAWN_POINTS + 1;
	json_t *out = json_object(), *index = json_array();

	for (unsigned t = 0; t < run->n; t += every)
		json_array_append_new(index, real_or_null(run->jain[t]));
	output_count(out, "every", every);
	json_object_set_new(out, "index", index);
	json_object_set_new(out, "indicator", servers_of(run, run->q, every));
	if (run->c.period > 0) {
		json_object_set_new(out, "demand", servers_of(run, run->demand, every));
		json_object_set_new(out, "estimate", servers_of(run, run->estimate, every));
	}
	return out;
}

json_t *gdrl_report_json(const struct gdrl_run *run)
{
	json_t *out = json_object();

	output_text(out, "figure", run->name);
	put_case(&run->c, out);
	output_number(out, "goal", GDRL_GOAL);
	put_slot(out, "reached", run->reached);
	put_slot(out, "stays", run->stays);
	output_number(out, "mean", run->mean);
	output_number(out, "least", run->least);
	output_number(out, "least_ever", run->least_ever);
	output_number(out, "true_mean", run->true_mean);
	output_number(out, "spread", run->spread);
	output_count(out, "limit", run->totals.limit);
	output_count(out, "most_in_flight", run->totals.in_flight);
	output_count(out, "statements", run->totals.statements);
	output_count(out, "lost", run->totals.lost);
	output_count(out, "grants", run->totals.grants);
	output_count(out, "violations", run->error != 0);
	json_object_set_new(out, "changes", gdrl_changes_json(run));
	json_object_set_new(out, "jain", index_of(run));
	if (run->q && run->name[0] != '7')
		json_object_set_new(out, "series", drawn_of(run));
	return out;
}
