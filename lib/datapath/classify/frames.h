/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst of frames during parse and classification, as columns. Data that the next stage reads of
 * every frame is contiguous. A frame is fully parsed only when a caller needs it. Owned by one
 * worker.
 */
#ifndef WEIR_CLASSIFY_FRAMES_H
#define WEIR_CLASSIFY_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/classify.h"
#include "packet/fragment.h"
#include "packet/parse.h"

#define FRAMES_MAX 64

struct frames {
	const struct tunnels *tunnels; /* in: inner packets are classified; or NULL */
	struct fragments *fragments;   /* in: if ports matter; or NULL */
	uint64_t now;                  /* in: ticks, for fragments */
	bool wide;                     /* in: classify_has_wide() is true */
	const void *lines;             /* in: CLASSIFY_LINE bytes per policy to prefetch, or NULL */
	const uint8_t *data[FRAMES_MAX]; /* in: first byte of each frame */
	uint32_t len[FRAMES_MAX];        /* in: bytes at data[]; can be fewer than the frame has */
	const uint32_t *whole;           /* in, with `fragments`: bytes of each frame */
	uint32_t policy[FRAMES_MAX];     /* out: index of its policy, or CLASSIFY_NONE */
	uint16_t l2_len[FRAMES_MAX]; /* out: bytes before its L3 header; 0 if no policy needs it */
	uint16_t uncharged[FRAMES_MAX]; /* out: l2_len and padding, not charged at layer 3 */
	uint64_t plain;    /* out, bitmap: frames whose IP header is certain to follow l2_len */
	uint64_t parsed;   /* bitmap: frames whose packet[] is filled in */
	uint64_t unparsed; /* bitmap, of these: fields are unknown, see packet.unparsed */
	uint64_t refused;  /* out, bitmap: frames to drop; they have no policy */
	struct packet packet[FRAMES_MAX];
};

/*
 * Sets the policies, the L2 lengths and the frames to drop, of n frames, at most FRAMES_MAX,
 * received on one wire in one direction. Parses frames that are not plain: with IPv4 options, IPv6
 * extension headers or more than one VLAN tag, fragments, tunnels to enter, and packets that are
 * not IP. Worker lcores; no lock, no allocation.
 */
void classify_frames(const struct classifier *classifier, unsigned wire, enum direction direction,
	struct frames *frames, unsigned n);

/*
 * Returns true if this CPU has 512-bit vectors that make classify_frames() faster. The result is
 * the same without. Any thread.
 */
bool classify_has_wide(void);

/* The rest of frames_parse(), for frames that packet_parse() does not parse completely. */
void frames_look_further(struct frames *frames, unsigned i);

/* Parses frame i. The caller sets its bit in `parsed`. */
static inline __attribute__((always_inline)) void frames_parse(struct frames *frames, unsigned i)
{
	struct packet *packet = &frames->packet[i];

	packet_parse(frames->data[i], frames->len[i], packet);
	if (frames->tunnels != NULL || ((packet->fragment || packet->unparsed) &&
					       (packet->unparsed || frames->fragments != NULL)))
		frames_look_further(frames, i);
}

/*
 * Returns the parse of frame i. With `fragments`, this must be called for every fragment, in order
 * of arrival, because later fragments are identified by the first.
 */
static inline __attribute__((always_inline)) struct packet *frames_packet(
	struct frames *frames, unsigned i)
{
	if (!(frames->parsed >> i & 1)) {
		frames->parsed |= UINT64_C(1) << i;
		frames_parse(frames, i);
	}
	return &frames->packet[i];
}

/* Returns the family of frame i, and in *src its source address if it is IP. */
static inline __attribute__((always_inline)) enum packet_family frames_source(
	struct frames *frames, unsigned i, const uint8_t **src)
{
	const uint8_t *data = frames->data[i], *ip = data + frames->l2_len[i];
	const struct packet *packet;

	if (__builtin_expect(frames->plain >> i & 1, 1)) {
		*src = ip + (ip[0] >> 4 == PACKET_IPV4 ? PACKET_IPV4_SRC : PACKET_IPV6_SRC);
		return (enum packet_family)(ip[0] >> 4);
	}
	packet = frames_packet(frames, i);
	*src = data + packet->src_off;
	return (enum packet_family)packet->family;
}

#endif
