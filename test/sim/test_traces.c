/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Compares lib/control with recorded traces: in short worlds of many kinds, decisions, datagrams,
 * records and verdicts must be equal, byte for byte. A difference need not be an error, but must be
 * intended, and visible in review.
 *
 *   test_traces DIRECTORY NAME            compares with DIRECTORY/NAME.txt
 *   test_traces DIRECTORY --write [NAME]  writes that file, or all
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "report.h"
#include "scenario.h"
#include "sim.h"
#include "torture.h"
#include "trace.h"
#include "worlds.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

static const char *directory;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(2);
}

static char *path_of(const char *name, const char *ending)
{
	char *path;

	if (asprintf(&path, "%s/%s%s", directory, name, ending) < 0)
		abort();
	return path;
}

/* ---- worlds */

static void sample_sim(void *context, double done)
{
	const struct scenario *scenario = context;

	trace_sample((uint64_t)(done * (double)scenario->duration_ns));
}

/* Adds the simulator's summary; numbers are rounded to six digits. */
static void digest_summary(const struct sim *sim)
{
	json_t *summary = report_summary(sim);
	char *text = summary ? json_dumps(summary, JSON_REAL_PRECISION(6) | JSON_SORT_KEYS) : NULL;

	if (!text)
		abort();
	trace_bytes(text, strlen(text));
	free(text);
	json_decref(summary);
}

/* Traces NAME.json with this seed. */
static void trace_scenario(const char *name, uint64_t seed)
{
	char *path = path_of(name, ".json");
	struct scenario *scenario;
	struct sim sim;
	int ret;

	if (scenario_load(path, stderr, &scenario))
		exit(2);
	free(path);
	trace_world(&(struct trace_kind){TRACE_LIMITER, 2500 * MS, false},
		"%s, seed %" PRIu64 ": %s", name, seed, scenario->name);
	ret = sim_run(&sim, scenario, seed, sample_sim, scenario);
	if (ret)
		die(name, strerror(-ret));
	digest_summary(&sim);
	trace_end();
	sim_free(&sim);
	scenario_free(scenario);
}

static void trace_group(uint64_t seed, enum gossip_estimator estimator, const char *name)
{
	trace_world(&(struct trace_kind){TRACE_LIMITER, 10 * S, true},
		"a group with reloads, %s, seed %" PRIu64, name, seed);
	if (!run_group_world(seed, estimator, true))
		exit(1);
	trace_end();
}

static void trace_groups(const char *name, uint64_t seed)
{
	(void)name;
	trace_group(seed, GOSSIP_STATE, "state");
	trace_group(seed, GOSSIP_TREE, "tree");
}

static void trace_mixed_of(uint64_t seed, enum gossip_estimator estimator, const char *name)
{
	trace_world(&(struct trace_kind){TRACE_LIMITER, 15 * S, true},
		"everything at once, %s, seed %" PRIu64, name, seed);
	run_mixed_world(seed, estimator);
	trace_end();
}

static void trace_mixed(const char *name, uint64_t seed)
{
	(void)name;
	trace_mixed_of(seed, GOSSIP_STATE, "state");
	trace_mixed_of(seed, GOSSIP_TREE, "tree");
}

static void trace_agree(const char *name, uint64_t seed)
{
	trace_world(&(struct trace_kind){TRACE_ITSELF, S, true}, "%s, seed %" PRIu64, name, seed);
	run_agree_world(seed);
	trace_end();
}

static void trace_place(const char *name, uint64_t seed)
{
	trace_world(&(struct trace_kind){TRACE_ITSELF, S, true}, "%s, seed %" PRIu64, name, seed);
	for (uint64_t i = 0; i < 3; i++)
		run_place_world(3 * seed + i);
	trace_end();
}

static void trace_ledger(const char *name, uint64_t seed)
{
	struct ledger_sums sums = {0};

	trace_world(&(struct trace_kind){TRACE_LEDGER, 500 * MS, true}, "%s, seed %" PRIu64, name,
		seed);
	if (!run_ledger_world(seed, 1200, false, &sums))
		exit(1);
	trace_end();
}

static void trace_budget(const char *name, uint64_t seed)
{
	struct budget_sums sums = {0};

	trace_world(
		&(struct trace_kind){TRACE_BUDGET, 10 * S, true}, "%s, seed %" PRIu64, name, seed);
	run_budget_world(seed, &sums);
	trace_end();
}

static void trace_torture_of(const char *name, enum torture_guarantee guarantee,
	enum trace_part part, uint64_t seed,
	void (*run)(const struct torture_case *c, struct torture_result *result))
{
	const struct torture_case c = {
		.guarantee = guarantee, .seed = seed, .limiters = 5, .minutes = 4};
	struct torture_result result;

	trace_world(&(struct trace_kind){part, 30 * S, false}, "torture of %s, seed %" PRIu64, name,
		seed);
	run(&c, &result);
	if (result.violated || result.error)
		die(name, result.what);
	trace_end();
}

static void trace_hard(const char *name, uint64_t seed)
{
	(void)name;
	trace_torture_of("gdrl", TORTURE_GDRL, TRACE_CONSERVE, seed, torture_rates);
	trace_torture_of("hard", TORTURE_HARD, TRACE_CONSERVE, seed, torture_rates);
	trace_torture_of("adaptor", TORTURE_ADAPTOR, TRACE_CONSERVE, seed, torture_rates);
	trace_torture_of("levels", TORTURE_LEVELS, TRACE_CONSERVE, seed, torture_rates);
}

static void trace_quotas(const char *name, uint64_t seed)
{
	(void)name;
	trace_torture_of("quota", TORTURE_QUOTA, TRACE_QUOTA, seed, torture_quota);
}

static void trace_periods(const char *name, uint64_t seed)
{
	(void)name;
	trace_torture_of("periods", TORTURE_PERIODS, TRACE_BUDGET, seed, torture_periods);
}

/* Each record is a file of lines: the worlds of some seeds. */
static const struct record {
	const char *name;
	void (*run)(const char *name, uint64_t seed);
	unsigned n;    /* number of seeds, from 1 on */
	uint64_t step; /* difference between successive seeds */
} records[] = {
	{"soft", trace_scenario, 1, 1}, {"tree", trace_scenario, 1, 1},
	{"push-sum", trace_scenario, 1, 1}, {"hard", trace_scenario, 1, 1},
	{"hierarchy", trace_scenario, 1, 1}, {"totals", trace_scenario, 1, 1},
	{"waiting", trace_scenario, 1, 1}, {"meters", trace_scenario, 1, 1},
	{"groups", trace_groups, 1, 1}, {"mixed", trace_mixed, 2, 1}, {"agree", trace_agree, 2, 1},
	{"place", trace_place, 15, 1}, {"rates", trace_hard, 3, 1}, {"quotas", trace_quotas, 3, 1},
	{"periods", trace_periods, 3, 1}, {"ledgers", trace_ledger, 24, 1},
	{"budgets", trace_budget, 2, 6}, /* seeds with small groups */
};

static char *lines_of(const struct record *record)
{
	trace_begin();
	trace_write("# SPDX-License-Identifier: BSD-3-Clause\n"
		    "# Written by test_traces, see there.\n");
	for (unsigned i = 0; i < record->n; i++)
		record->run(record->name, 1 + i * record->step);
	return trace_taken();
}

/* ---- comparison */

static void write_traces(const struct record *record)
{
	char *path = path_of(record->name, ".txt"), *lines = lines_of(record);
	FILE *out = fopen(path, "w");

	if (!out || fputs(lines, out) == EOF || fclose(out))
		die(path, strerror(errno));
	free(lines);
	free(path);
}

static char *read_traces(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (!in || getdelim(&text, &room, '\0', in) < 0)
		die(path, "cannot be read");
	fclose(in);
	return text;
}

/*
 * Prints the first different line, with its world and time. If that line is a digest, continues to
 * the first readable one.
 */
static void say_difference(char *was, char *is)
{
	const char *world = "", *moment = "";
	bool readable = false, any = false;

	while (was && is && !readable) {
		const char *old = strsep(&was, "\n"), *new = strsep(&is, "\n");

		if (new[0] == '=')
			world = new;
		if (new[0] != ' ')
			moment = new;
		if (strcmp(old, new) == 0)
			continue;
		readable = new[0] == ' ';
		if (!readable && any)
			continue;
		if (!any)
			fprintf(stderr, "%s\n", world);
		if (readable)
			fprintf(stderr, "%s\n", moment);
		fprintf(stderr, "was: %s\nis:  %s\n", old, new);
		any = true;
	}
	if (!any)
		fprintf(stderr, "there are %s lines than there were\n", is ? "more" : "less");
}

static bool compare_traces(const struct record *record)
{
	char *path = path_of(record->name, ".txt"), *was = read_traces(path);
	char *is = lines_of(record);
	bool same = strcmp(was, is) == 0;

	if (!same) {
		fprintf(stderr, "%s: the limiter does something else than it did\n", record->name);
		say_difference(was, is);
		fprintf(stderr,
			"if that is meant, write it again: meson compile -C BUILD test_traces && "
			"BUILD/test/sim/test_traces %s --write\n",
			directory);
	}
	free(was);
	free(is);
	free(path);
	return same;
}

int main(int argc, char **argv)
{
	bool writes = argc > 2 && strcmp(argv[2], "--write") == 0, same = true, found = false;
	const char *name = argc > 2 + writes ? argv[2 + writes] : NULL;

	if (argc < 3 || sodium_init() < 0)
		return 2;
	directory = argv[1];
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		if (name && strcmp(name, records[i].name) != 0)
			continue;
		found = true;
		if (writes)
			write_traces(&records[i]);
		else
			same &= compare_traces(&records[i]);
	}
	if (!found)
		die(name, "no such trace");
	return same ? 0 : 1;
}
