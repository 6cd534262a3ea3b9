/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How fast units are spent: an exponential moving average as in equation 4 of "A tree-based
 * protocol for enforcing quotas in clouds", with alpha 0.5. It decays by time, a half-life, and not
 * by reallocations, which can follow each other immediately or be hours apart. Pure; one owner.
 */
#ifndef WEIR_QUOTA_SPEND_RATE_H
#define WEIR_QUOTA_SPEND_RATE_H

#include <stdint.h>

/* Zeroed before use, except start_ns. */
struct pace {
	double units;   /* spent, each halved once a half-life */
	double typical; /* units taken at a time */
	uint64_t start_ns, last_ns;
};

void pace_spend(struct pace *pace, uint64_t units, uint64_t now_ns, uint64_t half_life_ns);

/* Units that were taken at a time, whether they are spent already or not. */
void pace_typical(struct pace *pace, uint64_t units);

/* 1/1000 units a second. */
uint64_t pace_rate(const struct pace *pace, uint64_t now_ns, uint64_t half_life_ns);

#endif
