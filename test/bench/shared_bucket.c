/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of drawing from a shared bucket (lib/datapath/meter/shared_bucket.h), compared with a
 * token bucket of one's own.
 *
 *     bench_reserve [ROUNDS]
 *
 * All run in one thread, then again while another thread writes the shared bucket's line at the
 * highest rate. Workers never write that often, because draws have a minimum size. Rounds are
 * interleaved.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "meter/token_bucket.h"
#include "split_world.h"

#define ROUNDS     31
#define ROUNDS_MAX 10001
#define PACKETS    200000 /* a round */
#define COST       1000
#define FRAME      1500
#define GHZ        UINT64_C(1000000000)

enum { BUCKET, HELD, TAKEN, REFUSED, KINDS };

static const char *const names[KINDS] = {
	[BUCKET] = "a bucket of one's own",
	[HELD] = "a quantum in hand",
	[TAKEN] = "a take for each packet",
	[REFUSED] = "a refusal for each packet",
};

struct bench {
	struct token_bucket bucket;
	struct token_bucket_profile bucket_profile;
	struct shared_bucket shared;
	uint64_t now, held, passed;
	bool stop __attribute__((aligned(64))); /* for the other thread: atomics only */
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts); /* excludes the time of other processes */
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* At 10 bytes a tick, and 200 ticks a packet, the rate is twice the demand. */
static void setup_shared_bucket_bench(struct bench *bench)
{
	struct token_bucket_params params = {.rate_bps = 80 * GHZ, .burst_bytes = 1 << 24};
	struct shared_bucket_profile profile;

	if (token_bucket_profile_init(&bench->bucket_profile, &params, GHZ) ||
		shared_bucket_profile_init(&profile, &params, 2, FRAME, GHZ))
		exit(1);
	token_bucket_init(&bench->bucket, &bench->bucket_profile, 0);
	profile.quantum = profile.least = 0;
	shared_bucket_init(&bench->shared, &profile, 0);
}

static bool charge_one_packet(struct bench *bench, unsigned kind)
{
	switch (kind) {
	case BUCKET:
		return token_bucket_conforms(
			&bench->bucket, &bench->bucket_profile, bench->now, COST);
	case HELD:
		bench->held += COST;
		return shared_bucket_conforms(&bench->shared, &bench->held, bench->now, COST);
	case TAKEN:
		return shared_bucket_take(&bench->shared, bench->now, COST) > 0;
	default: /* more than can be drawn */
		return shared_bucket_take(&bench->shared, bench->now, UINT64_C(1) << 30) > 0;
	}
}

static double run_shared_bucket_kind(struct bench *bench, unsigned kind)
{
	double start = now_ns();

	for (unsigned i = 0; i < PACKETS; i++) {
		bench->passed += charge_one_packet(bench, kind);
		bench->now += 200;
	}
	return (now_ns() - start) / PACKETS;
}

static void stay_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus); /* errors ignored, if there is no second CPU */
}

static void *rival_thread(void *arg)
{
	struct bench *bench = arg;

	stay_on(0);

	while (!__atomic_load_n(&bench->stop, __ATOMIC_RELAXED))
		__atomic_fetch_add(&bench->shared.state.allow_at, 0, __ATOMIC_RELAXED);
	return NULL;
}

static int compare_shared_bucket(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report_shared_bucket(const char *name, double *ns, double *ratio, unsigned n)
{
	qsort(ns, n, sizeof(*ns), compare_shared_bucket);
	qsort(ratio, n, sizeof(*ratio), compare_shared_bucket);
	printf("  %-32s %7.2f ns   %6.2f  (%.2f to %.2f)\n", name, ns[n / 2], ratio[n / 2],
		ratio[n / 10], ratio[n - 1 - n / 10]);
}

static void measure_shared_bucket(struct bench *bench, unsigned rounds)
{
	static double ns[KINDS][ROUNDS_MAX], ratio[KINDS][ROUNDS_MAX];

	for (unsigned r = 0; r < rounds; r++)
		for (unsigned k = 0; k < KINDS; k++) {
			ns[k][r] = run_shared_bucket_kind(bench, k);
			ratio[k][r] = ns[k][r] / ns[BUCKET][r];
		}
	for (unsigned k = 0; k < KINDS; k++)
		report_shared_bucket(names[k], ns[k], ratio[k], rounds);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : ROUNDS;
	static struct bench bench;
	pthread_t thread;

	stay_on(1);
	setup_shared_bucket_bench(&bench);
	if (rounds == 0 || rounds > ROUNDS_MAX)
		return 1;
	printf("alone: median, its ratio to the bucket, p10 to p90\n");
	measure_shared_bucket(&bench, rounds);
	printf("with a rival:\n");
	if (pthread_create(&thread, NULL, rival_thread, &bench))
		return 1;
	measure_shared_bucket(&bench, rounds);
	__atomic_store_n(&bench.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("%.1f %% passed\n", 100.0 * (double)bench.passed / (8.0 * PACKETS * rounds));
	return 0;
}
