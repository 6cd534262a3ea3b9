/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weirsim run: a scenario from its file to its results.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "node.h"
#include "command/option.h"
#include "command/output.h"
#include "report.h"

#define EXIT_FAILED 1

struct run_options {
	const char *scenario, *json, *series;
	bool seed_given, check, quiet;
	uint64_t seed;
	unsigned seeds;
};

static const char usage_text[] =
	"Usage: weirsim run SCENARIO.json [OPTION]...\n"
	"Runs a group of limiters in virtual time: the appliance's own code in a simulated network,\n"
	"under simulated traffic. The same scenario and seed give the same results, byte for byte.\n"
	"\n";

static const char notes_text[] =
	"Exit status: 0; 1 if a run failed its checks; 2 if it could not be run.\n";

static bool take_seed(const char *text, void *options)
{
	struct run_options *o = options;
	char *end;

	errno = 0;
	o->seed = strtoull(text, &end, 10);
	o->seed_given = errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' &&
			o->seed <= INT64_MAX;
	if (!o->seed_given)
		fprintf(stderr, "--seed: \"%s\": expected a number\n", text);
	return o->seed_given;
}

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("seed", take_seed, .value = "N", .help = "in place of the scenario's"),
	OPTION_ROW_UNSIGNED("seeds", struct run_options, seeds, 1, 1000000, .value = "N",
		.help = "N runs, with this seed and the following ones"),
	OPTION_ROW_TEXT("json", struct run_options, json, .value = "FILE",
		.help = "the summary ('-': standard output); of several runs an array"),
	OPTION_ROW_TEXT("series", struct run_options, series, .value = "FILE",
		.help = "a row an interval, CSV ('-': standard output); of the last run; "
			"tools/plot draws it"),
	OPTION_ROW_FLAG(
		"check", struct run_options, check, .help = "check the scenario and run nothing"),
	OPTION_ROW_FLAG("quiet", struct run_options, quiet,
		.help = "no report and no progress on the terminal"),
};

static const struct option_set set = {
	.command = "run",
	.usage = usage_text,
	.notes = notes_text,
	.column = 21,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.expected = "expected one scenario",
	.argument = true,
	.argument_at = offsetof(struct run_options, scenario),
};

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

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * Returns the peak resident memory, MiB. getrusage() is not used: it includes that of the parent.
 */
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

/* Runs one seed. Returns the exit status. */
static int run_once(const struct run_options *o, const struct scenario *scenario, uint64_t seed,
	bool last, json_t *summaries)
{
	bool shown = !o->quiet && isatty(STDERR_FILENO);
	bool taken = output_is_standard(o->json) || output_is_standard(o->series);
	double began = cpu_seconds(), cpu;
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
		fflush(stdout); /* before the output to the other stream */
		cpu = cpu_seconds() - began;
		fprintf(stderr,
			"  %.2f s of CPU (%.1f times real time), %.2f million events/s, %.1f MiB, "
			"%.1f peers looked at a tick\n",
			cpu, (double)sim.events.now_ns / 1e9 / cpu,
			(double)sim.events.taken / cpu / 1e6, peak_memory(), nodes_looks(&sim));
	}
	if (!report_verdict(&sim, summary, stderr)) {
		fprintf(stderr, "seed %llu failed; replay: weirsim run %s --seed %llu\n",
			(unsigned long long)seed, o->scenario, (unsigned long long)seed);
		status = EXIT_FAILED;
	}
	if (last && o->series && output_write(o->series, write_series, &sim))
		status = EXIT_BAD;
	json_array_append_new(summaries, summary);
	sim_free(&sim);
	return status;
}

static int run_all_seeds(const struct run_options *o, const struct scenario *scenario)
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
	struct run_options options = {.seeds = 1};
	int err, status = option_parse(&set, argc, argv, &options);

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
		status = run_all_seeds(&options, scenario);
	err = output_flush(stdout);
	if (err) {
		fprintf(stderr, "standard output: %s\n", strerror(-err));
		status = EXIT_BAD;
	}
	scenario_free(scenario);
	return status;
}
