/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gdrl_main.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gdrl_report.h"
#include "command/option.h"
#include "command/output.h"

#define EXIT_FAILED 1

#define FIGURES   11
#define SEEDS_MAX 1000
#define STEPS_MAX 10000000

static const char usage_text[] =
	"Usage: weir-study gdrl [OPTION]...\n"
	"The evaluation of \"Generalized Distributed Rate Limiting\" (IWQoS 2009), with the ledger, the\n"
	"graphs and the allocator of lib/. Checks in every slot that the capacities, including the\n"
	"parts under way, add up to exactly the limit.\n"
	"\n"
	"  --figure N       4 (with 3), 6 (with 5) or 7 (default: all)\n"
	"\n"
	"One case instead, or with --figure 7 the rows of that case:\n"
	"  --limiters N     so many servers\n"
	"  --degree D       of their random graph (default: a ring)\n"
	"\n"
	"  --period N       of that case: demands change after so many slots, as in figure 6\n"
	"\n"
	"  --slots N        of each run (default: enough for it)\n"
	"  --indicator NAME spare, utilisation, loss, drops or delay (default: spare)\n"
	"  --headroom X     limit by demand, less 1 (default: 0.1)\n"
	"\n"
	"  --alpha A        of the filter that estimates demands (default: 0.001); 0: exact demands\n"
	"  --eta E          of an edge, bytes per second per unit of the indicator (default: stable by\n"
	"                   slopes and degrees)\n"
	"\n"
	"  --delay N        slots that a statement takes, 1 to N (default: 0, less than a round)\n"
	"  --loss P         of statements (default: 0)\n"
	"  --rest P         probability that a limiter lets a round pass (default: 0)\n"
	"\n"
	"  --start HOW      first state of the filters: warm (the demands) or cold (nothing), or both,\n"
	"                   one after the other (default: warm)\n"
	"\n"
	"  --seed N         the first (default: 1)\n"
	"  --seeds N        runs of each case (default: 1)\n"
	"\n"
	"  --json FILE      summaries ('-': standard output); tools/plot draws them\n"
	"  --markdown       the table as a document has it, a row for all seeds of a case\n"
	"  --quiet          no table\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when the limit was not kept; 2 when it could not be run.\n";

struct gdrl_options {
	struct gdrl_case c; /* n 0: the paper's */
	unsigned figure;    /* 0: all */
	const char *json;
	bool quiet, markdown, warm, cold;
	uint64_t seeds, limiters, degree, period, slots, delay;
};

static bool take_gdrl_figure(const char *text, void *options)
{
	static const char *const names[] = {"3", "4", "5", "6", "7"};
	static const unsigned figures[] = {4, 4, 6, 6, 7};
	struct gdrl_options *o = options;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0)
			o->figure = figures[i];
	if (o->figure == 0)
		fprintf(stderr, "--figure: \"%s\": expected 3 to 7\n", text);
	return o->figure != 0;
}

static bool take_start(const char *text, void *options)
{
	struct gdrl_options *o = options;
	bool both = strcmp(text, "both") == 0;

	o->warm = both || strcmp(text, "warm") == 0;
	o->cold = both || strcmp(text, "cold") == 0;
	if (!o->warm && !o->cold)
		fprintf(stderr, "--start: \"%s\": expected warm, cold or both\n", text);
	return o->warm || o->cold;
}

static bool take_indicator(const char *text, void *options)
{
	struct gdrl_options *o = options;

	o->c.indicator = gdrl_indicator_find(text);
	if (!o->c.indicator)
		fprintf(stderr, "--indicator: \"%s\": expected one of %s\n", text,
			gdrl_indicator_names());
	return o->c.indicator != NULL;
}

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("figure", take_gdrl_figure),
	OPTION_ROW_NUMBER("limiters", struct gdrl_options, limiters, 1, 100000),
	OPTION_ROW_NUMBER("degree", struct gdrl_options, degree, 1, 1000),
	OPTION_ROW_NUMBER("period", struct gdrl_options, period, 1, STEPS_MAX / 4),
	OPTION_ROW_NUMBER("slots", struct gdrl_options, slots, 1, STEPS_MAX),
	OPTION_ROW_OTHER("indicator", take_indicator),
	OPTION_ROW_REAL("headroom", struct gdrl_options, c.headroom, -0.9, 100),
	OPTION_ROW_REAL("alpha", struct gdrl_options, c.alpha, 0, 1),
	OPTION_ROW_REAL("eta", struct gdrl_options, c.eta, 1e-12, 1e18),
	OPTION_ROW_NUMBER("delay", struct gdrl_options, delay, 0, 10000),
	OPTION_ROW_REAL("loss", struct gdrl_options, c.loss, 0, 0.99),
	OPTION_ROW_REAL("rest", struct gdrl_options, c.rest, 0, 0.99),
	OPTION_ROW_OTHER("start", take_start),
	OPTION_ROW_NUMBER("seed", struct gdrl_options, c.seed, 0, INT64_MAX),
	OPTION_ROW_NUMBER("seeds", struct gdrl_options, seeds, 1, SEEDS_MAX),
	OPTION_ROW_FLAG("markdown", struct gdrl_options, markdown),
	OPTION_ROW_TEXT("json", struct gdrl_options, json),
	OPTION_ROW_FLAG("quiet", struct gdrl_options, quiet),
};

static const struct option_set set = {
	.command = "gdrl",
	.usage = usage_text,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.expected = "unexpected argument",
};

/* Checks options that are valid only together. */
static bool check_gdrl_options(struct gdrl_options *o)
{
	if (o->limiters == 0 && (o->degree || o->period)) {
		fputs("--degree and --period are for a case with --limiters\n", stderr);
		return false;
	}
	if (o->limiters && o->figure && (o->figure != 7 || o->period)) {
		fputs("--figure is the paper's, --limiters is for a case of one's own\n", stderr);
		return false;
	}
	o->c.n = (unsigned)o->limiters;
	o->c.ring = o->degree == 0;
	o->c.degree = o->degree ? (unsigned)o->degree : 2;
	o->c.period = (unsigned)o->period;
	o->c.steps = (unsigned)o->slots;
	o->c.delay = (unsigned)o->delay;
	return true;
}

/* A row of the paper's evaluation. */
struct figure {
	unsigned figure, n, degree; /* degree 0: the ring of figure 2 */
	unsigned period, slots;
	const char *paper;
};

static const struct figure figures[FIGURES] = {
	{4, 10, 0, 0, 10000, "very close to 1"},
	{6, 10, 0, 10000, 40000, "stabilizes after each change"},
	{7, 10, 2, 0, 20000, "the slowest degree"},
	{7, 10, 4, 0, 20000, "very close to the others"},
	{7, 10, 8, 0, 20000, "very close to the others"},
	{7, 100, 2, 0, 20000, "the slowest degree"},
	{7, 100, 4, 0, 20000, "very close to the others"},
	{7, 100, 8, 0, 20000, "very close to the others"},
	{7, 1000, 2, 0, 100000, "the slowest degree"},
	{7, 1000, 4, 0, 20000, "very close to the others"},
	{7, 1000, 8, 0, 20000, "very close to the others"},
};

static struct gdrl_run run_of(const struct gdrl_options *o, const struct figure *f)
{
	static const char *const names[] = {[4] = "3, 4", [6] = "5, 6", [7] = "7"};
	struct gdrl_run run = {.c = o->c, .name = names[f->figure], .paper = f->paper};

	run.c.n = f->n;
	run.c.ring = f->degree == 0;
	run.c.degree = f->degree ? f->degree : 2;
	run.c.period = f->period;
	run.c.steps = o->c.steps ? o->c.steps : f->slots;
	return run;
}

/* Adds every seed with each requested start; memory for all runs of a case is allocated. */
static unsigned add_runs(
	const struct gdrl_options *o, const struct gdrl_run *run, struct gdrl_run *runs)
{
	unsigned n = 0;

	for (unsigned cold = 0; cold < 2; cold++)
		for (unsigned s = 0; s < o->seeds && (cold ? o->cold : o->warm); s++) {
			runs[n] = *run;
			runs[n].c.cold = cold;
			runs[n++].c.seed += s;
		}
	return n;
}

static bool figure_is_wanted(const struct gdrl_options *o, const struct figure *f)
{
	return (o->figure == 0 || o->figure == f->figure) && (o->c.n == 0 || o->c.n == f->n) &&
	       (o->degree == 0 || o->degree == f->degree);
}

static unsigned list_runs(const struct gdrl_options *o, struct gdrl_run *runs)
{
	struct gdrl_run own = {.c = o->c, .name = "own"};
	unsigned n = 0;

	if (o->c.n == 0 || o->figure) {
		for (unsigned i = 0; i < FIGURES; i++) {
			struct gdrl_run run = run_of(o, &figures[i]);

			if (figure_is_wanted(o, &figures[i]))
				n += add_runs(o, &run, runs + n);
		}
		return n;
	}
	if (own.c.steps == 0)
		own.c.steps = o->c.period ? 4 * o->c.period : 20000;
	return add_runs(o, &own, runs);
}

/* Checks bound (9) for the configured eta, if the bound is the same for all demands. */
static bool check_eta(const struct gdrl_run *run)
{
	const struct gdrl_indicator *indicator = run->c.indicator;
	double bound = gdrl_eta_bound(1, run->c.degree);

	if ((indicator != &gdrl_spare && indicator != &gdrl_drops) || run->c.eta <= bound)
		return true;
	fprintf(stderr, "--eta: %g is not stable on edges of limiters that have %u: at most %g\n",
		run->c.eta, run->c.degree, bound);
	return false;
}

/* Prints the newest run of a case. */
static void print_run(const struct gdrl_options *o, const struct gdrl_run *run, FILE *table)
{
	unsigned seed = (unsigned)(run->c.seed - o->c.seed) + 1;

	if (!o->markdown) {
		gdrl_report_row(run, table);
		gdrl_report_changes(run, table);
	} else if (seed == o->seeds) {
		gdrl_markdown_row(run + 1 - seed, seed, table);
	}
	fflush(table);
}

static int run_one(const struct gdrl_options *o, struct gdrl_run *run, FILE *table)
{
	int ret = gdrl_run(run);

	if (ret) {
		fprintf(stderr, "%s\n", strerror(-ret));
		return EXIT_BAD;
	}
	if (table)
		print_run(o, run, table);
	if (run->error == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "seed %llu, slot %u: %s\n", (unsigned long long)run->c.seed, run->n - 1,
		run->error == -EBADMSG ? "capacities are not the limit" : strerror(-run->error));
	return EXIT_FAILED;
}

static int write_gdrl_files(const struct gdrl_options *o, const struct gdrl_run *runs, unsigned n)
{
	json_t *list = json_array(), *out;
	int ret = 0;

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, gdrl_report_json(&runs[i]));
	out = json_pack("{s:I,s:o}", "seed", (json_int_t)o->c.seed, "runs", list);
	if (o->json)
		ret = output_write(o->json, output_json, out);
	json_decref(out);
	return ret ? EXIT_BAD : EXIT_SUCCESS;
}

static int run_all_figures(const struct gdrl_options *o, struct gdrl_run *runs, unsigned n)
{
	FILE *table = o->quiet ? NULL : output_is_standard(o->json) ? stderr : stdout;
	int status = EXIT_SUCCESS, written;
	unsigned done = 0;

	for (unsigned i = 0; i < n; i++)
		if (!check_eta(&runs[i]))
			return EXIT_BAD;
	if (table && o->markdown)
		gdrl_markdown_head(table);
	else if (table)
		gdrl_report_head(table);
	while (done < n && status == EXIT_SUCCESS)
		status = run_one(o, &runs[done++], table);
	written = status == EXIT_BAD ? status : write_gdrl_files(o, runs, done);
	for (unsigned i = 0; i < done; i++)
		gdrl_run_free(&runs[i]);
	if (written == EXIT_SUCCESS && output_flush(stdout)) {
		fprintf(stderr, "standard output: %s\n", strerror(errno));
		written = EXIT_BAD;
	}
	return written ? written : status;
}

int gdrl_main(int argc, char **argv)
{
	struct gdrl_options o = {
		.c = {.indicator = &gdrl_spare, .headroom = 0.1, .alpha = 1e-3, .seed = 1},
		.warm = true,
		.seeds = 1};
	int status = option_parse(&set, argc, argv, &o);
	struct gdrl_run *runs;
	unsigned n;

	if (status >= 0)
		return status;
	if (!check_gdrl_options(&o))
		return EXIT_BAD;
	runs = calloc(2 * FIGURES * o.seeds, sizeof(*runs));
	if (runs == NULL) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	n = list_runs(&o, runs);
	if (n == 0)
		fputs("--figure: 7 has 10, 100 and 1000 limiters, and degrees of 2, 4 and 8\n",
			stderr);
	status = n ? run_all_figures(&o, runs, n) : EXIT_BAD;
	free(runs);
	return status;
}
