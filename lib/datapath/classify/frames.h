/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst of frames on its way through parse and classification, as columns: what the next stage
 * reads of every frame lies side by side, and the whole parse of a frame is made only when somebody
 * asks for it. One worker's own.
 */
#ifndef WEIR_CLASSIFY_FRAMES_H
#define WEIR_CLASSIFY_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/classify.h"
#include "packet/fragment.h"
#include "packet/parse.h"
#include "packet/tunnel.h"

#define FRAMES_MAX 64

struct frames {
	const struct tunnels *tunnels; /* in: what is inside is classified; or NULL */
	struct fragments *fragments;   /* in: where ports matter; or NULL */
	uint64_t now;                  /* in: ticks, for fragments */
	bool wide;                     /* in: the CPU classify_has_wide() */
	const void *lines;             /* in: CLASSIFY_LINE bytes of each policy, or NULL: they may
					    begin to be fetched as it is found */
	const uint8_t *data[FRAMES_MAX]; /* in: first byte of each frame */
	uint32_t len[FRAMES_MAX];    /* in: bytes there, which may be fewer than the frame has */
	const uint32_t *whole;       /* in, with `fragments`: bytes of each frame */
	uint32_t policy[FRAMES_MAX]; /* out: index of its policy, or CLASSIFY_NONE */
	uint16_t
		l2_len[FRAMES_MAX]; /* out: bytes before its L3 header; 0 if no policy wants them */
	uint16_t uncharged[FRAMES_MAX]; /* out: l2_len and padding: no bytes of layer 3 */
	uint64_t plain;  /* out: frames whose IP header is known to be behind l2_len, a bit each */
	uint64_t parsed; /* frames whose packet[] is filled in, a bit each; */
	uint64_t
		unparsed; /* and of these, where packet.unparsed says that something is not known */
	uint64_t
		refused; /* out: those that have no policy and are not to pass either, a bit each */
	struct packet packet[FRAMES_MAX];
};

/*
 * Fills in who is refused, and the policies and L2 lengths of n frames, at most FRAMES_MAX,
 * received on one wire in one direction. Parses frames that are not plain: that have IPv4 options
 * or IPv6 extension headers, more than one VLAN tag, are fragments, tunnels to enter or no IP.
 * Worker lcores; no lock, no allocation.
 */
void classify_frames(const struct classifier *classifier, unsigned wire, enum direction direction,
	struct frames *frames, unsigned n);

/*
 * Returns true if this CPU has vectors of 512 bits that classify_frames() gains by. The result is
 * the same without. Any thread.
 */
bool classify_has_wide(void);

/* The rest of frames_parse(), for those of which packet_parse() does not say all. */
void frames_look_further(struct frames *frames, unsigned i);

/* Parses frame i; that this has been done is the caller's to note. */
static inline __attribute__((always_inline)) void frames_parse(struct frames *frames, unsigned i)
{
	struct packet *packet = &frames->packet[i];

	packet_parse(frames->data[i], frames->len[i], packet);
	if (frames->tunnels != NULL || ((packet->fragment || packet->unparsed) &&
					       (packet->unparsed || frames->fragments != NULL)))
		frames_look_further(frames, i);
}

/*
 * All that is to be known of frame i. With `fragments`, every fragment must be asked for, and in
 * the order of arrival: the later ones are known by the first.
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

/* The family of frame i, and in *src its source address if that is one of IP. */
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
