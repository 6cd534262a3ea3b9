/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the parts of bench_shape.
 */
#ifndef WEIR_BENCH_SHAPE_H
#define WEIR_BENCH_SHAPE_H

#include <stdio.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "shape/shape.h"

/* Departure times of a queue's packets are set on arrival (TIMED), or one by one (LISTED). */
enum kind { TIMED, LISTED, KINDS };
extern const char *const kind_names[KINDS];

#define BURST  32
#define LENGTH 64u /* bytes of each packet */

/* Options of the command line. */
struct bench {
	unsigned rounds;
	double seconds, mpps; /* for departures on time: duration, and packets a second */
	int fifo;             /* priority of SCHED_FIFO while it measures, or 0 */
	FILE *json;           /* or NULL */
};

/* Offset of a struct shape_packet in an mbuf; registered once. */
extern int shape_offset;

/* NUMA socket of a heap of large pages, for all data except the thread's own. */
extern int shape_socket;

static inline struct shape_packet *packet_of(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, shape_offset, struct shape_packet *);
}

static inline struct rte_mbuf *mbuf_of(struct shape_packet *packet)
{
	return (struct rte_mbuf *)(void *)((char *)packet - shape_offset);
}

/* Prints an error and exits. */
void die(const char *what);

/* Returns zeroed memory, on pages as large as possible. */
void *alloc(size_t bytes);

struct rte_mbuf **mbufs_make(const char *pool, unsigned n);
struct shaper *shaper_make(uint64_t hz, uint32_t most, uint64_t now);

/*
 * Creates a queue with an empty bucket. A LISTED queue rejects nothing, and a TIMED one nothing
 * that can leave within its longest delay. Bytes, bit/s, ticks a second.
 */
void queue_make(struct shape_queue *queue, enum kind kind, uint64_t bps, uint64_t burst,
	uint64_t hz, uint64_t now);

/* Returns the limit of such a queue. */
struct token_bucket_profile limit_make(uint64_t bps, uint64_t burst, uint64_t hz);

enum shape_verdict mbuf_arrive(struct shaper *shaper, struct shape_queue *queue, struct rte_mbuf *m,
	uint64_t arrival, uint64_t now);

/* Between these calls only this thread runs on its CPU, if the command line requests it. */
void undisturbed(const struct bench *bench);
void disturbed(void);

/* Returns the q-th part of n values, which it sorts. */
double quantile(double *values, unsigned n, double q);

/*
 * Cycles a packet compared with rte_sched's; the tail of departures; and a million waiting packets.
 * Each runs both kinds in turn.
 */
void bench_sched(const struct bench *bench);
void bench_late(const struct bench *bench);
void bench_many(const struct bench *bench);

#endif
