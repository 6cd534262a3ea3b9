/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Flow records of what limiters' policies pass and drop: an observation domain for each limiter, an
 * application for each policy, and a record for each that has counted something since it was last
 * read. Knows no socket and no clock. One thread.
 */
#ifndef WEIR_EXPORTER_RECORDS_H
#define WEIR_EXPORTER_RECORDS_H

#include "boxes.h"
#include "netflow/netflow.h"

struct records;

/* Now: ms since 1970, and ms that nobody sets. */
struct records_time {
	uint64_t wall_ms, steady_ms;
};

/* Where datagrams go. */
struct records_sink {
	bool (*send)(void *context, const uint8_t *bytes, size_t n); /* whether it went */
	void *context;
	size_t most; /* bytes that a datagram may have: netflow.h */
};

/* What was sent of one limiter so far. */
struct records_counts {
	char limiter[108];
	uint32_t domain;
	uint64_t datagrams, records, failed; /* datagrams that went, and that did not */
};

/* Templates and names are told again after so long. NULL without memory. */
struct records *records_new(enum netflow_version version, uint64_t refresh_ms);

/* Also of NULL. */
void records_free(struct records *records);

/*
 * Sends what the limiters have counted since they were read before: `began` is when they were
 * asked. One that has not answered goes on where it was, when it answers.
 */
void records_take(struct records *records, const struct boxes *boxes,
	const struct records_time *began, const struct records_sink *sink);

/* Copies what was sent of each limiter, and returns of how many. */
unsigned records_counts(const struct records *records, struct records_counts counts[BOXES_MOST]);

#endif
