/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets and units that each policy of a limiter has passed and dropped between two readings. Also
 * those without a policy, under names in brackets, which no policy has.
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
	char limit[NETFLOW_DESCRIPTION + 1]; /* text of a record */
	enum netflow_unit unit;
	enum netflow_status status; /* status of dropped packets */
	struct delta_counts passed, dropped;
	struct delta_counts all_passed, all_dropped; /* at the last reading */
	bool read;                                   /* in this reading */
	/* Fields for the sender of records: */
	uint32_t application;  /* 0: none yet */
	uint64_t described_ms; /* 0: not sent yet */
	char sent_limit[NETFLOW_DESCRIPTION + 1];
};

/* All zero at the start. */
struct deltas {
	struct delta *deltas;
	size_t n, room;
	json_t *index; /* names to indices */
	bool begun;    /* something was read before */
	bool whole;    /* the last reading was complete */
};

/*
 * Reads the answers of a limiter, with its policies. The first reading of a limiter has no
 * differences, because its interval is unknown. If the limiter has restarted since the last
 * reading, all counts are since then.
 */
void deltas_read(struct deltas *deltas, const struct metrics_of *of, bool restarted);
void deltas_free(struct deltas *deltas);

#endif
