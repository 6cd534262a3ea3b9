/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limit over several workers in virtual time: the same traffic, spread over the workers, is
 * judged by one bucket and by each way to do without it. A nanosecond is a tick.
 */
#ifndef WEIR_TEST_SPLIT_WORLD_H
#define WEIR_TEST_SPLIT_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/token_bucket.h"
#include "meter/shared_bucket.h"
#include "meter/shares.h"

/*
 * Whether a packet of so many units conforms, for a worker that holds *held units of the shared
 * bucket, at first 0 or a quantum; takes them if so. A cost of 0 always conforms. One writer of
 * *held.
 */
static inline bool shared_bucket_conforms(
	struct shared_bucket *shared, uint64_t *held, uint64_t now, uint32_t cost)
{
	if (__builtin_expect(*held < cost, 0))
		*held += shared_bucket_take(shared, now, cost - *held);
	if (*held < cost)
		return false;
	*held -= cost;
	return true;
}

#define WORLD_WORKERS_MAX 8
#define WORLD_FLOWS_MAX   64
#define WORLD_SECOND      UINT64_C(1000000000) /* ticks */

enum judge_kind {
	JUDGE_ONE,           /* a single bucket */
	JUDGE_EVEN,          /* a bucket each, of 1/n */
	JUDGE_SHARES,        /* a bucket each, divided by demand now and then */
	JUDGE_SHARED_BUCKET, /* quanta from one shared bucket */
	JUDGES
};

enum traffic {
	TRAFFIC_UNDER,    /* 0.9 of the limit, equal flows */
	TRAFFIC_STEADY,   /* 1.5 of it */
	TRAFFIC_ZIPF,     /* 1.5 of it, the k-th flow 1/k of the first */
	TRAFFIC_ELEPHANT, /* one flow of 1.3, others 0.2 together */
	TRAFFIC_HOP_SLOW, /* 1.5 of it; flows go to another worker every second */
	TRAFFIC_HOP_FAST, /* every 100 ms */
	TRAFFIC_ON_OFF,   /* flows of 50 ms, silent for 150: the limit in the mean */
	TRAFFIC_TCP,      /* flows that halve their window at a loss */
	TRAFFICS
};

struct world_params {
	uint64_t rate_bps, burst_bytes;
	unsigned workers, flows;
	enum traffic traffic;
	uint64_t period; /* ticks between two looks of JUDGE_SHARES */
	uint64_t ticks;  /* to run for */
	uint64_t seed;
};

struct world_result {
	double offered, passed; /* bytes */
	double flow_offered[WORLD_FLOWS_MAX], flow_passed[WORLD_FLOWS_MAX];
	double depth; /* of the shallowest bucket of that rate that would have passed as much */
	uint64_t takes, packets; /* from the shared bucket; offered */
};

/* What each kind of judge makes of a traffic. TRAFFIC_TCP heeds each: then offers differ. */
void world_run(const struct world_params *params, struct world_result results[JUDGES]);

/* What kind has lost against one bucket, of what the limit has granted. */
double world_lost(const struct world_params *params, const struct world_result *results,
	enum judge_kind kind);

/* The most that a flow loses against one bucket, of the part of its packets that gets through. */
double world_unfair(const struct world_params *params, const struct world_result *results,
	enum judge_kind kind);

/* Jain's index of what each flow gets, of what it would like to. */
double world_jain(const struct world_params *params, const struct world_result *result);

const char *world_traffic_name(enum traffic traffic);
const char *world_judge_name(enum judge_kind kind);

#endif
