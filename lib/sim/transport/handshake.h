/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How a connection begins: the sender asks (SYN), the receiver answers (SYN-ACK), the sender says
 * that it has heard. What is lost is sent again after a second, then two, four and so on. QUIC's
 * beginning is the same here: one round trip.
 */
#ifndef WEIR_SIM_HANDSHAKE_H
#define WEIR_SIM_HANDSHAKE_H

#include "transport/conn.h"

struct handshake_end {
	bool open;
	bool heard;       /* the other end; a receiver sends nothing before that */
	bool due;         /* something is to be sent */
	uint8_t tries;    /* sendings that wanted an answer */
	uint64_t echo_ns; /* sent_ns of what is answered */
	uint64_t timer_ns;
};

struct handshake {
	struct handshake_end end[2]; /* by enum conn_end */
	uint64_t clock_ns;           /* see conn_params */
};

/* wanted: false opens both ends at once. */
void handshake_init(struct handshake *h, bool wanted, uint64_t clock_ns);

bool handshake_send(struct handshake *h, enum conn_end end, uint64_t now_ns, struct segment *out);

/*
 * Looks at a segment that arrived. Returns whether it is data or an acknowledgement for an open
 * end. When it opens the end, *opened is set, and *rtt_ns to the round trip, 0 when not known.
 */
bool handshake_receive(struct handshake *h, enum conn_end end, uint64_t now_ns,
	const struct segment *in, bool *opened, uint64_t *rtt_ns);

void handshake_expire(struct handshake *h, uint64_t now_ns);

/* The sender asks no more. */
void handshake_stop(struct handshake *h);

#endif
