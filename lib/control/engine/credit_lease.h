/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How many units of a total to lease for a credit (meter/credit.h): enough that workers find some
 * until control looks again, and no more than that, as what lies in a credit is of no use
 * elsewhere. That is what a tenth of a second takes at the rate seen, at least what a burst finds
 * ready; and twice as much whenever workers found the credit empty though it had been filled. Of
 * what is held here it is a part only: a small one where the total runs low, so that the last units
 * are not in the credit of a limiter that has no packets for them.
 *
 * Pure; control.
 */
#ifndef WEIR_ENGINE_CREDIT_LEASE_H
#define WEIR_ENGINE_CREDIT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define CREDIT_LEASE_NS (100 * MS_NS) /* what a credit is to last: two ticks */
#define CREDIT_IDLE_NS  SECOND_NS

struct credit_lease {
	uint64_t least;    /* that lies ready for who begins */
	uint64_t left;     /* in the credit, when it was last looked at or filled */
	uint64_t filled;   /* in it, when it was last filled */
	uint64_t need;     /* units for a packet that found too few since the look before, or 0 */
	double rate;       /* units a second; follows at once when it grows */
	double boost;      /* units, after refusals */
	uint64_t seen_ns;  /* last look */
	uint64_t taken_ns; /* last look that found that some had been taken, or wanted */
};

/* Begins with an empty credit. */
void credit_lease_init(struct credit_lease *lease, uint64_t least, uint64_t now_ns);

/* What credit_left() and credit_wanted() say at some time. */
void credit_lease_look(struct credit_lease *lease, uint64_t left, uint64_t wanted, uint64_t now_ns);

/*
 * Units to lease now, of so many that are held here; 0: none. More than are held only when a packet
 * waits for them, which is then just what it lacks. low: the total runs low.
 */
uint64_t credit_lease_units(const struct credit_lease *lease, uint64_t held, bool low);

/* So many have been put into the credit. */
void credit_lease_fill(struct credit_lease *lease, uint64_t units);

/* It has been emptied by control. */
void credit_lease_empty(struct credit_lease *lease);

/* Nobody has taken any for CREDIT_IDLE_NS. */
bool credit_lease_is_idle(const struct credit_lease *lease, uint64_t now_ns);

#endif
