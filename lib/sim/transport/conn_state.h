/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Definition of struct conn, for code that stores many in an array. Only conn.c uses the fields.
 */
#ifndef WEIR_SIM_CONN_STATE_H
#define WEIR_SIM_CONN_STATE_H

#include <assert.h>

#include "transport/conn.h"
#include "transport/quic.h"
#include "transport/stream.h"
#include "transport/tcp.h"

/*
 * Start of a connection: the sender sends SYN, the receiver answers SYN-ACK, and the sender
 * acknowledges it. Lost segments are sent again after a second, then two, four and so on. The start
 * of QUIC is the same here: one round trip.
 */

struct handshake_end {
	bool open;
	bool answered;    /* received a segment of the other end; a receiver sends nothing before */
	bool due;         /* a segment is ready to send */
	uint8_t tries;    /* number of sendings that need an answer */
	uint64_t echo_ns; /* sent_ns of the acknowledged segment */
	uint64_t timer_ns;
};

struct handshake {
	struct handshake_end end[2]; /* by enum conn_end */
	uint64_t clock_ns;           /* see conn_params */
};

/* Initializes both ends. wanted: false opens both immediately. */
void handshake_init(struct handshake *h, bool wanted, uint64_t clock_ns);

bool handshake_send(struct handshake *h, enum conn_end end, uint64_t now_ns, struct segment *out);

/*
 * Processes an arrived segment. Returns true if it is data or an acknowledgement for an open end.
 * If it opens the end, sets *opened, and *rtt_ns to the round trip (0: unknown).
 */
bool handshake_receive(struct handshake *h, enum conn_end end, uint64_t now_ns,
	const struct segment *in, bool *opened, uint64_t *rtt_ns);

void handshake_expire(struct handshake *h, uint64_t now_ns);

/* Stops sending SYNs. */
void handshake_stop(struct handshake *h);

struct conn {
	enum transport transport;
	struct stream stream;
	struct handshake handshake;
	union {
		struct {
			struct tcp_sender sender;
			struct tcp_receiver receiver;
		} tcp;
		struct {
			struct quic_sender sender;
			struct quic_receiver receiver;
		} quic;
	};
};

static_assert(sizeof(struct conn) <= 1856, "tens of thousands of them are alive together");

#endif
