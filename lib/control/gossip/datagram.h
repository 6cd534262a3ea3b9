/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The gossip datagram, formats 2 and 1. All integers and floats (IEEE 754 binary32) are big-endian.
 *
 *   offset  bytes
 *        0      1  format, 2
 *        1      1  flags: bit 0, the body is sealed; bits 1 and 2, the estimator (0 state, 1 tree,
 *                  2 one of weirsim alone); bit 3, it is a message; bit 4, the sender opens what
 *                  is sealed with identities (see keyring.h); the others are 0
 *        2      1  the newest format that the sender speaks
 *        3      1  the oldest format that it reads
 *        4      4  sender: FNV-1a of its name in the roster
 *        8      8  epoch: random at every start of the sender, never 0
 *       16      8  counter: grows with each datagram of this epoch, from 1
 *       24      4  random bits of this datagram alone, so that a machine that is resumed twice from
 *                  one snapshot does not seal two bodies under one nonce
 *       28      4  key: names the one that it is sealed with (see keyring.h); 0 when it is plain
 *       32         body, sealed with XChaCha20-Poly1305: the nonce is bytes 4 to 27, the additional
 *                  data bytes 0 to 31, the 16-byte tag comes last. Without a key (flag clear) the
 *                  body is plain and there is no tag.
 *
 * Bytes 0 and 2 to 7 stay what they are in every later format, so that whoever cannot read one can
 * say whose it is.
 *
 * Format 1 has no bytes 24 to 31: its body begins at 24, is sealed with the group's key itself, the
 * nonce is bytes 4 to 23 and four zero bytes, the additional data bytes 0 to 23. Bytes 2 and 3 are
 * 0 where nothing newer is spoken, and are not looked at there; a limiter that speaks 2 says in
 * them what it says in format 2, and leaves gaps of random size between its counters, for what the
 * random bits are for. A message has no format 1.
 *
 *   body
 *        0      4  receiver: FNV-1a of its name; a datagram speaks to one limiter
 *        4      8  echo epoch: the receiver's epoch as the sender knows it, or 0
 *       12      4  echo tick: the newest tick of the receiver that has reached the sender, by
 *                  whatever way
 *       16      4  tick: estimate intervals of the sender since its start
 *       20      2  number of the sender's own records that follow
 *
 *   then, of state, so many records, each
 *                    0  4  policy: FNV-1a of its name
 *                    4  4  version: tick at which the record took this value
 *                    8  4  demand, bytes per second (float)
 *                   12  4  weight, the allocator's unit (float)
 *          and, until the body ends, what the sender has heard of others:
 *                    0  4  origin: FNV-1a of its name
 *                    4  8  epoch of the origin
 *                   12  4  tick of the origin
 *                   16  2  number of records, which follow as above
 *
 *   or, of a tree,
 *        0      1  what the receiver is to the sender (enum datagram_link)
 *          and the records, each the newest as of the sender's tick
 *                    0  4  policy: FNV-1a of its name
 *                    4  4  limiters that have it, among those on the sender's side of the edge
 *                    8  4  their demand, bytes per second (float)
 *                   12  4  their weight (float)
 *
 * The body of a message is the fixed part, without records, and then what it carries: see
 * gossip_message(). Its ticks are said of messages alone: the echo tick is that of the newest one.
 *
 * Ticks and versions are compared as serial numbers (the sign of the 32-bit difference).
 */
#ifndef WEIR_GOSSIP_DATAGRAM_H
#define WEIR_GOSSIP_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_VERSION         2 /* the newest format */
#define DATAGRAM_OLDEST          1 /* that is read */
#define DATAGRAM_SEALED          0x01
#define DATAGRAM_ESTIMATOR       0x06
#define DATAGRAM_ESTIMATOR_SHIFT 1 /* of the flags */
#define DATAGRAM_MESSAGE         0x08
#define DATAGRAM_IDENTITY        0x10

#define DATAGRAM_HEADER     32
#define DATAGRAM_HEADER_1   24 /* of format 1 */
#define DATAGRAM_TAG        16
#define DATAGRAM_KEY        32
#define DATAGRAM_BODY_FIXED 22
#define DATAGRAM_SECTION    18
#define DATAGRAM_RECORD     16
#define DATAGRAM_MIN        (DATAGRAM_HEADER + DATAGRAM_BODY_FIXED)
#define DATAGRAM_SENDER     4    /* where its name stands in any format */
#define DATAGRAM_NAMED      8    /* bytes by which the sender of any format is known */
#define DATAGRAM_MAX        8972 /* a 9000-byte MTU less IPv4 and UDP headers */

/* In format 1 there are no random bits and no key, and a newest format of 0 is written and read. */
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

/* Bytes of a header of that format, which is read or written here. Any thread. */
static inline size_t datagram_header_len(uint8_t version)
{
	return version == 1 ? DATAGRAM_HEADER_1 : DATAGRAM_HEADER;
}

struct datagram_record {
	uint32_t policy;
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
};

struct datagram_section {
	uint32_t origin;
	uint64_t epoch;
	uint32_t tick;
	uint16_t n_records;
};

/* In a tree, what the sender takes its edge to the receiver for. */
enum datagram_link {
	DATAGRAM_APART, /* none: a probe, an answer to one, or the end of a link. No records */
	DATAGRAM_UP,    /* the receiver is its parent */
	DATAGRAM_DOWN,  /* the receiver is its child */
	DATAGRAM_LINKS
};

struct datagram_sum {
	uint32_t policy;
	uint32_t count;
	float demand;
	float weight;
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

/* Both by header->version, which reading takes from the datagram, whatever it is. */
void datagram_write_header(struct cursor *cursor, const struct datagram_header *header);
void datagram_write_body(struct cursor *cursor, const struct datagram_body *body);
void datagram_write_section(struct cursor *cursor, const struct datagram_section *section);
void datagram_write_record(struct cursor *cursor, const struct datagram_record *record);
void datagram_write_link(struct cursor *cursor, enum datagram_link link);
void datagram_write_sum(struct cursor *cursor, const struct datagram_sum *sum);

void datagram_read_header(struct cursor *cursor, struct datagram_header *header);
void datagram_read_body(struct cursor *cursor, struct datagram_body *body);
void datagram_read_section(struct cursor *cursor, struct datagram_section *section);
void datagram_read_record(struct cursor *cursor, struct datagram_record *record);
void datagram_read_sum(struct cursor *cursor, struct datagram_sum *sum);

/* Whatever byte there is: the caller checks that it is below DATAGRAM_LINKS. */
unsigned datagram_read_link(struct cursor *cursor);

/*
 * Seals buf in place: a header and a body of together len bytes become len + DATAGRAM_TAG. The
 * buffer has room for the tag. The format is that of the header in buf.
 */
size_t datagram_seal(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

/* Whether datagram_open() would open it; buf stays as it is. */
bool datagram_fits(const uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

/* Opens buf in place. Returns the length without the tag, or -EBADMSG (wrong key, altered, cut). */
int datagram_open(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

#endif
