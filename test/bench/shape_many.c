/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What other traffic pays when a million packets wait in 100,000 queues: the cycles of its packets,
 * which conform, in turns of a worker that also releases those that are due, and without them.
 */
#include <rte_cycles.h>

#include "base/prng.h"
#include "shape.h"

#define QUEUES  100000
#define PACKETS 1000000
#define OTHERS  1024                 /* queues of the other traffic */
#define RATE    UINT64_C(1000000000) /* bit/s, of all queues: two packets a turn */
#define HZ      UINT64_C(2500000000)
#define TURN    2500 /* ticks */
#define TURNS   4096 /* of a round */

struct many {
	struct shaper *shaper;
	struct shape_queue *queues, *others;
	struct rte_mbuf **traffic;      /* of the others */
	struct rte_mbuf *coming[BURST]; /* what left in the last turn, and arrives in this one */
	unsigned n_coming;
	uint64_t now, cycles, released, packets;
	struct prng prng;
};

static void many_make(struct many *many, struct shape_queue *others, struct rte_mbuf **traffic)
{
	many->shaper = shaper_make(HZ, PACKETS, 0);
	many->others = others;
	many->traffic = traffic;
	prng_seed(&many->prng, 1);
}

/* In its queue; or in another, where it does not pass at once. */
static void many_wait(struct many *many, struct rte_mbuf *m)
{
	while (mbuf_arrive(many->shaper, &many->queues[m->hash.usr], m, many->now, many->now) !=
		SHAPE_WAITS)
		m->hash.usr = prng_below(&many->prng, QUEUES);
}

/* Their tokens come at different times. */
static void many_fill(struct many *many)
{
	struct rte_mbuf **mbufs = mbufs_make("many", PACKETS);
	uint64_t gap = LENGTH * 8 * HZ / (RATE / QUEUES);

	many->queues = alloc(QUEUES * sizeof(struct shape_queue));
	many->now = gap;
	for (unsigned i = 0; i < QUEUES; i++)
		queue_make(&many->queues[i], RATE / QUEUES, LENGTH, HZ, i * gap / QUEUES);
	for (unsigned i = 0; i < PACKETS; i++) {
		mbufs[i]->hash.usr = prng_below(&many->prng, QUEUES);
		many_wait(many, mbufs[i]);
	}
}

static void turn_others(struct many *many)
{
	unsigned first = prng_below(&many->prng, OTHERS - BURST);
	uint64_t began = rte_rdtsc_precise();

	for (unsigned i = first; i < first + BURST; i++)
		if (mbuf_arrive(many->shaper, &many->others[i], many->traffic[i], many->now,
			    many->now) != SHAPE_PASSES)
			die("other traffic does not conform");
	many->cycles += rte_rdtsc_precise() - began;
}

/* As is done for a whole burst before any of its packets is decided upon. */
static void ask(struct many *many)
{
	for (unsigned i = 0; i < many->n_coming; i++)
		shape_prefetch(&many->queues[many->coming[i]->hash.usr]);
}

/* What leaves comes back: as many wait. A driver would have written to it. */
static void turn_shaped(struct many *many)
{
	struct shape_packet *out[BURST];

	for (unsigned i = 0; i < many->n_coming; i++)
		shape_prefetch_tail(&many->queues[many->coming[i]->hash.usr]);
	for (unsigned i = 0; i < many->n_coming; i++)
		many_wait(many, many->coming[i]);
	many->n_coming = shaper_release(many->shaper, many->now, out, BURST);
	many->released += many->n_coming;
	for (unsigned i = 0; i < many->n_coming; i++) {
		many->coming[i] = mbuf_of(out[i]);
		__builtin_prefetch(many->coming[i], 1);
		__builtin_prefetch(out[i], 1);
	}
}

static double round_of(struct many *many, double *shaped)
{
	uint64_t began = rte_rdtsc_precise(), whole;
	uint64_t released = many->released;

	many->cycles = 0;
	for (unsigned i = 0; i < TURNS; i++) {
		many->now += TURN;
		ask(many);
		turn_others(many);
		turn_shaped(many);
	}
	whole = rte_rdtsc_precise() - began;
	released = many->released - released;
	*shaped = released ? (double)(whole - many->cycles) / (double)released : 0;
	return (double)many->cycles / (TURNS * BURST);
}

void bench_many(const struct bench *bench)
{
	unsigned rounds = bench->rounds;
	struct shape_queue *others = alloc(2 * OTHERS * sizeof(struct shape_queue));
	struct rte_mbuf **traffic = mbufs_make("others", OTHERS);
	double *none = alloc(rounds * sizeof(double)), *all = alloc(rounds * sizeof(double));
	double *ratio = alloc(rounds * sizeof(double)), *shaped = alloc(rounds * sizeof(double));
	static struct many empty, full;
	double nothing;

	for (unsigned i = 0; i < 2 * OTHERS; i++)
		queue_make(&others[i], UINT64_C(100000000000), 1 << 20, HZ, 0);
	many_make(&empty, others, traffic);
	many_make(&full, others + OTHERS, traffic);
	many_fill(&full);
	empty.now = full.now;
	undisturbed(bench);
	for (unsigned i = 0; i < rounds; i++) {
		none[i] = round_of(&empty, &nothing);
		all[i] = round_of(&full, &shaped[i]);
		ratio[i] = all[i] / none[i];
	}
	disturbed();
	printf("%u packets wait in %u queues (%.1f MB of queues, %.1f MB of packets): others %.1f "
	       "cycles a packet, without them %.1f; ratio %.3f (%.3f to %.3f); those that wait "
	       "%.1f\n",
		PACKETS, QUEUES, QUEUES * sizeof(struct shape_queue) / 1e6,
		PACKETS * sizeof(struct shape_packet) / 1e6, quantile(all, rounds, 0.5),
		quantile(none, rounds, 0.5), quantile(ratio, rounds, 0.5),
		quantile(ratio, rounds, 0.1), quantile(ratio, rounds, 0.9),
		quantile(shaped, rounds, 0.5));
	if (bench->json)
		fprintf(bench->json,
			", \"many\": {\"others\": %.2f, \"alone\": %.2f, \"ratio\": %.4f}",
			quantile(all, rounds, 0.5), quantile(none, rounds, 0.5),
			quantile(ratio, rounds, 0.5));
}
