/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The two ends of a bulk transfer by TCP, as Linux plays them: loss found by RACK with the
 * threshold of three (RFC 8985), tail loss probes, proportional rate reduction (RFC 6937), F-RTO
 * (RFC 5682), undoing of what proves spurious (RFC 4015 by timestamps, DSACK), its timers and its
 * delayed acknowledgements. The connection is established; see handshake.h for how.
 *
 * Left out, since at windows of a few segments it is not met: HyStart, deferral for segmentation
 * offload, compression of SACKs (1 ms at most), the 300 s after which the least round trip
 * time is measured anew. There is no rescue retransmission (RFC 6675), since Linux has none: RACK
 * and its timers stand in for it. A connection is never given up.
 *
 * ECN: new data carries ECT(0), for DCTCP ECT(1), and retransmissions do not (RFC 3168, section
 * 6.1.5). The receiver returns the number of segments with CE (as in RFC 9768). Once a window of
 * data, NewReno and CUBIC react as to a loss (RFC 3168), as in Linux, without RFC 8511's factors.
 * DCTCP reduces by half of the smoothed share of marks, and reacts to losses as NewReno (RFC 8257).
 */
#ifndef WEIR_SIM_TCP_H
#define WEIR_SIM_TCP_H

#include "transport/board.h"
#include "transport/conn.h"
#include "transport/ranges.h"
#include "transport/rtt.h"
#include "transport/stream.h"
#include "transport/window.h"

enum tcp_state {
	TCP_OPEN,     /* nothing unusual */
	TCP_DISORDER, /* something is missing, perhaps only late */
	TCP_RECOVERY, /* something is lost: the window falls and what is lost is sent again */
	TCP_LOSS,     /* after a timeout: all is sent again, from a window of one */
};

enum tcp_timer { TCP_TIMER_NONE, TCP_TIMER_RTO, TCP_TIMER_PROBE, TCP_TIMER_REORDER };

/* What RACK knows: of the segments delivered, the one that was sent last. */
struct rack {
	uint32_t serial;     /* that sending */
	uint32_t rtt_us;     /* of the segment delivered last */
	uint32_t reordering; /* segments by which the path was seen to reorder, at least three */
	uint32_t settled;    /* `next` when `steps` was raised */
	uint8_t steps;       /* quarters of the least round trip time to wait for the late */
	uint8_t keep;        /* recoveries until they fall back to one */
	bool advanced;       /* something new is known */
	bool reordered;      /* the path was seen to reorder */
	bool repeated;       /* the receiver got something twice */
};

/* To take a reduction back that proves to have been for nothing. */
struct undo {
	bool armed;
	uint32_t from;     /* una when the window fell */
	int32_t resent;    /* sendings since then that the receiver did not yet call superfluous */
	uint32_t ssthresh; /* before; 0: nothing to take back */
	uint64_t first_ns; /* when the first of them was sent; 0: none */
};

/* A probe for a lost tail (RFC 8985, section 7). */
struct probe {
	bool due;      /* to be sent */
	bool out;      /* sent, its outcome open */
	bool resent;   /* it was old data */
	uint32_t high; /* `next` after it */
};

struct ecn {
	uint8_t ect;                      /* ECN bits of new data */
	bool reducing;                    /* until `reduced` is acknowledged */
	uint64_t marks;                   /* segments with CE, as last acknowledged */
	uint32_t acked, marked, observed; /* segments since a window began; it ends at `observed` */
	uint32_t reduced;                 /* `next` at the last reduction */
	double alpha;                     /* DCTCP: smoothed share of marked segments */
};

#define BBR_ROUNDS 10 /* length of the bandwidth filter */

/* BBR's model of the path, see bbr.c. Rates are in segments a second. */
struct bbr {
	bool on, filled, conserve, round_start;
	uint8_t state, phase, was; /* was: enum tcp_state at the last acknowledgement */
	uint8_t flat;              /* rounds of startup without growth */
	uint32_t cwnd, prior, burst, round;
	float best[BBR_ROUNDS]; /* largest sample of each of the last rounds */
	double full, pacing;    /* full: at the last growth in startup */
	uint64_t rtprop_ns, rtprop_at_ns, phase_ns;
	uint64_t done_ns;   /* end of probe-rtt; 0: the flight is still large */
	uint64_t round_end; /* `delivered` of a segment that ends the round */
	uint64_t next_ns;   /* time of the next sending */
	uint64_t delivered, delivered_ns, first_ns; /* see struct stamp */
};

struct tcp_sender {
	struct board board;
	struct window window;
	struct rtt rtt;
	struct rack rack;
	struct undo undo;
	struct probe probe;
	uint8_t state, timer; /* tcp_state, tcp_timer */
	bool frto;            /* whether the timeout was spurious is still open */
	bool new_first;       /* F-RTO wants new data sent before what is lost */
	bool timed_out;       /* a timeout, and nothing acknowledged since then */
	bool fresh;           /* new data was sent since the window's use was looked at */
	uint32_t high;        /* where the recovery (or disorder) ends */
	uint32_t serial;      /* sendings */
	uint32_t prior_cwnd;  /* at the start of the reduction */
	uint32_t prr_delivered, prr_out; /* since then */
	uint32_t rto_us;                 /* with its back-off */
	uint64_t timer_ns;
	uint64_t sent_ns;  /* the latest sending */
	uint64_t clock_ns; /* see conn_params */
	uint64_t pace_ns;  /* BBR waits until then with the next segment, or CONN_NEVER */
	struct ecn ecn;
	struct bbr bbr;
};

void tcp_sender_init(struct tcp_sender *t, enum transport transport, uint64_t clock_ns);

/* What the handshake told: SYNs sent, and a round trip time. */
void tcp_sender_open(struct tcp_sender *t, unsigned tries, uint32_t rtt_us);

/* See conn.h. A segment in its place, an acknowledgement, a deadline (timer_ns, ack_ns). */
bool tcp_sender_send(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out);
void tcp_sender_receive(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, const struct segment *in);
void tcp_sender_expire(struct tcp_sender *t, struct stream *stream, uint64_t now_ns);

struct tcp_receiver {
	struct ranges data;
	uint64_t acked;               /* data.base when it was last acknowledged */
	uint64_t echo_ns;             /* sent_ns of what is to be acknowledged */
	uint64_t touched[CONN_SACKS]; /* a byte of each range that grew, latest first */
	struct range twice;           /* what came twice, empty: nothing */
	uint64_t ack_ns;              /* when a delayed acknowledgement is due, or CONN_NEVER */
	uint64_t data_ns;             /* when data came last */
	uint64_t patience_ns;         /* how long to delay; 0: no data has come */
	uint64_t rtt_ns, rto_ns;      /* of the handshake; 0: not known */
	uint64_t clock_ns;            /* see conn_params */
	uint8_t n_touched;
	uint8_t quick;      /* so many acknowledgements are not delayed */
	uint64_t marks;     /* segments with CE received */
	struct stamp stamp; /* latest segment's */
	bool ack_now;
};

void tcp_receiver_init(struct tcp_receiver *r, uint64_t clock_ns);
void tcp_receiver_open(struct tcp_receiver *r, uint64_t rtt_ns);
bool tcp_receiver_send(struct tcp_receiver *r, uint64_t now_ns, struct segment *out);
void tcp_receiver_receive(
	struct tcp_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in);
void tcp_receiver_expire(struct tcp_receiver *r, uint64_t now_ns);

#endif
