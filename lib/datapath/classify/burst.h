/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst between where its packets are (columns.c) and where their policies are (classify.c):
 * one side's addresses as columns, and the other facts of a packet when a rule asks for them.
 * Private to this folder.
 */
#ifndef WEIR_CLASSIFY_BURST_H
#define WEIR_CLASSIFY_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/frames.h"
#include "classify/tables.h"

enum side { SIDE_DST, SIDE_SRC };

struct burst {
	const struct classifier *classifier;
	enum direction direction;
	uint64_t key; /* wire and direction */
	unsigned n;
	uint32_t *policies; /* starts on the way */
	const void *lines;  /* as frames have it */
	bool wide;          /* frames->wide, and the burst has whole WIDE_STEPs */
	uint64_t refused;   /* those that are not to pass, a bit each */

	/* A packet is known by its parse, if its bit is set, or is a plain frame. */
	uint64_t parsed;
	const struct packet *packets;
	const uint8_t *const *data;
	const uint32_t *len; /* of plain frames */
	const uint16_t *l2_len;

	/* Addresses by family, and whose they are: of all packets in their order if in_order. */
	bool in_order;
	bool tall; /* no frame is short enough for padding; false: one might be */
	unsigned n4, n6, n_other;
	uint32_t addr4[BURST_MAX]; /* host order */
	struct lpm6_addr addr6[BURST_MAX];
	uint8_t who4[BURST_MAX], who6[BURST_MAX], other[BURST_MAX];
};

/* What rules ask for. */
struct facts {
	uint64_t key; /* all KEY_ fields */
	const uint8_t *src;
	uint8_t family; /* enum packet_family */
	uint16_t src_port, dst_port;
};

/*
 * Tells plain frames from others, which are parsed; fills in all L2 lengths and the addresses of
 * one side. Plain is what most frames are, and of which every field that a policy can ask for is
 * where it always is: see columns.c.
 */
void columns_of_frames(struct burst *burst, struct frames *frames, enum side side);

/* Fills the columns of some packets of which it is known where they are. */
void columns_of(struct burst *burst, const uint8_t *who, unsigned n, enum side side);

/*
 * The policies of packets that are not understood, a bit each, instead of those that they have been
 * given; the columns are lost. See classify.h.
 */
void classify_unparsed(struct burst *burst, uint64_t unparsed);

struct facts facts_of(const struct burst *burst, unsigned i);

/* Fills in the bytes of n frames that are not of layer 3. `tall`: no frame is short. */
void find_uncharged(struct frames *frames, unsigned n, bool tall);

/* Fills in only the L2 lengths. Returns true if it sees that no frame is short. */
bool l2_lengths(struct frames *frames, unsigned n);

#endif
