/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The gossip of a whole group in virtual time. Equal in every run.
 *
 *   gossip_group news ESTIMATOR N POLICIES CHANGES SECONDS [LOSS [DELAY_MS [BRANCHING]]]
 *       Each limiter changes its weight of CHANGES times POLICIES policies a second, by at most a
 *       fifth. Once a second one weight grows a thousandfold, and it is measured when each other
 *       limiter has this news.
 *   gossip_group death ESTIMATOR N POSITION [SEED [BRANCHING]]
 *       The limiter at this position of the tree dies, and returns after ten seconds. Printed are
 *       the limiters that a survivor missed at the worst moment, and the smallest and largest part
 *       of the true total of all weights in any survivor's sum.
 *   gossip_group losses ESTIMATOR N HOURS LOSS [SEED]
 *       Each limiter pauses for 150 ms in each second, and none dies. Counts false losses.
 *
 * ESTIMATOR is state or tree. Sealed datagrams, 20 ms one way, timeout 1 s, branching 3 for state
 * and 8 for a tree; kbit/s include IPv4 and UDP headers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "gossip_world.h"

#define SECOND (1000 * MS)

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A growing list of measurements. */
struct samples {
	double *at;
	size_t n, max;
};

static void samples_add(struct samples *s, double value)
{
	if (s->n == s->max) {
		s->max = s->max ? 2 * s->max : 1024;
		s->at = realloc(s->at, s->max * sizeof(*s->at));
		if (!s->at)
			abort();
	}
	s->at[s->n++] = value;
}

static double samples_quantile(struct samples *s, double part)
{
	if (s->n == 0)
		return NAN;
	qsort(s->at, s->n, sizeof(*s->at), compare_numbers);
	return s->at[(size_t)(part * (double)(s->n - 1))];
}

static double argument(int argc, char **argv, int i, double otherwise)
{
	return argc > i ? strtod(argv[i], NULL) : otherwise;
}

static bool parse_group(struct world_params *p, char **argv)
{
	bool tree = strcmp(argv[2], "tree") == 0;

	*p = (struct world_params){.seed = 1,
		.n_policies = 1,
		.branching = tree ? 8 : 3,
		.estimator = tree ? GOSSIP_TREE : GOSSIP_STATE,
		.sealed = true,
		.timeout_ns = SECOND,
		.delay_ns = 20 * MS,
		.n = (unsigned)strtoul(argv[3], NULL, 10)};
	p->tick_ns = gossip_clock(p->estimator, 50 * MS);
	return p->n > 0 && (tree || strcmp(argv[2], "state") == 0);
}

static double known_total(const struct world *w, unsigned i, unsigned policy)
{
	return gossip_sum(w->nodes[i].gossip, policy).weight +
	       w->weights[(size_t)i * w->params.n_policies + policy];
}

static double true_total(const struct world *w, unsigned policy)
{
	double total = 0;

	for (unsigned i = 0; i < w->params.n; i++)
		if (w->nodes[i].gossip)
			total += w->weights[(size_t)i * w->params.n_policies + policy];
	return total;
}

static unsigned most_missed(const struct world *w)
{
	unsigned most = 0;

	for (unsigned i = 0; i < w->params.n; i++)
		for (unsigned p = 0; w->nodes[i].gossip && p < w->params.n_policies; p++) {
			unsigned lost = gossip_sum(w->nodes[i].gossip, p).lost;

			most = lost > most ? lost : most;
		}
	return most;
}

/* Returns the seconds until every limiter counts every other for all policies, or 60. */
static double seconds_to_count(struct world *w)
{
	uint64_t began = w->now_ns;

	for (unsigned i = 0; i < w->params.n; i++)
		for (unsigned p = 0; p < w->params.n_policies; p++)
			world_set(w, i, p, 50 + prng_below(&w->prng, 100));
	while (w->now_ns - began < 60 * SECOND) {
		world_run(w, 50 * MS);
		if (most_missed(w) == 0)
			break;
	}
	return (double)(w->now_ns - began) / 1e9;
}

/* The news that is under way: one weight of policy 0 has grown. */
struct probe {
	unsigned left; /* limiters without it */
	bool *known;
	uint64_t since_ns;
	uint64_t n, missed;
	struct samples ages; /* ms */
};

static void probe_begin(struct probe *probe, struct world *w)
{
	unsigned i = prng_below(&w->prng, w->params.n);
	double weight = w->weights[(size_t)i * w->params.n_policies];

	probe->missed += probe->left;
	probe->n += w->params.n - 1;
	world_set(w, i, 0, weight > 500.0 * w->params.n ? 50 : weight + 1000.0 * w->params.n);
	memset(probe->known, 0, w->params.n * sizeof(*probe->known));
	probe->known[i] = true;
	probe->left = w->params.n - 1;
	probe->since_ns = w->now_ns;
}

static void probe_look(struct probe *probe, const struct world *w)
{
	double total = probe->left ? true_total(w, 0) : 0;

	for (unsigned i = 0; probe->left && i < w->params.n; i++) {
		if (probe->known[i] || fabs(known_total(w, i, 0) - total) >= 0.05 * total)
			continue;
		probe->known[i] = true;
		probe->left--;
		samples_add(&probe->ages, (double)(w->now_ns - probe->since_ns) / 1e6);
	}
}

/* Changes as many weights, each by at most a fifth, as fall into 10 ms. */
static void change_some(struct world *w, double *due, double changes)
{
	unsigned n = w->params.n, m = w->params.n_policies;

	for (*due += changes * m * n / 100; *due >= 1; *due -= 1) {
		unsigned i = prng_below(&w->prng, n),
			 p = m > 1 ? 1 + prng_below(&w->prng, m - 1) : 0;
		double weight = w->weights[(size_t)i * m + p];

		/* With one policy, that of the probe keeps its size. */
		world_set(w, i, p, fmax(1, weight * (0.8 + 0.4 * prng_unit(&w->prng))));
	}
}

static void sum_errors(const struct world *w, struct samples *errors)
{
	unsigned m = w->params.n_policies;

	for (unsigned p = m > 1; p < m; p += 1 + m / 2000) {
		double total = true_total(w, p);

		for (unsigned i = 0; i < w->params.n; i++)
			samples_add(errors, 100 * fabs(known_total(w, i, p) - total) / total);
	}
}

static double sum_mean(const struct samples *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->at[i];
	return sum / (double)s->n;
}

static void run_news(struct world *w, double changes, double seconds)
{
	struct probe probe = {.known = calloc(w->params.n, sizeof(bool))};
	struct samples errors = {0};
	double counted = seconds_to_count(w), due = 0, cpu;
	uint64_t sent, bytes, busiest = 0;
	unsigned n = w->params.n;

	if (!probe.known)
		abort();
	world_run(w, 3 * SECOND);
	sent = w->sent;
	bytes = w->sent_bytes;
	cpu = (double)clock() / CLOCKS_PER_SEC;
	for (uint64_t step = 0; step < seconds * 100; step++) {
		change_some(w, &due, changes);
		if (step % 100 == 37)
			probe_begin(&probe, w);
		world_run(w, 5 * MS);
		probe_look(&probe, w);
		world_run(w, 5 * MS);
		probe_look(&probe, w);
		if (step % 100 == 99)
			sum_errors(w, &errors);
	}
	cpu = (double)clock() / CLOCKS_PER_SEC - cpu;
	for (unsigned i = 0; i < n; i++) {
		uint64_t own = gossip_counters(w->nodes[i].gossip)->sent_bytes;

		busiest = own > busiest ? own : busiest;
	}
	printf("%s N %u policies %u changes %g branching %u: %.1f kbit/s %.1f datagrams/s of %.0f "
	       "B, busiest %.0f kbit/s; all counted after %.2f s; news ms median %.0f p95 %.0f max "
	       "%.0f, unknown after 1 s %.2f %%; error mean %.2f %% p99 %.2f %%; %.3f ms CPU/s\n",
		w->params.estimator == GOSSIP_TREE ? "tree" : "state", n, w->params.n_policies,
		changes, w->params.branching, 8e-3 * (double)(w->sent_bytes - bytes) / seconds / n,
		(double)(w->sent - sent) / seconds / n,
		(double)(w->sent_bytes - bytes) / (double)(w->sent - sent),
		8e-3 * (double)busiest / (seconds + counted + 3), counted,
		samples_quantile(&probe.ages, 0.5), samples_quantile(&probe.ages, 0.95),
		samples_quantile(&probe.ages, 1), 100 * (double)probe.missed / (double)probe.n,
		sum_mean(&errors), samples_quantile(&errors, 0.99), 1e3 * cpu / seconds / n);
	free(probe.known);
	free(probe.ages.at);
	free(errors.at);
}

/* The worst sums of the survivors. */
struct extremes {
	unsigned missed;
	double least, most;        /* parts of the true total */
	double noticed_s, known_s; /* until the first, and until all miss exactly `dead` */
};

static void watch_death(
	struct world *w, double seconds, unsigned which, unsigned dead, struct extremes *x)
{
	uint64_t began = w->now_ns;

	*x = (struct extremes){.least = 1, .most = 1, .noticed_s = -1, .known_s = -1};
	while (w->now_ns - began < seconds * 1e9) {
		double total = true_total(w, 0), past;
		bool all = true;

		world_run(w, 5 * MS);
		past = (double)(w->now_ns - began) / 1e9;
		for (unsigned i = 0; i < w->params.n; i++) {
			double part;
			unsigned lost;

			if (i == which)
				continue;
			part = known_total(w, i, 0) / total;
			lost = gossip_sum(w->nodes[i].gossip, 0).lost;
			all &= lost == dead;
			x->missed = lost > x->missed ? lost : x->missed;
			x->least = fmin(x->least, part);
			x->most = fmax(x->most, part);
			if (lost >= dead && dead && x->noticed_s < 0)
				x->noticed_s = past;
		}
		if (!all)
			x->known_s = -1;
		else if (x->known_s < 0)
			x->known_s = past;
	}
}

static void run_death(struct world *w, unsigned position)
{
	unsigned dead = world_at(w, position);
	struct extremes gone, back;

	for (unsigned i = 0; i < w->params.n; i++)
		world_set(w, i, 0, 10);
	world_run(w, 10 * SECOND);
	world_crash(w, dead);
	watch_death(w, 30, dead, 1, &gone);
	world_start(w, dead);
	world_set(w, dead, 0, 10);
	watch_death(w, 10, dead, 0, &back);
	printf("%s N %u branching %u position %u seed %llu: dies: first noticed %.2f s, known by "
	       "all %.2f s, most missed %u, known total %.3f to %.3f; returns: known by all %.2f s, "
	       "most missed %u, known total %.3f to %.3f\n",
		w->params.estimator == GOSSIP_TREE ? "tree" : "state", w->params.n,
		w->params.branching, position, (unsigned long long)w->params.seed, gone.noticed_s,
		gone.known_s, gone.missed, gone.least, gone.most, back.known_s, back.missed,
		back.least, back.most);
}

/* Each limiter pauses for 150 ms in each second, at its own time: it handles nothing meanwhile. */
static bool run_losses(struct world *w, double hours)
{
	unsigned n = w->params.n;
	uint64_t losses = 0, seconds = (uint64_t)(hours * 3600);
	bool *missed = calloc(n, sizeof(*missed));

	if (!missed)
		abort();
	for (unsigned i = 0; i < n; i++)
		world_set(w, i, 0, 10);
	world_run(w, 5 * SECOND);
	for (uint64_t s = 0; s < seconds; s++) {
		for (unsigned k = 0; k < 100; k++) {
			for (unsigned i = 0; i < n; i++)
				if (k == 100 * i / n)
					world_pause(w, i, 150 * MS);
			world_run(w, 10 * MS);
			for (unsigned i = 0; i < n; i++) {
				bool lost = gossip_sum(w->nodes[i].gossip, 0).lost > 0;

				losses += lost && !missed[i];
				missed[i] = lost;
			}
		}
	}
	printf("%s N %u loss %g, %g hours with pauses: %llu false losses, %.3f a limiter in 24 "
	       "hours\n",
		w->params.estimator == GOSSIP_TREE ? "tree" : "state", n, w->params.loss, hours,
		(unsigned long long)losses, (double)losses / n * 24 / hours);
	free(missed);
	return true;
}

int main(int argc, char **argv)
{
	struct world_params p;
	struct world world;
	bool known = true;

	if (argc < 5 || sodium_init() < 0 || !parse_group(&p, argv)) {
		fprintf(stderr, "usage: %s news|death|losses state|tree N ...\n", argv[0]);
		return 2;
	}
	if (strcmp(argv[1], "news") == 0) {
		p.n_policies = (unsigned)argument(argc, argv, 4, 1);
		p.loss = argument(argc, argv, 7, 0);
		p.delay_ns = (uint64_t)(argument(argc, argv, 8, 20) * 1e6);
		p.branching = (unsigned)argument(argc, argv, 9, p.branching);
		world_create(&world, &p);
		run_news(&world, argument(argc, argv, 5, 0), argument(argc, argv, 6, 20));
	} else if (strcmp(argv[1], "death") == 0) {
		p.seed = (uint64_t)argument(argc, argv, 5, 1);
		p.branching = (unsigned)argument(argc, argv, 6, p.branching);
		world_create(&world, &p);
		run_death(&world, (unsigned)argument(argc, argv, 4, 1));
	} else {
		p.loss = argument(argc, argv, 5, 0.05);
		p.seed = (uint64_t)argument(argc, argv, 6, 1);
		world_create(&world, &p);
		known = run_losses(&world, argument(argc, argv, 4, 1));
	}
	world_destroy(&world);
	return known ? 0 : 1;
}
