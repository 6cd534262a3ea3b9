/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What was seen of a run: bytes by interval, of limiters and of flows, local limits, and what
 * became of every packet.
 */
#ifndef WEIR_SIM_RECORD_H
#define WEIR_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* What becomes of a packet. Every one that is sent is under way or counted under one of these. */
enum fate {
	FATE_DELIVERED,
	FATE_LIMIT,    /* did not conform */
	FATE_UPSTREAM, /* the queue before the limiter was full */
	FATE_DOWN,     /* its limiter was down */
	FATES
};

/* A flow with a place of its own in the results; requests of the Web share their entry's. */
struct flow_record {
	unsigned traffic, limiter, policy;
	uint64_t start_ns, end_ns;  /* of what was sent; end 0: never */
	uint64_t sent, fate[FATES]; /* packets */
	uint32_t *delivered;        /* n_bins: bytes that the receiving application got */
	bool web;
};

/* A request of the Web that is answered. */
struct request_record {
	unsigned traffic;
	uint64_t bytes, start_ns, end_ns;
};

struct record {
	uint64_t bin_ns;
	unsigned n_bins, bin;  /* bin: now */
	uint64_t *forwarded;   /* [policy][limiter][bin]: bytes of IP packets that passed */
	float *local_limit;    /* likewise, bytes per second at the end of the interval */
	double *sum_of_limits; /* [policy][bin] */
	double *in_force;      /* [policy][bin]: the largest limit of any limiter in the interval */
	struct flow_record *flows;
	unsigned n_flows, flows_room;
	struct request_record *requests;
	size_t n_requests, requests_room;
};

int record_create(struct sim *sim);
void record_free(struct sim *sim);

/* A new flow; its number, or UINT32_MAX when out of memory (which ends the run). */
unsigned record_flow(struct sim *sim, const struct flow_record *flow);
void record_request(struct sim *sim, const struct request_record *request);

void record_sent(struct sim *sim, unsigned flow);
void record_fate(struct sim *sim, unsigned flow, enum fate fate);
void record_forwarded(struct sim *sim, unsigned policy, unsigned limiter, uint32_t bytes);
void record_delivered(struct sim *sim, unsigned flow, uint64_t bytes);

/* What a limiter may pass at the end of the interval, in bytes per second; and it is over. */
void record_limit(struct sim *sim, unsigned policy, unsigned limiter, double limit);
void record_end_bin(struct sim *sim);

/* The largest limit of any limiter from now on, in bytes per second. */
void record_in_force(struct sim *sim, unsigned policy, double limit);

/* Notes the first thing that should never be: the run goes on to its end and fails. */
void record_problem(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where a limiter's row of a policy begins in forwarded and local_limit. */
size_t record_row(const struct sim *sim, unsigned policy, unsigned limiter);

#endif
