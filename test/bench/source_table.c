/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a meter per source costs a packet, beside the least that memory asks for it: to read, change
 * and write one random cache line of as much memory.
 *
 *     bench_source_table [SOURCES [ROUNDS [MBIT]]]
 *
 * Random IPv4 sources, all equally likely, each limited to MBIT Mbit/s (default 1). Packets of 1000
 * bytes come at 10 Mpps: so of 5 million sources 80,000 are busy at a time, and with 0.001 Mbit/s
 * all are. Rounds of each contestant are interleaved, since a machine's mood lasts longer than a
 * round. The line of a packet is prefetched some packets ahead, as in a worker's burst; the bare
 * access is measured as a plain loop too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/prng.h"
#include "source/source_table.h"

#define SOURCES  5000000
#define ROUNDS   31
#define PACKETS  (1u << 21) /* a round */
#define BURST    32
#define AHEAD    32
#define COST     1000 /* bytes */
#define TICK_NS  100  /* of a packet */
#define HUGEPAGE (UINT64_C(2) << 20)

struct bench {
	uint32_t *sequence;    /* source addresses, one a packet */
	unsigned n_rounds, at; /* rounds until it repeats; the last one used */
	struct source_table *table;
	union meter_profile profile;
	uint64_t now;
	uint64_t (*bare)[SOURCE_LINE / sizeof(uint64_t)];
	uint64_t bare_lines;
	uint64_t passed, known; /* packets; sources before the first round */
};

enum { BARE_LOOP, BARE_PREFETCHED, TABLE, KINDS };

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Where the appliance's memory is, on huge pages, if the kernel has any. */
static void *alloc(size_t bytes)
{
	size_t whole = (bytes + HUGEPAGE - 1) & ~(HUGEPAGE - 1);
	void *memory = aligned_alloc(HUGEPAGE, whole);

	if (memory == NULL) {
		fprintf(stderr, "no %zu bytes\n", whole);
		exit(1);
	}
	madvise(memory, whole, MADV_HUGEPAGE);
	memset(memory, 0, whole);
	return memory;
}

static const uint32_t *round_of(struct bench *bench)
{
	bench->at = (bench->at + 1) % bench->n_rounds;
	return bench->sequence + (size_t)bench->at * PACKETS;
}

static inline uint64_t bare_line(const struct bench *bench, uint32_t address)
{
	uint64_t word = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	return word * bench->bare_lines >> 32;
}

static void bare_loop(struct bench *bench)
{
	const uint32_t *source = round_of(bench);

	for (unsigned i = 0; i < PACKETS; i++)
		bench->bare[bare_line(bench, source[i])][0] += COST;
}

static void bare_prefetched(struct bench *bench)
{
	const uint32_t *source = round_of(bench);
	uint64_t line[AHEAD] = {0};

	for (unsigned i = 0; i < PACKETS + AHEAD; i++) {
		if (i >= AHEAD)
			bench->bare[line[i % AHEAD]][0] += COST;
		if (i < PACKETS) {
			line[i % AHEAD] = bare_line(bench, source[i]);
			__builtin_prefetch(bench->bare[line[i % AHEAD]], 1);
		}
	}
}

static void table_prefetched(struct bench *bench)
{
	const uint32_t *source = round_of(bench);
	uint64_t hash[AHEAD] = {0}, now = bench->now, passed = 0;

	for (unsigned i = 0; i < PACKETS + AHEAD; i++) {
		if (i >= AHEAD)
			passed += source_table_conforms(
				bench->table, &bench->profile, hash[i % AHEAD], now, COST);
		if (i < PACKETS) {
			hash[i % AHEAD] = source_hash(
				bench->table, (const uint8_t *)&source[i], 4, 32);
			source_table_prefetch(bench->table, hash[i % AHEAD]);
		}
		now += i % BURST == 0 ? BURST * TICK_NS : 0;
	}
	bench->now = now;
	bench->passed += passed;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *name, double *ns, unsigned n)
{
	qsort(ns, n, sizeof(*ns), compare);
	printf("%-44s %6.2f   %6.2f to %6.2f\n", name, ns[n / 2], ns[n / 10], ns[n - 1 - n / 10]);
}

static void run(struct bench *bench, unsigned rounds)
{
	static void (*const runs[KINDS])(struct bench *) = {
		bare_loop, bare_prefetched, table_prefetched};
	double *ns[KINDS + 2];

	for (unsigned k = 0; k < KINDS + 2; k++)
		ns[k] = alloc(rounds * sizeof(double));
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned k = 0; k < KINDS; k++) {
			double start = now_ns();

			runs[k](bench);
			ns[k][round] = (now_ns() - start) / PACKETS;
		}
		ns[KINDS][round] = ns[TABLE][round] / ns[BARE_LOOP][round];
		ns[KINDS + 1][round] = ns[TABLE][round] / ns[BARE_PREFETCHED][round];
	}
	printf("%-44s median      p10 to    p90\n", "");
	report("bare read-modify-write, loop, ns", ns[BARE_LOOP], rounds);
	report("bare read-modify-write, prefetched, ns", ns[BARE_PREFETCHED], rounds);
	report("source table, prefetched, ns", ns[TABLE], rounds);
	report("source table / bare, loop", ns[KINDS], rounds);
	report("source table / bare, prefetched", ns[KINDS + 1], rounds);
}

static void make_traffic(struct bench *bench, unsigned sources)
{
	uint32_t *source = alloc(sources * sizeof(*source));
	struct prng prng;
	struct source_table_stats stats;
	size_t packets;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < sources; i++)
		source[i] = (uint32_t)prng_next(&prng);
	/* Long enough that none of it is in a cache from the last time. */
	bench->n_rounds = 1 + 4 * (sources / PACKETS);
	packets = (size_t)bench->n_rounds * PACKETS;
	bench->sequence = alloc(packets * sizeof(*bench->sequence));
	for (size_t i = 0; i < packets; i++)
		bench->sequence[i] = source[prng_below(&prng, sources)];
	/* Everybody has been here before. */
	for (unsigned i = 0; i < sources; i++) {
		uint64_t hash = source_hash(bench->table, (const uint8_t *)&source[i], 4, 32);

		bench->now += TICK_NS;
		source_table_conforms(bench->table, &bench->profile, hash, bench->now, COST);
	}
	source_table_read_stats(bench->table, &stats);
	bench->known = stats.new_sources;
	free(source);
}

static void print_state(struct bench *bench, unsigned sources, unsigned rounds)
{
	double packets = (double)PACKETS * rounds;
	struct source_table_stats stats;

	source_table_age(bench->table, &bench->profile, bench->now, bench->table->n_lines);
	source_table_read_stats(bench->table, &stats);
	printf("%.3f bytes a source; %.1f %% of sources busy\n",
		(double)source_table_bytes(METER_GCRA, sources) / sources,
		100.0 * (double)stats.sources / sources);
	printf("%.1f %% of packets were of sources new or forgotten, %.2f %% overflowed, %.1f %% "
	       "passed\n",
		100.0 * (double)(stats.new_sources - bench->known) / packets,
		100.0 * (double)stats.overflows / packets, 100.0 * (double)bench->passed / packets);
}

int main(int argc, char **argv)
{
	unsigned sources = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : SOURCES;
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : ROUNDS;
	double mbit = argc > 3 ? strtod(argv[3], NULL) : 1;
	struct meter_params params = {
		.kind = METER_GCRA, .rate_bps = (uint64_t)(mbit * 1e6), .burst = 20 * COST};
	size_t bytes = source_table_bytes(METER_GCRA, sources);
	struct bench bench = {.now = 1, .bare_lines = bytes / SOURCE_LINE};

	if (bytes == 0 || rounds == 0 || meter_profile_init(&bench.profile, &params, 1000000000)) {
		fprintf(stderr, "bench_source_table [SOURCES [ROUNDS [MBIT]]]\n");
		return 1;
	}
	bench.table = source_table_init(alloc(bytes), METER_GCRA, sources, 1);
	bench.bare = alloc(bytes);
	make_traffic(&bench, sources);
	run(&bench, rounds);
	print_state(&bench, sources, rounds);
	return 0;
}
