/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A burst between columns.c, which finds the packets' headers, and classify.c, which finds their
 * policies. It has the addresses of one side as columns, and provides a packet's other facts when a
 * rule needs them. Private to this folder.
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
	uint32_t *policies; /* starts, until the search is done */
	const void *lines;  /* see struct frames */
	bool wide;          /* frames->wide, and n is a multiple of WIDE_STEP */
	uint64_t refused;   /* bitmap: packets to drop */

	/* Bit set: packets[i] is valid. Bit clear: a plain frame. */
	uint64_t parsed;
	const struct packet *packets;
	const uint8_t *const *data;
	const uint32_t *len; /* frame lengths */
	const uint16_t *l2_len;

	/*
	 * Addresses by family, and their packets' numbers. If in_order, they are of all packets in
	 * order, without numbers.
	 */
	bool in_order;
	bool tall; /* no frame is short enough for padding; false: unknown */
	unsigned n4, n6, n_other;
	uint32_t addr4[BURST_MAX]; /* host order */
	struct lpm6_addr addr6[BURST_MAX];
	uint8_t who4[BURST_MAX], who6[BURST_MAX], other[BURST_MAX];
};

/* The facts of a packet that rules check. */
struct facts {
	uint64_t key; /* all KEY_ fields */
	const uint8_t *src;
	uint8_t family; /* enum packet_family */
	uint16_t src_port, dst_port;
};

/*
 * Distinguishes plain frames from others, and parses the others. Fills in all L2 lengths and the
 * addresses of one side. Most frames are plain: every field that a policy can match is at a fixed
 * place, see columns.c.
 */
void columns_of_frames(struct burst *burst, struct frames *frames, enum side side);

/* Fills the columns with n packets, numbers who[], whose headers have been found. */
void columns_of(struct burst *burst, const uint8_t *who, unsigned n, enum side side);

/*
 * Replaces the policies of packets that are not fully parsed (a bit each). Overwrites the columns.
 * See classify.h.
 */
void classify_unparsed(struct burst *burst, uint64_t unparsed);

struct facts facts_of(const struct burst *burst, unsigned i);

/* Fills in the bytes of n frames that are not charged at layer 3. tall: no frame is short. */
void find_uncharged(struct frames *frames, unsigned n, bool tall);

/* Fills in the L2 lengths only. Returns true if it finds that no frame is short. */
bool l2_lengths(struct frames *frames, unsigned n);

#endif
