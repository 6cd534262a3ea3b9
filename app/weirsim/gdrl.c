/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gdrl.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gdrl_report.h"
#include "option.h"
#include "output.h"

#define EXIT_FAILED 1
#define EXIT_BAD    2

#define RUNS_MAX  11
#define STEPS_MAX 10000000

static const char usage_text[] =
	"Usage: weirsim gdrl [OPTION]...\n"
	"The evaluation of \"Generalized Distributed Rate Limiting\" (IWQoS 2009), with the ledger, the\n"
	"graphs and the allocator of lib/. In every slot it is checked that capacities, and what is\n"
	"under way, are exactly the limit.\n"
	"\n"
	"  --figure N       4 (with 3), 6 (with 5) or 7 (default: all)\n"
	"  --limiters N     one case instead: so many servers\n"
	"  --degree D       of their random graph (default: a ring)\n"
	"  --period N       of that case: demands change after so many slots, as in figure 6\n"
	"\n"
	"  --slots N        of each run (default: what it takes)\n"
	"  --indicator NAME spare, utilisation, loss, drops or delay (default: spare)\n"
	"  --headroom X     limit by demand, less 1 (default: 0.1)\n"
	"  --alpha A        of the filter that estimates demands (default: 0.001); 0: they are known\n"
	"  --eta E          of an edge, bytes per second per unit of the indicator (default: what is\n"
	"                   stable by slopes and degrees)\n"
	"  --delay N        slots that a statement takes, 1 to N (default: 0, less than a round)\n"
	"  --loss P         of statements (default: 0)\n"
	"  --rest P         probability that a limiter lets a round pass (default: 0)\n"
	"  --seed N         (default: 1)\n"
	"\n"
	"  --json FILE      summaries ('-': standard output)\n"
	"  --svg FILE       the figures\n"
	"  --quiet          no table\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when the limit was not kept; 2 when it could not be run.\n";

enum {
	OPTION_FIGURE = 1,
	OPTION_LIMITERS,
	OPTION_DEGREE,
	OPTION_PERIOD,
	OPTION_SLOTS,
	OPTION_INDICATOR,
	OPTION_HEADROOM,
	OPTION_ALPHA,
	OPTION_ETA,
	OPTION_DELAY,
	OPTION_LOSS,
	OPTION_REST,
	OPTION_SEED,
	OPTION_JSON,
	OPTION_SVG,
	OPTION_QUIET,
	OPTION_HELP,
};

static const struct option long_options[] = {
	{"figure", required_argument, NULL, OPTION_FIGURE},
	{"limiters", required_argument, NULL, OPTION_LIMITERS},
	{"degree", required_argument, NULL, OPTION_DEGREE},
	{"period", required_argument, NULL, OPTION_PERIOD},
	{"slots", required_argument, NULL, OPTION_SLOTS},
	{"indicator", required_argument, NULL, OPTION_INDICATOR},
	{"headroom", required_argument, NULL, OPTION_HEADROOM},
	{"alpha", required_argument, NULL, OPTION_ALPHA},
	{"eta", required_argument, NULL, OPTION_ETA},
	{"delay", required_argument, NULL, OPTION_DELAY},
	{"loss", required_argument, NULL, OPTION_LOSS},
	{"rest", required_argument, NULL, OPTION_REST},
	{"seed", required_argument, NULL, OPTION_SEED},
	{"json", required_argument, NULL, OPTION_JSON},
	{"svg", required_argument, NULL, OPTION_SVG},
	{"quiet", no_argument, NULL, OPTION_QUIET},
	{"help", no_argument, NULL, OPTION_HELP},
	{0},
};

struct options {
	struct gdrl_case c; /* n 0: the paper's */
	unsigned figure;    /* 0: all */
	const char *json, *svg;
	bool quiet;
	uint64_t limiters, degree, period, slots, delay;
};

static const char *name_of(int option)
{
	return long_options[option - 1].name;
}

static bool take_whole(int option, uint64_t least, uint64_t most, uint64_t *out)
{
	return option_number(name_of(option), optarg, least, most, out);
}

static bool take_real(int option, double least, double most, double *out)
{
	char *end;

	*out = strtod(optarg, &end);
	if (end != optarg && *end == '\0' && *out >= least && *out <= most)
		return true;
	fprintf(stderr, "--%s: \"%s\": expected %g to %g\n", name_of(option), optarg, least, most);
	return false;
}

static bool take_figure(struct options *o)
{
	static const char *const names[] = {"3", "4", "5", "6", "7"};
	static const unsigned figures[] = {4, 4, 6, 6, 7};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(optarg, names[i]) == 0)
			o->figure = figures[i];
	if (o->figure == 0)
		fprintf(stderr, "--figure: \"%s\": expected 3 to 7\n", optarg);
	return o->figure != 0;
}

static bool take_indicator(struct options *o)
{
	o->c.indicator = gdrl_indicator_find(optarg);
	if (!o->c.indicator)
		fprintf(stderr, "--indicator: \"%s\": expected one of %s\n", optarg,
			gdrl_indicator_names());
	return o->c.indicator != NULL;
}

static bool take_case_option(int option, struct options *o)
{
	switch (option) {
	case OPTION_LIMITERS:
		return take_whole(option, 1, 100000, &o->limiters);
	case OPTION_DEGREE:
		return take_whole(option, 1, 1000, &o->degree);
	case OPTION_PERIOD:
		return take_whole(option, 1, STEPS_MAX / 4, &o->period);
	case OPTION_SLOTS:
		return take_whole(option, 1, STEPS_MAX, &o->slots);
	case OPTION_HEADROOM:
		return take_real(option, -0.9, 100, &o->c.headroom);
	case OPTION_ALPHA:
		return take_real(option, 0, 1, &o->c.alpha);
	case OPTION_ETA:
		return take_real(option, 1e-12, 1e18, &o->c.eta);
	case OPTION_DELAY:
		return take_whole(option, 0, 10000, &o->delay);
	case OPTION_LOSS:
		return take_real(option, 0, 0.99, &o->c.loss);
	case OPTION_REST:
		return take_real(option, 0, 0.99, &o->c.rest);
	default:
		return take_whole(option, 0, INT64_MAX, &o->c.seed);
	}
}

static bool take_option(int option, struct options *o)
{
	switch (option) {
	case OPTION_FIGURE:
		return take_figure(o);
	case OPTION_INDICATOR:
		return take_indicator(o);
	case OPTION_JSON:
		o->json = optarg;
		return true;
	case OPTION_SVG:
		o->svg = optarg;
		return true;
	case OPTION_QUIET:
		o->quiet = true;
		return true;
	case '?':
		return false;
	default:
		return take_case_option(option, o);
	}
}

/* Options that only mean something together. */
static bool check_options(struct options *o)
{
	if (o->limiters == 0 && (o->degree || o->period)) {
		fputs("--degree and --period are for a case with --limiters\n", stderr);
		return false;
	}
	if (o->limiters && o->figure) {
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

/* Negative: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	int option;

	*o = (struct options){
		.c = {.indicator = &gdrl_spare, .headroom = 0.1, .alpha = 1e-3, .seed = 1}};
	optind = 1;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == OPTION_HELP) {
			fputs(usage_text, stdout);
			return output_flush(stdout) ? EXIT_BAD : EXIT_SUCCESS;
		}
		if (!take_option(option, o))
			return EXIT_BAD;
	}
	if (optind != argc) {
		fputs("unexpected argument; see weirsim gdrl --help\n", stderr);
		return EXIT_BAD;
	}
	return check_options(o) ? -1 : EXIT_BAD;
}

/* A row of the paper's evaluation. */
struct figure {
	unsigned figure, n, degree; /* degree 0: the ring of figure 2 */
	unsigned period, slots;
	const char *paper;
};

static const struct figure figures[RUNS_MAX] = {
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

static struct gdrl_run run_of(const struct options *o, const struct figure *f)
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

static unsigned list_runs(const struct options *o, struct gdrl_run *runs)
{
	unsigned n = 0;

	if (o->c.n == 0) {
		for (unsigned i = 0; i < RUNS_MAX; i++)
			if (o->figure == 0 || o->figure == figures[i].figure)
				runs[n++] = run_of(o, &figures[i]);
		return n;
	}
	runs[0] = (struct gdrl_run){.c = o->c, .name = "own"};
	if (runs[0].c.steps == 0)
		runs[0].c.steps = o->c.period ? 4 * o->c.period : 20000;
	return 1;
}

/* Bound (9) on what is configured, where it is the same whatever the demands. */
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

static int run_one(struct gdrl_run *run, FILE *table)
{
	int ret = gdrl_run(run);

	if (ret) {
		fprintf(stderr, "%s\n", strerror(-ret));
		return EXIT_BAD;
	}
	if (table) {
		gdrl_report_row(run, table);
		gdrl_report_changes(run, table);
		fflush(table);
	}
	if (run->error == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "seed %llu, slot %u: %s\n", (unsigned long long)run->c.seed, run->n - 1,
		run->error == -EBADMSG ? "capacities are not the limit" : strerror(-run->error));
	return EXIT_FAILED;
}

static int write_files(const struct options *o, const struct gdrl_run *runs, unsigned n)
{
	struct gdrl_runs all = {runs, n};
	json_t *list = json_array(), *out;
	int ret = 0;

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, gdrl_report_json(&runs[i]));
	out = json_pack("{s:I,s:o}", "seed", (json_int_t)o->c.seed, "runs", list);
	if (o->json)
		ret = output_write(o->json, output_json, out);
	if (ret == 0 && o->svg)
		ret = output_write(o->svg, gdrl_report_plot, &all);
	json_decref(out);
	return ret ? EXIT_BAD : EXIT_SUCCESS;
}

int gdrl_main(int argc, char **argv)
{
	struct gdrl_run runs[RUNS_MAX];
	struct options o;
	FILE *table;
	unsigned n, done = 0;
	int status = parse_options(argc, argv, &o), written;

	if (status >= 0)
		return status;
	status = EXIT_SUCCESS;
	n = list_runs(&o, runs);
	for (unsigned i = 0; i < n; i++)
		if (!check_eta(&runs[i]))
			return EXIT_BAD;
	table = o.quiet ? NULL : output_is_standard(o.json) ? stderr : stdout;
	if (table)
		gdrl_report_head(table);
	while (done < n && status == EXIT_SUCCESS)
		status = run_one(&runs[done++], table);
	written = status == EXIT_BAD ? status : write_files(&o, runs, done);
	for (unsigned i = 0; i < done; i++)
		gdrl_run_free(&runs[i]);
	if (written == EXIT_SUCCESS && output_flush(stdout)) {
		fprintf(stderr, "standard output: %s\n", strerror(errno));
		written = EXIT_BAD;
	}
	return written ? written : status;
}
