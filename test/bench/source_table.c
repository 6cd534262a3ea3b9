/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of a meter per source for each packet. It is compared with the least that memory access
 * allows: find, read, change and write one cache line of equally large memory.
 *
 *     bench_source_table [--quick] [--json FILE] [--only CASE] [--sources N] [--rounds N]
 *
 * Addresses are random, not dense. The bare line is found by the same hash of the same addresses,
 * and prefetched at the same distance. Like in a worker, all of a burst is hashed and prefetched
 * before the rest. Other contestants: a bare line that is found without a hash; both with the next
 * burst prefetched before this one is processed ("ahead"); and the table queried packet by packet.
 *
 * Contestants take turns, because the machine's speed drifts more slowly than a round. A ratio is
 * of two adjacent rounds. Time is the thread's CPU time. So other processes count for cache lines
 * that they displace, and not for their own time. Packets of 1000 bytes arrive at 10 Mpps.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/prng.h"
#include "source/source_burst.h"

#define SOURCES    5000000
#define ROUNDS     301
#define QUICK      61
#define ROUNDS_MAX 10001
#define PACKETS    (1u << 16) /* a round */
#define SEQUENCE   160        /* rounds until addresses repeat: 10 million packets */
#define BURST      32
#define COST       1000 /* bytes */
#define TICK_NS    100  /* between packets */
#define HUGEPAGE   (UINT64_C(2) << 20)

enum traffic {
	RANDOM, /* sources of the table, all equally likely */
	SCAN,   /* each packet has a new source */
	FULL,   /* like SCAN, but the table is full and stays so */
};

static const struct scenario {
	const char *key, *about;
	enum traffic traffic;
	unsigned family;
	bool small_pages;
	uint64_t rate_bps; /* limit of a source; at 10 Mpps it determines how many are busy */
} scenarios[] = {
	{"per_source", "IPv4, few are busy at a time", RANDOM, 4, false, 1000000},
	{"per_source_ipv6", "IPv6, few are busy at a time", RANDOM, 6, false, 1000000},
	{"per_source_busy", "IPv4, all are busy", RANDOM, 4, false, 1000},
	{"per_source_scan", "IPv4, a scan; room for newcomers", SCAN, 4, false, 1000000},
	{"per_source_full", "IPv4, a scan; all places are taken", FULL, 4, false, 0},
	{"per_source_small_pages", "IPv4, few are busy; pages of 4 KB", RANDOM, 4, true, 1000000},
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

enum contestant { BARE, BARE_NO_HASH, BARE_AHEAD, TABLE, TABLE_AHEAD, TABLE_SINGLY, CONTESTANTS };

static const char *const names[CONTESTANTS] = {"bare line", "bare line, no hash",
	"bare line, ahead", "source table", "source table, ahead", "source table, singly"};

/* The reported ratios. */
static const struct comparison {
	const char *key;
	enum contestant a, b;
} comparisons[] = {
	{"vs_line", TABLE, BARE},
	{"vs_line_no_hash", TABLE, BARE_NO_HASH},
	{"ahead_vs_line_ahead", TABLE_AHEAD, BARE_AHEAD},
	{"singly_vs_line", TABLE_SINGLY, BARE},
};

#define COMPARISONS (sizeof(comparisons) / sizeof(comparisons[0]))

struct bench {
	const struct scenario *scenario;
	unsigned sources;
	unsigned size;      /* bytes of an address */
	uint8_t *addresses; /* address of each packet, until they repeat */
	struct source_table *table;
	size_t bytes;
	union meter_profile profile;
	uint64_t now, known; /* sources added before the first round */
	uint64_t (*bare)[SOURCE_LINE / sizeof(uint64_t)];
	uint64_t passed;
};

/* State of a burst between its two steps. */
struct pending {
	struct source_burst burst;
	uint64_t hash[BURST];
};

struct spread {
	double median, p10, p90;
};

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static size_t whole_hugepages(size_t bytes)
{
	return (bytes + HUGEPAGE - 1) & ~(HUGEPAGE - 1);
}

/* Allocates memory like the appliance: on reserved huge pages, or those of madvise(). */
static void *alloc_table_pages(size_t bytes, bool small_pages)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *memory = MAP_FAILED;

	if (!small_pages)
		memory = mmap(NULL, whole_hugepages(bytes), prot,
			flags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED) {
		memory = mmap(NULL, whole_hugepages(bytes), prot, flags, -1, 0);
		if (memory == MAP_FAILED) {
			fprintf(stderr, "no %zu bytes\n", bytes);
			exit(1);
		}
		madvise(memory, whole_hugepages(bytes),
			small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	}
	memset(memory, 0, whole_hugepages(bytes));
	return memory;
}

static void release_table_pages(void *memory, size_t bytes)
{
	munmap(memory, whole_hugepages(bytes));
}

static inline __attribute__((always_inline)) uint64_t *bare_line(
	const struct bench *bench, uint64_t hash)
{
	return bench->bare[source_home(bench->table, hash) - bench->table->lines];
}

static inline __attribute__((always_inline)) void begin_source_lookup(const struct bench *bench,
	enum contestant who, unsigned family, const uint8_t *address, struct pending *pending)
{
	unsigned size = family == 4 ? 4 : 16;

	pending->burst.n = 0;
	for (unsigned i = 0; i < BURST; i++, address += size) {
		uint64_t hash;

		if (who == BARE_NO_HASH) {
			memcpy(&hash, address + size - 4, 4);
			hash <<= 32;
		} else {
			hash = source_hash(bench->table, address, family, 8 * size);
		}
		pending->hash[i] = hash;
		if (who == TABLE || who == TABLE_AHEAD)
			source_burst_add(&pending->burst, bench->table, hash, COST);
		else if (who == TABLE_SINGLY)
			source_table_prefetch(bench->table, hash);
		else
			__builtin_prefetch(bare_line(bench, hash), 1);
	}
}

static inline __attribute__((always_inline)) void end_source_burst(
	struct bench *bench, enum contestant who, const struct pending *pending)
{
	bench->now += BURST * TICK_NS;
	if (who == TABLE || who == TABLE_AHEAD) {
		bench->passed += (unsigned)__builtin_popcountll(source_table_conforms_burst(
			bench->table, &bench->profile, &pending->burst, bench->now));
		return;
	}
	for (unsigned i = 0; i < BURST; i++) {
		if (who == TABLE_SINGLY)
			bench->passed += source_table_conforms(
				bench->table, &bench->profile, pending->hash[i], bench->now, COST);
		else
			*bare_line(bench, pending->hash[i]) += COST;
	}
}

static inline __attribute__((always_inline)) void run_round(
	struct bench *bench, enum contestant who, unsigned family, const uint8_t *address)
{
	size_t step = BURST * (family == 4 ? 4 : 16);
	bool ahead = who == BARE_AHEAD || who == TABLE_AHEAD;
	struct pending pending[2];

	if (ahead)
		begin_source_lookup(bench, who, family, address, &pending[0]);
	for (unsigned i = 0; i < PACKETS / BURST; i++) {
		unsigned next = ahead ? i + 1 : i;

		begin_source_lookup(bench, who, family, address + next * step, &pending[next % 2]);
		end_source_burst(bench, who, &pending[i % 2]);
	}
}

/* Each contestant is a separate function, as in a program that has only this one. */
#define CONTESTANT(who)                                      \
	static __attribute__((noinline)) void run_##who(     \
		struct bench *bench, const uint8_t *address) \
	{                                                    \
		if (bench->scenario->family == 4)            \
			run_round(bench, who, 4, address);   \
		else                                         \
			run_round(bench, who, 6, address);   \
	}

CONTESTANT(BARE)
CONTESTANT(BARE_NO_HASH)
CONTESTANT(BARE_AHEAD)
CONTESTANT(TABLE)
CONTESTANT(TABLE_AHEAD)
CONTESTANT(TABLE_SINGLY)

static void run_contestant(struct bench *bench, enum contestant who, const uint8_t *address)
{
	static void (*const runs[CONTESTANTS])(struct bench *, const uint8_t *) = {run_BARE,
		run_BARE_NO_HASH, run_BARE_AHEAD, run_TABLE, run_TABLE_AHEAD, run_TABLE_SINGLY};

	runs[who](bench, address);
}

static int compare_source_table(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread spread_of(const double *values, unsigned n)
{
	static double sorted[ROUNDS_MAX];

	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), compare_source_table);
	return (struct spread){sorted[n / 2], sorted[n / 10], sorted[n - 1 - n / 10]};
}

static void fill_random_bytes(uint8_t *bytes, size_t n, struct prng *prng)
{
	for (size_t i = 0; i < n; i += 4) {
		uint32_t word = (uint32_t)prng_next(prng);

		memcpy(bytes + i, &word, sizeof(word));
	}
}

/* Sends one packet of each source, at line rate. */
static void introduce_sources(struct bench *bench, const uint8_t *source, unsigned sources)
{
	for (unsigned i = 0; i < sources; i++) {
		uint64_t hash = source_hash(bench->table, source + (size_t)i * bench->size,
			bench->scenario->family, 8 * bench->size);

		bench->now += TICK_NS;
		source_table_conforms(bench->table, &bench->profile, hash, bench->now, COST);
	}
}

static void make_traffic(struct bench *bench)
{
	size_t packets = (size_t)PACKETS * SEQUENCE + BURST, bytes;
	unsigned known = bench->scenario->traffic == FULL ? 2 * bench->sources : bench->sources;
	struct prng prng;
	uint8_t *source;

	prng_seed(&prng, 1);
	bench->addresses = alloc_table_pages(packets * bench->size, false);
	fill_random_bytes(bench->addresses, packets * bench->size, &prng);
	bytes = (size_t)known * bench->size;
	source = alloc_table_pages(bytes, false);
	fill_random_bytes(source, bytes, &prng);
	if (bench->scenario->traffic != SCAN)
		introduce_sources(bench, source, known);
	if (bench->scenario->traffic == RANDOM)
		for (size_t i = 0; i < packets; i++)
			memcpy(bench->addresses + i * bench->size,
				source + (size_t)prng_below(&prng, known) * bench->size,
				bench->size);
	release_table_pages(source, bytes);
}

static void run_rounds(struct bench *bench, unsigned rounds, double (*ns)[ROUNDS_MAX])
{
	for (unsigned i = 0; i < rounds * CONTESTANTS; i++) {
		unsigned round = i / CONTESTANTS, k = i % CONTESTANTS;
		/* Alternates the order, so that no contestant always follows the same one. */
		enum contestant who = (enum contestant)(round % 2 ? CONTESTANTS - 1 - k : k);
		const uint8_t *address = bench->addresses +
					 (size_t)(i % SEQUENCE) * PACKETS * bench->size;
		double start = now_ns();

		run_contestant(bench, who, address);
		ns[who][round] = (now_ns() - start) / PACKETS;
	}
}

static void report_ratio(const struct bench *bench, const struct comparison *comparison,
	unsigned rounds, double (*ns)[ROUNDS_MAX], FILE *json)
{
	static double ratio[ROUNDS_MAX];
	static unsigned reported;
	struct spread spread;

	for (unsigned i = 0; i < rounds; i++)
		ratio[i] = ns[comparison->a][i] / ns[comparison->b][i];
	spread = spread_of(ratio, rounds);
	printf("  %-34s %6.2f   %6.2f to %6.2f\n", comparison->key, spread.median, spread.p10,
		spread.p90);
	if (json)
		fprintf(json, "%s\n\t\t\"%s_%s\": {\"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f}",
			reported++ ? "," : "", bench->scenario->key, comparison->key, spread.median,
			spread.p10, spread.p90);
}

static void report_source_table(
	struct bench *bench, unsigned rounds, double (*ns)[ROUNDS_MAX], FILE *json)
{
	double packets = (double)PACKETS * rounds * 3; /* packets of the table's contestants */
	struct source_table_stats stats;

	source_table_age(bench->table, &bench->profile, bench->now, bench->table->n_lines);
	source_table_read_stats(bench->table, &stats);
	printf("%s: %s\n", bench->scenario->key, bench->scenario->about);
	printf("  %.1f %% of places busy; packets: %.1f %% new, %.1f %% without a place, %.1f %% "
	       "passed\n",
		100.0 * (double)stats.sources / (bench->table->n_lines * bench->table->ways),
		100.0 * (double)(stats.new_sources - bench->known) / packets,
		100.0 * (double)stats.overflows / packets, 100.0 * (double)bench->passed / packets);
	printf("  %-34s median      p10 to    p90\n", "");
	for (unsigned k = 0; k < CONTESTANTS; k++) {
		struct spread spread = spread_of(ns[k], rounds);

		printf("  %-20s, ns a packet %6.2f   %6.2f to %6.2f\n", names[k], spread.median,
			spread.p10, spread.p90);
	}
	for (size_t i = 0; i < COMPARISONS; i++)
		report_ratio(bench, &comparisons[i], rounds, ns, json);
	fflush(stdout);
}

static void run_source_scenario(
	const struct scenario *scenario, unsigned sources, unsigned rounds, FILE *json)
{
	static double ns[CONTESTANTS][ROUNDS_MAX];
	struct meter_params params = {
		.kind = METER_GCRA, .rate_bps = scenario->rate_bps, .burst = 20 * COST};
	struct bench bench = {.scenario = scenario,
		.sources = sources,
		.size = scenario->family == 4 ? 4 : 16,
		.now = 1,
		.bytes = source_table_bytes(METER_GCRA, sources)};
	struct source_table_stats stats;
	void *memory = alloc_table_pages(bench.bytes, scenario->small_pages);

	bench.bare = alloc_table_pages(bench.bytes, scenario->small_pages);
	bench.table = source_table_init(memory, METER_GCRA, sources, 1);
	if (meter_profile_init(&bench.profile, &params, 1000000000))
		exit(1);
	make_traffic(&bench);
	source_table_read_stats(bench.table, &stats);
	bench.known = stats.new_sources;
	bench.table->stats.overflows = 0;
	run_rounds(&bench, rounds, ns);
	report_source_table(&bench, rounds, ns, json);
	release_table_pages(memory, bench.bytes);
	release_table_pages(bench.bare, bench.bytes);
	release_table_pages(bench.addresses, ((size_t)PACKETS * SEQUENCE + BURST) * bench.size);
}

static void run_all(const char *only, unsigned sources, unsigned rounds, FILE *json)
{
	double bytes = (double)source_table_bytes(METER_GCRA, sources) / sources;

	if (json)
		fprintf(json, "{\n\t\"ratios\": {");
	for (size_t i = 0; i < SCENARIOS; i++)
		if (only == NULL || strcmp(only, scenarios[i].key) == 0)
			run_source_scenario(&scenarios[i], sources, rounds, json);
	printf("%.3f bytes a source\n", bytes);
	if (json)
		fprintf(json,
			"\n\t},\n\t\"bytes_per_source\": %.4f,\n\t\"sources\": %u,\n"
			"\t\"rounds\": %u\n}\n",
			bytes, sources, rounds);
}

static int source_table_usage(void)
{
	fprintf(stderr, "bench_source_table [--quick] [--json FILE] [--only CASE] [--sources N] "
			"[--rounds N]\n");
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"quick", no_argument, NULL, 'q'},
		{"json", required_argument, NULL, 'j'}, {"only", required_argument, NULL, 'o'},
		{"sources", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'},
		{0}};
	unsigned long sources = SOURCES, rounds = ROUNDS;
	const char *only = NULL, *path = NULL;
	FILE *json = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'q':
			rounds = QUICK;
			break;
		case 'j':
			path = optarg;
			break;
		case 'o':
			only = optarg;
			break;
		case 's':
			sources = strtoul(optarg, NULL, 10);
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 10);
			break;
		default:
			return source_table_usage();
		}
	}
	if (optind < argc || sources == 0 || sources > UINT32_MAX / 2 || rounds == 0 ||
		rounds > ROUNDS_MAX)
		return source_table_usage();
	if (path != NULL && (json = fopen(path, "w")) == NULL) {
		perror(path);
		return 1;
	}
	run_all(only, (unsigned)sources, (unsigned)rounds, json);
	return json != NULL && fclose(json) ? 1 : 0;
}
