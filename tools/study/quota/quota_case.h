/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Inputs that are equal for all contenders of `weir-study quota`, and their results. The inputs are
 * a tree of nodes, a total with its first division, and requests until it is used up. After "A
 * tree-based protocol for enforcing quotas in clouds", section V.A.
 */
#ifndef WEIR_SIM_QUOTA_CASE_H
#define WEIR_SIM_QUOTA_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

#define QUOTA_NODES_MAX 1000
#define QUOTA_CHILDREN  5 /* most children of a node, as in the paper */
#define QUOTA_TENTHS    10
#define QUOTA_MEMORY_NS UINT64_C(2000000000) /* half-life of a rate */

enum quota_workload {
	QUOTA_ZIPF,     /* the paper's synthetic trace: few nodes have most requests */
	QUOTA_WORLDCUP, /* evened out by a load balancer, with sizes of files */
	QUOTA_WORKLOADS,
};

struct quota_case {
	unsigned n;
	enum quota_workload workload;
	uint64_t seed;
	uint64_t hop_ns;   /* delay of a message over an edge */
	unsigned requests; /* for which the total is about enough */

	uint64_t total;
	uint64_t shares[QUOTA_NODES_MAX];
	double upto[QUOTA_NODES_MAX]; /* part of requests that goes to the nodes up to this */
};

/* Requests in order, the same for every contender. */
struct quota_trace {
	const struct quota_case *of;
	struct prng prng;
	uint64_t at_ns, units;
	unsigned node;
};

struct quota_result {
	uint64_t requests;             /* granted */
	uint64_t units;                /* units granted until the first refusal */
	uint64_t messages, hops;       /* hops: a message counts once for each edge */
	uint64_t tenths[QUOTA_TENTHS]; /* hops by the tenth of the total left, least first */
	uint64_t reallocations;
	double response_ns; /* sum over all requests */
	double stalled_ns;  /* sum of the time that requests have waited */
	bool exceeded;      /* more than the total was granted: never */
};

void quota_case_init(struct quota_case *c, unsigned n, enum quota_workload workload, uint64_t seed,
	unsigned requests);

void quota_trace_start(struct quota_trace *trace, const struct quota_case *c);
void quota_trace_next(struct quota_trace *trace);

/* The tree: 0 is its root. Returns the number of edges between two nodes. */
unsigned quota_parent(unsigned node);
unsigned quota_distance(unsigned a, unsigned b);

/* Counts a message over that many edges, when that part of the total is used. */
void quota_count(
	struct quota_result *result, const struct quota_case *c, unsigned hops, uint64_t used);

/* Run one contender each. Return 0 or -ENOMEM. */
int quota_central(const struct quota_case *c, struct quota_result *result);
int quota_poll(const struct quota_case *c, bool at_once, struct quota_result *result);
int quota_tree(const struct quota_case *c, struct quota_result *result);

#endif
