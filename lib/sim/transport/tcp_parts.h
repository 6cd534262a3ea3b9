/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private interface between the files of the TCP sender.
 *
 *   tcp_sender.c    sends segments, and handles expired timers
 *   tcp_ack.c       reads an acknowledgement
 *   rack.c          detects losses
 *   tcp_recovery.c  changes the states, and the window in them
 *   bbr.c           the model, window and pace of BBR
 */
#ifndef WEIR_SIM_TCP_PARTS_H
#define WEIR_SIM_TCP_PARTS_H

#include "transport/tcp.h"

#define TCP_TIMER_LEAST_US 8000 /* two ticks of Linux */

/* Contents of an acknowledgement. */
struct news {
	uint64_t echo_ns;
	uint32_t delivered; /* segments, by una or SACK */
	uint32_t lost;      /* segments found lost, including those found lost again */
	bool lost_again;    /* some were found lost again */
	bool advanced;      /* una advanced */
	bool sacked;        /* SACKed segments */
	bool twice;         /* the receiver got a segment twice */
	bool probe_twice;   /* namely the probe's segment */
	bool original;      /* delivered a segment sent once, before the recovery */
	bool rearm;         /* restart the timer */
};

static inline uint32_t tcp_us(uint64_t ns)
{
	return (uint32_t)(ns / 1000);
}

/* Returns the estimated number of segments in flight (RFC 6675's pipe). */
static inline uint32_t tcp_in_flight(const struct tcp_sender *t)
{
	return board_out(&t->board) - t->board.sacked - t->board.lost + t->board.resent;
}

/* Returns true while proportional rate reduction lowers the window. */
static inline bool tcp_reduces(const struct tcp_sender *t)
{
	return t->state == TCP_RECOVERY || t->ecn.reducing;
}

/* rack.c */

/* Records the delivery of a span's segments. `serial` is the sending of the last one. */
void rack_delivered(
	struct tcp_sender *t, const struct span *span, uint32_t serial, uint32_t now_us);

/*
 * Records that a segment sent once was delivered after a later one: the path reorders by so many.
 */
void rack_reordered(struct tcp_sender *t, uint32_t by);

/* Adapts the wait for late segments, depending on repeated deliveries. */
void rack_adapt(struct tcp_sender *t);

/* Marks lost segments. Returns the time in µs until more of them count as lost; 0: none. */
uint32_t rack_detect(struct tcp_sender *t, struct news *news, uint32_t now_us);

/* Marks segments as lost after a timeout: the first one, and all older than a round trip. */
void rack_timeout(struct tcp_sender *t, uint32_t now_us);

/* tcp_recovery.c */

/* Changes the state after an acknowledgement. */
void tcp_react(struct tcp_sender *t, struct stream *stream, struct news *news, uint64_t now_ns);

/* Sets the window after an acknowledgement. */
void tcp_adjust_window(struct tcp_sender *t, const struct news *news, uint64_t now_ns);

/* Enter a state, from any other state. */
void tcp_enter_recovery(struct tcp_sender *t, struct stream *stream, uint64_t now_ns);
void tcp_enter_loss(struct tcp_sender *t, uint64_t now_ns);

/* Reduces the window once, without recovery, because the probe has repaired a loss. */
void tcp_probe_repaired(struct tcp_sender *t, uint64_t now_ns);

/* Updates the count of CE marks; reduces the window at most once per window of data. */
void tcp_read_marks(struct tcp_sender *t, const struct news *news, uint64_t marks, uint64_t now_ns);

/*
 * bbr.c, if t->bbr.on. Call bbr_open() with the round trip of the handshake (0: unknown),
 * bbr_sent() after a sending, and bbr_acked() after an acknowledgement. bbr_acked() sets the
 * window.
 */
void bbr_open(struct tcp_sender *t, uint32_t rtt_us);
void bbr_sent(struct tcp_sender *t, uint64_t now_ns, struct segment *out);
void bbr_acked(
	struct tcp_sender *t, const struct news *news, const struct stamp *stamp, uint64_t now_ns);

/* Timers, also in tcp_recovery.c. */

void tcp_timer_stop(struct tcp_sender *t);
void tcp_timer_start(struct tcp_sender *t, enum tcp_timer timer, uint64_t now_ns, uint32_t us);

/*
 * Starts the retransmission timer. It counts from the sending of the first segment if another timer
 * ran.
 */
void tcp_timer_rto(struct tcp_sender *t, uint64_t now_ns);

/*
 * Starts the timer of a loss probe, if one is possible now. advanced: an acknowledgement advanced
 * una.
 */
bool tcp_timer_probe(struct tcp_sender *t, uint64_t now_ns, bool advanced);

#endif
