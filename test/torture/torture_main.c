/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "command/option.h"
#include "command/output.h"
#include "torture.h"

#define EXIT_VIOLATED 1

#define JOBS_MAX 64

static const char *const names[] = {
	"gdrl", "hard", "adaptor", "levels", "loans", "quota", "periods", "copies"};

static const char usage_text[] =
	"Usage: torture [OPTION]...\n"
	"Limits that cannot be exceeded, while letters are lost, late and repeated, networks part,\n"
	"limiters crash, restart and forget, disks fail and go back to an earlier commit, numbers\n"
	"flip a bit, machines have one name, threads stand still, clocks run at their own pace and\n"
	"are stepped, and demands and limits change. Checked at every event, exactly; and in the end\n"
	"nothing is missing, and what may pass does.\n"
	"\n"
	"  --guarantee G  gdrl, hard, adaptor, levels, loans, quota, periods, copies or all (all)\n"
	"  --seeds N      runs of each (100)\n"
	"  --first SEED   the first seed (1)\n"
	"  --minutes M    of virtual time, 2 to 1000 (10)\n"
	"  --limiters N   2 to 16 (8)\n"
	"  --jobs N       processes (1)\n"
	"  --deaths       in each run a limiter ends for good: nothing is exceeded, though what it had is\n"
	"                 missing\n"
	"  --harsh        crashes are more frequent, and most of them lead to an old store (not copies)\n"
	"  --joins        limiters join: gdrl, hard, adaptor and levels, between all (no joins)\n"
	"  --break RULE   a rule of joins that is broken: minting or incomplete\n"
	"  --beliefs      what each limiter believes in the end of each run, on standard error\n"
	"  --json FILE    the sums ('-': standard output, in place of the lines)\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when a limit was exceeded or something was lost; 2 when it could not be run.\n";

struct options {
	bool chosen[TORTURE_GUARANTEES];
	uint64_t seeds, first, minutes, limiters, jobs;
	bool deaths, harsh, beliefs, joins;
	enum torture_broken broken;
	const char *json;
};

/* Sums over a part of the seeds, and the first violation. */
struct sums {
	uint64_t runs, checks, lost, violations, moves, restarts, memory_losses, stalls, expired,
		deaths, loans, old_stores, flips, copies, joins, errors;
	uint64_t first_seed;
	enum torture_guarantee first_guarantee;
	char what[sizeof(((struct torture_result *)0)->what)];
};

static bool choose_guarantee(const char *text, void *options)
{
	struct options *o = options;
	bool all = strcmp(text, "all") == 0, found = all;

	for (unsigned g = 0; g < TORTURE_GUARANTEES; g++) {
		o->chosen[g] = all || strcmp(text, names[g]) == 0;
		found |= o->chosen[g];
	}
	if (!found)
		fprintf(stderr,
			"--guarantee: \"%s\": expected gdrl, hard, adaptor, levels, loans, quota, periods, copies or all\n",
			text);
	return found;
}

static bool choose_broken(const char *text, void *options)
{
	static const char *const rules[] = {"minting", "incomplete"};
	struct options *o = options;

	for (unsigned r = 0; r < 2; r++)
		if (strcmp(text, rules[r]) == 0)
			o->broken = (enum torture_broken)(r + 1);
	if (o->broken == TORTURE_NOTHING)
		fprintf(stderr, "--break: \"%s\": expected minting or incomplete\n", text);
	return o->broken != TORTURE_NOTHING;
}

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("guarantee", choose_guarantee),
	OPTION_ROW_NUMBER("seeds", struct options, seeds, 1, 100000000),
	OPTION_ROW_NUMBER("first", struct options, first, 0, INT64_MAX),
	OPTION_ROW_NUMBER("minutes", struct options, minutes, 2, 1000),
	OPTION_ROW_NUMBER("limiters", struct options, limiters, 2, TORTURE_LIMITERS),
	OPTION_ROW_NUMBER("jobs", struct options, jobs, 1, JOBS_MAX),
	OPTION_ROW_FLAG("deaths", struct options, deaths),
	OPTION_ROW_FLAG("harsh", struct options, harsh),
	OPTION_ROW_FLAG("beliefs", struct options, beliefs),
	OPTION_ROW_FLAG("joins", struct options, joins),
	OPTION_ROW_OTHER("break", choose_broken),
	OPTION_ROW_TEXT("json", struct options, json),
};

static const struct option_set set = {
	.command = "torture",
	.usage = usage_text,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.expected = "expected no more arguments",
};

static void sum_up(struct sums *sums, const struct torture_case *c, const struct torture_result *r)
{
	sums->runs++;
	sums->checks += r->checks;
	sums->moves += r->moves;
	sums->restarts += r->restarts;
	sums->memory_losses += r->memory_losses;
	sums->old_stores += r->old_stores;
	sums->flips += r->flips;
	sums->copies += r->copies;
	sums->joins += r->joins;
	sums->stalls += r->stalls;
	sums->expired += r->expired;
	sums->deaths += r->deaths;
	sums->loans += r->loans;
	sums->lost += r->lost;
	sums->errors += r->error;
	if (!r->violated)
		return;
	if (sums->violations++ > 0)
		return;
	sums->first_seed = c->seed;
	sums->first_guarantee = c->guarantee;
	memcpy(sums->what, r->what, sizeof(sums->what));
}

static void torture_one(const struct torture_case *c, struct torture_result *result)
{
	switch (c->guarantee) {
	case TORTURE_QUOTA:
		torture_quota(c, result);
		return;
	case TORTURE_PERIODS:
		torture_periods(c, result);
		return;
	case TORTURE_COPIES:
		torture_copies(c, result);
		return;
	default:
		torture_rates(c, result);
	}
}

static void run_part(const struct options *o, unsigned long part, struct sums *sums)
{
	*sums = (struct sums){0};
	for (unsigned long s = part; s < o->seeds; s += o->jobs)
		for (unsigned g = 0; g < TORTURE_GUARANTEES; g++) {
			struct torture_case c = {(enum torture_guarantee)g, o->first + s,
				(unsigned)o->limiters, (unsigned)o->minutes, o->deaths, o->harsh,
				o->beliefs, o->joins && g <= TORTURE_LEVELS, o->broken};
			struct torture_result result;

			if (!o->chosen[g])
				continue;
			torture_one(&c, &result);
			sum_up(sums, &c, &result);
		}
}

/* Starts a process for a part. It writes its sums to a pipe, whose buffer has room for them. */
static int start_part(const struct options *o, unsigned long part, pid_t *pid)
{
	struct sums sums;
	int pipes[2];

	if (pipe(pipes))
		return -errno;
	*pid = fork();
	if (*pid == 0) {
		close(pipes[0]);
		run_part(o, part, &sums);
		_exit(write(pipes[1], &sums, sizeof(sums)) == sizeof(sums) ? 0 : EXIT_BAD);
	}
	close(pipes[1]);
	if (*pid > 0)
		return pipes[0];
	close(pipes[0]);
	return -EAGAIN;
}

static void merge_sums(struct sums *all, const struct sums *part)
{
	bool first = part->violations > 0 &&
		     (all->violations == 0 || part->first_seed < all->first_seed);

	all->runs += part->runs;
	all->checks += part->checks;
	all->lost += part->lost;
	all->violations += part->violations;
	all->moves += part->moves;
	all->restarts += part->restarts;
	all->memory_losses += part->memory_losses;
	all->old_stores += part->old_stores;
	all->flips += part->flips;
	all->copies += part->copies;
	all->joins += part->joins;
	all->stalls += part->stalls;
	all->expired += part->expired;
	all->deaths += part->deaths;
	all->loans += part->loans;
	all->errors += part->errors;
	if (!first)
		return;
	all->first_seed = part->first_seed;
	all->first_guarantee = part->first_guarantee;
	memcpy(all->what, part->what, sizeof(all->what));
}

static int run_torture_jobs(const struct options *o, struct sums *all)
{
	pid_t pids[JOBS_MAX];
	int fds[JOBS_MAX], ret = 0;

	*all = (struct sums){0};
	fflush(NULL);
	for (unsigned long j = 0; j < o->jobs; j++)
		fds[j] = start_part(o, j, &pids[j]);
	for (unsigned long j = 0; j < o->jobs; j++) {
		struct sums part;

		if (fds[j] < 0) {
			ret = fds[j];
			continue;
		}
		if (read(fds[j], &part, sizeof(part)) == sizeof(part))
			merge_sums(all, &part);
		else
			ret = -EIO;
		close(fds[j]);
		waitpid(pids[j], NULL, 0);
	}
	if (all->errors > 0 && ret == 0)
		ret = -ENOMEM;
	return ret;
}

static json_t *torture_to_json(const struct options *o, const struct sums *sums)
{
	return json_pack(
		"{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"seeds", (json_int_t)o->seeds, "runs", (json_int_t)sums->runs, "violations",
		(json_int_t)sums->violations, "first_violation_seed",
		sums->violations ? json_integer((json_int_t)sums->first_seed) : json_null(),
		"checks", (json_int_t)sums->checks, "lost_units", (json_int_t)sums->lost, "moves",
		(json_int_t)sums->moves, "restarts", (json_int_t)sums->restarts, "memory_losses",
		(json_int_t)sums->memory_losses, "stalls", (json_int_t)sums->stalls, "expired",
		(json_int_t)sums->expired, "deaths", (json_int_t)sums->deaths, "loans",
		(json_int_t)sums->loans, "old_stores", (json_int_t)sums->old_stores, "flips",
		(json_int_t)sums->flips, "copies", (json_int_t)sums->copies, "joins",
		(json_int_t)sums->joins);
}

static int report_torture(const struct options *o, const struct sums *sums)
{
	int ret = 0;

	if (!o->json || !output_is_standard(o->json))
		printf("%llu runs, %llu violations, %llu lost; %llu checks, %llu moves, %llu restarts (%llu blank), %llu old stores, %llu flips, %llu copies, %llu deaths, %llu loans, %llu joins, %llu stalls (%llu limits ended by themselves)\n",
			(unsigned long long)sums->runs, (unsigned long long)sums->violations,
			(unsigned long long)sums->lost, (unsigned long long)sums->checks,
			(unsigned long long)sums->moves, (unsigned long long)sums->restarts,
			(unsigned long long)sums->memory_losses,
			(unsigned long long)sums->old_stores, (unsigned long long)sums->flips,
			(unsigned long long)sums->copies, (unsigned long long)sums->deaths,
			(unsigned long long)sums->loans, (unsigned long long)sums->joins,
			(unsigned long long)sums->stalls, (unsigned long long)sums->expired);
	if (o->json) {
		json_t *json = torture_to_json(o, sums);

		ret = json ? output_write(o->json, output_json, json) : -ENOMEM;
		json_decref(json);
	}
	if (sums->violations > 0)
		fprintf(stderr,
			"seed %llu, %s: %s\n"
			"again: torture --guarantee %s --first %llu --seeds 1 --limiters %lu --minutes %lu%s%s\n",
			(unsigned long long)sums->first_seed, names[sums->first_guarantee],
			sums->what, names[sums->first_guarantee],
			(unsigned long long)sums->first_seed, o->limiters, o->minutes,
			o->harsh ? " --harsh" : "", o->joins ? " --joins" : "");
	if (ret)
		return EXIT_BAD;
	return sums->violations > 0 || sums->lost > 0 ? EXIT_VIOLATED : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options o = {.chosen = {[0 ... TORTURE_GUARANTEES - 1] = true},
		.seeds = 100,
		.first = 1,
		.minutes = 10,
		.limiters = 8,
		.jobs = 1};
	struct sums sums;
	int ret, status = option_parse(&set, argc, argv, &o);

	if (status >= 0)
		return status;
	ret = run_torture_jobs(&o, &sums);
	if (ret) {
		fprintf(stderr, "torture: %s\n", strerror(-ret));
		return EXIT_BAD;
	}
	return report_torture(&o, &sums);
}
