/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limit over several workers in virtual time. The same traffic, spread over the workers, is
 * metered by one bucket and by each method that works without it. A tick is a nanosecond.
 */
#ifndef WEIR_TEST_SPLIT_WORLD_H
#define WEIR_TEST_SPLIT_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/token_bucket.h"
#include "meter/shared_bucket.h"
#include "meter/shares.h"

/*
 * Returns true if a packet of this cost conforms, for a worker that holds *held units of the shared
 * bucket, initially 0 or a quantum. Takes the units if so. A cost of 0 always conforms. *held has
 * one writer.
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

enum policer_kind {
	POLICER_ONE,           /* a single bucket */
	POLICER_EVEN,          /* a bucket for each worker, of 1/n */
	POLICER_SHARES,        /* a bucket for each worker, divided by demand at intervals */
	POLICER_SHARED_BUCKET, /* quanta from one shared bucket */
	POLICERS
};

enum traffic {
	TRAFFIC_UNDER,    /* 0.9 of the limit, equal flows */
	TRAFFIC_STEADY,   /* 1.5 of it */
	TRAFFIC_ZIPF,     /* 1.5 of it, the k-th flow 1/k of the first */
	TRAFFIC_ELEPHANT, /* one flow of 1.3, the others 0.2 together */
	TRAFFIC_HOP_SLOW, /* 1.5 of it; flows move to another worker every second */
	TRAFFIC_HOP_FAST, /* every 100 ms */
	TRAFFIC_ON_OFF,   /* flows of 50 ms, silent for 150: the limit on average */
	TRAFFIC_TCP,      /* flows that halve their window at a loss */
	TRAFFICS
};

struct world_params {
	uint64_t rate_bps, burst_bytes;
	unsigned workers, flows;
	enum traffic traffic;
	uint64_t period; /* ticks between two updates of POLICER_SHARES */
	uint64_t ticks;  /* ticks to run */
	uint64_t seed;
};

struct world_result {
	double offered, passed; /* bytes */
	double flow_offered[WORLD_FLOWS_MAX], flow_passed[WORLD_FLOWS_MAX];
	double depth; /* smallest burst of a bucket of that rate that would pass as much */
	uint64_t takes, packets; /* from the shared bucket; offered */
};

/*
 * Runs the traffic and returns the result of each policer. TRAFFIC_TCP reacts to each policer, so
 * the offered load differs.
 */
void world_run(const struct world_params *params, struct world_result results[POLICERS]);

/* Returns the part of the granted units that this policer loses compared with one bucket. */
double world_lost(const struct world_params *params, const struct world_result *results,
	enum policer_kind kind);

/*
 * Returns the largest loss of a flow compared with one bucket, as a part of its packets that pass.
 */
double world_unfair(const struct world_params *params, const struct world_result *results,
	enum policer_kind kind);

/* Returns Jain's index of each flow's throughput, relative to its demand. */
double world_jain(const struct world_params *params, const struct world_result *result);

const char *world_traffic_name(enum traffic traffic);
const char *world_policer_name(enum policer_kind kind);

#endif
