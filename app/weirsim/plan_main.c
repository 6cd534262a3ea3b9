/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "plan_main.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "place/fit.h"
#include "plan_report.h"

#define EXIT_MISSED 1
#define EXIT_BAD    2

static const char usage_text[] =
	"Usage: weirsim plan SCENARIO [OPTION]...\n"
	"Proposes which source of an aggregate should be sent to which limiter, and what part of the\n"
	"limit each gets, so that packets that wait for it do not wait longer than they may; with what\n"
	"they are predicted to wait.\n"
	"\n"
	"  --without PRINCIPLE  concentration, max-min, correlation or balance; may be repeated\n"
	"  --json FILE          the proposal for programs ('-': standard output, in place of the table)\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when the objective is predicted to be missed, or some sources have no place;\n"
	"2 when nothing could be planned.\n";

static const struct option long_options[] = {
	{"without", required_argument, NULL, 'w'},
	{"json", required_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct options {
	unsigned principles;
	const char *json, *path;
};

static bool drop_principle(struct options *o)
{
	static const struct {
		const char *name;
		unsigned principle;
	} names[] = {
		{"concentration", PLACE_CONCENTRATE},
		{"max-min", PLACE_MAX_MIN},
		{"correlation", PLACE_CORRELATED},
		{"balance", PLACE_BALANCED},
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(optarg, names[i].name) == 0) {
			o->principles &= ~names[i].principle;
			return true;
		}
	fprintf(stderr,
		"--without: \"%s\": expected concentration, max-min, correlation or balance\n",
		optarg);
	return false;
}

/* Negative: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return output_flush(stdout) ? EXIT_BAD : EXIT_SUCCESS;
		}
		if (c == 'j')
			o->json = optarg;
		else if (c != 'w' || !drop_principle(o))
			return EXIT_BAD;
	}
	if (optind + 1 != argc) {
		fputs("expected one scenario; see weirsim plan --help\n", stderr);
		return EXIT_BAD;
	}
	o->path = argv[optind];
	return -1;
}

static void predict(const struct placer *placer, struct plan *plan)
{
	const struct place_problem *problem = placer->problem;

	plan->met = plan->placement.nowhere == 0;
	for (unsigned i = 0; i < problem->n_brokers; i++) {
		if (plan->placement.parts[i].sources == 0)
			continue;
		place_predict(placer, &plan->placement, i, &plan->delays[i]);
		plan->met &= plan->delays[i].p99 <= problem->aggregate.slo;
	}
}

/* What would be tried first; where there is no room for all, as many as there is room for. */
static int propose(const struct placer *placer, struct plan *plan)
{
	size_t size = placer->problem->n_sources * sizeof(plan->placement.at[0]);
	enum place_fit_state state;
	struct place_fit fit;
	int err = place_fit_init(&fit, placer, PLACE_PREDICT, &state);

	if (err)
		return err;
	memcpy(plan->placement.at, fit.trial.at, size);
	err = place_split(placer, true, &plan->placement);
	place_fit_free(&fit);
	predict(placer, plan);
	return err;
}

static int write_plan(const struct options *o, const struct plan *plan)
{
	int err = 0;

	if (!o->json || !output_is_standard(o->json)) {
		plan_report_text(plan, stdout);
		err = output_flush(stdout);
		if (err)
			fprintf(stderr, "standard output: %s\n", strerror(-err));
	}
	if (err == 0 && o->json) {
		json_t *json = plan_report_json(plan);

		err = output_write(o->json, output_json, json);
		json_decref(json);
	}
	if (err)
		return EXIT_BAD;
	return plan->met ? EXIT_SUCCESS : EXIT_MISSED;
}

static int run(const struct options *o, struct plan_scenario *scenario, const struct placer *placer)
{
	struct plan plan = {.scenario = scenario};
	int err, status = EXIT_BAD;

	plan.placement.at = calloc(scenario->n_sources, sizeof(*plan.placement.at));
	err = plan.placement.at ? propose(placer, &plan) : -ENOMEM;
	if (err == -ERANGE)
		fprintf(stderr, "%s: aggregate.burst: expected a packet for each limiter\n",
			o->path);
	else if (err)
		fprintf(stderr, "%s\n", strerror(-err));
	else
		status = write_plan(o, &plan);
	free(plan.placement.at);
	return status;
}

int plan_main(int argc, char **argv)
{
	struct options o = {.principles = PLACE_ALL};
	int status = parse_options(argc, argv, &o), err;
	struct plan_scenario *scenario;
	struct placer placer;

	if (status >= 0)
		return status;
	if (plan_scenario_load(o.path, stderr, &scenario))
		return EXIT_BAD;
	scenario->problem.principles = o.principles;
	err = placer_init(&placer, &scenario->problem);
	if (err) {
		fprintf(stderr, "%s\n", strerror(-err));
		plan_scenario_free(scenario);
		return EXIT_BAD;
	}
	status = run(&o, scenario, &placer);
	placer_free(&placer);
	plan_scenario_free(scenario);
	return status;
}
