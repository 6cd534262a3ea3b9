/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every meter behind one call: conforming or not. The algorithm is the profile's, so that code per
 * packet does not care which it is; a burst of one kind costs one well-predicted branch a packet.
 *
 * A unit is what the policy counts: a byte, a packet, or a new flow. Time is in ticks of any
 * monotonic counter. State has one writer.
 */
#ifndef WEIR_METER_METER_H
#define WEIR_METER_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/token_bucket.h"

enum meter_kind {
	METER_TOKEN_BUCKET,
	METER_GCRA,
	METER_FIXED_WINDOW,
	METER_HYBRID,
	METER_RANDOM_DROP,
	METER_KINDS
};

/* What people say; each kind reads what it knows. */
struct meter_params {
	enum meter_kind kind;
	uint64_t rate_bps;       /* eight times units per second: bit/s when units are bytes */
	uint64_t drain_bps;      /* token bucket with rate 0: tokens lost, likewise (GTB) */
	uint64_t burst;          /* units: token bucket, GCRA */
	uint64_t window_ns;      /* fixed window, hybrid: quota = rate × window */
	double drop_probability; /* random drop: 0 to 1 */
};

#endif
