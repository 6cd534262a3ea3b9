/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * From a parsed and classified packet to what happens to it: charge, sample, meter, action. The
 * worker lcores, the simulator and the replay of captures all decide here: no lock, no allocation,
 * no clock.
 *
 * A packet's way, for whoever has the time to prefetch between the steps:
 *
 *     cost = police_cost(...);
 *     police_sample(..., cost);                    what FPS takes as evidence
 *     verdict = police_charge(..., cost, now);     counts, unless it says VERDICT_MARK
 *     if (verdict == VERDICT_MARK)
 *             police_marked(..., mark_frame(...)); counts then
 *
 * police() is the first and the third in one.
 *
 * The policies that nearly everybody has (a token bucket for the whole aggregate, in bytes, that
 * drops) are decided inline, with one line read and one written. All others cost a call, and what
 * they need beyond that lies in struct policy_extra, which the plain ones never touch.
 *
 * State has one writer; counters may be read by anybody, with counter_read(). None ever decreases.
 */
#ifndef WEIR_POLICE_POLICE_H
#define WEIR_POLICE_POLICE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "classify/parse.h"
#include "flow/flow_sample.h"
#include "meter/meter.h"
#include "policy/config.h"

#define CACHE_LINE 64

#define POLICE_TCP 6 /* protocol number */

struct new_flows;
struct source_table;

enum verdict {
	VERDICT_PASS,
	VERDICT_DROP,
	VERDICT_MARK,  /* passes if it can be marked, see police_marked(); else dropped */
	VERDICT_COUNT, /* passes; would have been dropped */
};

/* One policy's limit on one worker; read-only to workers. Made by limit_profile_init(). */
struct limit_profile {
	union meter_profile meter;
	uint16_t sample_period; /* one packet in so many is sampled; 0 none */
	int16_t extra;          /* bytes charged beside the frame's own */
	uint8_t kind;           /* enum meter_kind */
	uint8_t count;          /* enum counting */
	uint8_t action;         /* enum action */
	int8_t mark;            /* MARK_ECN or a DSCP */
	uint8_t per_v4, per_v6; /* bits of the source address that make a source; 0: one for all */
	bool without_l2;        /* Ethernet and VLAN headers are not charged */
	bool tcp_only;          /* only TCP flows are sampled */
	bool plain;             /* token bucket, bytes, one for all, drop: asked instead of these */
} __attribute__((aligned(CACHE_LINE)));

static_assert(sizeof(struct limit_profile) == CACHE_LINE, "one line read a packet");

/*
 * One policy on one worker, written by it for each packet. "Bytes" are what the policy counts: with
 * COUNT_PACKETS packets, with COUNT_FLOWS new flows.
 */
struct policy_state {
	union meter meter; /* its bucket.owner counts down to the next sample, whatever the kind */
	uint64_t passed_packets, passed_bytes;
	uint64_t dropped_packets, dropped_bytes;
} __attribute__((aligned(CACHE_LINE)));

static_assert(sizeof(struct policy_state) == CACHE_LINE, "one line written a packet");

/* What only some policies need. */
struct policy_extra {
	struct source_table *sources;      /* "per" a source */
	struct new_flows *flows;           /* "count" flows */
	uint64_t over_packets, over_bytes; /* of those passed: marked or counted, not conforming */
};

/* police_cost() and police_charge() of policies that are not plain. */
uint32_t police_cost_other(const struct limit_profile *profile, struct policy_extra *extra,
	const struct packet *packet, uint32_t bytes, uint64_t now);
enum verdict police_charge_other(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now);

/* Bytes that a policy charges for a frame of frame_len bytes, as "accounting" says. */
static inline uint32_t police_bytes(
	const struct limit_profile *profile, const struct packet *packet, uint32_t frame_len)
{
	uint32_t bytes = frame_len - (profile->without_l2 ? packet->l2_len : 0);

	return bytes + (uint32_t)profile->extra;
}

/*
 * What a packet costs: its bytes; 1, when packets are counted; or, when flows are, 1 if it begins
 * a flow and else 0.
 *
 * A flow begins with each TCP SYN without ACK (also one that is sent again), and with a UDP packet
 * whose flow has not been let through in the last 30 s (lib/flow/new_flow.h). Fragments of either
 * have no ports and perhaps no flags, so all fragments between two addresses are one such flow.
 * Whatever else there is begins nothing. The two directions of a UDP flow are two flows; TCP's
 * other direction begins with a SYN-ACK, and so none.
 */
static inline uint32_t police_cost(const struct limit_profile *profile, struct policy_extra *extra,
	const struct packet *packet, uint32_t frame_len, uint64_t now)
{
	uint32_t bytes = police_bytes(profile, packet, frame_len);

	if (__builtin_expect(profile->plain, 1))
		return bytes;
	return police_cost_other(profile, extra, packet, bytes, now);
}

/* xorshift32: enough for the gap to the next sample, which only must not beat with the traffic. */
static inline uint32_t police_next_gap(uint32_t *random, uint16_t period)
{
	uint32_t x = *random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*random = x;
	return 1 + (uint32_t)(((uint64_t)x * (2u * period - 1)) >> 32);
}

/*
 * Adds one packet in profile->sample_period to the sample; returns whether it was this one.
 * `countdown` is state->meter.bucket.owner; `random` is the worker's own, seeded with anything but
 * 0, for all its policies.
 */
static inline bool police_sample(struct flow_sample *sample, uint32_t *countdown, uint32_t *random,
	const struct limit_profile *profile, const struct packet *packet, uint32_t cost)
{
	if (__builtin_expect(profile->sample_period == 0, 1))
		return false;
	if (profile->tcp_only && packet->proto != POLICE_TCP)
		return false;
	if (*countdown > 1) {
		--*countdown;
		return false;
	}
	*countdown = police_next_gap(random, profile->sample_period);
	flow_sample_add(sample, packet->flow_hash, (uint64_t)cost * profile->sample_period);
	return true;
}

/* police_charge() of a plain policy; for loops that have asked profile->plain already. */
static inline enum verdict police_charge_plain(struct policy_state *state,
	const struct limit_profile *profile, uint32_t cost, uint64_t now)
{
	bool passes = token_bucket_conforms(
		&state->meter.bucket, &profile->meter.bucket, now, cost);

	/* Sums, not branches, as in the meter. */
	counter_add(&state->passed_packets, passes);
	counter_add(&state->passed_bytes, passes ? cost : 0);
	counter_add(&state->dropped_packets, !passes);
	counter_add(&state->dropped_bytes, passes ? 0 : cost);
	return passes ? VERDICT_PASS : VERDICT_DROP;
}

/*
 * Meters a packet of that cost, and counts it. `data` are the bytes that `packet` was parsed from.
 * With VERDICT_MARK nothing is counted yet: the caller tries to mark and says police_marked().
 */
static inline enum verdict police_charge(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now)
{
	if (__builtin_expect(profile->plain, 1))
		return police_charge_plain(state, profile, cost, now);
	return police_charge_other(state, extra, profile, packet, data, cost, now);
}

/* Counts a packet of VERDICT_MARK: as passed if it has been marked, else as dropped. */
void police_marked(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, uint32_t cost,
	uint64_t now, bool marked);

/* A packet's whole way but for the sample. */
static inline enum verdict police(struct policy_state *state, struct policy_extra *extra,
	const struct limit_profile *profile, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now)
{
	uint32_t cost = police_cost(profile, extra, packet, frame_len, now);

	return police_charge(state, extra, profile, packet, data, cost, now);
}

/* Whether the policy has a meter for the packet's source; what has no address shares its own. */
static inline bool police_has_source(
	const struct limit_profile *profile, const struct packet *packet)
{
	return (profile->per_v4 | profile->per_v6) && packet->family != PACKET_OTHER;
}

/* Begins to fetch the meter of the packet's source, if it has one; worth it in a burst only. */
void police_prefetch_source(const struct policy_extra *extra, const struct limit_profile *profile,
	const struct packet *packet, const uint8_t *data);

#endif
