/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * TCP's estimate of the round trip time and its timeout, as in Linux: RFC 6298 with changes. The
 * deviation is never below the minimum of 200 ms, follows the largest of the last round trip, and
 * falls only once per round trip. So the timeout is at least the round trip time plus 200 ms.
 */
#ifndef WEIR_SIM_RTT_H
#define WEIR_SIM_RTT_H

#include <stdint.h>

#define RTO_MIN_US  UINT32_C(200000)
#define RTO_MAX_US  UINT32_C(120000000)
#define RTO_INIT_US UINT32_C(1000000)

struct rtt {
	uint32_t smooth8;   /* 8 × smoothed round trip time, µs; 0: unknown */
	uint32_t dev4;      /* 4 × mean deviation */
	uint32_t dev4_most; /* largest in this round trip */
	uint32_t dev4_used; /* value in the timeout */
	uint32_t round;     /* the round trip ends when this segment is acknowledged */
	uint32_t least;     /* smallest so far; 0: none */
};

/* Adds a measurement, in µs. una and next are those of the sender. */
void rtt_sample(struct rtt *rtt, uint32_t us, uint32_t una, uint32_t next);

/* Adds the time of the latest acknowledged segment, which is the path's own delay. */
void rtt_sample_least(struct rtt *rtt, uint32_t us);

/* Returns the timeout before any back-off, µs. */
uint32_t rtt_timeout(const struct rtt *rtt);

static inline uint32_t rtt_smoothed(const struct rtt *rtt)
{
	return rtt->smooth8 / 8;
}

#endif
