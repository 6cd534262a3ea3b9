/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * torture: limits that cannot be exceeded, under all that networks, disks and clocks do.
 * One seed is one run.
 */
#ifndef WEIR_SIM_TORTURE_H
#define WEIR_SIM_TORTURE_H

#include <stdbool.h>
#include <stdint.h>

#define TORTURE_LIMITERS 16

/*
 * ADAPTOR: conserved, with a burst that moves by itself. LEVELS: conserved, of a policy below
 * another, which lets it have now this part of its limit and now that. LOANS: conserved, and
 * limiters lend each other tokens. PERIODS: quota, by clocks
 * that are stepped. COPIES: all three, and a second machine with the name of a limiter.
 */
enum torture_guarantee {
	TORTURE_GDRL,
	TORTURE_CONSERVED,
	TORTURE_ADAPTOR,
	TORTURE_LEVELS,
	TORTURE_LOANS,
	TORTURE_QUOTA,
	TORTURE_PERIODS,
	TORTURE_COPIES,
	TORTURE_GUARANTEES
};

struct torture_case {
	enum torture_guarantee guarantee;
	uint64_t seed;
	unsigned limiters, minutes;
	bool death;   /* one limiter ends for good, and with it what it had */
	bool harsh;   /* trouble is more frequent, and most starts have an old store */
	bool beliefs; /* rates: what each limiter believes in the end goes to standard error */
};

struct torture_result {
	uint64_t checks;
	uint64_t lost;          /* units or bytes per second that are nowhere in the end */
	uint64_t moves;         /* grants */
	uint64_t restarts;      /* of which */
	uint64_t memory_losses; /* without a memory */
	uint64_t old_stores;    /* with a store of an earlier commit */
	uint64_t flips;         /* bits of a neighbour's numbers */
	uint64_t copies;        /* second machines of one name that started */
	uint64_t stalls;        /* of one thread */
	uint64_t deaths;        /* for good */
	uint64_t loans;         /* accepted */
	uint64_t expired;       /* times that workers found a limit's end by themselves */
	bool violated, error;   /* error: it could not be run */
	char what[160];
};

void torture_rates(const struct torture_case *c, struct torture_result *result);
void torture_quota(const struct torture_case *c, struct torture_result *result);
void torture_periods(const struct torture_case *c, struct torture_result *result);
void torture_copies(const struct torture_case *c, struct torture_result *result);

#endif
