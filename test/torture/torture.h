/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * torture: hard limits and quotas, under all faults of networks, disks and clocks. One seed is one
 * run.
 */
#ifndef WEIR_SIM_TORTURE_H
#define WEIR_SIM_TORTURE_H

#include <stdbool.h>
#include <stdint.h>

#define TORTURE_LIMITERS 16

/*
 * ADAPTOR: a hard limit, with a burst that moves separately. LEVELS: a hard limit of a policy below
 * another one, whose part of the parent's limit changes. LOANS: a hard limit, and limiters lend
 * each other tokens. PERIODS: a quota, by clocks that are stepped. COPIES: all three, and a second
 * machine with the name of a limiter.
 */
enum torture_guarantee {
	TORTURE_GDRL,
	TORTURE_HARD,
	TORTURE_ADAPTOR,
	TORTURE_LEVELS,
	TORTURE_LOANS,
	TORTURE_QUOTA,
	TORTURE_PERIODS,
	TORTURE_COPIES,
	TORTURE_GUARANTEES
};

/*
 * Rules of joins that are broken on purpose. MINTING: a joiner begins with a share. INCOMPLETE: a
 * recovery does not wait for the whole set of members.
 */
enum torture_broken { TORTURE_NOTHING, TORTURE_MINTING, TORTURE_INCOMPLETE };

struct torture_case {
	enum torture_guarantee guarantee;
	uint64_t seed;
	unsigned limiters, minutes;
	bool death;   /* one limiter ends for good, with its amounts */
	bool harsh;   /* faults are more frequent, and most starts have an old store */
	bool beliefs; /* rates: prints each limiter's final state to standard error */
	bool joins;   /* rates: limiters join, with an overlay between all */
	enum torture_broken broken;
};

struct torture_result {
	uint64_t checks;
	uint64_t lost;          /* units or bytes per second that are missing in the end */
	uint64_t moves;         /* grants */
	uint64_t restarts;      /* all kinds of restarts; among them: */
	uint64_t memory_losses; /* without a memory */
	uint64_t old_stores;    /* with a store of an earlier commit */
	uint64_t flips;         /* bits of a neighbour's numbers */
	uint64_t copies;        /* second machines of one name that started */
	uint64_t stalls;        /* one thread each time */
	uint64_t deaths;        /* limiters that ended for good */
	uint64_t loans;         /* accepted */
	uint64_t joins;         /* limiters that joined */
	uint64_t expired;       /* times that workers detected a limit's end by themselves */
	bool violated, error;   /* error: it could not be run */
	char what[160];
};

void torture_rates(const struct torture_case *c, struct torture_result *result);
void torture_quota(const struct torture_case *c, struct torture_result *result);
void torture_periods(const struct torture_case *c, struct torture_result *result);
void torture_copies(const struct torture_case *c, struct torture_result *result);

#endif
