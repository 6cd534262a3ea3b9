/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the parts of bench_shape share.
 */
#ifndef WEIR_BENCH_SHAPE_H
#define WEIR_BENCH_SHAPE_H

#include <stdio.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "shape/shape.h"

/* A queue's packets are timed as they arrive, or one by one as they leave. */
enum kind { TIMED, LISTED, KINDS };
extern const char *const kind_names[KINDS];

#define BURST  32
#define LENGTH 64u /* bytes of each packet */

/* What the command line says. */
struct bench {
	unsigned rounds;
	double seconds, mpps; /* of what leaves on time: how long, and how many packets come */
	int fifo;             /* SCHED_FIFO's priority while it measures, or 0 */
	FILE *json;           /* or NULL */
};

/* Where in an mbuf a struct shape_packet lies; registered once. */
extern int shape_offset;

/* A heap of large pages, of which all is made that is not the thread's own. */
extern int shape_socket;

static inline struct shape_packet *packet_of(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, shape_offset, struct shape_packet *);
}

static inline struct rte_mbuf *mbuf_of(struct shape_packet *packet)
{
	return (struct rte_mbuf *)(void *)((char *)packet - shape_offset);
}

/* Says what is wrong, and exits. */
void die(const char *what);

/* Zeroed, on pages as large as can be had. */
void *alloc(size_t bytes);

struct rte_mbuf **mbufs_make(const char *pool, unsigned n);
struct shaper *shaper_make(uint64_t hz, uint32_t most, uint64_t now);

/*
 * Before a bucket that is empty. Nothing is refused by one that is listed, nor what waits for no
 * longer than one that is timed may. Bytes, bit/s, ticks a second.
 */
void queue_make(struct shape_queue *queue, enum kind kind, uint64_t bps, uint64_t burst,
	uint64_t hz, uint64_t now);

/* Its limit. */
struct token_bucket_profile limit_make(uint64_t bps, uint64_t burst, uint64_t hz);

enum shape_verdict mbuf_arrive(struct shaper *shaper, struct shape_queue *queue, struct rte_mbuf *m,
	uint64_t arrival, uint64_t now);

/* While a part measures, nothing else runs on its CPU, if the command line says so. */
void undisturbed(const struct bench *bench);
void disturbed(void);

/* The q-th part of n values, which it sorts. */
double quantile(double *values, unsigned n, double q);

/*
 * Cycles a packet beside rte_sched's; the tail of departures; and a million packets that wait. Each
 * of both kinds, one after the other.
 */
void bench_sched(const struct bench *bench);
void bench_late(const struct bench *bench);
void bench_many(const struct bench *bench);

#endif
