/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What all contenders of `weir-study quota` are given alike: a tree of nodes, a total and how it is
 * divided at first, and requests until it is used up; and what is measured of them. After "A
 * tree-based protocol for enforcing quotas in clouds", section V.A.
 */
#ifndef WEIR_SIM_QUOTA_CASE_H
#define WEIR_SIM_QUOTA_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

#define QUOTA_NODES_MAX 1000
#define QUOTA_CHILDREN  5 /* of a node, at most: as in the paper */
#define QUOTA_TENTHS    10
#define QUOTA_MEMORY_NS UINT64_C(2000000000) /* half-life of a rate */

enum quota_workload {
	QUOTA_ZIPF,     /* the paper's synthetic trace: few nodes have most of it */
	QUOTA_WORLDCUP, /* a load balancer has made it even, and sizes are those of files */
	QUOTA_WORKLOADS,
};

struct quota_case {
	unsigned n;
	enum quota_workload workload;
	uint64_t seed;
	uint64_t hop_ns;   /* a message takes so long for an edge */
	unsigned requests; /* that the total is about enough for */

	uint64_t total;
	uint64_t shares[QUOTA_NODES_MAX];
	double upto[QUOTA_NODES_MAX]; /* of requests, the part that goes to the nodes up to this */
};

/* Requests as they come, the same for every contender. */
struct quota_trace {
	const struct quota_case *of;
	struct prng prng;
	uint64_t at_ns, units;
	unsigned node;
};

struct quota_result {
	uint64_t requests;       /* granted */
	uint64_t units;          /* of them, until the first is refused */
	uint64_t messages, hops; /* hops: a message counts once for each edge */
	uint64_t
		tenths[QUOTA_TENTHS]; /* hops by the part of the total that was left, least first */
	uint64_t reallocations;
	double response_ns; /* of all of them together */
	double stalled_ns;  /* that requests have waited, together */
	bool exceeded;      /* more than the total was granted: never */
};

void quota_case_init(struct quota_case *c, unsigned n, enum quota_workload workload, uint64_t seed,
	unsigned requests);

void quota_trace_start(struct quota_trace *trace, const struct quota_case *c);
void quota_trace_next(struct quota_trace *trace);

/* The tree: 0 is its root. Edges between two nodes. */
unsigned quota_parent(unsigned node);
unsigned quota_distance(unsigned a, unsigned b);

/* A message between nodes so far apart, when so much of the total is used. */
void quota_count(
	struct quota_result *result, const struct quota_case *c, unsigned hops, uint64_t used);

/* Contenders. 0 or -ENOMEM. */
int quota_central(const struct quota_case *c, struct quota_result *result);
int quota_poll(const struct quota_case *c, bool at_once, struct quota_result *result);
int quota_tree(const struct quota_case *c, struct quota_result *result);

#endif
