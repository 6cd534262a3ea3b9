/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packet delay in a worker, by load: with two bursts in flight, and with each burst decided
 * immediately. One thread is also the wire. It puts packets into a ring at their arrival times (a
 * Poisson process), calls the worker once, and takes transmitted packets from the other ring. A
 * load is a part of the highest rate of the same thread.
 */
#include <math.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/prng.h"
#include "fastpath.h"
#include "in_flight.h"
#include "worker.h"

#define BUFFERS 8191
#define ROOM    8192  /* packets of a ring */
#define GAPS    65536 /* between arrivals, until they repeat: a power of two */
#define PACKETS 10000 /* most packets a load: few, because other processes disturb */
#define WARM    8     /* 1 / the part at the start that is not counted */
#define ROUNDS  101
#define TAKEN   64 /* taken from a ring at a time */

static const unsigned loads[] = {5, 10, 30, 50, 70, 80, 90}; /* percent */

struct way {
	struct rte_ring *in, *out;
	struct rte_mempool *pool;
	struct bench_instance *bench;
	const struct traffic *packets;
	double gaps[GAPS]; /* relative: the mean is 1 */
	uint32_t *waited;  /* cycles, one for each packet */
	unsigned n, sent, through;
};

/* Returns the place in an mbuf for a packet's arrival time. */
static uint64_t *moment_of(struct rte_mbuf *mbuf)
{
	return (uint64_t *)&mbuf->dynfield1[1];
}

static void send_one(struct way *way, uint64_t at)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(way->pool);

	if (!mbuf)
		die("no buffers are left");
	traffic_frame(way->packets, way->sent & (way->packets->n - 1), mbuf);
	*moment_of(mbuf) = at;
	if (rte_ring_enqueue(way->in, mbuf))
		die("a ring is full");
	way->sent++;
}

static void take_through(struct way *way)
{
	struct rte_mbuf *mbufs[TAKEN];
	unsigned n;

	do {
		uint64_t now = rte_rdtsc();

		n = rte_ring_dequeue_burst(way->out, (void **)mbufs, TAKEN, NULL);
		for (unsigned i = 0; i < n; i++)
			if (way->through + i < way->n)
				way->waited[way->through + i] = (uint32_t)(now -
									   *moment_of(mbufs[i]));
		way->through += n;
		rte_pktmbuf_free_bulk(mbufs, n);
	} while (n == TAKEN);
}

/* Runs a load. The worker finds the packets that have arrived, or a burst if cycles_apart is 0. */
static void run_way(struct way *way, double cycles_apart, bool waits)
{
	struct worker *worker = &way->bench->inst.workers[0];
	double next;

	way->sent = way->through = 0;
	worker->in_flight->least = waits ? IN_FLIGHT_LEAST : BURST + 1;
	bench_instance_begin(way->bench);
	next = (double)rte_rdtsc();
	while (way->through < way->n) {
		uint64_t now = rte_rdtsc();
		unsigned most = way->sent + BURST;

		/* No packet arrives in the time without a CPU. */
		if (way->sent - way->through > ROOM / 8 || next + ROOM / 8 * cycles_apart < now)
			next = (double)now;
		while (cycles_apart > 0 ? next <= (double)now : way->sent < most) {
			send_one(way, cycles_apart > 0 ? (uint64_t)next : now);
			next += cycles_apart * way->gaps[way->sent & (GAPS - 1)];
		}
		worker_turn(worker);
		take_through(way);
	}
	bench_instance_end(way->bench);
	take_through(way);
	worker->in_flight->least = IN_FLIGHT_LEAST;
}

static int compare_waits(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Returns the median and the 99th percentile of the delay. */
static json_t *measure_load(struct way *way, double cycles_apart, bool waits)
{
	uint32_t *waited = way->waited + way->n / WARM;
	unsigned n = way->n - way->n / WARM;

	run_way(way, cycles_apart, waits);
	qsort(waited, n, sizeof(*waited), compare_waits);
	return json_pack("[I, I]", (json_int_t)waited[n / 2], (json_int_t)waited[n * 99ul / 100]);
}

/* Returns the least cycles that a packet takes this thread. */
static double least_apart(struct way *way)
{
	uint64_t began = rte_rdtsc();

	run_way(way, 0, true);
	return (double)(rte_rdtsc() - began) / way->through;
}

static void open_port(struct rte_ring *in, struct rte_ring *out, const char *name)
{
	if (!in || !out || rte_eth_from_rings(name, &in, 1, &out, 1, rte_socket_id()) < 0)
		die("no port of rings");
}

static struct rte_ring *open_ring(const char *name)
{
	return rte_ring_create(name, ROOM, (int)rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
}

/* Packets arrive at the first port and leave by the second; the other direction is unused. */
static void open_way(struct way *way, struct instance_params params)
{
	static const char *const devices[] = {"net_ring_lat0", "net_ring_lat1"};
	struct prng prng;

	way->in = open_ring("lat_in");
	way->out = open_ring("lat_out");
	open_port(way->in, open_ring("lat_back_out"), "lat0");
	open_port(open_ring("lat_back_in"), way->out, "lat1");
	params.ports = NULL;
	params.devices = devices;
	way->bench = bench_instance_open(&params);
	way->pool = rte_pktmbuf_pool_create("lat", BUFFERS, 256, 0,
		RTE_PKTMBUF_HEADROOM + 2 * FRAME_BYTES, (int)rte_socket_id());
	way->waited = need(way->n * sizeof(*way->waited));
	if (!way->pool)
		die("no memory for %u buffers", BUFFERS);
	prng_seed(&prng, 5);
	for (unsigned i = 0; i < GAPS; i++)
		way->gaps[i] = -log(1 - prng_unit(&prng));
}

void ask_latency(
	struct lab *lab, const struct instance_params *params, const struct traffic *packets)
{
	struct way *way = need(sizeof(*way));
	json_t *all = json_array();
	double least;

	way->packets = packets;
	way->n = RTE_MIN(PACKETS, lab->n_traffic);
	open_way(way, *params);
	run_way(way, 0, true); /* warms caches and flow samples */
	least = least_apart(way);
	for (unsigned i = 0; i < RTE_DIM(loads); i++)
		for (unsigned round = 0; round < RTE_MIN(ROUNDS, 4 * lab->rounds); round++) {
			double apart = least * 100 / loads[i];
			json_t *now = measure_load(way, apart, false);

			json_array_append_new(
				all, json_pack("{s:i, s:f, s:o, s:o}", "load", (int)loads[i],
					     "burst_cycles", least * BURST, "at_once", now,
					     "in_hand", measure_load(way, apart, true)));
		}
	json_object_set_new(lab->once, "latency", all);
	bench_instance_close(way->bench);
	rte_mempool_free(way->pool);
	free(way->waited);
	free(way);
}
