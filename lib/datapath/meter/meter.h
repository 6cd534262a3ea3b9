/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every meter behind one call: conforming or not. The algorithm is the profile's, so that code per
 * packet does not care which it is; a burst of one kind costs one well-predicted branch a packet.
 *
 * A unit is what the policy counts: a byte, a packet, or a new flow. Time is in ticks of any
 * monotonic counter. State has one writer. A cost of 0 conforms with every kind and takes nothing.
 *
 * Profiles change while packets flow, by meter_change(). Whatever the kind, what passes at once is
 * then never more than the larger of the two bursts or quotas, and no state waits for ever under a
 * rate that lets anything pass; what each keeps over a change stands in its header.
 */
#ifndef WEIR_METER_METER_H
#define WEIR_METER_METER_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meter/fixed_window.h"
#include "meter/gcra.h"
#include "meter/hybrid.h"
#include "meter/phantom.h"
#include "meter/credit.h"
#include "meter/window_quota.h"
#include "meter/random_drop.h"
#include "meter/token_bucket.h"

enum meter_kind {
	METER_TOKEN_BUCKET,
	METER_GCRA,
	METER_FIXED_WINDOW,
	METER_HYBRID,
	METER_RANDOM_DROP,
	METER_PHANTOM, /* a token bucket, that classes share: see meter/phantom.h */
	METER_CREDIT,  /* of the allocator quota, and nobody's to choose */
	METER_KINDS
};

/* What people say; each kind reads what it knows. */
struct meter_params {
	enum meter_kind kind;
	uint64_t rate_bps;       /* eight times units per second: bit/s when units are bytes */
	uint64_t drain_bps;      /* token bucket with rate 0: tokens lost, likewise (GTB) */
	uint64_t burst;          /* units: token bucket, GCRA, phantom, a credit's fallback */
	uint64_t window_ns;      /* fixed window, hybrid: quota = rate × window */
	double drop_probability; /* random drop: 0 to 1 */
	uint8_t rate_below; /* see struct token_bucket_params; fixed window, hybrid: likewise */
	uint8_t unit_bits;  /* the same, of buckets: their costs are multiples of 2^this */
};

/* One limit, precomputed by control. */
union meter_profile {
	struct token_bucket_profile bucket;
	struct gcra_profile gcra;
	struct quota quota; /* fixed window, hybrid */
	struct random_drop_profile drop;
	struct credit_profile credit;
};

/* One state. */
union meter {
	struct token_bucket bucket;
	struct gcra gcra;
	struct fixed_window window;
	struct hybrid hybrid;
	struct random_drop drop;
	struct credit_cache credit;
};

static_assert(sizeof(union meter_profile) == 48, "with an index it is a line on its way");
static_assert(sizeof(union meter) == 24, "no kind is larger than the usual one");

/* As configurations say it; NULL for what is no kind. Any thread. */
static inline const char *meter_name(enum meter_kind kind)
{
	switch (kind) {
	case METER_TOKEN_BUCKET:
		return "token-bucket";
	case METER_GCRA:
		return "gcra";
	case METER_FIXED_WINDOW:
		return "fixed-window";
	case METER_HYBRID:
		return "hybrid";
	case METER_RANDOM_DROP:
		return "random-drop";
	case METER_PHANTOM:
		return "phantom";
	case METER_CREDIT:
		return "credit";
	case METER_KINDS:
		break;
	}
	return NULL;
}

/*
 * The profile of params->kind on a counter of hz ticks a second. Returns 0, -EINVAL for what
 * contradicts itself, or -ERANGE for what the kind cannot hold; see each kind's. Control thread.
 */
static inline int meter_profile_init(
	union meter_profile *profile, const struct meter_params *params, uint64_t hz)
{
	struct token_bucket_params bucket = {
		.rate_bps = params->rate_bps,
		.burst_bytes = params->burst,
		.drain_bps = params->drain_bps,
		.rate_below = params->rate_below,
		.unit_bits = params->unit_bits,
	};

	*profile = (union meter_profile){0};
	switch (params->kind) {
	case METER_PHANTOM:
		if (params->burst > PHANTOM_BURST_MAX >> params->unit_bits)
			return -ERANGE;
		__attribute__((fallthrough));
	case METER_TOKEN_BUCKET:
		return token_bucket_profile_init(&profile->bucket, &bucket, hz);
	case METER_GCRA:
		return gcra_profile_init(&profile->gcra, &bucket, hz);
	case METER_FIXED_WINDOW:
	case METER_HYBRID:
		return quota_init(&profile->quota, params->rate_bps, params->rate_below,
			params->window_ns, hz);
	case METER_RANDOM_DROP:
		return random_drop_profile_init(&profile->drop, params->drop_probability);
	case METER_CREDIT:
		return credit_profile_init(&profile->credit, &bucket, hz);
	case METER_KINDS:
		break;
	}
	return -EINVAL;
}

/*
 * Makes `profile` the successor of `old`, of the same kind, from tick `now` on, in what a profile
 * itself has to know of the one before it (GCRA's virtual time): enough for the states of a table,
 * none of which is visited. A state of one's own has meter_change(). Before the first use of
 * `profile`; the states' one writer.
 */
static inline void meter_profile_succeed(enum meter_kind kind, union meter_profile *profile,
	const union meter_profile *old, uint64_t now)
{
	if (kind == METER_GCRA)
		gcra_profile_succeed(&profile->gcra, &old->gcra, now);
}

/*
 * Makes `next` the profile of `meter`, of the same kind, from tick `now` on. The state's one
 * writer, whose own copy *profile is.
 */
static inline void meter_change(enum meter_kind kind, union meter *meter,
	union meter_profile *profile, const union meter_profile *next, uint64_t now)
{
	union meter_profile old = *profile;

	if (kind == METER_TOKEN_BUCKET || kind == METER_PHANTOM) {
		token_bucket_change(&meter->bucket, &profile->bucket, &next->bucket, now);
		return;
	}
	if (kind == METER_CREDIT) {
		credit_cache_change(&meter->credit, &profile->credit, &next->credit, now);
		return;
	}
	*profile = *next;
	meter_profile_succeed(kind, profile, &old, now);
}

/* What tells limits of one kind apart. */
struct meter_limit {
	uint64_t rate;   /* a token bucket's drain is a negative one, in two's complement */
	uint64_t burst;  /* or window */
	uint64_t credit; /* its generation and quantum */
};

/* Any thread. */
static inline struct meter_limit meter_profile_limit(
	enum meter_kind kind, const union meter_profile *profile)
{
	switch (kind) {
	case METER_TOKEN_BUCKET:
	case METER_PHANTOM:
		return (struct meter_limit){
			(uint64_t)profile->bucket.rate, profile->bucket.burst, 0};
	case METER_GCRA:
		return (struct meter_limit){profile->gcra.rate, profile->gcra.burst, 0};
	case METER_FIXED_WINDOW:
	case METER_HYBRID:
		return (struct meter_limit){profile->quota.units, profile->quota.window, 0};
	case METER_RANDOM_DROP:
		return (struct meter_limit){profile->drop.threshold, 0, 0};
	case METER_CREDIT:
		return (struct meter_limit){(uint64_t)profile->credit.fallback.rate,
			profile->credit.fallback.burst,
			(uint64_t)profile->credit.generation << 32 | profile->credit.quantum};
	case METER_KINDS:
		break;
	}
	return (struct meter_limit){0};
}

/* A fresh state: all that the limit allows at once. Only random drop reads the seed. */
static inline void meter_init(enum meter_kind kind, union meter *meter,
	const union meter_profile *profile, uint64_t now, uint64_t seed)
{
	switch (kind) {
	case METER_TOKEN_BUCKET:
	case METER_PHANTOM:
		token_bucket_init(&meter->bucket, &profile->bucket, now);
		break;
	case METER_GCRA:
		gcra_init(&meter->gcra, &profile->gcra, now);
		break;
	case METER_FIXED_WINDOW:
		fixed_window_init(&meter->window, now);
		break;
	case METER_HYBRID:
		hybrid_init(&meter->hybrid, now);
		break;
	case METER_RANDOM_DROP:
		random_drop_init(&meter->drop, seed);
		break;
	case METER_CREDIT:
		credit_cache_init(&meter->credit, &profile->credit, now);
		break;
	case METER_KINDS:
		break;
	}
}

/* meter_conforms() for the kinds that are not the usual one. */
static inline bool meter_conforms_unusual(enum meter_kind kind, union meter *meter,
	const union meter_profile *profile, uint64_t now, uint32_t cost)
{
	switch (kind) {
	case METER_GCRA:
		return gcra_conforms(&meter->gcra, &profile->gcra, now, cost);
	case METER_FIXED_WINDOW:
		return fixed_window_conforms(&meter->window, &profile->quota, now, cost);
	case METER_HYBRID:
		return hybrid_conforms(&meter->hybrid, &profile->quota, now, cost);
	case METER_PHANTOM: /* of no class: what all may pass */
		return token_bucket_conforms(&meter->bucket, &profile->bucket, now, cost);
	case METER_CREDIT:
		return credit_charge(&meter->credit, &profile->credit, now, cost) != CREDIT_REFUSES;
	default:
		return random_drop_conforms(&meter->drop, &profile->drop, cost);
	}
}

/* Whether a packet of so many units conforms; takes them if so. The state's one writer. */
static inline bool meter_conforms(enum meter_kind kind, union meter *meter,
	const union meter_profile *profile, uint64_t now, uint32_t cost)
{
	if (__builtin_expect(kind == METER_TOKEN_BUCKET, 1)) {
		token_bucket_advance(&meter->bucket, &profile->bucket, now);
		return token_bucket_take(&meter->bucket, cost);
	}
	return meter_conforms_unusual(kind, meter, profile, now, cost);
}

#endif
