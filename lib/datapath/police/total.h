/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What policies with a total have on a worker: a credit (meter/credit.h), and counters of what
 * passed beside it.
 */
#ifndef WEIR_POLICE_TOTAL_H
#define WEIR_POLICE_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

/*
 * Whether so many units pass: by what is paid for, or else by what may pass beside it, which is
 * counted. The state's one writer.
 */
static inline bool police_pay(struct policy_extended *other, uint32_t cost, uint64_t now)
{
	enum credit_verdict verdict = credit_charge(
		&other->meter.credit, &other->profile.credit, now, cost);

	if (verdict == CREDIT_FALLBACK) {
		counter_add(&other->fallback_packets, 1);
		counter_add(&other->fallback_bytes, cost);
	}
	return verdict != CREDIT_REFUSES;
}

/* Whether they would pass; nothing is taken, and others may take what there is. Likewise. */
static inline bool police_can_pay(struct policy_extended *other, uint32_t cost, uint64_t now)
{
	return credit_look(&other->meter.credit, &other->profile.credit, now, cost) !=
	       CREDIT_REFUSES;
}

#endif
