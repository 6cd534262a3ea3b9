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

/*
 * Expiry of timers in Linux. Its timer wheel turns 250 times a second and never fires early. It is
 * coarser for longer timers: 4 ms below a quarter of a second, 32 ms below two seconds, 256 ms
 * below sixteen. All timers of a machine share the grid, so its flows wait together.
 */
#define TICK_NS   UINT64_C(4000000) /* CONFIG_HZ=250 */
#define TICK_SLOT 63                /* ticks that the finest level of the wheel covers */

/* clock_ns: time of the machine's clock at time 0. */
static inline uint64_t ticks_deadline(uint64_t now_ns, uint64_t wait_ns, uint64_t clock_ns)
{
	uint64_t wait = (wait_ns + TICK_NS - 1) / TICK_NS;
	uint64_t at = (now_ns + clock_ns) / TICK_NS + wait;
	unsigned coarse = 0;

	while (wait >> coarse >= TICK_SLOT)
		coarse += 3; /* each level is eight times coarser */
	return (((at >> coarse) + 1) << coarse) * TICK_NS - clock_ns;
}

#endif
