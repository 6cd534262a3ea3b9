/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The bytes of a connection as a sequence of segments, all full except the last, and their
 * counters.
 */
#include "transport/stream.h"

#include <errno.h>

int stream_init(struct stream *stream, const struct conn_params *params)
{
	uint64_t n;

	if (params->mss == 0 || params->window < params->mss)
		return -EINVAL;
	n = params->bytes / params->mss + (params->bytes % params->mss != 0);
	if (n >= STREAM_ENDLESS)
		return -EINVAL;
	*stream = (struct stream){
		.mss = params->mss,
		.window = params->window,
		.total = n ? (uint32_t)n : STREAM_ENDLESS,
		.last = params->mss,
	};
	if (n)
		stream->last = (uint32_t)(params->bytes - (n - 1) * params->mss);
	return 0;
}

static uint32_t bytes_of(const struct stream *stream, uint32_t seg)
{
	return seg == stream->total - 1 ? stream->last : stream->mss;
}

bool stream_has(const struct stream *stream, uint32_t una, uint32_t seg)
{
	if (seg >= stream->total || seg == STREAM_ENDLESS - 1)
		return false;
	return (uint64_t)(seg - una) * stream->mss + bytes_of(stream, seg) <= stream->window;
}

void stream_segment(struct stream *stream, uint32_t seg, uint64_t now_ns, struct segment *out)
{
	*out = (struct segment){
		.seq = (uint64_t)seg * stream->mss,
		.len = bytes_of(stream, seg),
		.fin = seg == stream->total - 1,
		.sent_ns = now_ns,
	};
	stream->stats.segments++;
	stream->stats.bytes += out->len;
}

/* Returns the end of the stream, or the last byte that it can have. */
static uint64_t stream_end(const struct stream *stream)
{
	return (uint64_t)(stream->total - 1) * stream->mss + stream->last;
}

uint32_t stream_below(const struct stream *stream, uint64_t byte)
{
	return byte >= stream_end(stream) ? stream->total : (uint32_t)(byte / stream->mss);
}

uint32_t stream_above(const struct stream *stream, uint64_t byte)
{
	if (byte >= stream_end(stream))
		return stream->total;
	return (uint32_t)(byte / stream->mss) + (byte % stream->mss != 0);
}
