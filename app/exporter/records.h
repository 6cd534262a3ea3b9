/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flow records of the packets that policies pass and drop. Each limiter is an observation domain,
 * and each policy an application. A policy that has counted since the last reading gets a record.
 * Uses no socket and no clock. One thread.
 */
#ifndef WEIR_EXPORTER_RECORDS_H
#define WEIR_EXPORTER_RECORDS_H

#include "boxes.h"
#include "netflow/netflow.h"

struct records;

/* The time: ms since 1970, and ms of a clock that is never set. */
struct records_time {
	uint64_t wall_ms, steady_ms;
};

/* The receiver of datagrams. */
struct records_sink {
	bool (*send)(void *context, const uint8_t *bytes, size_t n); /* returns true if sent */
	void *context;
	size_t most; /* most bytes of a datagram: netflow.h */
};

/* Totals that were sent about one limiter. */
struct records_counts {
	char limiter[108];
	uint32_t domain;
	uint64_t datagrams, records, failed; /* `failed`: datagrams that could not be sent */
};

/* Templates and names are sent again after refresh_ms. Returns NULL without memory. */
struct records *records_new(enum netflow_version version, uint64_t refresh_ms);

/* NULL does nothing. */
void records_free(struct records *records);

/*
 * Sends the counts of the limiters since their last reading. `began` is the time of the query. A
 * limiter that has not answered continues from its last reading when it answers again.
 */
void records_take(struct records *records, const struct boxes *boxes,
	const struct records_time *began, const struct records_sink *sink);

/* Copies the totals of each limiter, and returns their number. */
unsigned records_counts(const struct records *records, struct records_counts counts[BOXES_MOST]);

#endif
