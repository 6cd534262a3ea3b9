/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Measurements of a run: bytes by interval, of limiters and of flows, local limits, and the fate of
 * every packet; and units of quotas that packets have spent.
 */
#ifndef WEIR_SIM_RECORD_H
#define WEIR_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* Fate of a packet. Every sent packet is under way or counted under one of these. */
enum fate {
	FATE_DELIVERED,
	FATE_LIMIT,    /* did not conform */
	FATE_UPSTREAM, /* the queue before the limiter was full */
	FATE_DOWN,     /* its limiter was down */
	FATES
};

/* A flow with a line of its own in the results; Web requests share their entry's. */
struct flow_record {
	unsigned traffic, limiter, policy;
	uint64_t start_ns, end_ns;  /* times of sending; end 0: never */
	uint64_t sent, fate[FATES]; /* packets */
	uint32_t *delivered;        /* n_bins: bytes that the receiving application got */
	bool web;
};

/* An answered Web request. */
struct request_record {
	unsigned traffic;
	uint64_t bytes, start_ns, end_ns;
};

struct record {
	uint64_t bin_ns;
	unsigned n_bins, bin;  /* bin: now */
	uint64_t *forwarded;   /* [policy][limiter][bin]: bytes of IP packets that passed */
	float *local_limit;    /* [policy][limiter][bin]: bytes/s at the end of the interval */
	double *sum_of_limits; /* [policy][bin] */
	double *in_force;      /* [policy][bin]: the largest limit of any limiter in the interval */
	struct flow_record *flows;
	unsigned n_flows, flows_room;
	struct request_record *requests;
	size_t n_requests, requests_room;
};

int record_create(struct sim *sim);
void record_free(struct sim *sim);

/* Adds a flow. Returns its index, or UINT32_MAX when out of memory (which ends the run). */
unsigned record_flow(struct sim *sim, const struct flow_record *flow);
void record_request(struct sim *sim, const struct request_record *request);

void record_sent(struct sim *sim, unsigned flow);
void record_fate(struct sim *sim, unsigned flow, enum fate fate);
void record_forwarded(struct sim *sim, unsigned policy, unsigned limiter, uint32_t bytes);
void record_delivered(struct sim *sim, unsigned flow, uint64_t bytes);

/*
 * Records the local limit at the end of the interval, in bytes per second. record_end_bin() ends
 * it.
 */
void record_limit(struct sim *sim, unsigned policy, unsigned limiter, double limit);
void record_end_bin(struct sim *sim);

/* Records the largest limit of any limiter from now on, in bytes per second. */
void record_in_force(struct sim *sim, unsigned policy, double limit);

/* Records the first violation of an invariant: the run continues to its end and fails. */
void record_problem(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the index at which a limiter's row of a policy begins in forwarded and local_limit. */
size_t record_row(const struct sim *sim, unsigned policy, unsigned limiter);

/*
 * Units that packets have spent of a policy's quota, at all limiters, in the units that it counts.
 * A run fails if they ever exceed the quota.
 */
struct spent {
	uint64_t *by_limiter; /* n_limiters */
	uint64_t all;
	uint64_t first;      /* number of the period in which the run begins */
	uint64_t *by_period; /* n_periods from `first` on: units of a period spent within it */
	bool *begun;         /* n_periods from `first` on: some limiter has been in it */
	unsigned n_periods, n_begun;
};

/* Returns 0 or -ENOMEM; spent_free() is due in either case. */
int spent_create(struct sim *sim);
void spent_free(struct sim *sim);

/* Notes that a limiter is in a period. */
void spent_begins(struct sim *sim, unsigned policy, uint64_t period);

/*
 * Adds the units that a packet has spent; `earlier` of them belong to an earlier period than the
 * limiter's.
 */
void spent_add(struct sim *sim, unsigned policy, unsigned limiter, uint64_t period, uint64_t units,
	uint64_t earlier);

/* Return the spent units as a ratio of the quotas of all periods that have begun. */
double spent_ratio(const struct sim *sim, unsigned policy);
double spent_ratio_of(const struct sim *sim, unsigned policy, unsigned limiter);

#endif
