/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A sample of packets by lot: each candidate is taken with the same chance as every other, whatever
 * it is and wherever in its burst it lies, and stands for 2^shift of them. How many are left out
 * before the next is drawn each time one is taken (a geometric number), so that nobody who sends
 * regularly, or in bursts, is seen more or less than he sends; and what that costs is a subtraction
 * a burst.
 *
 * The shift follows what comes: up when twice as many were taken as were asked for, down when half
 * as many. It is chosen by what was before, and never by the packets that it is for, so that sums
 * of what packets stand for have no bias, and with shift 0 no error either.
 *
 * One worker's own.
 */
#ifndef WEIR_FLOW_PACKET_SAMPLE_H
#define WEIR_FLOW_PACKET_SAMPLE_H

#include <stdint.h>

#include "base/prng.h"

#define PACKET_SAMPLE_ROUND     16 /* that are to be taken between two looks at how long it took */
#define PACKET_SAMPLE_SHIFT_MAX 24

struct packet_sample {
	struct prng prng;
	double log_miss; /* of the chance that a candidate is left out */
	uint64_t skip;   /* candidates that are left out before the next */
	uint64_t round;  /* ticks that a round is to take */
	uint64_t began;  /* tick at which this one did */
	uint32_t taken;  /* of this round */
	unsigned shift;
};

/*
 * About so many a second (not 0), on a counter of hz ticks a second, from tick `now` on. At first
 * all are taken: it takes 32 of them to halve their share. Before the worker sees it.
 */
void packet_sample_init(
	struct packet_sample *sample, uint64_t seed, uint32_t per_s, uint64_t hz, uint64_t now);

/*
 * Which of the candidates, a bit each, are taken at tick `now`; each stands for 2^*shift of them.
 * The worker.
 */
uint64_t packet_sample_take(
	struct packet_sample *sample, uint64_t candidates, uint64_t now, unsigned *shift);

#endif
