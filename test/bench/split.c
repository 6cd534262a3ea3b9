/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of enforcing one limit on several workers, compared with one bucket for all on the same
 * packets, in virtual time (test/unit/datapath/meter/split_world.h).
 *
 *     bench_split [--json FILE] [--worst] [--only ROW] [PERIOD_MS]
 *
 * Each row has a limit, burst, number of workers and traffic. There are three ways without one
 * bucket: even parts; shares by demand, every PERIOD_MS, default 5; quanta from a shared bucket.
 * For each it prints:
 *
 * - lost throughput, in % of the limit (negative: more passed than with one bucket);
 * - the largest loss of a flow, in % of its packets that pass with one bucket;
 * - Jain's index less that of one bucket;
 * - the largest depth of all workers together, in % of the burst, which never exceeds 100.
 *
 * --worst prints only the worst of each traffic; --only runs the rows whose names begin with ROW.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "split_world.h"

#define FLOWS     32
#define PACKETS   200000       /* at the limit: the length of a run */
#define TICKS_MIN WORLD_SECOND /* least length of a run */
#define TICKS_TCP (20 * WORLD_SECOND)
#define TICKS_MAX (60 * WORLD_SECOND) /* greatest length of a run */

#define BURST_MIN 9084 /* bytes: six full frames, the least that control grants */

struct figures {
	double lost[POLICERS], unfair[POLICERS], jain[POLICERS], depth[POLICERS];
	double bytes_a_take; /* bytes passed for each quantum */
};

static const double rates[] = {1e6, 10e6, 100e6, 1e9, 10e9};
static const double bursts_s[] = {0.005, 0.05};
static const unsigned worker_counts[] = {2, 4, 8};

static struct world_params params_of(
	double rate, double burst_s, unsigned workers, enum traffic traffic, uint64_t period)
{
	double ticks = PACKETS * 1000.0 * 8 / rate * WORLD_SECOND;
	double ticks_min = traffic == TRAFFIC_TCP ? TICKS_TCP : TICKS_MIN;
	double burst = fmax(rate / 8 * burst_s, BURST_MIN);

	return (struct world_params){
		.rate_bps = (uint64_t)rate,
		.burst_bytes = (uint64_t)burst,
		.workers = workers,
		.flows = FLOWS,
		.traffic = traffic,
		.period = period,
		.ticks = (uint64_t)fmin(fmax(ticks, ticks_min), TICKS_MAX),
		.seed = 1,
	};
}

static struct figures measure_split(const struct world_params *params)
{
	struct world_result results[POLICERS];
	struct figures figures = {0};
	double jain;

	world_run(params, results);
	jain = world_jain(params, &results[POLICER_ONE]);
	for (unsigned k = 0; k < POLICERS; k++) {
		figures.lost[k] = world_lost(params, results, (enum policer_kind)k);
		figures.unfair[k] = world_unfair(params, results, (enum policer_kind)k);
		figures.jain[k] = world_jain(params, &results[k]) - jain;
		figures.depth[k] = results[k].depth / (double)params->burst_bytes;
	}
	figures.bytes_a_take = results[POLICER_SHARED_BUCKET].passed /
			       fmax((double)results[POLICER_SHARED_BUCKET].takes, 1);
	return figures;
}

static void keep_worst_figures(struct figures *worst, const struct figures *figures)
{
	for (unsigned k = 0; k < POLICERS; k++) {
		worst->lost[k] = fmax(worst->lost[k], figures->lost[k]);
		worst->unfair[k] = fmax(worst->unfair[k], figures->unfair[k]);
		worst->jain[k] = fmin(worst->jain[k], figures->jain[k]);
		worst->depth[k] = fmax(worst->depth[k], figures->depth[k]);
	}
}

static void print_head(void)
{
	printf("%-40s", "lost %, unfair %, Jain, depth %:");
	for (unsigned k = POLICER_EVEN; k < POLICERS; k++)
		printf("  %-28s", world_policer_name((enum policer_kind)k));
	printf("\n");
}

static void print_figures(const char *name, const struct figures *figures)
{
	printf("%-40s", name);
	for (unsigned k = POLICER_EVEN; k < POLICERS; k++)
		printf("  %6.2f %6.2f %6.3f %6.1f", 100 * figures->lost[k],
			100 * figures->unfair[k], figures->jain[k], 100 * figures->depth[k]);
	if (figures->bytes_a_take > 0)
		printf("  %.0f B a take", figures->bytes_a_take);
	printf("\n");
}

/* Runs one traffic at all limits; returns the worst of each figure. */
static struct figures run_traffic(
	enum traffic traffic, uint64_t period, bool quiet, const char *only)
{
	struct figures worst = {0};

	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
		for (unsigned b = 0; b < sizeof(bursts_s) / sizeof(bursts_s[0]); b++)
			for (unsigned w = 0; w < 3; w++) {
				struct world_params params = params_of(
					rates[r], bursts_s[b], worker_counts[w], traffic, period);
				struct figures figures;
				char name[64];

				snprintf(name, sizeof(name),
					"%-9s %5.0f Mbit/s %2.0f ms, %u workers",
					world_traffic_name(traffic), rates[r] / 1e6,
					bursts_s[b] * 1e3, params.workers);
				if (strncmp(name, only, strlen(only)) != 0)
					continue;
				figures = measure_split(&params);
				if (!quiet)
					print_figures(name, &figures);
				keep_worst_figures(&worst, &figures);
			}
	return worst;
}

/* Writes lost and unfair as parts of one, which do not depend on the machine's speed. */
static int write_json(const char *path, const struct figures *worst)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return -errno;
	fprintf(out, "{\"ratios\": {");
	for (unsigned t = 0; t < TRAFFICS; t++)
		for (unsigned k = POLICER_SHARES; k < POLICERS; k++)
			fprintf(out, "%s\n\t\"%s/%s/lost\": %.5f, \"%s/%s/unfair\": %.5f",
				t || k > POLICER_SHARES ? "," : "",
				world_traffic_name((enum traffic)t),
				world_policer_name((enum policer_kind)k), worst[t].lost[k],
				world_traffic_name((enum traffic)t),
				world_policer_name((enum policer_kind)k), worst[t].unfair[k]);
	fprintf(out, "\n}}\n");
	return fclose(out) ? -errno : 0;
}

int main(int argc, char **argv)
{
	struct figures worst[TRAFFICS];
	const char *json = NULL, *only = "";
	double period_ms = 5;
	bool quiet = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
			json = argv[++i];
		else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
			only = argv[++i];
		else if (strcmp(argv[i], "--worst") == 0)
			quiet = true;
		else
			period_ms = strtod(argv[i], NULL);
	}
	if (!(period_ms > 0)) {
		fprintf(stderr, "bench_split [--json FILE] [--worst] [--only ROW] [PERIOD_MS]\n");
		return 1;
	}
	print_head();
	for (unsigned t = 0; t < TRAFFICS; t++)
		worst[t] = run_traffic((enum traffic)t, (uint64_t)(period_ms * 1e6), quiet, only);
	if (!*only)
		printf("worst:\n");
	for (unsigned t = 0; t < TRAFFICS && !*only; t++)
		print_figures(world_traffic_name((enum traffic)t), &worst[t]);
	return json && write_json(json, worst) ? 1 : 0;
}
