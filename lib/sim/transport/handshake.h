/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Start of a connection: the sender sends SYN, the receiver answers SYN-ACK, and the sender
 * acknowledges it. Lost segments are sent again after a second, then two, four and so on. The start
 * of QUIC is the same here: one round trip.
 */
#ifndef WEIR_SIM_HANDSHAKE_H
#define WEIR_SIM_HANDSHAKE_H

#include "transport/conn.h"

struct handshake_end {
	bool open;
	bool heard;       /* received a segment of the other end; a receiver sends nothing before */
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

#endif
