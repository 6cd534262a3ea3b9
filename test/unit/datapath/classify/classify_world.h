/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frames of which is known what was put into them, and the two ways to their policies: through the
 * parser and classify_burst(), and through classify_frames(). For the tests of the classifier. What
 * is drawn by lot follows from classify_world_seed().
 */
#ifndef WEIR_TEST_CLASSIFY_WORLD_H
#define WEIR_TEST_CLASSIFY_WORLD_H

#include "check.h"

#include "classify/frames.h"

#define BURST    64
#define NAMED(n) ((n) + 1) /* so that 0, left out, is "any" */
#define NOTHING  (-1)

/* A policy's match, or a packet, as a row of a table. */
struct row {
	bool used;
	const char *dst, *src; /* a packet without is not IP */
	int vlan, dscp, wire;  /* NAMED() */
	uint8_t proto;
	struct port_range sport, dport; /* of a packet the first is its port */
	enum direction direction;
	int expect; /* index of a policy or NOTHING */
};

/* How a frame differs from what most are. */
enum form {
	PLAIN,
	SECOND_TAG,
	OPTIONS,  /* or an IPv6 extension header */
	FRAGMENT, /* the first one */
	EMPTY,    /* nothing behind the IP header but padding */
	CUT,      /* in the IP header, which then is none */
	SHORT,    /* an IPv4 length of less than its header, which then is none */
	NO_TAG,   /* another EtherType where that of a tag is, or of IP */
	FORMS
};

/* A frame, and what was put into it. */
struct frame {
	enum form form;
	uint8_t family, proto, dscp;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	int vlan; /* CONFIG_ANY: no tag */
	unsigned l2_len, len;
	uint8_t bytes[160];
};

/* A policy of the row's match; a row without anything names nothing. */
struct policy make_policy(const struct row *row);

/*
 * Policies of several matches each, made of rows: one that joins has its match in the policy of the
 * row before it, and that policy's terms. matches has room for n, and holds them for as long as the
 * policies are used; of[i] becomes the policy of row i. Returns how many there are.
 */
unsigned join_rows(struct policy *rows, const bool *joins, unsigned n, struct match *matches,
	struct policy *joined, uint32_t *of);

/* Whatever is drawn from here on. */
void classify_world_seed(uint64_t seed);
uint64_t random_next(void);
bool one_in(unsigned n);

/* Bytes from the rest of the frame; and what of that nobody can see is taken from it again. */
void put_frame(struct frame *frame);

/* The row's packet, in that form. */
void make_frame(const struct row *row, enum form form, struct frame *frame);

/* Exactly the bytes of each frame, so that AddressSanitizer sees any that is read behind them. */
void copy_frames(const struct frame *from, unsigned n, struct frames *to);
void free_frames(struct frames *frames, unsigned n);

/* Both ways to the same policies, and those the expected ones. */
void classify_both(const char *name, const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct frame *sent, unsigned n, const uint32_t *expect);

/* Checks bursts of one packet: every place gets the same answer as the first alone. */
void check_packet(const struct classifier *classifier, const struct row *row, const char *name,
	enum form form);

/* EAL without hugepages, for as long as the tests of a group. */
int start_eal(void **state);
int stop_eal(void **state);

#endif
