/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One transport connection, both its ends, as a pure state machine in virtual time: a bulk transfer
 * from sender to receiver by TCP (NewReno, CUBIC, DCTCP, BBR) or by a QUIC-like protocol. It knows
 * no network: segments come out, segments come in, one deadline is kept. The same calls give the
 * same answers. Nothing is allocated: a connection is one struct of constant size.
 */
#ifndef WEIR_SIM_CONN_H
#define WEIR_SIM_CONN_H

#include <stdbool.h>
#include <stdint.h>

enum transport {
	TRANSPORT_NEWRENO,
	TRANSPORT_CUBIC,
	TRANSPORT_QUIC,
	TRANSPORT_DCTCP,
	TRANSPORT_BBR
};

enum { NOT_ECT, ECT_1, ECT_0, ECN_CE }; /* ECN bits of an IP packet */

enum conn_end { CONN_SENDER, CONN_RECEIVER };

#define CONN_NEVER UINT64_MAX
#define CONN_SACKS 4 /* ranges that one acknowledgement can carry */

struct conn_params {
	enum transport transport;
	uint32_t mss;    /* payload bytes of a full segment */
	uint64_t bytes;  /* to transfer; 0: until conn_stop() */
	uint32_t window; /* receive window, bytes */
	bool handshake;  /* SYN and SYN-ACK (or their like) before data */
	/* What its host's clock shows at time 0. Linux's timers run out on a grid of that clock, so
	 * connections with the same value wait together, and those of many hosts should not.
	 * Below 2^62. */
	uint64_t clock_ns;
	bool ecn; /* NewReno, CUBIC: ECN-capable, see tcp.h. DCTCP always is */
};

struct range {
	uint64_t from, to; /* [from, to) */
};

/* BBR's record of a sending. Real senders keep it; here it goes with the segment and returns. */
struct stamp {
	uint64_t delivered, delivered_ns; /* segments so far, and the time of the last delivery */
	uint64_t first_ns, sent_ns;       /* sending of that delivery, and of this segment */
};

/* What travels, in either direction. */
struct segment {
	uint64_t seq;    /* of its first byte; QUIC: number of the packet */
	uint64_t offset; /* QUIC: of its first byte in the stream */
	uint32_t len;    /* payload bytes */
	bool syn, fin, is_ack;
	uint8_t n_sacks;
	uint8_t ecn;      /* bits of the IP header */
	uint64_t ack;     /* next byte expected; QUIC: one past the largest packet number */
	uint64_t sent_ns; /* when; as in TCP's timestamps */
	uint64_t echo_ns; /* sent_ns of what is answered; QUIC: plus how long the answer waited */
	struct range sack[CONN_SACKS];
	uint64_t marks;     /* acknowledgement: segments with CE so far */
	struct stamp stamp; /* acknowledgement: of the latest segment */
};

struct conn_stats {
	uint64_t segments, bytes; /* data sent, payload bytes, with what was sent again */
	uint64_t resent;          /* segments of these */
	uint64_t timeouts, recoveries;
	uint64_t delivered; /* bytes that the receiver's application has, in order */
};

struct conn;

/* Starts at now_ns: the first segments are there to send. Returns 0, or -EINVAL for an unknown
 * transport, no mss, a window below it, or 2^32 segments. conn_state.h says what a conn is. */
int conn_init(struct conn *conn, const struct conn_params *params, uint64_t now_ns);

/* The next segment that this end sends at now_ns; false when it has none. Ask until it has none,
 * at both ends, after each of the calls below. */
bool conn_send(struct conn *conn, enum conn_end end, uint64_t now_ns, struct segment *out);

/* A segment arrives at this end. Any segment is survived; those of no use change nothing. */
void conn_receive(struct conn *conn, enum conn_end end, uint64_t now_ns, const struct segment *in);

/* When conn_expire() wants to be called, or CONN_NEVER. */
uint64_t conn_deadline(const struct conn *conn);
void conn_expire(struct conn *conn, uint64_t now_ns);

/* Nothing new is sent any more; what is under way is. */
void conn_stop(struct conn *conn, uint64_t now_ns);

/* All bytes (or all until the stop) are acknowledged. A deadline of the receiver may remain. */
bool conn_done(const struct conn *conn);

const struct conn_stats *conn_stats(const struct conn *conn);

/* Bytes of a segment as an IP packet. */
uint32_t segment_bytes(const struct conn_params *params, const struct segment *segment);

#endif
