/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weirsim plan: proposes a limiter for each source.
 */
#include "plan_main.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "command/option.h"
#include "command/output.h"
#include "place/fit.h"
#include "place/place.h"
#include "plan_scenario.h"
#include "policy/units.h"
#include "policy/value.h"

struct plan {
	const struct plan_scenario *scenario;
	struct placement placement;
	struct place_delay delays[PLACE_BROKERS]; /* predicted */
	bool met; /* prediction keeps the objective, and all sources have a place */
};

#define MS 1e3 /* milliseconds in a second */

#define PREFIX_MAX 64

static const char *source_limiter(const struct plan *plan, unsigned source)
{
	uint32_t at = plan->placement.at[source];

	return at == PLACE_NOWHERE ? "-" : plan->scenario->limiters[at].name;
}

static const char *prefix_of(const struct plan_source *source, char *text)
{
	if (source->prefix.family == 0)
		return "";
	return prefix_format(&source->prefix, text, PREFIX_MAX);
}

static void print_delay(double seconds, FILE *out)
{
	if (isfinite(seconds))
		fprintf(out, " %8.3f", seconds * MS);
	else
		fprintf(out, " %8s", "never");
}

static void print_limiter(const struct plan *plan, unsigned i, FILE *out)
{
	const struct place_part *part = &plan->placement.parts[i];
	const struct place_delay *delay = &plan->delays[i];

	fprintf(out, "%-16s %7u %12.6f %12.6f %11llu", plan->scenario->limiters[i].name,
		part->sources, part->rate * 8 / 1e6, (double)part->limit * 8 / 1e6,
		(unsigned long long)part->burst);
	print_delay(delay->p50, out);
	print_delay(delay->p99, out);
	print_delay(delay->access_p99, out);
	fputc('\n', out);
}

/* For output_result(); `what` is a struct plan. */
static void plan_report_text(const void *what, FILE *out)
{
	const struct plan *plan = what;
	const struct plan_scenario *scenario = plan->scenario;

	fputs("limiter          sources  rate Mbit/s limit Mbit/s       burst   p50 ms   p99 ms"
	      "   tokens\n",
		out);
	for (unsigned i = 0; i < scenario->n_limiters; i++)
		if (plan->placement.parts[i].sources > 0)
			print_limiter(plan, i, out);
	fprintf(out, "\n%-16s %-16s %s\n", "source", "limiter", "prefix");
	for (unsigned i = 0; i < scenario->n_sources; i++) {
		char text[PREFIX_MAX];

		fprintf(out, "%-16s %-16s %s\n", scenario->sources[i].name, source_limiter(plan, i),
			prefix_of(&scenario->sources[i], text));
	}
	if (plan->placement.nowhere > 0)
		fprintf(out, "\nThere is no room for %u sources.\n", plan->placement.nowhere);
	fprintf(out, "\nThe objective is predicted to be %s.\n", plan->met ? "kept" : "missed");
}

static json_t *delay_to_json(double seconds)
{
	return isfinite(seconds) ? json_real(seconds * MS) : json_null();
}

static json_t *limiter_json(const struct plan *plan, unsigned i)
{
	const struct place_part *part = &plan->placement.parts[i];
	const struct place_delay *delay = &plan->delays[i];

	return json_pack("{s:s,s:i,s:f,s:I,s:I,s:o,s:o,s:o}", "name",
		plan->scenario->limiters[i].name, "sources", (int)part->sources, "rate_bps",
		part->rate * 8, "limit_bps", (json_int_t)part->limit * 8, "burst_bytes",
		(json_int_t)part->burst, "p50_ms", delay_to_json(delay->p50), "p99_ms",
		delay_to_json(delay->p99), "access_p99_ms", delay_to_json(delay->access_p99));
}

static json_t *source_json(const struct plan *plan, unsigned i)
{
	const struct plan_source *source = &plan->scenario->sources[i];
	json_t *out = json_pack("{s:s}", "name", source->name);
	char text[PREFIX_MAX];

	if (source->prefix.family != 0)
		json_object_set_new(out, "prefix", json_string(prefix_of(source, text)));
	if (plan->placement.at[i] == PLACE_NOWHERE)
		json_object_set_new(out, "limiter", json_null());
	else
		json_object_set_new(out, "limiter", json_string(source_limiter(plan, i)));
	return out;
}

static json_t *plan_report_json(const void *what)
{
	const struct plan *plan = what;
	json_t *limiters = json_array(), *sources = json_array();

	for (unsigned i = 0; i < plan->scenario->n_limiters; i++)
		if (plan->placement.parts[i].sources > 0)
			json_array_append_new(limiters, limiter_json(plan, i));
	for (unsigned i = 0; i < plan->scenario->n_sources; i++)
		json_array_append_new(sources, source_json(plan, i));
	return json_pack("{s:b,s:i,s:o,s:o}", "objective_kept", (int)plan->met, "nowhere",
		(int)plan->placement.nowhere, "limiters", limiters, "sources", sources);
}

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

static int propose_plan(const struct placer *placer, struct plan *plan)
{
	const struct place_problem *problem = placer->problem;
	int err = place_plan(placer, &plan->placement);

	if (err)
		return err;
	plan->met = plan->placement.nowhere == 0;
	for (unsigned i = 0; i < problem->n_brokers; i++) {
		if (plan->placement.parts[i].sources == 0)
			continue;
		place_predict(placer, &plan->placement, i, &plan->delays[i]);
		plan->met &= plan->delays[i].p99 <= problem->aggregate.slo;
	}
	return 0;
}

static int run_plan(
	const struct plan_options *o, struct plan_scenario *scenario, const struct placer *placer)
{
	static const struct output_forms forms = {
		.text = plan_report_text, .json = plan_report_json};
	struct plan plan = {.scenario = scenario};
	int err, status = EXIT_BAD;

	plan.placement.at = calloc(scenario->n_sources, sizeof(*plan.placement.at));
	err = plan.placement.at ? propose_plan(placer, &plan) : -ENOMEM;
	if (err == -ERANGE)
		fprintf(stderr, "%s: aggregate.burst: expected a packet for each limiter\n",
			o->path);
	else if (err)
		fprintf(stderr, "%s\n", strerror(-err));
	else if (output_result(&forms, &plan, o->json) == 0)
		status = plan.met ? EXIT_SUCCESS : EXIT_MISSED;
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
