/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A congestion window in segments, and its growth. Slow start and congestion avoidance count bytes
 * (here segments), RFC 3465 without its limit, as in Linux. The part that depends on the algorithm
 * is in struct growth: the reduction, and the growth after it.
 */
#ifndef WEIR_SIM_WINDOW_H
#define WEIR_SIM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define WINDOW_INITIAL  10         /* RFC 6928 */
#define WINDOW_NO_LIMIT 0x7fffffff /* ssthresh before the first loss */

struct window;

struct growth {
	/* Returns the new ssthresh after a loss. */
	uint32_t (*reduce)(struct window *window, uint64_t now_ns);
	/* Grows the window after `acked` segments in congestion avoidance. */
	void (*avoid)(struct window *window, uint32_t acked, uint64_t now_ns);
	/* Resets the state after a timeout. */
	void (*forget)(struct window *window);
};

extern const struct growth newreno, cubic;

struct cubic {
	uint64_t epoch_ns;    /* start of this growth; 0: at the next acknowledgement */
	uint64_t computed_ns; /* time when `pace` was computed, and its window */
	uint32_t computed_cwnd;
	uint32_t max;         /* window at the last loss, or less (fast convergence) */
	uint32_t origin;      /* window on the plateau */
	uint32_t k;           /* time from the epoch to the plateau, 2^-10 s */
	uint32_t acked, reno; /* segments towards the next increase of NewReno's window, and it */
	uint32_t pace;        /* segments acknowledged per increase by one */
};

struct window {
	uint32_t cwnd, ssthresh; /* segments */
	uint32_t credit;         /* segments acknowledged towards the next increase */
	uint32_t least_rtt_us;   /* from the sender; 0: unknown */
	/* limited: the window was fully used in this round trip; `used` is the used part. */
	bool limited;
	uint32_t used, used_until;
	const struct growth *growth;
	struct cubic cubic;
};

void window_init(struct window *window, const struct growth *growth);

/* Grows the window after segments were acknowledged in order, outside of recovery. */
void window_grow(struct window *window, uint32_t acked, uint64_t now_ns);

/* Increases the window by one for each `pace` acknowledged segments. For algorithms. */
void window_increase(struct window *window, uint32_t pace, uint32_t acked);

/*
 * Records after a burst of sending if the window limited it. in_flight is the used part of the
 * window; una and next are those of the sender.
 */
void window_used(struct window *window, uint32_t in_flight, uint32_t una, uint32_t next);

/*
 * Restarts after an idle time: halves the window for each rto of it, down to the initial one (RFC
 * 2861).
 */
void window_restart(struct window *window, uint64_t idle_us, uint32_t rto_us);

#endif
