/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "run.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "report.h"

#define EXIT_FAILED 1
#define EXIT_BAD    2

struct options {
	const char *scenario, *json, *series, *svg;
	bool seed_given, check, quiet;
	uint64_t seed;
	unsigned seeds;
};

static const char usage_text[] =
	"Usage: weirsim run SCENARIO.json [OPTION]...\n"
	"Runs a group of limiters in virtual time: the appliance's own code in a simulated network,\n"
	"under simulated traffic. The same scenario and seed give the same results, byte for byte.\n"
	"\n"
	"  --seed N       in place of the scenario's\n"
	"  --seeds N      N runs, with this seed and those that follow it\n"
	"  --json FILE    the summary ('-': standard output); of several runs an array\n"
	"  --series FILE  a row an interval, CSV ('-': standard output); of the last run\n"
	"  --svg FILE     forwarding rates over time, likewise\n"
	"  --check        read the scenario, say what is wrong with it, and run nothing\n"
	"  --quiet        no report and no progress on the terminal\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when a run did not do what it should; 2 when it could not be run.\n";

static const struct option long_options[] = {
	{"seed", required_argument, NULL, 's'},
	{"seeds", required_argument, NULL, 'n'},
	{"json", required_argument, NULL, 'j'},
	{"series", required_argument, NULL, 'r'},
	{"svg", required_argument, NULL, 'p'},
	{"check", no_argument, NULL, 'c'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && *out >= least &&
	       *out <= most;
}

/* Returns false after having said what is wrong. */
static bool take_option(int c, struct options *o)
{
	uint64_t n;

	switch (c) {
	case 's':
		o->seed_given = parse_number(optarg, 0, INT64_MAX, &o->seed);
		if (!o->seed_given)
			fprintf(stderr, "--seed: \"%s\": expected a number\n", optarg);
		return o->seed_given;
	case 'n':
		if (!parse_number(optarg, 1, 1000000, &n)) {
			fprintf(stderr, "--seeds: \"%s\": expected 1 to 1000000\n", optarg);
			return false;
		}
		o->seeds = (unsigned)n;
		return true;
	case 'j':
		o->json = optarg;
		return true;
	case 'r':
		o->series = optarg;
		return true;
	case 'p':
		o->svg = optarg;
		return true;
	case 'c':
		o->check = true;
		return true;
	case 'q':
		o->quiet = true;
		return true;
	default:
		return false;
	}
}

/* Negative: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	int c;

	*o = (struct options){.seeds = 1};
	optind = 1;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		}
		if (!take_option(c, o))
			return EXIT_BAD;
	}
	if (optind + 1 != argc) {
		fputs("expected one scenario; see weirsim run --help\n", stderr);
		return EXIT_BAD;
	}
	o->scenario = argv[optind];
	return -1;
}

static void show_progress(void *context, double done)
{
	(void)context;
	fprintf(stderr, "\r  [%-40.*s] %3.0f %%", (int)(done * 40),
		"########################################", done * 100);
	if (done >= 1)
		fputs("\r\033[K", stderr);
}

static int write_series(const void *what, FILE *out)
{
	return report_series(what, out);
}

static int write_plot(const void *what, FILE *out)
{
	return report_plot(what, 0, out);
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Most memory that was resident, MiB. What getrusage() says is at least what our parent had. */
static double peak_memory(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %lu kB", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return (double)kib / 1024;
}

static void report_cost(const struct sim *sim, double cpu)
{
	fprintf(stderr, "  %.1f s of CPU (%.1f times real time), %.2f million events/s, %.1f MiB\n",
		cpu, (double)sim->now_ns / 1e9 / cpu, (double)sim->events_done / cpu / 1e6,
		peak_memory());
}

/* Results that are files; 0 or a negative errno, said. */
static int write_files(const struct options *o, const struct sim *sim)
{
	int ret = 0;

	if (o->series)
		ret = output_write(o->series, write_series, sim);
	if (ret == 0 && o->svg)
		ret = output_write(o->svg, write_plot, sim);
	return ret;
}

/* One seed. Returns the exit status. */
static int run_once(const struct options *o, const struct scenario *scenario, uint64_t seed,
	bool last, json_t *summaries)
{
	bool shown = !o->quiet && isatty(STDERR_FILENO);
	bool taken = output_is_standard(o->json) || output_is_standard(o->series) ||
		     output_is_standard(o->svg);
	double began = cpu_seconds();
	struct sim sim;
	json_t *summary;
	int ret = sim_run(&sim, scenario, seed, shown ? show_progress : NULL, NULL);
	int status = EXIT_SUCCESS;

	if (ret) {
		fprintf(stderr, "%s\n", strerror(-ret));
		sim_free(&sim);
		return EXIT_BAD;
	}
	summary = report_summary(&sim);
	if (!o->quiet) {
		report_text(&sim, summary, taken ? stderr : stdout);
		fflush(stdout); /* before what follows on the other */
		report_cost(&sim, cpu_seconds() - began);
	}
	if (!report_verdict(&sim, summary, stderr)) {
		fprintf(stderr, "seed %llu failed; replay: weirsim run %s --seed %llu\n",
			(unsigned long long)seed, o->scenario, (unsigned long long)seed);
		status = EXIT_FAILED;
	}
	if (last && write_files(o, &sim))
		status = EXIT_BAD;
	json_array_append_new(summaries, summary);
	sim_free(&sim);
	return status;
}

static int run_all(const struct options *o, const struct scenario *scenario)
{
	uint64_t seed = o->seed_given ? o->seed : scenario->seed;
	json_t *summaries = json_array();
	int worst = EXIT_SUCCESS;

	if (seed > (uint64_t)INT64_MAX - (o->seeds - 1)) {
		fputs("--seeds: the seeds that follow are too large\n", stderr);
		worst = EXIT_BAD;
	}
	for (unsigned i = 0; i < o->seeds && worst != EXIT_BAD; i++) {
		int status = run_once(o, scenario, seed + i, i + 1 == o->seeds, summaries);

		worst = status > worst ? status : worst;
	}
	if (o->json && worst != EXIT_BAD &&
		output_write(o->json, output_json,
			o->seeds == 1 ? json_array_get(summaries, 0) : summaries))
		worst = EXIT_BAD;
	json_decref(summaries);
	return worst;
}

int run_main(int argc, char **argv)
{
	struct scenario *scenario;
	struct options options;
	int err, status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (scenario_load(options.scenario, stderr, &scenario))
		return EXIT_BAD;
	status = EXIT_SUCCESS;
	if (options.check)
		printf("%s: %u limiters, %u policies, %u entries of traffic, %g s\n",
			options.scenario, scenario->n_limiters, scenario->group.n_policies,
			scenario->n_traffic, (double)scenario->duration_ns / 1e9);
	else
		status = run_all(&options, scenario);
	err = output_flush(stdout);
	if (err) {
		fprintf(stderr, "standard output: %s\n", strerror(-err));
		status = EXIT_BAD;
	}
	scenario_free(scenario);
	return status;
}
