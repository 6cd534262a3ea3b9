/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What fills the credit (meter/credit.h) of a policy with a total (allocator quota): with units
 * that the limiter has spent in its ledger (limiter_spend()), as many at a time as a lease says. So
 * a packet never waits for the ledger, and what a crash can lose is what lay in the credit and the
 * workers' hands. Whoever drives it has the credit's memory, looks at the account in time, and
 * tells workers what has changed.
 *
 * Units that nobody has used go back to the ledger: when there have been no packets for a while and
 * others have taken all else, or when the driver says so. At the end of a period they are void.
 *
 * Pure; control.
 */
#ifndef WEIR_ENGINE_CREDIT_ACCOUNT_H
#define WEIR_ENGINE_CREDIT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "budget/budget.h"
#include "engine/credit_lease.h"
#include "limiter/limiter.h"
#include "meter/credit.h"
#include "policy/policy.h"

struct limit_profile;

/* How often to look, while packets pass and while none does. */
#define CREDIT_LOOK_NS (5 * MS_NS)
#define CREDIT_REST_NS (10 * MS_NS)

struct credit_account {
	struct credit *credit; /* the driver's, which zeroes it */
	struct credit_lease lease;
	uint32_t quantum; /* that a worker takes at a time */
	uint16_t generation;
	bool parked;     /* given back, until packets come */
	uint64_t period; /* as the limiter has it */
	uint64_t asked;  /* units, of the limiter, which has yet to find them; or 0 */
};

/* Whose account it is. */
struct credit_owner {
	struct limiter *limiter;
	unsigned index; /* of the policy, as the limiter knows it */
	const struct policy *policy;
	unsigned n_workers; /* that take from the credit */
};

/* What has come of a look. */
struct credit_news {
	bool asked;      /* there may be something to commit, or to send */
	bool changed;    /* workers are to be told: credit_account_join() says something else */
	bool turned;     /* a period has begun, */
	uint64_t unused; /* and so many units of the last one were leased and not used */
};

/* What the limiter knows of a policy with a total; else false. */
bool credit_account_view(
	const struct limiter *limiter, unsigned index, uint64_t now_ns, struct quota_view *view);

/* Begins; its credit has been set, and is empty. */
void credit_account_begin(
	struct credit_account *account, const struct credit_owner *owner, uint64_t now_ns);

/* Adds to a profile what workers take from, and how much at a time. */
void credit_account_join(const struct credit_account *account, struct limit_profile *profile);

/*
 * Begins the period that it is at that time (TIME_UNKNOWN: none, see limiter_wall_s()), sees what
 * was taken, and fills. Between two looks are CREDIT_LOOK_NS, or CREDIT_REST_NS where
 * credit_account_is_active() is false.
 */
struct credit_news credit_account_look(struct credit_account *account,
	const struct credit_owner *owner, int64_t unix_s, uint64_t now_ns);

/*
 * Messages have come, or a disk is done: asks again for what could not be had at once. Whether it
 * has asked, so that there may be something to commit, or to send.
 */
bool credit_account_retry(
	struct credit_account *account, const struct credit_owner *owner, uint64_t now_ns);

/* What is left in the credit goes back to the ledger. The next look fills it again. */
void credit_account_return(struct credit_account *account, const struct credit_owner *owner);

/* Whether some has been taken, or wanted, lately. */
bool credit_account_is_active(const struct credit_account *account, uint64_t now_ns);

#endif
