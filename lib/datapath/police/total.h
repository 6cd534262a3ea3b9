/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The state of policies with a total on a worker: a credit (meter/credit.h), and counters of
 * packets that passed by its fallback.
 */
#ifndef WEIR_POLICE_TOTAL_H
#define WEIR_POLICE_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "police/policy_state.h"

/*
 * Returns true if so many units pass: by units that are paid for, or otherwise by the fallback,
 * which is counted. The state's one writer.
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

/*
 * Returns true if they would pass. Nothing is taken, and others can take the units. The state's one
 * writer.
 */
static inline bool police_can_pay(struct policy_extended *other, uint32_t cost, uint64_t now)
{
	return credit_look(&other->meter.credit, &other->profile.credit, now, cost) !=
	       CREDIT_REFUSES;
}

#endif
