/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Functions on meters that only tests need.
 */
#ifndef WEIR_TEST_METER_CHECKS_H
#define WEIR_TEST_METER_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "meter/meter.h"

/* Makes `profile` the successor of `old` from tick `now` on, for any states. */
static inline void meter_profile_succeed(enum meter_kind kind, union meter_profile *profile,
	const union meter_profile *old, uint64_t now)
{
	union meter_profile current = *old;
	union meter any = {0};

	meter_init(kind, &any, old, now, 0);
	meter_change(kind, &any, &current, profile, now);
	*profile = current;
}

/* Returns true if both profiles have the same limit, regardless of their start. */
static inline bool meter_profile_equal(
	enum meter_kind kind, const union meter_profile *a, const union meter_profile *b)
{
	struct meter_limit x = meter_profile_limit(kind, a), y = meter_profile_limit(kind, b);

	return x.rate == y.rate && x.burst == y.burst && x.credit == y.credit;
}

/*
 * Returns true if the state is worth the same as a fresh one, so that forgetting it changes no
 * verdict. Always true for random drop.
 */
static inline bool meter_idle(enum meter_kind kind, const union meter *meter,
	const union meter_profile *profile, uint64_t now)
{
	struct token_bucket bucket;

#define IDLE(constant, member, prefix, ...) \
	case METER_##constant:              \
		return prefix##_idle(&meter->member, &profile->member, now);
	switch (kind) {
	case METER_TOKEN_BUCKET:
	case METER_PHANTOM:
		bucket = meter->bucket;
		token_bucket_advance(&bucket, &profile->bucket, now);
		return bucket.tokens >= profile->bucket.burst;
		METERS(METER_SKIP, IDLE)
	case METER_CREDIT:
		bucket = meter->credit.fallback;
		token_bucket_advance(&bucket, &profile->credit.fallback, now);
		return bucket.tokens >= profile->credit.fallback.burst &&
		       credit_cache_held(&meter->credit) == 0;
	default:
		return true;
	}
#undef IDLE
}

#endif
