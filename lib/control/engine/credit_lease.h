/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Calculates the units of a quota to lease for a credit (meter/credit.h). Workers need enough until
 * the next look of control, but units in a credit are not available elsewhere.
 *
 * The target is the use of a tenth of a second at the measured rate, at least an initial burst. It
 * doubles whenever workers find a filled credit empty. The lease is only a part of the units that
 * this limiter holds. If the quota runs low it is a small part, so that the last units are not in
 * the credit of a limiter without packets.
 *
 * Pure; control.
 */
#ifndef WEIR_ENGINE_CREDIT_LEASE_H
#define WEIR_ENGINE_CREDIT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define CREDIT_LEASE_NS (100 * MS_NS) /* time that a credit lasts: two ticks */
#define CREDIT_IDLE_NS  SECOND_NS

struct credit_lease {
	uint64_t least;    /* units for the first packets after a pause */
	uint64_t left;     /* units in the credit at the last look or fill */
	uint64_t filled;   /* units in the credit after the last fill */
	uint64_t need;     /* units that a refused packet needed since the last look, or 0 */
	double rate;       /* units per second; rises immediately, falls slowly */
	double boost;      /* units, after refusals */
	uint64_t seen_ns;  /* time of the last look */
	uint64_t taken_ns; /* last look that found units taken or requested */
};

/* Starts with an empty credit. */
void credit_lease_init(struct credit_lease *lease, uint64_t least, uint64_t now_ns);

/* Updates the lease with credit_left() and credit_wanted() at now_ns. */
void credit_lease_look(struct credit_lease *lease, uint64_t left, uint64_t wanted, uint64_t now_ns);

/*
 * Returns the units to lease now, of `held` units in this limiter; 0: none. Returns more than are
 * held only if a packet was refused; then it is the amount that the packet lacks. low: the quota
 * runs low.
 */
uint64_t credit_lease_units(const struct credit_lease *lease, uint64_t held, bool low);

/* Records that control has added units to the credit. */
void credit_lease_fill(struct credit_lease *lease, uint64_t units);

/* Records that control has emptied the credit. */
void credit_lease_empty(struct credit_lease *lease);

/* Returns true if no units were taken for CREDIT_IDLE_NS. */
bool credit_lease_is_idle(const struct credit_lease *lease, uint64_t now_ns);

#endif
