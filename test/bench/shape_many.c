/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The cost for other traffic when a million packets wait in 100,000 queues: the cycles of its
 * packets, which conform. Compares turns of a worker that also releases due packets with turns that
 * do not.
 */
#include <rte_cycles.h>

#include "base/prng.h"
#include "shape.h"

#define QUEUES  100000
#define PACKETS 1000000
#define OTHERS  1024                 /* queues of the other traffic */
#define MEASURE UINT64_C(1000000000) /* bit/s: two packets a turn */
#define HZ      UINT64_C(2500000000)
#define TURN    2500 /* ticks */
#define TURNS   4096 /* turns a round */

struct many {
	struct shaper *shaper;
	enum kind kind;
	struct shape_queue *queues, *others;
	struct rte_mbuf **traffic;      /* packets of the other traffic */
	struct rte_mbuf *coming[BURST]; /* left in the last turn, arrive in this one */
	unsigned n_coming;
	uint64_t now, cycles, released, packets;
	struct prng prng;
};

static void many_make(
	struct many *many, enum kind kind, struct shape_queue *others, struct rte_mbuf **traffic)
{
	many->kind = kind;
	many->shaper = shaper_make(HZ, PACKETS, 0);
	many->others = others;
	many->traffic = traffic;
	prng_seed(&many->prng, 1);
}

/* Enqueues a packet in its queue, or in another if it would pass immediately. */
static void many_wait(struct many *many, struct rte_mbuf *m)
{
	while (mbuf_arrive(many->shaper, &many->queues[m->hash.usr], m, many->now, many->now) !=
		SHAPE_WAITS)
		m->hash.usr = prng_below(&many->prng, QUEUES);
}

/* Returns the rate of all queues. Timed ones have delays of at most an eighth of a second. */
static uint64_t rate_of(const struct many *many)
{
	return many->kind == TIMED ? 5 * MEASURE : MEASURE;
}

/* Fills the queues, with tokens due at different times. Returns the packets' pool. */
static struct rte_mempool *many_fill(struct many *many)
{
	struct rte_mbuf **mbufs = mbufs_make("many", PACKETS);
	uint64_t rate = rate_of(many) / QUEUES, gap = LENGTH * 8 * HZ / rate;

	many->queues = alloc(QUEUES * sizeof(struct shape_queue));
	many->now = gap;
	for (unsigned i = 0; i < QUEUES; i++)
		queue_make(&many->queues[i], many->kind, rate, LENGTH, HZ, i * gap / QUEUES);
	for (unsigned i = 0; i < PACKETS; i++) {
		mbufs[i]->hash.usr = prng_below(&many->prng, QUEUES);
		many_wait(many, mbufs[i]);
	}
	return mbufs[0]->pool;
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

/* Prefetches for a whole burst before the first decision. Inline, as in sched. */
static inline __attribute__((always_inline)) void prefetch_coming(struct many *many)
{
	for (unsigned i = 0; i < many->n_coming; i++)
		shape_prefetch(&many->queues[many->coming[i]->hash.usr]);
}

/*
 * Packets that leave are enqueued again, so the number stays. A driver would have written to them.
 */
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
		prefetch_coming(many);
		turn_others(many);
		turn_shaped(many);
	}
	whole = rte_rdtsc_precise() - began;
	released = many->released - released;
	*shaped = released ? (double)(whole - many->cycles) / (double)released : 0;
	return (double)many->cycles / (TURNS * BURST);
}

/* Cycles a packet, of each round. */
struct rounds {
	double *none, *all, *ratio, *shaped;
};

static void report_many(const struct bench *bench, enum kind kind, const struct rounds *rounds)
{
	unsigned n = bench->rounds;
	double all = quantile(rounds->all, n, 0.5), none = quantile(rounds->none, n, 0.5);
	double *ratio = rounds->ratio;

	printf("%u packets wait in %u queues, %s (%.1f MB of queues): others %.1f cycles a packet, "
	       "without them %.1f; ratio %.3f (%.3f to %.3f); those that wait %.1f\n",
		PACKETS, QUEUES, kind_names[kind], QUEUES * sizeof(struct shape_queue) / 1e6, all,
		none, quantile(ratio, n, 0.5), quantile(ratio, n, 0.1), quantile(ratio, n, 0.9),
		quantile(rounds->shaped, n, 0.5));
	if (bench->json)
		fprintf(bench->json,
			", \"many_%s\": {\"others\": %.2f, \"alone\": %.2f, \"ratio\": %.4f}",
			kind_names[kind], all, none, quantile(ratio, n, 0.5));
}

/* Measures one kind. `others`, `traffic` and `rounds` are reused for both kinds. */
static void bench_kind(const struct bench *bench, enum kind kind, struct shape_queue *others,
	struct rte_mbuf **traffic, struct rounds *rounds)
{
	struct many empty = {0}, full = {0};
	struct rte_mempool *pool;
	double nothing;

	for (unsigned i = 0; i < 2 * OTHERS; i++)
		queue_make(&others[i], kind, UINT64_C(100000000000), 1 << 20, HZ, 0);
	many_make(&empty, kind, others, traffic);
	many_make(&full, kind, others + OTHERS, traffic);
	pool = many_fill(&full);
	empty.now = full.now;
	undisturbed(bench);
	for (unsigned i = 0; i < bench->rounds; i++) {
		rounds->none[i] = round_of(&empty, &nothing);
		rounds->all[i] = round_of(&full, &rounds->shaped[i]);
		rounds->ratio[i] = rounds->all[i] / rounds->none[i];
	}
	disturbed();
	rte_mempool_free(pool);
	report_many(bench, kind, rounds);
}

void bench_many(const struct bench *bench)
{
	struct shape_queue *others = alloc(2 * OTHERS * sizeof(struct shape_queue));
	struct rte_mbuf **traffic = mbufs_make("others", OTHERS);
	size_t bytes = bench->rounds * sizeof(double);
	struct rounds rounds = {alloc(bytes), alloc(bytes), alloc(bytes), alloc(bytes)};

	for (unsigned kind = 0; kind < KINDS; kind++)
		bench_kind(bench, kind, others, traffic, &rounds);
}
