/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages of a topic's publishers, and the bucket that fits them. A message is BROKER_MESSAGE
 * units, so that parts of a bucket can be fractions of one. Pure.
 */
#ifndef WEIR_SIM_BROKER_TRACE_H
#define WEIR_SIM_BROKER_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define BROKER_MESSAGE 1000U /* units */

struct broker_traffic {
	bool periodic;       /* each publisher has a period and a random phase; otherwise Poisson */
	unsigned publishers; /* at least 1 */
	double rate;         /* messages a second of each publisher */
	unsigned batch;      /* messages in one batch */
	unsigned group;      /* publishers that send together; 1: each separately */
	double spread;       /* seconds that a group's batches are evenly spread over */
	uint64_t messages;   /* approximate number of messages in a trace */
};

/* A batch. */
struct broker_event {
	uint64_t at; /* ns */
	uint32_t source;
};

struct broker_trace {
	struct broker_event *events; /* by time */
	uint64_t n;
};

/* Returns the messages a second of all publishers. */
double broker_rate(const struct broker_traffic *traffic);

/* Creates a trace. Returns 0 or -ENOMEM; the caller frees it if 0. */
int broker_trace_make(
	struct broker_trace *trace, const struct broker_traffic *traffic, uint64_t seed);
void broker_trace_free(struct broker_trace *trace);

/*
 * Computes the smallest burst, in units, with which 99 of 100 of the trace's messages would not
 * wait at a limit in units a second: section VI of the paper. Returns 0 or -ENOMEM.
 */
int broker_trace_burst(
	const struct broker_trace *trace, unsigned batch, uint64_t limit, uint64_t *burst);

#endif
