/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of shaping (lib/datapath/shape), and the accuracy of departure times.
 *
 *     bench_shape [--rounds N] [--seconds S] [--mpps RATE] [--fifo PRIORITY]
 *         [--json FILE] [sched] [late] [many]
 */
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include "shape.h"

#define HUGEPAGE (UINT64_C(2) << 20)
#define HEAP     (UINT64_C(1) << 30)
#define FOR_EVER (UINT64_C(1) << 50)

int shape_offset, shape_socket;

void die(const char *what)
{
	fprintf(stderr, "bench_shape: %s\n", what);
	exit(1);
}

/* Returns memory on large pages that was never written. */
static void *reserve_large_pages(size_t bytes)
{
	void *memory = aligned_alloc(HUGEPAGE, bytes);

	if (!memory)
		die("no memory");
	madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

void *alloc(size_t bytes)
{
	size_t whole = (bytes + HUGEPAGE - 1) & ~(HUGEPAGE - 1);

	return memset(reserve_large_pages(whole), 0, whole);
}

struct rte_mbuf **mbufs_make(const char *pool, unsigned n)
{
	struct rte_mempool *mempool = rte_pktmbuf_pool_create(pool, n, 0, 0, 256, shape_socket);
	struct rte_mbuf **mbufs = alloc(n * sizeof(struct rte_mbuf *));

	if (!mempool || rte_pktmbuf_alloc_bulk(mempool, mbufs, n))
		die("no mbufs");
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_append(mbufs[i], LENGTH);
	return mbufs;
}

struct shaper *shaper_make(uint64_t hz, uint32_t most, uint64_t now)
{
	struct shaper *shaper = alloc(shaper_bytes(most));

	shaper_init(shaper, hz, most, now);
	return shaper;
}

const char *const kind_names[KINDS] = {[TIMED] = "timed", [LISTED] = "listed"};

struct token_bucket_profile limit_make(uint64_t bps, uint64_t burst, uint64_t hz)
{
	struct token_bucket_params bucket = {.rate_bps = bps, .burst_bytes = burst};
	struct token_bucket_profile profile;

	if (token_bucket_profile_init(&profile, &bucket, hz))
		die("no such limit");
	return profile;
}

void queue_make(struct shape_queue *queue, enum kind kind, uint64_t bps, uint64_t burst,
	uint64_t hz, uint64_t now)
{
	struct token_bucket_profile profile = limit_make(bps, burst, hz);
	struct shape_params params = {
		.delay = kind == TIMED ? hz / SHAPE_TIMED_PARTS : FOR_EVER,
		.timed = kind == TIMED,
	};

	shape_queue_init(queue, &params, &profile, NULL, now);
	shape_queue_spend(queue);
}

enum shape_verdict mbuf_arrive(struct shaper *shaper, struct shape_queue *queue, struct rte_mbuf *m,
	uint64_t arrival, uint64_t now)
{
	return shape_arrive(shaper, queue, packet_of(m), m->pkt_len, arrival, now);
}

void undisturbed(const struct bench *bench)
{
	const struct sched_param param = {.sched_priority = bench->fifo};

	if (bench->fifo && sched_setscheduler(0, SCHED_FIFO, &param))
		die("not allowed to have a priority");
}

void disturbed(void)
{
	const struct sched_param param = {0};

	sched_setscheduler(0, SCHED_OTHER, &param);
}

static int compare_shape(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double quantile(double *values, unsigned n, double q)
{
	unsigned at = (unsigned)(q * n);

	qsort(values, n, sizeof(*values), compare_shape);
	return values[at < n ? at : n - 1];
}

/* Creates a heap on large pages, like the appliance's, for mbufs and for rte_sched's tables. */
static int large_pages(void)
{
	if (rte_malloc_heap_create("large") ||
		rte_malloc_heap_memory_add(
			"large", reserve_large_pages(HEAP), HEAP, NULL, 0, HUGEPAGE))
		die("no heap of large pages");
	return rte_malloc_heap_get_socket("large");
}

static void start_eal(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "bench_shape", .size = sizeof(struct shape_packet), .align = 8};
	const char *args[] = {"bench_shape", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
		"--no-shconf", "-l", "1", "--log-level", "error"};

	if (rte_eal_init(RTE_DIM(args), (char **)(uintptr_t)args) < 0)
		die("no EAL");
	shape_socket = large_pages();
	shape_offset = rte_mbuf_dynfield_register(&field);
	if (shape_offset < 0)
		die("no room in an mbuf");
}

static const char usage[] =
	"bench_shape [--rounds N] [--seconds S] [--mpps RATE] [--fifo PRIORITY]\n"
	"    [--json FILE] [sched] [late] [many]\n";

/* Returns true if the part is on the command line, or none is. */
static bool is_part_wanted(const char *part, char **parts)
{
	bool any = *parts == NULL;

	for (; *parts; parts++)
		any |= strcmp(*parts, part) == 0;
	return any;
}

static void run_shape_parts(const struct bench *bench, char **parts)
{
	start_eal();
	if (is_part_wanted("sched", parts))
		bench_sched(bench);
	if (is_part_wanted("late", parts))
		bench_late(bench);
	if (is_part_wanted("many", parts))
		bench_many(bench);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'}, {"mpps", required_argument, NULL, 'm'},
		{"fifo", required_argument, NULL, 'f'}, {"json", required_argument, NULL, 'j'},
		{0}};
	struct bench bench = {.rounds = 101, .seconds = 5, .mpps = 1};
	bool wrong = false;

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (option == 'r')
			bench.rounds = (unsigned)strtoul(optarg, NULL, 10);
		if (option == 's')
			bench.seconds = strtod(optarg, NULL);
		if (option == 'm')
			bench.mpps = strtod(optarg, NULL);
		if (option == 'f')
			bench.fifo = (int)strtol(optarg, NULL, 10);
		if (option == 'j')
			bench.json = fopen(optarg, "w");
		wrong |= option == '?' || (option == 'j' && !bench.json);
	}
	if (wrong || bench.rounds == 0 || bench.seconds <= 0 || bench.mpps <= 0) {
		fputs(usage, stderr);
		return 1;
	}
	if (bench.json)
		fprintf(bench.json, "{\"bench\": \"shape\"");
	run_shape_parts(&bench, argv + optind);
	if (bench.json) {
		fprintf(bench.json, "}\n");
		fclose(bench.json);
	}
	return 0;
}
