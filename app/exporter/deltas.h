/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How much each policy of one limiter has passed and dropped from one reading to the next; and what
 * went or was lost without any policy, under names in brackets, as no policy's is.
 */
#ifndef WEIR_EXPORTER_DELTAS_H
#define WEIR_EXPORTER_DELTAS_H

#include <stdbool.h>

#include <jansson.h>

#include "metrics.h"
#include "netflow/netflow.h"

struct delta_counts {
	uint64_t packets, units;
};

struct delta {
	char *name;
	char limit[NETFLOW_DESCRIPTION + 1]; /* in words */
	enum netflow_unit unit;
	enum netflow_status status; /* of what is dropped */
	struct delta_counts passed, dropped;
	struct delta_counts all_passed, all_dropped; /* as read last */
	bool read;                                   /* this time */
	/* For who tells of it: */
	uint32_t application; /* 0: none yet */
	uint64_t told_ms;     /* 0: it has not been */
	char told_limit[NETFLOW_DESCRIPTION + 1];
};

/* Begins as all zero. */
struct deltas {
	struct delta *deltas;
	size_t n, room;
	json_t *index; /* by name */
	bool begun;    /* something was read before */
	bool whole;    /* that was all that there is */
};

/*
 * Reads the answers of a limiter, with its policies. What is read of it first has no
 * differences, since nobody knows over which time; of a limiter that has restarted since the last
 * reading all are since then.
 */
void deltas_read(struct deltas *deltas, const struct metrics_of *of, bool restarted);
void deltas_free(struct deltas *deltas);

#endif
