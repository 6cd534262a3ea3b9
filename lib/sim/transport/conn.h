/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One transport connection with both its ends, as a pure state machine in virtual time. It
 * transfers bulk data from sender to receiver by TCP (NewReno, CUBIC, DCTCP, BBR) or by a protocol
 * similar to QUIC. It contains no network: it produces and accepts segments, and has one deadline.
 * The same calls give the same results. It allocates nothing: a connection is one struct of
 * constant size.
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
#define CONN_SACKS 4 /* ranges per acknowledgement */

struct conn_params {
	enum transport transport;
	uint32_t mss;    /* payload bytes of a full segment */
	uint64_t bytes;  /* bytes to transfer; 0: until conn_stop() */
	uint32_t window; /* receive window, bytes */
	bool handshake;  /* SYN and SYN-ACK (or equivalent) before data */
	/*
	 * Time of the host's clock at time 0, below 2^62. Timers of Linux expire on a grid of that
	 * clock. So connections with the same value expire together, and connections of different
	 * hosts should have different values.
	 */
	uint64_t clock_ns;
	bool ecn; /* NewReno, CUBIC: ECN-capable, see tcp.h; DCTCP always is */
};

struct range {
	uint64_t from, to; /* [from, to) */
};

/*
 * BBR's record of a sending. Real senders store it; here it travels with the segment and returns.
 */
struct stamp {
	uint64_t delivered, delivered_ns; /* segments so far, and time of the last delivery */
	uint64_t first_ns, sent_ns;       /* sending times of that delivery and of this segment */
};

/* A segment in either direction. */
struct segment {
	uint64_t seq;    /* first byte; QUIC: packet number */
	uint64_t offset; /* QUIC: position of its first byte in the stream */
	uint32_t len;    /* payload bytes */
	bool syn, fin, is_ack;
	uint8_t n_sacks;
	uint8_t ecn;      /* ECN bits of the IP header */
	uint64_t ack;     /* next byte expected; QUIC: one past the largest packet number */
	uint64_t sent_ns; /* time of sending, as in TCP's timestamps */
	uint64_t echo_ns; /* sent_ns of the acknowledged segment; QUIC: plus the delay */
	struct range sack[CONN_SACKS];
	uint64_t marks;     /* acknowledgement: number of segments with CE so far */
	struct stamp stamp; /* acknowledgement: that of the latest segment */
};

struct conn_stats {
	uint64_t segments, bytes; /* data sent, payload bytes, including retransmissions */
	uint64_t resent;          /* retransmissions among these */
	uint64_t timeouts, recoveries;
	uint64_t delivered; /* bytes delivered to the receiver's application, in order */
};

struct conn;

/*
 * Starts a connection at now_ns, with its first segments ready. Returns 0, or -EINVAL for an
 * invalid transport, no mss, a window below the mss, or 2^32 segments. See conn_state.h for struct
 * conn.
 */
int conn_init(struct conn *conn, const struct conn_params *params, uint64_t now_ns);

/*
 * Returns in *out the next segment that this end sends at now_ns; false if there is none. After
 * each of the calls below, call it for both ends until it returns false.
 */
bool conn_send(struct conn *conn, enum conn_end end, uint64_t now_ns, struct segment *out);

/* Delivers a segment to this end. Any segment is safe; invalid ones change nothing. */
void conn_receive(struct conn *conn, enum conn_end end, uint64_t now_ns, const struct segment *in);

/* Returns the time at which conn_expire() is due, or CONN_NEVER. */
uint64_t conn_deadline(const struct conn *conn);
void conn_expire(struct conn *conn, uint64_t now_ns);

/* Stops sending new data. Data in flight is still delivered. */
void conn_stop(struct conn *conn, uint64_t now_ns);

/*
 * Returns true if all bytes (or all until the stop) are acknowledged. The receiver can still have a
 * deadline.
 */
bool conn_done(const struct conn *conn);

const struct conn_stats *conn_stats(const struct conn *conn);

/* Returns the size of a segment as an IP packet, in bytes. */
uint32_t segment_bytes(const struct conn_params *params, const struct segment *segment);

#endif
