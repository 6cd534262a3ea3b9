/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A random sample of packets.
 */
#include "flow/packet_sample.h"

#include <math.h>

#define MOST  (2 * PACKET_SAMPLE_ROUND)
#define LEAST (PACKET_SAMPLE_ROUND / 2)

/* Draws the number of candidates to skip, if each is taken with a probability of 1 in 2^shift. */
static uint64_t draw_skip(struct packet_sample *sample)
{
	if (sample->shift == 0)
		return 0;
	return (uint64_t)(log(1 - prng_unit(&sample->prng)) / sample->log_miss);
}

/*
 * Begins another round. Draws the skip again for a new shift, which is valid because the
 * distribution has no memory.
 */
static void begin_round(struct packet_sample *sample, unsigned shift, uint64_t now)
{
	if (shift != sample->shift) {
		sample->shift = shift;
		sample->log_miss = log1p(-ldexp(1, -(int)shift));
		sample->skip = draw_skip(sample);
	}
	sample->taken = 0;
	sample->began = now;
}

void packet_sample_init(
	struct packet_sample *sample, uint64_t seed, uint32_t per_s, uint64_t hz, uint64_t now)
{
	*sample = (struct packet_sample){
		.round = PACKET_SAMPLE_ROUND * hz / per_s + 1, .began = now};
	prng_seed(&sample->prng, seed);
}

/*
 * Adapts the shift before a burst. It must not change within a burst, because its packets' weight
 * is fixed when they arrive.
 */
static void follow_rate(struct packet_sample *sample, uint64_t now)
{
	uint64_t took = now - sample->began;
	unsigned shift = sample->shift;

	if (sample->taken >= MOST) {
		begin_round(sample, shift + (shift < PACKET_SAMPLE_SHIFT_MAX), now);
	} else if (took >= sample->round) {
		if (sample->taken < LEAST)
			for (; took >= sample->round && shift > 0; took -= sample->round)
				shift--;
		begin_round(sample, shift, now);
	}
}

uint64_t packet_sample_take(
	struct packet_sample *sample, uint64_t candidates, uint64_t now, unsigned *shift)
{
	uint64_t taken = 0;

	follow_rate(sample, now);
	*shift = sample->shift;
	while (sample->skip < (unsigned)__builtin_popcountll(candidates)) {
		for (; sample->skip > 0; sample->skip--)
			candidates &= candidates - 1;
		taken |= candidates & -candidates;
		candidates &= candidates - 1;
		sample->taken++;
		sample->skip = draw_skip(sample);
	}
	sample->skip -= (unsigned)__builtin_popcountll(candidates);
	return taken;
}
