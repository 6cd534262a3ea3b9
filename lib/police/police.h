/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a parsed and classified packet to what happens to it: charge, sample, meter, action. The
 * worker lcores, the simulator and the replay of captures all decide here. Inline, for the hot
 * path: no lock, no allocation, no clock.
 */
#ifndef WEIR_POLICE_POLICE_H
#define WEIR_POLICE_POLICE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "classify/parse.h"
#include "flow/flow_sample.h"
#include "flow/new_flow.h"
#include "meter/meter.h"
#include "policy/config.h"
#include "source/source_table.h"

#define CACHE_LINE 64

enum verdict {
	VERDICT_PASS,
	VERDICT_DROP,
	VERDICT_MARK,  /* passes if it can be marked, see mark_frame(); else dropped */
	VERDICT_COUNT, /* passes; would have been dropped */
};

/* One policy's limit on one worker; read-only to workers. */
struct limit_profile {
	union meter_profile meter;
	uint16_t sample_period; /* one packet in so many is sampled; 0 none */
	int16_t extra;          /* bytes charged beside the frame's own */
	uint8_t kind;           /* enum meter_kind */
	uint8_t count;          /* enum counting */
	uint8_t action;         /* enum action */
	uint8_t per_v4, per_v6; /* bits of the source address that make a source; 0: one for all */
	bool without_l2;        /* Ethernet and VLAN headers are not charged */
	bool tcp_only;          /* only TCP flows are sampled */
} __attribute__((aligned(CACHE_LINE)));

static_assert(sizeof(struct limit_profile) == CACHE_LINE, "one line read a packet");

/* One policy on one worker, written by it for each packet. */
struct policy_state {
	union meter meter; /* its bucket.owner counts down to the next sample, whatever the kind */
	uint64_t passed_packets, passed_bytes; /* bytes as the policy charges them */
	uint64_t dropped_packets, dropped_bytes;
} __attribute__((aligned(CACHE_LINE)));

static_assert(sizeof(struct policy_state) == CACHE_LINE, "one line written a packet");

/* What only some policies need. */
struct policy_extra {
	struct source_table *sources; /* "per" a source */
	struct new_flows *flows;      /* "count" flows */
	uint64_t over_packets, over_bytes; /* passed by mark or count though not conforming */
};

#endif
