/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "plan_main.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/option.h"
#include "command/output.h"
#include "place/fit.h"
#include "place/predict.h"
#include "plan_report.h"

#define EXIT_MISSED 1

static const char usage_text[] =
	"Usage: weirsim plan SCENARIO [OPTION]...\n"
	"Proposes a limiter for each source of an aggregate, and the limiter's part of the limit.\n"
	"With them, waiting packets stay within the objective. Predicts their waiting times, too.\n"
	"\n";

static const char notes_text[] =
	"Exit status: 0; 1 when the objective is predicted to be missed, or some sources have no place;\n"
	"2 when nothing could be planned.\n";

struct plan_options {
	unsigned principles;
	const char *json, *path;
};

static bool drop_principle(const char *text, void *options)
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
	struct plan_options *o = options;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i].name) == 0) {
			o->principles &= ~names[i].principle;
			return true;
		}
	fprintf(stderr,
		"--without: \"%s\": expected concentration, max-min, correlation or balance\n",
		text);
	return false;
}

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("without", drop_principle, .value = "PRINCIPLE",
		.help = "concentration, max-min, correlation or balance; may be repeated"),
	OPTION_ROW_TEXT("json", struct plan_options, json, .value = "FILE",
		.help = "the proposal for programs ('-': standard output, in place of the table)"),
};

static const struct option_set set = {
	.command = "plan",
	.usage = usage_text,
	.notes = notes_text,
	.column = 27,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.expected = "expected one scenario",
	.argument = true,
	.argument_at = offsetof(struct plan_options, path),
};

static void predict_plan(const struct placer *placer, struct plan *plan)
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

static int propose_plan(const struct placer *placer, struct plan *plan)
{
	int err = place_plan(placer, &plan->placement);

	if (err == 0)
		predict_plan(placer, plan);
	return err;
}

static int write_plan(const struct plan_options *o, const struct plan *plan)
{
	static const struct output_forms forms = {
		.text = plan_report_text, .json = plan_report_json};

	if (output_result(&forms, plan, o->json))
		return EXIT_BAD;
	return plan->met ? EXIT_SUCCESS : EXIT_MISSED;
}

static int run_plan(
	const struct plan_options *o, struct plan_scenario *scenario, const struct placer *placer)
{
	struct plan plan = {.scenario = scenario};
	int err, status = EXIT_BAD;

	plan.placement.at = calloc(scenario->n_sources, sizeof(*plan.placement.at));
	err = plan.placement.at ? propose_plan(placer, &plan) : -ENOMEM;
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
	struct plan_options o = {.principles = PLACE_ALL};
	int status = option_parse(&set, argc, argv, &o), err;
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
	status = run_plan(&o, scenario, &placer);
	placer_free(&placer);
	plan_scenario_free(scenario);
	return status;
}
