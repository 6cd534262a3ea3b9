/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Departure times of packets on a core that polls, compared with their due times: by the real
 * clock, at the end of the call that returns them. Due times are computed on arrival, packet by
 * packet, from a separate bucket of each queue.
 */
#include <math.h>

#include <rte_cycles.h>

#include "base/prng.h"
#include "shape.h"

#define QUEUES      1024
#define BURST_BYTES 1522
#define PACKETS     65536 /* packets in total */
#define LOAD        0.95  /* part of the limits that is used */
#define STALL_US    15
#define TIMES       (UINT64_C(1) << 21) /* departure times that are kept */

struct line {
	struct token_bucket_profile profile;
	struct token_bucket bucket;
	uint64_t left;
};

struct late {
	uint64_t hz;
	struct prng prng;
	struct shaper *shaper;
	struct shape_queue *queues;
	struct line *lines;
	struct rte_mbuf **idle; /* packets that do not wait */
	unsigned n_idle;
	uint64_t next; /* arrival */
	double gap;    /* mean gap between arrivals: ticks */
	double *times;
	unsigned n_times;
	uint64_t busy;              /* ticks of turns with work */
	uint64_t early, outside;    /* outside: due during a stall of the machine */
	uint64_t from, to, stalled; /* last stall; ticks of all stalls */
	bool behind;                /* packets of that stall have just left */
};

/* Returns the first tick at which a packet can leave. */
static uint64_t line_leave(struct line *line, uint64_t now, uint32_t bytes)
{
	uint64_t at = now > line->left ? now : line->left, rate = (uint64_t)line->profile.rate;
	tokens_t cost = (tokens_t)bytes << TOKEN_SHIFT, level;

	token_bucket_refill(&line->bucket, &line->profile, at);
	level = token_bucket_level(&line->bucket);
	at += level < cost ? (uint64_t)((cost - level + rate - 1) / rate) : 0;
	token_bucket_conforms(&line->bucket, &line->profile, at, bytes);
	line->left = at;
	return at;
}

static const char *const late_pools[KINDS] = {"late_timed", "late_listed"};

/*
 * Creates queues with tokens due at different times: otherwise all would be due at the same tick.
 */
static void late_make(struct late *late, enum kind kind, double mpps)
{
	uint64_t bps = (uint64_t)(mpps * 1e6 * LENGTH * 8 / LOAD);
	uint64_t gap = LENGTH * 8 * rte_get_tsc_hz() / (bps / QUEUES); /* a queue's departures */

	late->hz = rte_get_tsc_hz();
	late->gap = (double)late->hz / (mpps * 1e6);
	late->shaper = shaper_make(late->hz, PACKETS, rte_rdtsc());
	late->queues = alloc(QUEUES * sizeof(struct shape_queue));
	late->lines = alloc(QUEUES * sizeof(struct line));
	late->idle = mbufs_make(late_pools[kind], PACKETS);
	late->n_idle = PACKETS;
	late->times = alloc(TIMES * sizeof(double));
	prng_seed(&late->prng, 1);
	late->next = rte_rdtsc();
	for (unsigned i = 0; i < QUEUES; i++) {
		struct line *line = &late->lines[i];
		uint64_t began = late->next - i * gap / QUEUES;

		queue_make(&late->queues[i], kind, bps / QUEUES, BURST_BYTES, late->hz, began);
		line->profile = limit_make(bps / QUEUES, BURST_BYTES, late->hz);
		token_bucket_init(&line->bucket, &line->profile, began);
		token_bucket_set_level(&line->bucket, 0);
		line->left = late->next;
	}
}

/* Enqueues arrivals, and writes their tick into the packet. */
static void late_arrivals(struct late *late, uint64_t now)
{
	while ((int64_t)(now - late->next) >= 0 && late->n_idle) {
		unsigned queue = prng_below(&late->prng, QUEUES);
		struct rte_mbuf *m = late->idle[--late->n_idle];
		uint64_t want = line_leave(&late->lines[queue], late->next, LENGTH);

		*rte_pktmbuf_mtod(m, uint64_t *) = want;
		if (mbuf_arrive(late->shaper, &late->queues[queue], m, late->next, now) !=
			SHAPE_WAITS)
			late->idle[late->n_idle++] = m;
		late->next += (uint64_t)(-late->gap * log(1 - prng_unit(&late->prng)));
	}
}

static void late_departures(struct late *late, uint64_t now)
{
	struct shape_packet *out[BURST];
	unsigned n = shaper_release(late->shaper, now, out, BURST);
	uint64_t left = n ? rte_rdtsc() : 0;

	late->behind = false;
	for (unsigned i = 0; i < n; i++) {
		struct rte_mbuf *m = mbuf_of(out[i]);
		int64_t late_by = (int64_t)(left - *rte_pktmbuf_mtod(m, uint64_t *));

		late->early += (int64_t)(now - *rte_pktmbuf_mtod(m, uint64_t *)) < 0;
		if (*rte_pktmbuf_mtod(m, uint64_t *) - late->from <= late->to - late->from)
			late->outside += late->behind = true;
		else if (late->n_times < TIMES)
			late->times[late->n_times++] = (double)late_by * 1e6 / (double)late->hz;
		late->idle[late->n_idle++] = m;
	}
}

/*
 * Records a stall. A turn releases 32 packets and receives few more. If it takes longer than that
 * can, the thread or the machine had no CPU, so packets due in that time are not counted. Packets
 * due while the backlog is worked off are not counted either, until a turn has nothing to release.
 */
static void late_stall(struct late *late, uint64_t began, uint64_t now)
{
	bool stall = now - began >= STALL_US * late->hz / 1000000;

	if (!stall && !late->behind)
		return;
	if (began != late->to)
		late->from = began;
	late->to = now;
	late->stalled += now - began;
}

static void late_turns(struct late *late, double seconds)
{
	uint64_t end = late->next + (uint64_t)(seconds * (double)late->hz), now = rte_rdtsc();

	while ((int64_t)(end - now) > 0) {
		unsigned times = late->n_times, idle = late->n_idle;
		uint64_t began = now;

		late_arrivals(late, now);
		late_departures(late, now);
		now = rte_rdtsc();
		if (late->n_times != times || late->n_idle != idle)
			late->busy += now - began;
		late_stall(late, began, now);
	}
}

static void bench_kind(const struct bench *bench, enum kind kind)
{
	struct late late = {0};
	double p50, p99, p999, max, busy, stalled;

	late_make(&late, kind, bench->mpps);
	undisturbed(bench);
	late.next = late.from = late.to = rte_rdtsc();
	late_turns(&late, bench->seconds);
	disturbed();
	busy = (double)late.busy / (bench->seconds * (double)late.hz);
	stalled = (double)late.stalled / (bench->seconds * (double)late.hz);
	p50 = quantile(late.times, late.n_times, 0.5);
	p99 = quantile(late.times, late.n_times, 0.99);
	p999 = quantile(late.times, late.n_times, 0.999);
	max = quantile(late.times, late.n_times, 1);
	printf("%s: %.2f Mpps, which keep the core busy for %.0f %% of the time: %u packets that waited "
	       "left late by p50 %.2f, p99 %.2f, p99.9 %.2f, at most %.2f us; %lu early; and %lu "
	       "were due while the thread had no CPU for more than %u us, %.1f %% of the time\n",
		kind_names[kind], bench->mpps, busy * 100, late.n_times, p50, p99, p999, max,
		(unsigned long)late.early, (unsigned long)late.outside, STALL_US, stalled * 100);
	if (bench->json)
		fprintf(bench->json,
			", \"late_us_%s\": {\"mpps\": %.3f, \"busy\": %.3f, \"p50\": %.3f, "
			"\"p99\": %.3f, \"max\": %.3f, \"early\": %lu, \"outside\": %lu, "
			"\"stalled\": %.4f}",
			kind_names[kind], bench->mpps, busy, p50, p99, max,
			(unsigned long)late.early, (unsigned long)late.outside, stalled);
}

void bench_late(const struct bench *bench)
{
	for (unsigned kind = 0; kind < KINDS; kind++)
		bench_kind(bench, kind);
}
