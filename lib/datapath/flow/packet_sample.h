/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A random sample of packets. Each candidate is taken with the same probability, independent of its
 * contents and its place in the burst, and stands for 2^shift candidates. When a packet is taken,
 * the number of candidates to skip until the next is drawn (a geometric distribution). So regular
 * or bursty senders get their exact share on average. The cost is one subtraction per burst.
 *
 * The shift adapts to the traffic: up when twice as many packets as requested were taken, down when
 * half as many were. It depends on earlier packets only, never on those that it applies to. So sums
 * over samples have no bias and, with shift 0, no error.
 *
 * Owned by one worker.
 */
#ifndef WEIR_FLOW_PACKET_SAMPLE_H
#define WEIR_FLOW_PACKET_SAMPLE_H

#include <stdint.h>

#include "base/prng.h"

#define PACKET_SAMPLE_ROUND     16 /* samples wanted per round, after which the time is checked */
#define PACKET_SAMPLE_SHIFT_MAX 24

struct packet_sample {
	struct prng prng;
	double log_miss; /* log of the probability that a candidate is skipped */
	uint64_t skip;   /* candidates to skip before the next sample */
	uint64_t round;  /* ticks that a round should take */
	uint64_t began;  /* tick at which this round began */
	uint32_t taken;  /* in this round */
	unsigned shift;
};

/*
 * Initializes a sample of about per_s packets per second (not 0), on a counter of hz ticks per
 * second, from tick `now` on. All candidates are taken at first; after 32 of them the share is
 * halved. Before the worker uses it.
 */
void packet_sample_init(
	struct packet_sample *sample, uint64_t seed, uint32_t per_s, uint64_t hz, uint64_t now);

/*
 * Selects candidates, a bit each, at tick `now`. Each stands for 2^*shift candidates. Returns those
 * taken. The worker.
 */
uint64_t packet_sample_take(
	struct packet_sample *sample, uint64_t candidates, uint64_t now, unsigned *shift);

#endif
