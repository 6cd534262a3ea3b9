/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A congestion window in segments, and how it grows: slow start and congestion avoidance with
 * bytes (here segments) counted, RFC 3465 without its limit, as Linux does it. What an algorithm
 * may decide is in its row: where the window falls to, and how fast it grows from there.
 */
#ifndef WEIR_SIM_WINDOW_H
#define WEIR_SIM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_INITIAL  10         /* RFC 6928 */
#define WINDOW_NO_LIMIT 0x7fffffff /* ssthresh before the first loss */

struct window;

struct growth {
	/* A loss: the new ssthresh. */
	uint32_t (*reduce)(struct window *window, uint64_t now_ns);
	/* So many acknowledged in congestion avoidance. */
	void (*avoid)(struct window *window, uint32_t acked, uint64_t now_ns);
	/* A timeout. */
	void (*forget)(struct window *window);
};

extern const struct growth newreno, cubic;

struct cubic {
	uint64_t epoch_ns;    /* when this growth began; 0: with the next acknowledgement */
	uint64_t computed_ns; /* when `pace` was, and for which window */
	uint32_t computed_cwnd;
	uint32_t max;         /* window at the last loss, or less (fast convergence) */
	uint32_t origin;      /* window on the plateau */
	uint32_t k;           /* time from the epoch to the plateau, 2^-10 s */
	uint32_t acked, reno; /* what NewReno's window would be, and segments towards its next */
	uint32_t pace;        /* segments acknowledged for each segment more */
};

struct window {
	uint32_t cwnd, ssthresh; /* segments */
	uint32_t credit;         /* segments acknowledged towards the next increase */
	uint32_t least_rtt_us;   /* the sender's; 0: not known */
	/* Whether the window was all used in this round trip, and how much of it if not. */
	bool limited;
	uint32_t used, used_until;
	const struct growth *growth;
	struct cubic cubic;
};

void window_init(struct window *window, const struct growth *growth);

/* So many segments were acknowledged, in order and outside of recovery. */
void window_grow(struct window *window, uint32_t acked, uint64_t now_ns);

/* One segment more for each `pace` acknowledged. For algorithms. */
void window_increase(struct window *window, uint32_t pace, uint32_t acked);

/* The sender has sent what it could: whether the window, in_flight of it used, was what held it
 * back. una and next are its own, out = next - una. */
void window_used(struct window *window, uint32_t in_flight, uint32_t una, uint32_t next);

/* After an idle time: halved for each rto of it, down to the initial window (RFC 2861). */
void window_restart(struct window *window, uint64_t idle_us, uint32_t rto_us);

#endif
