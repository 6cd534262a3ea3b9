/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The gossip datagram, format 4. All integers and floats (IEEE 754 binary32) are big-endian.
 *
 *   offset  bytes
 *        0      1  format, 4, or 3 for a receiver that has not reported to support 4
 *        1      1  flags: bit 0, the body is sealed; bits 1 and 2, the estimator (0 state, 1 tree,
 *                  2 one of weirsim alone); bit 3, it is a message; bit 4, the sender opens
 *                  datagrams sealed with identities (see keyring.h); the others are 0
 *        2      1  the newest format that the sender supports
 *        3      1  the oldest format that it reads
 *        4      4  sender: FNV-1a of its name in the roster
 *        8      8  epoch: random at every start of the sender, never 0
 *       16      8  counter: grows with each datagram of this epoch, from 1
 *       24      4  random bits of this datagram alone, so that a machine that is resumed twice from
 *                  one snapshot does not seal two bodies under one nonce
 *       28      4  key: name of the key that seals it (see keyring.h); 0 if it is plain
 *       32         body, sealed with XChaCha20-Poly1305: the nonce is bytes 4 to 27, the additional
 *                  data bytes 0 to 31, the 16-byte tag comes last. Without a key (flag clear) the
 *                  body is plain and there is no tag.
 *
 * Bytes 0 and 2 to 7 stay the same in every later format, so a limiter that cannot read a format
 * can still identify the sender.
 *
 * The body of a tree in format 3 has neither bit and nothing between role and records. Formats 1
 * and 2 had 32-bit ids of policies, so two names could have one id. They are not read.
 *
 *   body
 *        0      4  receiver: FNV-1a of its name; a datagram has one receiver
 *        4      8  echo epoch: the receiver's epoch as received by the sender, or 0
 *       12      4  echo tick: the newest tick of the receiver that has reached the sender,
 *                  directly or through others
 *       16      4  tick: estimate intervals of the sender since its start
 *       20      2  number of the sender's own records that follow
 *
 *   then, for state, so many records, each
 *                    0  8  id of the policy, see policy_key()
 *                    8  4  version: tick at which the record took this value
 *                   12  4  demand, bytes per second (float)
 *                   16  4  weight, the allocator's unit (float)
 *          and, until the body ends, sections about other limiters:
 *                    0  4  origin: FNV-1a of its name
 *                    4  8  epoch of the origin
 *                   12  4  tick of the origin
 *                   16  2  number of records, which follow as above
 *
 *   or, for a tree,
 *        0      1  role of the receiver for the sender (enum datagram_link); bit 7: an answer is
 *                  needed soon; bit 6: the sums have parts of lost links
 *        1      4  sequence: of this datagram on this edge
 *        5      1  generation: another one when the sender has dropped the receiver's sums
 *        6      4  the newest sequence from the receiver whose sums the sender has taken
 *       10      8  which: bit i is for that sequence less i; 0: none
 *          and the records, each the newest at the sender's tick
 *                    0  8  id of the policy
 *                    8  4  limiters that have it, among those on the sender's side of the edge
 *                   12  4  their demand, bytes per second (float)
 *                   16  4  their weight (float)
 *
 * The body of a message is the fixed part, without records, and then its bytes: see
 * gossip_message(). Its echo tick is that of the newest message, independent of other datagrams.
 *
 * Ticks and versions are compared as serial numbers (the sign of the 32-bit difference).
 */
#ifndef WEIR_GOSSIP_DATAGRAM_H
#define WEIR_GOSSIP_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_VERSION         4 /* the newest format */
#define DATAGRAM_OLDEST          3 /* the oldest that is read */
#define DATAGRAM_SEALED          0x01
#define DATAGRAM_ESTIMATOR       0x06
#define DATAGRAM_ESTIMATOR_SHIFT 1 /* bit in the flags */
#define DATAGRAM_MESSAGE         0x08
#define DATAGRAM_IDENTITY        0x10

#define DATAGRAM_REPORTS 4  /* the first format with sequences and reports in a tree */
#define DATAGRAM_WINDOW  64 /* datagrams in such a report */

#define DATAGRAM_HEADER     32
#define DATAGRAM_TAG        16
#define DATAGRAM_KEY        32
#define DATAGRAM_BODY_FIXED 22
#define DATAGRAM_SECTION    18
#define DATAGRAM_RECORD     20
#define DATAGRAM_MIN        (DATAGRAM_HEADER + DATAGRAM_BODY_FIXED)
#define DATAGRAM_SENDER     4    /* offset of the sender in any format */
#define DATAGRAM_NAMED      8    /* bytes that identify the sender in any format */
#define DATAGRAM_MAX        8972 /* a 9000-byte MTU less IPv4 and UDP headers */

struct datagram_header {
	uint8_t version;
	uint8_t flags;
	uint8_t newest, oldest;
	uint32_t sender;
	uint64_t epoch;
	uint64_t counter;
	uint32_t random;
	uint32_t key;
};

struct datagram_record {
	uint64_t policy;
	uint32_t version;
	float demand;
	float weight;
};

struct datagram_body {
	uint32_t receiver;
	uint64_t echo_epoch;
	uint32_t echo_tick;
	uint32_t tick;
	uint16_t n_records;
	uint8_t version; /* from the header */
};

struct datagram_section {
	uint32_t origin;
	uint64_t epoch;
	uint32_t tick;
	uint16_t n_records;
};

/* In a tree, the sender's view of its edge to the receiver. */
enum datagram_link {
	DATAGRAM_APART, /* none: a probe, an answer to one, or the end of a link. No records */
	DATAGRAM_UP,    /* the receiver is its parent */
	DATAGRAM_DOWN,  /* the receiver is its child */
	DATAGRAM_LINKS,
	DATAGRAM_ASKS = 0x80,
	DATAGRAM_HOLDS = 0x40
};

struct datagram_sum {
	uint64_t policy;
	uint32_t count;
	float demand;
	float weight;
};

/* The datagrams of a neighbour whose sums have been taken. */
struct datagram_received {
	uint8_t generation;
	uint32_t newest;
	uint64_t window;
};

/* The head of a tree's body. */
struct datagram_edge {
	unsigned link; /* enum datagram_link; when it is read, any number */
	bool asks;     /* for an answer, because the sender has long received nothing */
	bool holds;    /* the sender holds sums of lost links, which are in these */
	uint32_t sequence;
	struct datagram_received received;
};

/* A place in a buffer. Reads and writes past `end` do nothing but set `failed`. */
struct cursor {
	uint8_t *at;
	uint8_t *end;
	bool failed;
};

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

void datagram_write_header(struct cursor *cursor, const struct datagram_header *header);
void datagram_write_body(struct cursor *cursor, const struct datagram_body *body);
void datagram_write_section(struct cursor *cursor, const struct datagram_section *section);
void datagram_write_record(struct cursor *cursor, const struct datagram_record *record);
void datagram_write_edge(struct cursor *cursor, const struct datagram_edge *edge, uint8_t version);
void datagram_write_sum(struct cursor *cursor, const struct datagram_sum *sum);

void datagram_read_header(struct cursor *cursor, struct datagram_header *header);
void datagram_read_body(struct cursor *cursor, struct datagram_body *body);
void datagram_read_section(struct cursor *cursor, struct datagram_section *section);
void datagram_read_record(struct cursor *cursor, struct datagram_record *record);
void datagram_read_sum(struct cursor *cursor, struct datagram_sum *sum);

/* Format 3 has none of the rest, which is 0. The caller checks the link. */
void datagram_read_edge(struct cursor *cursor, struct datagram_edge *edge, uint8_t version);

/*
 * Seals buf in place: a header and a body of together len bytes become len + DATAGRAM_TAG. The
 * buffer has room for the tag. Returns the new length.
 */
size_t datagram_seal(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

/* Opens buf in place. Returns the length without the tag, or -EBADMSG (wrong key, altered, cut). */
int datagram_open(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

#endif
