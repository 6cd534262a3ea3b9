/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shapers compared with DPDK's own, rte_sched. Equally many packets wait in equally many queues of
 * the same rate. For each packet that leaves another one arrives, for a random queue, burst by
 * burst. A shaper's clock is advanced so that a burst is due each time. rte_sched reads the real
 * clock. Its pipes always have tokens, so it need not search for one that has.
 */
#include <rte_cycles.h>
#include <rte_sched.h>

#include <string.h>

#include "base/prng.h"
#include "shape.h"

#define PIPES   4096
#define WAITING 32768 /* packets */
#define ROUND   8192  /* least packets of a round */
#define RATE    UINT64_C(10000000000)
#define HZ      UINT64_C(2500000000)

/* Packets that arrive in a round are not the ones that leave in it. */
struct contest {
	struct rte_sched_port *port;
	struct shaper *shaper;
	struct shape_queue *queues;
	enum kind kind;
	struct prng prng;
	struct rte_mbuf **mbufs; /* ROUND that arrive, and after them ROUND + BURST that leave */
	uint64_t now;
};

static struct rte_sched_port *port_make(void)
{
	uint64_t bytes = RATE / 8;
	struct rte_sched_subport_profile_params profile = {
		.tb_rate = bytes, .tb_size = 1000000, .tc_period = 10};
	struct rte_sched_pipe_params pipe = {.tb_rate = bytes / PIPES,
		.tb_size = 1000000,
		.tc_period = 40,
		.tc_ov_weight = 1,
		.wrr_weights = {1, 1, 1, 1}};
	struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = PIPES,
		.pipe_profiles = &pipe,
		.n_pipe_profiles = 1,
		.n_max_pipe_profiles = 1};
	struct rte_sched_port_params params = {.name = "bench",
		.socket = shape_socket,
		.rate = bytes,
		.mtu = 1522,
		.frame_overhead = RTE_SCHED_FRAME_OVERHEAD_DEFAULT,
		.n_subports_per_port = 1,
		.subport_profiles = &profile,
		.n_subport_profiles = 1,
		.n_max_subport_profiles = 1,
		.n_pipes_per_subport = PIPES};
	struct rte_sched_port *port;

	for (unsigned tc = 0; tc < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; tc++) {
		profile.tc_rate[tc] = bytes;
		pipe.tc_rate[tc] = bytes / PIPES;
		subport.qsize[tc] = 64;
	}
	port = rte_sched_port_config(&params);
	if (!port || rte_sched_subport_config(port, 0, &subport, 0))
		die("no rte_sched");
	for (unsigned i = 0; i < PIPES; i++)
		if (rte_sched_pipe_config(port, 0, i, 0))
			die("no pipe");
	return port;
}

/* Assigns each packet to a random pipe, or to a random queue. */
static void deal_to_pipes(struct contest *contest, struct rte_mbuf **mbufs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t pipe = prng_below(&contest->prng, PIPES);

		if (contest->port)
			rte_sched_port_pkt_write(contest->port, mbufs[i], 0, pipe,
				RTE_SCHED_TRAFFIC_CLASS_BE, 0, RTE_COLOR_GREEN);
		else
			mbufs[i]->hash.usr = pipe;
	}
}

static void sched_enqueue(struct contest *contest, struct rte_mbuf **mbufs, unsigned n)
{
	if (rte_sched_port_enqueue(contest->port, mbufs, n) != (int)n)
		die("rte_sched refuses packets");
}

static unsigned sched_dequeue(struct contest *contest, struct rte_mbuf **mbufs)
{
	return (unsigned)rte_sched_port_dequeue(contest->port, mbufs, BURST);
}

/*
 * Prefetches the lines of the policies, like the appliance when it decides. Inline: a compiler
 * removes a call of a function that only prefetches.
 */
static inline __attribute__((always_inline)) void prefetch_policies(
	const struct contest *contest, struct rte_mbuf **mbufs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		shape_prefetch(&contest->queues[mbufs[i]->hash.usr]);
	if (contest->kind == TIMED) /* a timed packet's content is not read */
		return;
	for (unsigned i = 0; i < n; i++) {
		shape_prefetch_tail(&contest->queues[mbufs[i]->hash.usr]);
		__builtin_prefetch(packet_of(mbufs[i]), 1);
	}
}

static void sched_arrive(struct contest *contest, struct rte_mbuf **mbufs, unsigned n)
{
	prefetch_policies(contest, mbufs, n);
	for (unsigned i = 0; i < n; i++)
		/* A packet would pass an empty queue; it goes to another, so that as many wait. */
		while (mbuf_arrive(contest->shaper, &contest->queues[mbufs[i]->hash.usr], mbufs[i],
			       contest->now, contest->now) != SHAPE_WAITS)
			mbufs[i]->hash.usr = prng_below(&contest->prng, PIPES);
}

/* Advances in unequal steps, like a worker: otherwise all queues would be due just after one. */
static unsigned sched_release(struct contest *contest, struct rte_mbuf **mbufs)
{
	const uint64_t step = BURST * LENGTH * 8 * HZ / RATE;
	struct shape_packet *out[BURST];
	unsigned n;

	contest->now += step / 2 + prng_below(&contest->prng, (uint32_t)step);
	n = shaper_release(contest->shaper, contest->now, out, BURST);
	for (unsigned i = 0; i < n; i++)
		mbufs[i] = mbuf_of(out[i]);
	return n;
}

/* Releases a burst and enqueues as many. Returns the number. */
static unsigned sched_bench_turn(
	struct contest *contest, struct rte_mbuf **in, struct rte_mbuf **out)
{
	unsigned n;

	if (contest->port) {
		n = sched_dequeue(contest, out);
		sched_enqueue(contest, in, n);
	} else {
		n = sched_release(contest, out);
		sched_arrive(contest, in, n);
	}
	return n;
}

/*
 * Returns cycles a packet, in and out. Each burst is assigned just before it arrives, so its first
 * lines have been written to, as by a driver. That cost is not included.
 */
static double round_of(struct contest *contest)
{
	struct rte_mbuf **in = contest->mbufs, **out = in + ROUND;
	uint64_t ticks = 0;
	unsigned n = 0;

	while (n + BURST <= ROUND) {
		uint64_t began;
		unsigned got;

		deal_to_pipes(contest, in + n, BURST);
		began = rte_rdtsc_precise();
		got = sched_bench_turn(contest, in + n, out + n);
		ticks += rte_rdtsc_precise() - began;
		n += got;
	}
	memcpy(in, out, n * sizeof(*in)); /* the rest has not arrived */
	return (double)ticks / n;
}

static void contest_fill(struct contest *contest, const char *name)
{
	struct rte_mbuf **mbufs = mbufs_make(name, WAITING + ROUND);

	prng_seed(&contest->prng, 1);
	contest->mbufs = alloc((2 * ROUND + BURST) * sizeof(*mbufs));
	deal_to_pipes(contest, mbufs, WAITING);
	for (unsigned i = 0; i < WAITING; i += BURST)
		if (contest->port)
			sched_enqueue(contest, mbufs + i, BURST);
		else
			sched_arrive(contest, mbufs + i, BURST);
	memcpy(contest->mbufs, mbufs + WAITING, ROUND * sizeof(*mbufs));
}

/* Fills the queues, with tokens due at different times, like those of customers. */
static void shaper_fill(struct contest *contest)
{
	uint64_t gap = LENGTH * 8 * HZ / (RATE / PIPES);

	contest->shaper = shaper_make(HZ, WAITING + BURST, 0);
	contest->queues = alloc(PIPES * sizeof(struct shape_queue));
	for (unsigned i = 0; i < PIPES; i++)
		queue_make(&contest->queues[i], contest->kind, RATE / PIPES, LENGTH, HZ,
			i * gap / PIPES);
	contest->now = gap;
	contest_fill(contest, kind_names[contest->kind]);
}

/* Cycles a packet, of each round. */
struct rounds {
	double *port, *shaper, *ratio;
};

static void report_sched(const struct bench *bench, enum kind kind, const struct rounds *rounds)
{
	unsigned n = bench->rounds;
	double port = quantile(rounds->port, n, 0.5), *ratio = rounds->ratio;
	double shaper = quantile(rounds->shaper, n, 0.5);

	printf("%u queues, %u packets wait: shaper, %s, %.1f cycles a packet, rte_sched %.1f; "
	       "ratio %.3f (%.3f to %.3f)\n",
		PIPES, WAITING, kind_names[kind], shaper, port, quantile(ratio, n, 0.5),
		quantile(ratio, n, 0.1), quantile(ratio, n, 0.9));
	if (bench->json)
		fprintf(bench->json,
			", \"sched_%s\": {\"shaper\": %.2f, \"rte_sched\": %.2f, \"ratio\": %.4f}",
			kind_names[kind], shaper, port, quantile(ratio, n, 0.5));
}

/* Runs two contestants in turn, so that each finds the caches as left by the other only. */
static void bench_kind(const struct bench *bench, struct contest *sched, enum kind kind)
{
	size_t bytes = bench->rounds * sizeof(double);
	struct rounds rounds = {alloc(bytes), alloc(bytes), alloc(bytes)};
	struct contest shape = {.kind = kind};

	shaper_fill(&shape);
	undisturbed(bench);
	for (unsigned i = 0; i < bench->rounds; i++) {
		rounds.port[i] = round_of(sched);
		rounds.shaper[i] = round_of(&shape);
		rounds.ratio[i] = rounds.shaper[i] / rounds.port[i];
	}
	disturbed();
	report_sched(bench, kind, &rounds);
}

void bench_sched(const struct bench *bench)
{
	struct contest sched = {.port = port_make()};

	contest_fill(&sched, "sched");
	for (unsigned kind = 0; kind < KINDS; kind++)
		bench_kind(bench, &sched, kind);
}
