/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The two ends of a bulk transfer by TCP, as in Linux. RACK detects losses, with the threshold of
 * three (RFC 8985). There are tail loss probes, proportional rate reduction (RFC 6937) and F-RTO
 * (RFC 5682). Spurious reductions are undone (RFC 4015 by timestamps, DSACK). Timers and delayed
 * acknowledgements are those of Linux. The connection is established; see conn_state.h for the
 * handshake.
 *
 * Features that do not occur at windows of a few segments are missing. They are HyStart, deferral
 * for segmentation offload, compression of SACKs (1 ms at most), and the 300 s after which the
 * least round trip time is measured again. Like Linux it has no rescue retransmission (RFC 6675):
 * RACK and its timers replace it. A connection is never given up.
 *
 * ECN: new data carries ECT(0), for DCTCP ECT(1), and retransmissions do not (RFC 3168, section
 * 6.1.5). The receiver returns the number of segments with CE (as in RFC 9768). Once per window of
 * data, NewReno and CUBIC react as to a loss (RFC 3168), as in Linux, without RFC 8511's factors.
 * DCTCP reduces by half of the smoothed share of marks, and reacts to losses like NewReno (RFC
 * 8257).
 */
#ifndef WEIR_SIM_TCP_H
#define WEIR_SIM_TCP_H

#include "transport/board.h"
#include "transport/conn.h"
#include "transport/rtt.h"
#include "transport/stream.h"
#include "transport/window.h"

enum tcp_state {
	TCP_OPEN,     /* normal */
	TCP_DISORDER, /* a segment is missing, perhaps only late */
	TCP_RECOVERY, /* a segment is lost: the window falls and lost segments are sent again */
	TCP_LOSS,     /* after a timeout: all is sent again, from a window of one */
};

enum tcp_timer { TCP_TIMER_NONE, TCP_TIMER_RTO, TCP_TIMER_PROBE, TCP_TIMER_REORDER };

/* State of RACK: of the delivered segments, the one sent last. */
struct rack {
	uint32_t serial;     /* number of that sending */
	uint32_t rtt_us;     /* round trip of the latest delivered segment */
	uint32_t reordering; /* largest observed reordering, segments, at least three */
	uint32_t settled;    /* `next` when `steps` was raised */
	uint8_t steps;       /* quarters of the least round trip time to wait for late segments */
	uint8_t keep;        /* recoveries until `steps` falls back to one */
	bool advanced;       /* there is new information */
	bool reordered;      /* the path has reordered segments */
	bool repeated;       /* the receiver got a segment twice */
};

/* State for the undo of a spurious reduction. */
struct undo {
	bool armed;
	uint32_t from;     /* una at the reduction */
	int32_t resent;    /* sendings since then that are not reported as superfluous */
	uint32_t ssthresh; /* value before; 0: nothing to undo */
	uint64_t first_ns; /* time of the first of these sendings; 0: none */
};

/* A probe for a lost tail (RFC 8985, section 7). */
struct probe {
	bool due;      /* to be sent */
	bool out;      /* sent, outcome unknown */
	bool resent;   /* the probe repeated old data */
	uint32_t high; /* `next` after it */
};

struct ecn {
	uint8_t ect;                      /* ECN bits of new data */
	bool reducing;                    /* in progress, until `reduced` is acknowledged */
	uint64_t marks;                   /* segments with CE in the last acknowledgement */
	uint32_t acked, marked, observed; /* segments in the window that ends at `observed` */
	uint32_t reduced;                 /* `next` at the last reduction */
	double alpha;                     /* DCTCP: smoothed share of marked segments */
};

#define BBR_ROUNDS 10 /* length of the bandwidth filter */

/* BBR's model of the path, see bbr.c. Rates are in segments per second. */
struct bbr {
	bool on, filled, conserve, round_start;
	uint8_t state, phase, was; /* was: enum tcp_state at the last acknowledgement */
	uint8_t flat;              /* rounds of startup without growth */
	uint32_t cwnd, prior, burst, round;
	float best[BBR_ROUNDS]; /* largest sample in each of the last rounds */
	double full, pacing;    /* full: rate at the last growth in startup */
	uint64_t rtprop_ns, rtprop_at_ns, phase_ns;
	uint64_t done_ns;   /* end of probe-rtt; 0: the flight is still too large */
	uint64_t round_end; /* `delivered` of the segment that ends the round */
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
	uint8_t state, timer;            /* tcp_state, tcp_timer */
	bool frto;                       /* the timeout can still prove to be spurious */
	bool new_first;                  /* F-RTO needs new data before lost data */
	bool timed_out;                  /* timeout without an acknowledgement since then */
	bool fresh;                      /* new data was sent since the last window_used() */
	uint32_t high;                   /* end of the recovery (or disorder) */
	uint32_t serial;                 /* number of sendings */
	uint32_t prior_cwnd;             /* at the start of the reduction */
	uint32_t prr_delivered, prr_out; /* since that start */
	uint32_t rto_us;                 /* including its back-off */
	uint64_t timer_ns;
	uint64_t sent_ns;  /* time of the latest sending */
	uint64_t clock_ns; /* see conn_params */
	uint64_t pace_ns;  /* BBR delays the next segment until then; CONN_NEVER: no delay */
	struct ecn ecn;
	struct bbr bbr;
};

void tcp_sender_init(struct tcp_sender *t, enum transport transport, uint64_t clock_ns);

/* Applies the results of the handshake: number of SYNs sent, and a round trip time. */
void tcp_sender_open(struct tcp_sender *t, unsigned tries, uint32_t rtt_us);

/* See conn.h: send a segment, process an acknowledgement, process a deadline (timer_ns, ack_ns). */
bool tcp_sender_send(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, struct segment *out);
void tcp_sender_receive(
	struct tcp_sender *t, struct stream *stream, uint64_t now_ns, const struct segment *in);
void tcp_sender_expire(struct tcp_sender *t, struct stream *stream, uint64_t now_ns);

struct tcp_receiver {
	struct ranges data;
	uint64_t acked;               /* data.base in the last acknowledgement */
	uint64_t echo_ns;             /* sent_ns of the segment to acknowledge */
	uint64_t touched[CONN_SACKS]; /* one byte in each range that grew, latest first */
	struct range twice;           /* data received twice; empty: none */
	uint64_t ack_ns;              /* time of a delayed acknowledgement, or CONN_NEVER */
	uint64_t data_ns;             /* time of the latest data */
	uint64_t patience_ns;         /* length of the delay; 0: no data received */
	uint64_t rtt_ns, rto_ns;      /* from the handshake; 0: unknown */
	uint64_t clock_ns;            /* see conn_params */
	uint8_t n_touched;
	uint8_t quick;      /* number of acknowledgements without a delay */
	uint64_t marks;     /* segments with CE received */
	struct stamp stamp; /* stamp of the latest segment */
	bool ack_now;
};

void tcp_receiver_init(struct tcp_receiver *r, uint64_t clock_ns);
void tcp_receiver_open(struct tcp_receiver *r, uint64_t rtt_ns);
bool tcp_receiver_send(struct tcp_receiver *r, uint64_t now_ns, struct segment *out);
void tcp_receiver_receive(
	struct tcp_receiver *r, struct stream *stream, uint64_t now_ns, const struct segment *in);
void tcp_receiver_expire(struct tcp_receiver *r, uint64_t now_ns);

#endif
