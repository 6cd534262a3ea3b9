/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frames with defined content, and both ways to their policies: the parser with classify_burst(),
 * and classify_frames(). For the tests of the classifier. Random values follow from
 * classify_world_seed().
 */
#ifndef WEIR_TEST_CLASSIFY_WORLD_H
#define WEIR_TEST_CLASSIFY_WORLD_H

#include "check.h"

#include "classify/frames.h"

#define BURST    64
#define NAMED(n) ((n) + 1) /* so that 0 (left out) is "any" */
#define NOTHING  (-1)

/* A policy's match, or a packet, as a row of a table. */
struct row {
	bool used;
	const char *dst, *src; /* a packet without them is not IP */
	int vlan, dscp, wire;  /* NAMED() */
	uint8_t proto;
	struct port_range sport, dport; /* a packet's port is the first */
	enum direction direction;
	int expect; /* index of a policy or NOTHING */
};

/* How a frame differs from a plain one. */
enum form {
	PLAIN,
	SECOND_TAG,
	OPTIONS,  /* or an IPv6 extension header */
	FRAGMENT, /* the first one */
	EMPTY,    /* only padding after the IP header */
	CUT,      /* in the IP header, so it is not IP */
	SHORT,    /* IPv4 length below its header's, so it is not IP */
	NO_TAG,   /* another EtherType in place of a tag's or IP's */
	FORMS
};

/* A frame, and its content. */
struct frame {
	enum form form;
	uint8_t family, proto, dscp;
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	int vlan; /* CONFIG_ANY: no tag */
	unsigned l2_len, len;
	uint8_t bytes[160];
};

/* Returns a policy with the row's match; an empty row names nothing. */
struct policy make_policy(const struct row *row);

/*
 * Makes policies of several matches each. A row that joins adds its match to the policy of the row
 * before it. The array matches needs room for n and must outlive the policies. Sets of[i] to
 * the policy of row i. Returns the number of policies.
 */
unsigned join_rows(struct policy *rows, const bool *joins, unsigned n, struct match *matches,
	struct policy *joined, uint32_t *of);

/* Seeds all following random values. */
void classify_world_seed(uint64_t seed);
uint64_t random_next(void);
bool one_in(unsigned n);

/*
 * Writes the bytes of the frame from its other fields. Clears fields that the form makes invisible.
 */
void put_frame(struct frame *frame);

/* Makes the row's packet in this form. */
void make_frame(const struct row *row, enum form form, struct frame *frame);

/* Copies exactly the bytes of each frame, so that AddressSanitizer detects reads after them. */
void copy_frames(const struct frame *from, unsigned n, struct frames *to);
void free_frames(struct frames *frames, unsigned n);

/* Checks that both ways lead to the expected policies. */
void classify_both(const char *name, const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct frame *sent, unsigned n, const uint32_t *expect);

/* Checks bursts of one packet: every place gets the same answer as a single packet. */
void check_packet(const struct classifier *classifier, const struct row *row, const char *name,
	enum form form);

/* Starts and stops EAL without hugepages for a group of tests. */
int start_eal(void **state);
int stop_eal(void **state);

#endif
