/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the parts of the TCP sender tell each other. Only for them.
 *
 *   tcp_sender.c    what to send, and what to do when a timer runs out
 *   tcp_ack.c       what an acknowledgement says
 *   rack.c          what is lost by that
 *   tcp_recovery.c  what follows: the states, and the window in them
 *   bbr.c           the model, the window and the pace of BBR
 *   tcp_timer.c     which timer runs
 */
#ifndef WEIR_SIM_TCP_PARTS_H
#define WEIR_SIM_TCP_PARTS_H

#include "transport/tcp.h"

#define TCP_TIMER_LEAST_US 8000 /* two ticks of Linux */

/* What an acknowledgement said. */
struct news {
	uint64_t echo_ns;
	uint32_t delivered; /* segments, by una or SACK */
	uint32_t lost;      /* segments found lost, and those found lost again */
	bool lost_again;    /* some were */
	bool advanced;      /* una did */
	bool sacked;        /* segments were */
	bool twice;         /* the receiver got some segment twice */
	bool probe_twice;   /* namely the probe's */
	bool original;      /* a segment sent once, before the recovery, was delivered */
	bool rearm;         /* the timer starts again */
};

static inline uint32_t tcp_us(uint64_t ns)
{
	return (uint32_t)(ns / 1000);
}

/* Segments under way, as far as is known (RFC 6675's pipe). */
static inline uint32_t tcp_in_flight(const struct tcp_sender *t)
{
	return board_out(&t->board) - t->board.sacked - t->board.lost + t->board.resent;
}

/* The window is falling by proportional rate reduction. */
static inline bool tcp_reduces(const struct tcp_sender *t)
{
	return t->state == TCP_RECOVERY || t->ecn.reducing;
}

/* rack.c */

/* Segments of a span were delivered; the last of them was that sending. */
void rack_delivered(
	struct tcp_sender *t, const struct span *span, uint32_t serial, uint32_t now_us);

/* A segment sent once was delivered after one from above it: the path reorders by so many. */
void rack_reordered(struct tcp_sender *t, uint32_t by);

/* The receiver got segments twice, or did not: how long to wait for the late. */
void rack_adapt(struct tcp_sender *t);

/* Marks what is lost. Returns the µs after which more will be, 0 for none. */
uint32_t rack_detect(struct tcp_sender *t, struct news *news, uint32_t now_us);

/* Marks what a timeout says is lost: the first segment, and all older than a round trip. */
void rack_timeout(struct tcp_sender *t, uint32_t now_us);

/* tcp_recovery.c */

/* Goes through the states that the news leads to. */
void tcp_react(struct tcp_sender *t, struct stream *stream, struct news *news, uint64_t now_ns);

/* The window after the news. */
void tcp_adjust_window(struct tcp_sender *t, const struct news *news, uint64_t now_ns);

/* From any other state. */
void tcp_enter_recovery(struct tcp_sender *t, struct stream *stream, uint64_t now_ns);
void tcp_enter_loss(struct tcp_sender *t, uint64_t now_ns);

/* The window falls once, without recovery: the probe has repaired a loss. */
void tcp_probe_repaired(struct tcp_sender *t, uint64_t now_ns);

/* Takes the count of marks; reduces the window once a window of data. */
void tcp_read_marks(struct tcp_sender *t, const struct news *news, uint64_t marks, uint64_t now_ns);

/* bbr.c, if t->bbr.on: with the handshake's round trip (0: none), after a sending, and after an
 * acknowledgement, which sets the window. */
void bbr_open(struct tcp_sender *t, uint32_t rtt_us);
void bbr_sent(struct tcp_sender *t, uint64_t now_ns, struct segment *out);
void bbr_acked(
	struct tcp_sender *t, const struct news *news, const struct stamp *stamp, uint64_t now_ns);

/* tcp_timer.c */

void tcp_timer_stop(struct tcp_sender *t);
void tcp_timer_start(struct tcp_sender *t, enum tcp_timer timer, uint64_t now_ns, uint32_t us);

/* The retransmission timer, counted from the first segment's sending when another one ran. */
void tcp_timer_rto(struct tcp_sender *t, uint64_t now_ns);

/* The timer of a loss probe, if there may be one now. advanced: news has just come. */
bool tcp_timer_probe(struct tcp_sender *t, uint64_t now_ns, bool advanced);

#endif
