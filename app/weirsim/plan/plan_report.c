/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "plan_report.h"

#include <math.h>

#include "policy/units.h"
#include "policy/value.h"

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

void plan_report_text(const void *what, FILE *out)
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

json_t *plan_report_json(const void *what)
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
