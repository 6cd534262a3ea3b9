/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An upper bound of the samples that one worker takes per second, for any sampling rates of the
 * policies. Control chooses these rates, and it is late if 100,000 policies become active at one
 * time.
 *
 * One in 2^shift of the packets that policies would sample (candidates) is taken, and its weight is
 * multiplied by that. The shift adapts: up when BOUND_ROUND samples came in less time than allowed,
 * down when they took more than four times as long. It also goes down when fewer samples have come
 * in that time, however few candidates there are. So samples stay unbiased, and a single policy
 * that continues after a flood is sampled fully again within its next few packets.
 *
 * Owned by one worker.
 */
#ifndef WEIR_FLOW_SAMPLE_BOUND_H
#define WEIR_FLOW_SAMPLE_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Samples per second and worker. A sample takes some tens of cycles, and some hundreds if the
 * samples of many policies exceed the caches. That is about half a percent of a worker, or a cycle
 * per packet.
 */
#define SAMPLES_PER_WORKER_S 50000

#define BOUND_ROUND     64 /* samples per round, after which the time is checked */
#define BOUND_SHIFT_MAX 10 /* a worker has less than 1024 times as many candidates as samples */

#define BOUND_WEYL UINT32_C(0x9e3779b1) /* 2^32 over the golden ratio, rounded to a prime */

struct sample_bound {
	uint64_t least;   /* least ticks of a round */
	uint64_t began;   /* tick at which this round began */
	uint32_t offered; /* total candidates, modulo 2^32 */
	uint16_t taken;   /* in this round */
	uint8_t shift;
};

/*
 * Initializes a bound of per_s samples per second (not 0), on a counter of hz ticks per second.
 * Before the start.
 */
static inline void sample_bound_init(struct sample_bound *bound, uint32_t per_s, uint64_t hz)
{
	*bound = (struct sample_bound){.least = BOUND_ROUND * hz / per_s};
}

/* Begins another round after a long one, with a lower shift. Rare. */
static inline void sample_bound_relax(struct sample_bound *bound, uint64_t now)
{
	uint64_t took = now - bound->began;

	for (; took > 4 * bound->least && bound->shift > 0; took /= 2)
		bound->shift--;
	bound->began = now;
	bound->taken = 0;
}

/*
 * Returns whether a candidate is taken, at tick `now`. Samples are evenly spread (a Weyl sequence)
 * over any run of candidates, and over candidates of a policy that come at any interval.
 */
static inline bool sample_bound_takes(struct sample_bound *bound, uint64_t now)
{
	if (now - bound->began > 4 * bound->least)
		sample_bound_relax(bound, now);
	return bound->offered++ * BOUND_WEYL <= UINT32_MAX >> bound->shift;
}

/* Counts a sample. Returns the shift of its weight. */
static inline unsigned sample_bound_took(struct sample_bound *bound, uint64_t now)
{
	unsigned shift = bound->shift;

	if (++bound->taken < BOUND_ROUND)
		return shift;
	bound->shift += now - bound->began < bound->least && shift < BOUND_SHIFT_MAX;
	bound->began = now;
	bound->taken = 0;
	return shift;
}

#endif
