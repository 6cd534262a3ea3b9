/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The bytes of a connection as a sequence of segments, all full but the last, and the account of
 * what became of them. A sender counts in segments, so that sequence numbers turn up only where
 * a segment is made or read.
 */
#ifndef WEIR_SIM_STREAM_H
#define WEIR_SIM_STREAM_H

#include "transport/conn.h"

#define STREAM_ENDLESS UINT32_MAX

struct stream {
	uint32_t mss;    /* bytes of a full segment */
	uint32_t window; /* receive window, bytes */
	uint32_t total;  /* segments, STREAM_ENDLESS until a stop */
	uint32_t last;   /* bytes of the last one */
	struct conn_stats stats;
};

/* 0, or -EINVAL when there is no mss, no room for a segment in the window, or too many of them. */
int stream_init(struct stream *stream, const struct conn_params *params);

/* Whether segment `seg` exists and the receiver has room for it, when it has all before `una`. */
bool stream_has(const struct stream *stream, uint32_t una, uint32_t seg);

/* Fills in what is sent: place, length, end; and counts it. */
void stream_segment(struct stream *stream, uint32_t seg, uint64_t now_ns, struct segment *out);

/* The first segment not wholly below this byte; the first that does not start below it. */
uint32_t stream_below(const struct stream *stream, uint64_t byte);
uint32_t stream_above(const struct stream *stream, uint64_t byte);

#endif
