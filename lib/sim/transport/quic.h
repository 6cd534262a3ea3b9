/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The two ends of a bulk transfer by a protocol similar to QUIC (RFC 9002). Each packet has its own
 * number, so acknowledgements are never ambiguous. Losses are detected by packet and time
 * threshold, with probes after a timeout, and NewReno counts bytes. Timers are exact, because QUIC
 * runs in user space. State is counted in segments of the stream; each packet carries one.
 */
#ifndef WEIR_SIM_QUIC_H
#define WEIR_SIM_QUIC_H

#include "transport/board.h"
#include "transport/conn.h"
#include "transport/stream.h"

struct quic_sender {
	struct board board;      /* serials are packet numbers; lost: must be sent again */
	uint64_t cwnd, ssthresh; /* bytes */
	uint32_t mss;
	uint32_t number;  /* number of the next packet */
	uint32_t largest; /* one past the largest packet number acknowledged */
	uint32_t smoothed_us, deviation_us, latest_us, least_us; /* round trip; 0: unknown */
	uint32_t recovery; /* packets from this number on are after the last recovery */
	uint64_t sent_ns;  /* time of the latest packet */
	uint64_t timer_ns;
	uint8_t probes; /* timeouts since the last acknowledgement */
	bool probe_due;
	bool waits_for_loss; /* the timer is for the time threshold */
	bool limited;        /* the window limited the last sending */
};

void quic_sender_init(struct quic_sender *q, uint32_t mss);
void quic_sender_open(struct quic_sender *q, uint32_t rtt_us);
bool quic_sender_send(
	struct quic_sender *q, struct stream *stream, uint64_t now_ns, struct segment *out);
void quic_sender_receive(
	struct quic_sender *q, struct stream *stream, uint64_t now_ns, const struct segment *in);
void quic_sender_expire(struct quic_sender *q, struct stream *stream, uint64_t now_ns);

struct quic_receiver {
	struct ranges numbers, data;
	uint64_t floor;      /* packet numbers below it are no longer reported */
	uint64_t largest;    /* one past the largest packet number */
	uint64_t largest_ns; /* time of its arrival */
	uint64_t echo_ns;    /* its sent_ns */
	uint64_t ack_ns;     /* time of the next acknowledgement, or CONN_NEVER */
	uint32_t unanswered; /* packets not acknowledged yet */
	bool ack_now;
};

void quic_receiver_init(struct quic_receiver *r);
bool quic_receiver_send(struct quic_receiver *r, uint64_t now_ns, struct segment *out);
void quic_receiver_receive(
	struct quic_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in);
void quic_receiver_expire(struct quic_receiver *r, uint64_t now_ns);

#endif
