/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost of a packet's detour through another worker (app/weir/datapath/distribute.h), compared
 * with bare forwarding, on net_null.
 *
 *     bench_distribute [ROUNDS]
 *
 * Owner and worker take turns in one thread, so the work of both is counted, without waiting. Cache
 * lines that would move between cores stay in one cache, and that cost is not counted. Half of the
 * packets go to the other worker. The rounds of the contenders are interleaved.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "classify/classify.h"
#include "distribute.h"
#include "rx_rings.h"
#include "tx.h"
#include "steering.h"
#include "worker_data.h"

#define ROUNDS     31
#define ROUNDS_MAX 10001
#define TURNS      4000 /* bursts a round */
#define FLOWS      4096

enum { BARE, HASHED, DISTRIBUTED_HASHED, DISTRIBUTED, PLACED, KINDS };

static const char *const names[KINDS] = {
	[BARE] = "bare forwarding",
	[HASHED] = "bare, with a hash of the device",
	[DISTRIBUTED_HASHED] = "distributed by the device's hash",
	[DISTRIBUTED] = "distributed by a hash of our own",
	[PLACED] = "sent to their sources' seats",
};

struct bench {
	uint16_t port;
	struct rte_mempool *pool;
	struct rx_rings *rings;
	struct worker *workers; /* the owner, and another one */
	struct path path;       /* path of the owner */
	struct classifier *classifier;
	struct reta_target reta_target;
	struct reta reta; /* every other bucket is the owner's */
	bool hash;        /* the device reports it */
	uint32_t serial;
};

static void die_distribute(const char *what)
{
	fprintf(stderr, "bench_distribute: %s\n", what);
	exit(1);
}

/*
 * net_null receives the buffer's old content, so this writes UDP over IPv4 of a flow, and possibly
 * a hash.
 */
static uint16_t fill_null_frames(
	uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, uint16_t max, void *arg)
{
	static const uint8_t head[42] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 50,
		0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2};
	struct bench *bench = arg;

	(void)port, (void)queue, (void)max;
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *data = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
		uint16_t flow = (uint16_t)(bench->serial++ * 2654435761u >> 16) % FLOWS;

		memcpy(data, head, sizeof(head));
		data[29] = (uint8_t)flow; /* last byte of the source */
		memcpy(data + 34, &flow, sizeof(flow));
		if (bench->hash) {
			mbufs[i]->hash.rss = flow * 2654435761u;
			mbufs[i]->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
		}
	}
	return n;
}

static void open_port(struct bench *bench)
{
	struct rte_eth_conf conf = {0};

	bench->pool = rte_pktmbuf_pool_create(
		"bench", 16383, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!bench->pool || rte_eth_dev_configure(0, 1, 1, &conf) ||
		rte_eth_rx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL, bench->pool) ||
		rte_eth_tx_queue_setup(0, 0, 512, SOCKET_ID_ANY, NULL) || rte_eth_dev_start(0))
		die_distribute("net_null0 does not start");
	if (!rte_eth_add_rx_callback(0, 0, fill_null_frames, bench))
		die_distribute("no receive callbacks");
}

static void open_workers(struct bench *bench)
{
	bench->workers = aligned_alloc(RTE_CACHE_LINE_SIZE, 2 * sizeof(*bench->workers));
	bench->rings = rx_rings_create(0, 2, 1);
	if (!bench->workers || !bench->rings)
		die_distribute("out of memory");
	memset(bench->workers, 0, 2 * sizeof(*bench->workers));
	bench->workers[1].index = 1;
	bench->path.rings = bench->rings;
}

/* One policy that matches all packets, and is placed. */
static void open_reta(struct bench *bench)
{
	const struct place_key key = {24, 64};
	const struct policy policy = {
		.name = "p",
		.match = {.wire = CONFIG_ANY,
			.vlan = CONFIG_ANY,
			.dscp = CONFIG_ANY,
			.dst = {.family = 4, .length = 24, .addr = {192, 0, 2, 0}}},
	};

	if (classifier_create(&policy, 1, SOCKET_ID_ANY, &bench->classifier) ||
		rx_rings_open(bench->rings, bench->workers, 1))
		die_distribute("out of memory");
	bench->workers[0].own.view.classifier = bench->classifier;
	reta_target_init(&bench->reta_target, &key, 0);
	for (unsigned i = 0; i < RETA_SIZE; i += 2)
		reta_target_set(&bench->reta_target, i, 1);
	reta_init(&bench->reta, &bench->reta_target);
}

static void turn_bare(struct bench *bench)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = rte_eth_rx_burst(0, 0, mbufs, BURST);

	tx_send(&bench->workers[0], &bench->path, mbufs, n);
}

static void turn_distributed(struct bench *bench)
{
	struct rte_mbuf *mbufs[BURST];
	bool busy = false;
	uint16_t n = distribute_receive(&bench->workers[0], &bench->path, mbufs, &busy);

	tx_send(&bench->workers[0], &bench->path, mbufs, n);
	n = distribute_receive(&bench->workers[1], &bench->path, mbufs, &busy);
	tx_pass_on(&bench->workers[1], &bench->path, mbufs, n);
}

/* Returns cycles a packet. */
static double run_distribute_kind(struct bench *bench, unsigned kind)
{
	uint64_t start;
	double cycles;

	bench->hash = kind == HASHED || kind == DISTRIBUTED_HASHED;
	bench->path.rx_hash = bench->hash;
	if (kind == PLACED)
		steering_add(bench->rings->steering, 0, &bench->reta);
	start = rte_rdtsc_precise();
	for (unsigned i = 0; i < TURNS; i++)
		if (kind == BARE || kind == HASHED)
			turn_bare(bench);
		else
			turn_distributed(bench);
	cycles = (double)(rte_rdtsc_precise() - start) / (TURNS * BURST);
	if (kind == PLACED)
		steering_remove(bench->rings->steering, 0);
	return cycles;
}

static int compare_distribute(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report_distribute(const char *name, double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), compare_distribute);
	printf("%-48s %7.2f   %7.2f to %7.2f\n", name, values[n / 2], values[n / 10],
		values[n - 1 - n / 10]);
}

static void measure_distribute(struct bench *bench, unsigned rounds)
{
	static double cycles[KINDS][ROUNDS_MAX], more[3][ROUNDS_MAX];

	for (unsigned k = 0; k < KINDS; k++)
		run_distribute_kind(bench, k);
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned k = 0; k < KINDS; k++)
			cycles[k][r] = run_distribute_kind(bench, k);
		more[0][r] = cycles[DISTRIBUTED_HASHED][r] - cycles[HASHED][r];
		more[1][r] = cycles[DISTRIBUTED][r] - cycles[BARE][r];
		more[2][r] = cycles[PLACED][r] - cycles[BARE][r];
	}
	printf("%-48s  median       p10 to     p90\n", "cycles a packet");
	for (unsigned k = 0; k < KINDS; k++)
		report_distribute(names[k], cycles[k], rounds);
	report_distribute("distribution, the device's hash", more[0], rounds);
	report_distribute("distribution, our own", more[1], rounds);
	report_distribute("distribution, to buckets", more[2], rounds);
	printf("%.1f %% of them were dropped\n",
		100.0 * (double)bench->workers[0].counters.dropped[DROP_RING_FULL] /
			(double)bench->workers[0].counters.tx_packets);
}

int main(int argc, char **argv)
{
	const char *args[] = {"bench_distribute", "--no-huge", "-m", "256", "--no-pci",
		"--no-telemetry", "--no-shconf", "--log-level=4", "-l", "1",
		"--vdev=net_null0,size=64"};
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : ROUNDS;
	struct bench bench = {0};

	if (rounds == 0 || rounds > ROUNDS_MAX)
		die_distribute("expected a number of rounds");
	if (rte_eal_init(RTE_DIM(args), (char **)(uintptr_t)args) < 0)
		die_distribute("EAL does not start");
	open_port(&bench);
	open_workers(&bench);
	open_reta(&bench);
	measure_distribute(&bench, rounds);
	rx_rings_destroy(bench.rings);
	classifier_destroy(bench.classifier);
	free(bench.workers);
	rte_eth_dev_stop(0);
	rte_eal_cleanup();
	return 0;
}
