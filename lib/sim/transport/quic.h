/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The two ends of a bulk transfer by a protocol like QUIC (RFC 9002): each packet has a number of
 * its own, so what is acknowledged is never in doubt; loss by packet and time threshold, probes
 * after a timeout, NewReno in bytes. Timers are exact: it lives in user space. Counted in segments
 * of the stream, of which each packet carries one.
 */
#ifndef WEIR_SIM_QUIC_H
#define WEIR_SIM_QUIC_H

#include "transport/board.h"
#include "transport/conn.h"
#include "transport/ranges.h"
#include "transport/stream.h"

struct quic_sender {
	struct board board;      /* serials are packet numbers; lost: to be sent again */
	uint64_t cwnd, ssthresh; /* bytes */
	uint32_t mss;
	uint32_t number;  /* of the next packet */
	uint32_t largest; /* one past the largest packet number acknowledged */
	uint32_t smoothed_us, deviation_us, latest_us, least_us; /* round trip; 0: none known */
	uint32_t recovery; /* packets from this number on are outside of the last recovery */
	uint64_t sent_ns;  /* the latest packet */
	uint64_t timer_ns;
	uint8_t probes; /* timeouts since something was acknowledged */
	bool probe_due;
	bool waits_for_loss; /* the timer is that of the time threshold */
	bool limited;        /* by the window, when it last sent */
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
	uint64_t floor;      /* packet numbers below it are not spoken of any more */
	uint64_t largest;    /* one past the largest packet number */
	uint64_t largest_ns; /* when that came */
	uint64_t echo_ns;    /* its sent_ns */
	uint64_t ack_ns;     /* when the next acknowledgement is due, or CONN_NEVER */
	uint32_t unanswered; /* packets */
	bool ack_now;
};

void quic_receiver_init(struct quic_receiver *r);
bool quic_receiver_send(struct quic_receiver *r, uint64_t now_ns, struct segment *out);
void quic_receiver_receive(
	struct quic_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in);
void quic_receiver_expire(struct quic_receiver *r, uint64_t now_ns);

#endif
