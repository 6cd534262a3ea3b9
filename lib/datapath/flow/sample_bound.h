/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A bound on the samples that one worker takes in a second, whatever the policies' own shares: they
 * are control's to choose, and where 100,000 policies wake at once control is late.
 *
 * Of the packets that policies would sample (candidates) one in 2^shift is taken, and stands for so
 * many times as much. The shift follows what is taken: up when BOUND_ROUND samples came in less
 * time than they may, down when they took more than four times as long, and down too, however few
 * candidates there are, when they have not come in that time. So what is taken stays unbiased, and
 * a single policy that goes on after a flood has its samples back with its next few packets.
 *
 * One worker's own.
 */
#ifndef WEIR_FLOW_SAMPLE_BOUND_H
#define WEIR_FLOW_SAMPLE_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a worker may take, at some tens of cycles each, and some hundreds where there are so many
 * policies that their samples lie in no cache: about half a percent of it, or a cycle of a packet.
 */
#define SAMPLES_PER_WORKER_S 50000

#define BOUND_ROUND     64 /* samples between two looks at how long they took */
#define BOUND_SHIFT_MAX 10 /* a worker has less than 1024 times as many candidates as it may take */

#define BOUND_WEYL UINT32_C(0x9e3779b1) /* 2^32 over the golden ratio, to a prime */

struct sample_bound {
	uint64_t least;   /* ticks that a round may take at least */
	uint64_t began;   /* tick at which this one did */
	uint32_t offered; /* candidates, ever */
	uint16_t taken;   /* of this round */
	uint8_t shift;
};

/* At most so many samples a second (not 0), on a counter of hz ticks a second. Before the start. */
static inline void sample_bound_init(struct sample_bound *bound, uint32_t per_s, uint64_t hz)
{
	*bound = (struct sample_bound){.least = BOUND_ROUND * hz / per_s};
}

/* Another round, and what it takes less of. Rare. */
static inline void sample_bound_relax(struct sample_bound *bound, uint64_t now)
{
	uint64_t took = now - bound->began;

	for (; took > 4 * bound->least && bound->shift > 0; took /= 2)
		bound->shift--;
	bound->began = now;
	bound->taken = 0;
}

/*
 * Whether a candidate is taken, at tick `now`: evenly spread (a Weyl sequence), over any stretch of
 * candidates and over those of a policy that come at any interval.
 */
static inline bool sample_bound_takes(struct sample_bound *bound, uint64_t now)
{
	if (now - bound->began > 4 * bound->least)
		sample_bound_relax(bound, now);
	return bound->offered++ * BOUND_WEYL <= UINT32_MAX >> bound->shift;
}

/* Counts one that was taken; returns the shift by which it stands for others too. */
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
