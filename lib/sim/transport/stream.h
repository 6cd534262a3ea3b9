/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The bytes of a connection as a sequence of segments, all full except the last, and their
 * counters. A sender counts in segments. So only code that makes or reads a segment uses sequence
 * numbers.
 */
#ifndef WEIR_SIM_STREAM_H
#define WEIR_SIM_STREAM_H

#include "transport/conn.h"

#define STREAM_ENDLESS UINT32_MAX

struct stream {
	uint32_t mss;    /* bytes of a full segment */
	uint32_t window; /* receive window, bytes */
	uint32_t total;  /* segments, STREAM_ENDLESS until a stop */
	uint32_t last;   /* bytes of the last segment */
	struct conn_stats stats;
};

/*
 * Returns 0, or -EINVAL if there is no mss, the window has no room for a segment, or there are too
 * many segments.
 */
int stream_init(struct stream *stream, const struct conn_params *params);

/*
 * Returns true if segment `seg` exists, and the receiver has room for it after receiving all before
 * `una`.
 */
bool stream_has(const struct stream *stream, uint32_t una, uint32_t seg);

/* Fills in position, length and end of a segment that is sent, and counts it. */
void stream_segment(struct stream *stream, uint32_t seg, uint64_t now_ns, struct segment *out);

/*
 * Return the first segment not wholly below this byte, and the first that does not start below it.
 */
uint32_t stream_below(const struct stream *stream, uint64_t byte);
uint32_t stream_above(const struct stream *stream, uint64_t byte);

#endif
