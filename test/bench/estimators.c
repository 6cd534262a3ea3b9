/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Cost and accuracy of an estimator, in virtual time. Weights change at twenty limiters a second,
 * because flows start and end; then one weight grows by a tenth of the sum.
 *
 *   estimators ESTIMATOR N [LOSS [SECONDS [SEED [BRANCHING]]]]
 *
 * ESTIMATOR is state, tree, push-sum, compensated (push-sum) or flow-updating. BRANCHING is 3, or 8
 * for a tree. Ticks of 50 ms, or 10 ms for a tree, 20 ms one way, one policy with a soft limit,
 * sealed datagrams; kbit/s include IPv4 and UDP headers.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "gossip_world.h"
#include "sums/sums.h"

#define CHANGES 20 /* a second */

struct error {
	double sum, max;
	uint64_t n;
};

static const struct {
	const char *name;
	enum gossip_estimator estimator;
	const struct estimator *study;
} kinds[] = {
	{"state", GOSSIP_STATE, NULL},
	{"tree", GOSSIP_TREE, NULL},
	{"push-sum", GOSSIP_STATE, &estimator_push_sum},
	{"compensated", GOSSIP_STATE, &estimator_compensated},
	{"flow-updating", GOSSIP_STATE, &estimator_flow_updating},
};

static int parse_estimator_args(struct world_params *p, int argc, char **argv)
{
	for (unsigned i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[1], kinds[i].name) == 0) {
			p->estimator = kinds[i].estimator;
			p->study = kinds[i].study;
			p->n = (unsigned)strtoul(argv[2], NULL, 10);
			p->branching = p->estimator == GOSSIP_TREE ? 8 : 3;
		}
	if (argc > 3)
		p->loss = strtod(argv[3], NULL);
	if (argc > 5)
		p->seed = strtoull(argv[5], NULL, 10);
	if (argc > 6)
		p->branching = (unsigned)strtoul(argv[6], NULL, 10);
	p->tick_ns = gossip_clock(p->estimator, 50 * MS);
	return p->n ? 0 : -1;
}

static double total_of(const struct world *w)
{
	double total = 0;

	for (unsigned i = 0; i < w->params.n; i++)
		total += w->weights[i];
	return total;
}

/* Returns the largest relative error of any limiter's sum; adds each error to *all. */
static double measure_sum_error(const struct world *w, struct error *all)
{
	double total = total_of(w), worst = 0;

	for (unsigned i = 0; i < w->params.n; i++) {
		double known = gossip_sum(w->nodes[i].gossip, 0).weight + w->weights[i];
		double off = fabs(known - total) / total;

		worst = fmax(worst, off);
		all->sum += off;
		all->n++;
	}
	all->max = fmax(all->max, worst);
	return worst;
}

static void churn_values(struct world *w, uint64_t ns, struct error *error)
{
	for (uint64_t t = 0; t < ns; t += 1000 * MS / CHANGES) {
		unsigned i = prng_below(&w->prng, w->params.n);

		world_set(w, i, 0, prng_below(&w->prng, 6));
		world_run(w, 1000 * MS / CHANGES);
		measure_sum_error(w, error);
	}
}

static unsigned most_lost(const struct world *w)
{
	unsigned most = 0;

	for (unsigned i = 0; i < w->params.n; i++) {
		unsigned lost = gossip_sum(w->nodes[i].gossip, 0).lost;

		most = lost > most ? lost : most;
	}
	return most;
}

/* Returns seconds until every limiter counts every other, or 60. */
static double seconds_to_assemble(struct world *w)
{
	uint64_t began = w->now_ns;

	for (unsigned i = 0; i < w->params.n; i++)
		world_set(w, i, 0, prng_below(&w->prng, 6));
	while (most_lost(w) > 0 && w->now_ns - began < 60000 * MS)
		world_run(w, 10 * MS);
	return (double)(w->now_ns - began) / 1e9;
}

/* Returns seconds until all are within one percent, after one weight grew by a tenth of the sum. */
static double seconds_to_converge(struct world *w)
{
	uint64_t began = w->now_ns;
	struct error error = {0};

	world_set(w, prng_below(&w->prng, w->params.n), 0, 0.1 * total_of(w));
	while (w->now_ns - began < 60000 * MS) {
		world_run(w, 10 * MS);
		if (measure_sum_error(w, &error) < 0.01)
			break;
	}
	return (double)(w->now_ns - began) / 1e9;
}

static double cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void report_estimator(struct world *w, const char *name, double seconds, double memory)
{
	struct error error = {0};
	double assembled = seconds_to_assemble(w), cpu, committed;
	uint64_t sent, bytes;
	unsigned n = w->params.n;

	churn_values(w, 3000 * MS, &error);
	error = (struct error){0};
	sent = w->sent;
	bytes = w->sent_bytes;
	cpu = cpu_s();
	churn_values(w, (uint64_t)(seconds * 1e9), &error);
	cpu = cpu_s() - cpu;
	sent = w->sent - sent;
	bytes = w->sent_bytes - bytes;
	committed = seconds_to_converge(w);
	printf("%-12s N %5u  loss %2.0f %%  %6.2f kbit/s  %5.1f datagrams/s of %4.0f B  error mean "
	       "%.3f %% max %.2f %%  +10 %% known after %.2f s  all counted after %.2f s  %.1f kB  "
	       "%.2f CPU s a simulated second\n",
		name, n, 100 * w->params.loss, 8e-3 * (double)bytes / seconds / n,
		(double)sent / seconds / n, (double)bytes / (double)sent,
		100 * error.sum / (double)error.n, 100 * error.max, committed, assembled,
		memory / n / 1000, cpu / seconds);
}

int main(int argc, char **argv)
{
	struct world_params params = {.seed = 1,
		.n_policies = 1,
		.sealed = true,
		.enforces = true,
		.timeout_ns = 1000 * MS,
		.delay_ns = 20 * MS};
	struct world world;
	double before, memory;

	if (parse_estimator_args(&params, argc, argv) || sodium_init() < 0) {
		fprintf(stderr,
			"usage: %s state|tree|push-sum|compensated|flow-updating N [LOSS [SECONDS [SEED "
			"[BRANCHING]]]]\n",
			argv[0]);
		return 2;
	}
	before = (double)mallinfo2().uordblks;
	world_create(&world, &params);
	/* The neighbours in a tree are allocated when all limiters have found each other. */
	world_run(&world, 2000 * MS);
	memory = (double)mallinfo2().uordblks - before;
	report_estimator(&world, argv[1], argc > 4 ? strtod(argv[4], NULL) : 20, memory);
	world_destroy(&world);
	return 0;
}
