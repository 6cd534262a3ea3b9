/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets for one bucket or for its parts. The times depend only on the seed, and not on the number
 * of parts. Pure.
 */
#ifndef WEIR_SIM_PENALTY_TRAFFIC_H
#define WEIR_SIM_PENALTY_TRAFFIC_H

#include "base/prng.h"

#define PENALTY_PARTS      16
#define PENALTY_PUBLISHERS 100000

enum penalty_arrivals {
	PENALTY_POISSON,  /* a packet each, to a random part */
	PENALTY_PERIODIC, /* from publishers, each with a phase and a part */
	PENALTY_BATCH,    /* several in one batch, to one random part */
	PENALTY_SPREAD,   /* like BATCH, dealt out to the parts in turn from a random one on */
	PENALTY_ARRIVALS
};

extern const char *const penalty_names[PENALTY_ARRIVALS];

struct penalty_case {
	enum penalty_arrivals arrivals;
	uint64_t rate_bps, burst_bytes; /* rate and burst of the one bucket */
	uint32_t packet_bytes;
	double load;         /* relative to the rate, above 0 and below 1 */
	unsigned batch;      /* packets in one batch, at least 1 */
	unsigned publishers; /* 1 to PENALTY_PUBLISHERS */
	uint64_t packets;    /* packets of a run; the first tenth is not measured */
};

struct penalty_packet {
	uint64_t at; /* tick */
	unsigned part;
};

struct penalty_publisher {
	uint64_t phase; /* ticks */
	unsigned number;
};

struct penalty_traffic {
	const struct penalty_case *c;
	unsigned parts;
	struct prng times, places;
	double gap;
	double now;                           /* time of the last batch */
	uint64_t n;                           /* packets so far */
	unsigned first;                       /* part of the batch's first packet */
	uint64_t period;                      /* ticks, of each publisher */
	struct penalty_publisher *publishers; /* by phase */
};

/* Returns the mean ticks between packets. */
double penalty_gap(const struct penalty_case *c);

/* Returns 0 or -ENOMEM; the caller frees it in either case. *c must outlive it. */
int penalty_traffic_init(struct penalty_traffic *traffic, const struct penalty_case *c,
	unsigned parts, uint64_t seed);
void penalty_traffic_free(struct penalty_traffic *traffic);

/* Returns the next packet, not earlier than the last. */
struct penalty_packet penalty_traffic_next(struct penalty_traffic *traffic);

#endif
