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
 *     if (police_samples(...))                     what FPS takes as evidence
 *             police_sample(..., cost);
 *     verdict = police_charge(..., cost, now);     counts, unless it says VERDICT_MARK
 *     if (verdict == VERDICT_MARK)
 *             police_marked(..., mark_frame(...)); counts then
 *
 * The policies that nearly everybody has (a token bucket for the whole aggregate, in bytes, that
 * drops) are *plain*: decided inline, from and into the one line that is the policy's state on a
 * worker, its limit included. police_charge_burst() decides a burst of one such policy at once. The
 * same bucket that flows share (METER_PHANTOM) is decided in the same line as long as nobody
 * presses on it, by police_charge_free(), and else from a struct phantom. All others cost a call,
 * and what they need beyond that lies in struct policy_other, which is theirs alone.
 *
 * State has one writer, who is also told of new limits, by police_limit(): nobody changes a limit
 * under him. Counters may be read by anybody, with counter_read(). None ever decreases; those of
 * packets have 32 bits, so that whoever wants totals has to look, with counter_fold(), once in 2^32
 * packets: every 28 s at what 100 Gbit/s can carry, which is far more than a worker can.
 */
#ifndef WEIR_POLICE_POLICE_H
#define WEIR_POLICE_POLICE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "packet/parse.h"
#include "flow/flow_sample.h"
#include "meter/meter.h"
#include "meter/phantom.h"
#include "policy/config.h"
#include "source/source_hash.h"

#define CACHE_LINE 64

#define POLICE_TCP 6 /* protocol number */

struct new_flows;
struct policy_shape;
struct source_table;

enum verdict {
	VERDICT_PASS,
	VERDICT_DROP,
	VERDICT_MARK,  /* passes if it can be marked, see police_marked(); else dropped */
	VERDICT_COUNT, /* passes; would have been dropped */
};

/* Set for a policy's life. */
enum {
	POLICE_PLAIN = 1 << 0,
	POLICE_TCP_ONLY = 1 << 1, /* only TCP flows are sampled */
	POLICE_TOTAL = 1 << 2,    /* not plain, but nothing of a packet is asked but its bytes */
	POLICE_PHANTOM = 1 << 3,  /* likewise, and its flow */
	POLICE_SHAPED = 1 << 4,   /* packets wait that do not conform */
};

#define POLICE_SHIFT_MAX 15
#define POLICE_UNSAMPLED (POLICE_SHIFT_MAX + 1)
#define POLICE_WIRE      24 /* bytes of FCS, preamble and inter-frame gap */

/*
 * One policy on one worker: all that a plain one reads or writes for a packet. "Bytes" are what the
 * policy counts: with COUNT_PACKETS packets, with COUNT_FLOWS new flows.
 */
struct policy_state {
	/* Its owner's bits: police_owner(). The rest, and the limit: unless police_has_other(). */
	struct token_bucket bucket;
	union {
		struct token_bucket_profile limit;
		struct policy_other *other;
	};
	uint64_t bytes; /* of all packets, */
	union {
		uint64_t dropped_bytes;  /* and of the dropped; */
		struct phantom *phantom; /* police_is_phantom(): which counts these */
	};
	uint32_t packets, dropped_packets;
} __attribute__((aligned(CACHE_LINE)));

static_assert(sizeof(struct policy_state) == CACHE_LINE, "one line a packet");

/* What policies have that are neither plain nor phantoms. The worker's own; counters as above. */
struct policy_other {
	union meter meter; /* first: of METER_PURSE both are one line */
	union meter_profile profile;
	struct source_table *sources; /* "per" a source */
	struct new_flows *flows;      /* "count" flows */
	struct policy_shape *shape;   /* ACTION_SHAPE, see police/shaped.h */
	bool by_dscp;                 /* METER_PHANTOM: what a packet's class is; else its flow */
	uint8_t kind;                 /* enum meter_kind */
	uint8_t count;                /* enum counting */
	uint8_t action;               /* enum action */
	int8_t mark;                  /* MARK_ECN or a DSCP */
	uint8_t per_v4, per_v6;       /* bits of the source address that make a source; 0: none */
	uint8_t unit_bits;            /* see policy_unit_bits(): of what its meter is charged */
	struct source_key flow_key;   /* of what `flows` are known by */
	uint64_t over_packets, over_bytes; /* passed, not conforming */
	/* METER_PURSE: of those that conformed, what the total did not pay for */
	uint64_t fallback_packets, fallback_bytes;
} __attribute__((aligned(CACHE_LINE)));

/* How packets wait, as struct shape_config says it, and as long as the clock is told in ticks. */
struct shape_terms {
	uint64_t units; /* that wait at most; 0: as many as leave in the delay */
	uint32_t delay_us, target_us, interval_us;
	bool codel, ecn;
	bool conserved; /* see shaped_is_strict() */
	bool timed;     /* see policy_is_timed() */
};

/* Its classes, of METER_PHANTOM, which has neither sources nor flows to know. */
static inline struct phantom *police_phantom(struct policy_other *other)
{
	return (struct phantom *)(other + 1);
}

/* One policy's limit, on its way to one worker. Made by limit_profile_init(). */
struct limit_profile {
	union {
		union meter_profile meter;
		struct {
			struct token_bucket_profile bucket; /* meter.bucket */
			struct shape_terms terms;
		} shape; /* of policies that police_is_shaped() */
	};
	uint32_t policy;      /* its index: the sender's and the receiver's */
	uint8_t kind;         /* enum meter_kind */
	uint8_t sample_shift; /* one packet in 2^this is sampled, or POLICE_UNSAMPLED */
	bool shaped;
};

static_assert(sizeof(struct limit_profile) == 64, "a line in a ring");

/*
 * Charges a packet of police_bytes() to a policy that police_is_total(), and counts it: 0 if it
 * passes, all ones if it is dropped. The state's one writer.
 */
uint64_t police_over_total(struct policy_state *state, uint32_t bytes, uint64_t now);

/*
 * The same of one that police_is_phantom(), by the hash of the packet's flow, when
 * police_over_line() has asked for it: what is left to be counted is whether it is dropped.
 */
uint64_t police_over_flow(struct policy_state *state, uint32_t bytes, uint32_t hash);

/*
 * Charges n packets (at most 64) to such a policy, that arrived at `now`, and counts them: a bit
 * each, 1 for those that pass.
 */
uint64_t police_charge_flows(struct policy_state *state, const uint32_t *bytes,
	const uint32_t *hashes, unsigned n, uint64_t now);

/* police_cost() and police_charge() of policies that are not plain. */
uint32_t police_cost_other(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t bytes, uint64_t now);
enum verdict police_charge_other(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now);

/*
 * What a policy is, in the bits that its bucket leaves to its owner, from below:
 *
 *     16  of 2^15 packets those that are not just charged, see police_aside()
 *      5  shift: one packet in 2^this is sampled, or POLICE_UNSAMPLED
 *      5  flags
 *      6  enum accounting
 */
static inline uint32_t police_owner(unsigned flags, unsigned shift, enum accounting accounting)
{
	uint32_t aside = flags & POLICE_PLAIN ? UINT32_C(0x8000) >> shift : UINT16_MAX;

	return (uint32_t)accounting << 26 | flags << 21 | shift << 16 | aside;
}

static inline unsigned police_flags(const struct policy_state *state)
{
	return token_bucket_owner(&state->bucket) >> 21 & 31;
}

static inline unsigned police_shift(const struct policy_state *state)
{
	return token_bucket_owner(&state->bucket) >> 16 & 31;
}

static inline enum accounting police_accounting(const struct policy_state *state)
{
	return (enum accounting)(token_bucket_owner(&state->bucket) >> 26);
}

/* Anybody. */
static inline bool police_is_plain(const struct policy_state *state)
{
	return police_flags(state) & POLICE_PLAIN;
}

/* Whether police_over_total() is all that a packet needs: a total in bytes, that drops. Anybody. */
static inline bool police_is_total(const struct policy_state *state)
{
	return police_flags(state) & POLICE_TOTAL;
}

/* Whether packets wait that do not conform. Anybody. */
static inline bool police_is_shaped(const struct policy_state *state)
{
	return police_flags(state) & POLICE_SHAPED;
}

/*
 * Whether police_over_line() and police_over_flow() are all that a packet needs: flows that share a
 * limit in bytes, that drops. Anybody.
 */
static inline bool police_is_phantom(const struct policy_state *state)
{
	return police_flags(state) & POLICE_PHANTOM;
}

/* Whether all that there is of it is its line, and its phantom if it is one. Anybody. */
static inline bool police_has_other(const struct policy_state *state)
{
	return !(police_flags(state) & (POLICE_PLAIN | POLICE_PHANTOM));
}

/*
 * Bytes that a policy charges for a frame of frame_len bytes, l2_len of them before the L3 header,
 * as "accounting" says.
 */
static inline uint32_t police_bytes(
	const struct policy_state *state, uint32_t l2_len, uint32_t frame_len)
{
	enum accounting accounting = police_accounting(state);

	return frame_len - (accounting == ACCOUNTING_L3 ? l2_len : 0) +
	       (accounting == ACCOUNTING_WIRE ? POLICE_WIRE : 0);
}

/*
 * What a packet costs: its bytes; 1, when packets are counted; or, when flows are, 1 if it begins
 * a flow and else 0.
 *
 * A flow begins with each TCP SYN without ACK (also one that is sent again), and with a UDP packet
 * whose flow has not been let through in the last 30 s (lib/datapath/flow/new_flow.h). Fragments of
 * either have no ports and perhaps no flags, so all fragments between two addresses are one such
 * flow. Whatever else there is begins nothing. The two directions of a UDP flow are two flows;
 * TCP's other direction begins with a SYN-ACK, and so none.
 */
static inline uint32_t police_cost(const struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t frame_len, uint64_t now)
{
	uint32_t bytes = police_bytes(state, packet->l2_len, frame_len);

	if (__builtin_expect(!police_has_other(state), 1))
		return bytes;
	return police_cost_other(state, packet, data, bytes, now);
}

#define POLICE_WEYL UINT32_C(0x9e3779b1) /* 2^32 over the golden ratio, to a prime */

/* The upper 15 bits of where the next packet to be charged is in the sequence. */
static inline uint32_t police_word(const struct policy_state *state)
{
	return state->packets * POLICE_WEYL >> 17;
}

/* Words below this are of the sample: 2^-shift of all there are, or none. */
static inline uint32_t police_sample_below(const struct policy_state *state)
{
	return UINT32_C(0x8000) >> police_shift(state);
}

/*
 * Whether the next packet to be charged is of the sample: one in 2^k, as the policy's own count of
 * packets times the golden ratio says (a Weyl sequence). That is spread as evenly as can be, over
 * any stretch of packets and over every m-th of them, whatever m, so that traffic in step with
 * something is not seen one-sidedly. The state's one writer.
 */
static inline bool police_samples(const struct policy_state *state)
{
	return police_word(state) < police_sample_below(state);
}

/*
 * Whether more is due for the next packet than to charge it: it is sampled, or the policy is not
 * plain. One question for what most packets answer alike. The state's one writer.
 */
static inline bool police_aside(const struct policy_state *state)
{
	return police_word(state) < (uint16_t)token_bucket_owner(&state->bucket);
}

/*
 * police_samples() of the next n packets (at most 64), a bit each. Mostly there is none, which is
 * found out with vectors.
 */
static inline uint64_t police_samples_burst(const struct policy_state *state, unsigned n)
{
	uint32_t word = state->packets * POLICE_WEYL, below = police_sample_below(state);
	uint32_t last = (below << 17) - 1, any = 0;
	uint64_t samples = 0;

	if (below == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		any |= word + i * POLICE_WEYL <= last;
	for (uint32_t i = 0; any && i < n; i++)
		samples |= (uint64_t)(word + i * POLICE_WEYL <= last) << i;
	return samples;
}

static inline bool police_samples_tcp_only(const struct policy_state *state)
{
	return police_flags(state) & POLICE_TCP_ONLY;
}

/* Whether a packet that police_samples() has chosen is one of those that the policy looks at. */
static inline bool police_samples_packet(
	const struct policy_state *state, const struct packet *packet)
{
	return !police_samples_tcp_only(state) || packet->proto == POLICE_TCP;
}

/* What a packet that is sampled counts for, as it stands for others too. */
static inline uint64_t police_sample_bytes(const struct policy_state *state, uint32_t cost)
{
	return (uint64_t)cost << police_shift(state);
}

/*
 * Adds to the sample a packet that police_samples() has chosen. `data` are the bytes that `packet`
 * was parsed from.
 */
static inline void police_sample(struct flow_sample *sample, const struct policy_state *state,
	const struct packet *packet, const uint8_t *data, uint32_t cost)
{
	if (police_samples_packet(state, packet))
		flow_sample_add(
			sample, packet_flow_hash(packet, data), police_sample_bytes(state, cost));
}

/* Counts packets, so many of them dropped, and their bytes. */
static inline void police_count(struct policy_state *state, uint32_t packets, uint64_t bytes,
	uint32_t dropped_packets, uint64_t dropped_bytes)
{
	counter_add32(&state->packets, packets);
	counter_add32(&state->dropped_packets, dropped_packets);
	counter_add(&state->bytes, bytes);
	counter_add(&state->dropped_bytes, dropped_bytes);
}

/* Charges a packet to a plain policy, and counts it: 0 if it passes, all ones if it is dropped. */
static inline uint64_t police_over(struct policy_state *state, uint32_t cost, uint64_t now)
{
	uint64_t over;

	token_bucket_refill(&state->bucket, &state->limit, now);
	over = token_bucket_over(&state->bucket, cost);
	/* Sums, not branches, as in the meter. */
	police_count(state, 1, cost, -(uint32_t)over, cost & over);
	return over;
}

/* police_charge() of a plain policy; for loops that have asked police_is_plain() already. */
static inline enum verdict police_charge_plain(
	struct policy_state *state, uint32_t cost, uint64_t now)
{
	return police_over(state, cost, now) ? VERDICT_DROP : VERDICT_PASS;
}

/*
 * The verdicts of police_charge_plain() for n packets (at most 64) that arrived at `now`, one by
 * one: a bit each, 1 for those that pass. Bucket and counters are read and written once, and when
 * all pass, or none can, nobody is asked.
 */
static inline uint64_t police_charge_burst(
	struct policy_state *state, const uint32_t *costs, unsigned n, uint64_t now)
{
	uint64_t sum = 0, passed_bytes = 0, passes = 0, tokens;
	uint32_t least = UINT32_MAX;

	for (unsigned i = 0; i < n; i++) {
		least = costs[i] < least ? costs[i] : least;
		sum += costs[i];
	}
	token_bucket_refill(&state->bucket, &state->limit, now);
	tokens = state->bucket.tokens;
	if (tokens >= sum << TOKEN_BYTE) {
		state->bucket.tokens = tokens - (sum << TOKEN_BYTE);
		police_count(state, n, sum, 0, 0);
		return n ? UINT64_MAX >> (64 - n) : 0;
	}
	if (tokens < (uint64_t)least << TOKEN_BYTE) {
		police_count(state, n, sum, n, sum);
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t conforms = tokens >= (uint64_t)costs[i] << TOKEN_BYTE;
		uint64_t taken = costs[i] & -conforms;

		tokens -= taken << TOKEN_BYTE;
		passed_bytes += taken;
		passes |= conforms << i;
	}
	state->bucket.tokens = tokens;
	police_count(state, n, sum, n - (uint32_t)__builtin_popcountll(passes), sum - passed_bytes);
	return passes;
}

/*
 * Charges packets of so many bytes to a policy that police_is_phantom(), and counts them, if they
 * may pass whoever they are of: then nothing is read but the line. Else the bucket is refilled, and
 * they remain to be charged. The state's one writer.
 */
static inline bool police_charge_free(
	struct policy_state *state, uint32_t packets, uint64_t bytes, uint64_t now)
{
	token_bucket_refill(&state->bucket, &state->limit, now);
	if (!phantom_take_free(&state->bucket, &state->limit, bytes))
		return false;
	counter_add32(&state->packets, packets);
	counter_add(&state->bytes, bytes);
	return true;
}

/* Counts packets that such a policy has dropped, and their bytes; as packets they are counted. */
static inline void police_count_refused(
	struct policy_state *state, uint32_t packets, uint64_t bytes)
{
	counter_add32(&state->dropped_packets, packets);
	counter_add(&state->phantom->refused, bytes);
}

/*
 * Charges what police_charge_free() has not, and counts it, if there are no tokens even for the
 * least of these packets: all are dropped, whoever they are of. Else they remain to be charged. The
 * state's one writer.
 */
static inline bool police_refuse_all(
	struct policy_state *state, uint32_t packets, uint64_t bytes, uint32_t least)
{
	if (state->bucket.tokens >= (uint64_t)least << TOKEN_BYTE)
		return false;
	counter_add32(&state->packets, packets);
	counter_add(&state->bytes, bytes);
	police_count_refused(state, packets, bytes);
	return true;
}

#define POLICE_ASKS_FLOW 1 /* neither of police_over()'s two answers */

/*
 * police_over() of a packet of such a policy, by the line alone: it passes whoever it is of, or
 * there are no tokens for it. Else police_over_flow() is to be asked. The bucket has been refilled,
 * by token_bucket_refill() or police_fetch_phantom(). The state's one writer.
 */
static inline uint64_t police_over_line(struct policy_state *state, uint32_t bytes)
{
	counter_add32(&state->packets, 1);
	counter_add(&state->bytes, bytes);
	if (phantom_take_free(&state->bucket, &state->limit, bytes))
		return 0;
	if (phantom_asks(&state->bucket, &state->limit, bytes))
		return POLICE_ASKS_FLOW;
	police_count_refused(state, 1, bytes);
	return UINT64_MAX;
}

/*
 * Refills the bucket, and begins to fetch what police_over_flow() will read, if the line tells that
 * it will be asked; and says so: that is the first step. In the second one reads what the first has
 * fetched. The state's one writer.
 */
static inline bool police_fetch_phantom(struct policy_state *state, uint32_t bytes, uint64_t now)
{
	token_bucket_refill(&state->bucket, &state->limit, now);
	if (!phantom_asks(&state->bucket, &state->limit, bytes))
		return false;
	__builtin_prefetch(state->phantom, 1);
	return true;
}

static inline void police_fetch_class(const struct policy_state *state, uint32_t hash)
{
	phantom_fetch(state->phantom, hash);
}

/*
 * What a reader knows of a policy's packets on one worker, from when the state began; zero at
 * first. The reader's own.
 */
struct police_totals {
	uint64_t packets, dropped_packets;
};

/* Brings totals up to what the state says now; due once in 2^32 packets. */
static inline void police_fold(struct police_totals *totals, const struct policy_state *state)
{
	counter_fold(&totals->dropped_packets, &state->dropped_packets);
	counter_fold(&totals->packets, &state->packets);
}

/*
 * Of all, on one worker or several, less those dropped; the difference of counters that workers
 * change meanwhile. It may be too low by what is on its way, or too high by drops between the two
 * looks, until the next time; but what has been said once (*passed, zero at first) is not taken
 * back.
 */
static inline void police_passed(uint64_t *passed, uint64_t all, uint64_t dropped)
{
	if ((int64_t)(all - dropped - *passed) > 0)
		*passed = all - dropped;
}

/*
 * Meters a packet of that cost, and counts it. `data` are the bytes that `packet` was parsed from.
 * With VERDICT_MARK nothing is counted yet: the caller tries to mark and says police_marked().
 */
static inline enum verdict police_charge(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now)
{
	if (__builtin_expect(police_is_plain(state), 1))
		return police_charge_plain(state, cost, now);
	return police_charge_other(state, packet, data, cost, now);
}

/*
 * police_charge() of a packet that is metered already (police/sourced.h), of a policy that is not
 * plain.
 */
enum verdict police_enact(struct policy_state *state, const struct packet *packet,
	const uint8_t *data, uint32_t cost, uint64_t now, bool conforming);

/* Counts a packet of VERDICT_MARK: as passed if it has been marked, else as dropped. */
void police_marked(struct policy_state *state, const struct packet *packet, const uint8_t *data,
	uint32_t cost, uint64_t now, bool marked);

/*
 * The limit is `profile` from tick `now` on: what was earned before was earned at the old rate. Its
 * policy and kind are the state's. The state's one writer.
 */
void police_limit(struct policy_state *state, const struct limit_profile *profile, uint64_t now);

/* The policy's DSCP to mark with, or MARK_ECN; it is one that said VERDICT_MARK. */
static inline int police_mark(const struct policy_state *state)
{
	return state->other->mark;
}

/*
 * Weight of the classes that have a queue, which of flows is their number: as of the last packet
 * that asked, or limit that was told. While the bucket is in its free part nobody asks. Anybody.
 */
static inline uint64_t police_backlogged(const struct policy_state *state)
{
	if (police_is_phantom(state))
		return phantom_backlogged(state->phantom);
	if (police_has_other(state) && state->other->kind == METER_PHANTOM)
		return phantom_backlogged(police_phantom(state->other));
	return 0;
}

/* Bytes of the packets that were dropped. Anybody. */
static inline uint64_t police_dropped_bytes(const struct policy_state *state)
{
	return counter_read(
		police_is_phantom(state) ? &state->phantom->refused : &state->dropped_bytes);
}

/* Of those passed, what did not conform; 0 for most. Anybody. */
static inline uint64_t police_over_packets(const struct policy_state *state)
{
	return police_has_other(state) ? counter_read(&state->other->over_packets) : 0;
}

static inline uint64_t police_over_bytes(const struct policy_state *state)
{
	return police_has_other(state) ? counter_read(&state->other->over_bytes) : 0;
}

/* Whether what the policy drops is beyond a total, and not a rate. Anybody. */
static inline bool police_is_quota(const struct policy_state *state)
{
	return police_has_other(state) && state->other->kind == METER_PURSE;
}

/* Of those passed, what a total did not pay for and its fallback let through. Anybody. */
static inline uint64_t police_fallback_packets(const struct policy_state *state)
{
	return police_has_other(state) ? counter_read(&state->other->fallback_packets) : 0;
}

static inline uint64_t police_fallback_bytes(const struct policy_state *state)
{
	return police_has_other(state) ? counter_read(&state->other->fallback_bytes) : 0;
}

/*
 * Units of a total that lie here and can be given back to a purse of this generation, see
 * purse_hand_returns(). Control, when nobody charges packets to the state any more.
 */
static inline uint64_t police_returns(const struct policy_state *state, uint16_t generation)
{
	const struct policy_other *other = state->other;

	if (!police_is_quota(state))
		return 0;
	return purse_hand_returns(&other->meter.purse, &other->profile.purse, generation);
}

/* The policy's table of sources, or NULL. Anybody; what may be read of it, it says itself. */
static inline struct source_table *police_sources(const struct policy_state *state)
{
	return police_has_other(state) ? state->other->sources : NULL;
}

/*
 * Bits of the packet's source address that have a meter of their own: 0 when the policy has one for
 * all, or the packet no address, as those share one.
 */
static inline unsigned police_source_bits(
	const struct policy_state *state, const struct packet *packet)
{
	if (!police_has_other(state) || packet->family == PACKET_OTHER)
		return 0;
	return packet->family == PACKET_IPV4 ? state->other->per_v4 : state->other->per_v6;
}

#endif
