/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Fills the credit (meter/credit.h) of a policy with a quota. The units come from the limiter's
 * ledger (limiter_spend()), one lease at a time. So a packet never waits for the ledger, and a
 * crash loses only the units in the credit and in the workers' caches. The driver owns the credit's
 * memory, calls credit_account_look() in time, and publishes changes to the workers.
 *
 * Unused units return to the ledger after a time without packets, if other limiters have taken the
 * rest, or if the driver requests it. At the end of a period they are void.
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

/* Interval of calls of credit_account_look() while packets pass, and while none does. */
#define CREDIT_LOOK_NS (5 * MS_NS)
#define CREDIT_REST_NS (10 * MS_NS)

struct credit_account {
	struct credit *credit; /* memory of the driver, zeroed by it */
	struct credit_lease lease;
	uint32_t quantum; /* units that a worker takes at a time */
	uint16_t generation;
	bool parked;     /* units returned, until packets arrive */
	uint64_t period; /* the limiter's current period */
	uint64_t asked;  /* units requested from the limiter and not granted yet, or 0 */
};

/* Owner of an account. */
struct credit_owner {
	struct limiter *limiter;
	unsigned index; /* index of the policy in the limiter */
	const struct policy *policy;
	unsigned n_workers; /* workers that take from the credit */
};

/* Result of credit_account_look(). */
struct credit_news {
	bool asked;      /* a commit or a message might be necessary */
	bool changed;    /* publish profiles again: credit_account_join() has changed */
	bool turned;     /* a period has begun */
	uint64_t unused; /* units of the last period that were leased but not used */
};

/* Returns the limiter's view of a policy with a quota; false for other policies. */
bool credit_account_view(
	const struct limiter *limiter, unsigned index, uint64_t now_ns, struct quota_view *view);

/* Starts an account. `credit` is set, and empty. */
void credit_account_begin(
	struct credit_account *account, const struct credit_owner *owner, uint64_t now_ns);

/* Adds the credit and the quantum to a profile. */
void credit_account_join(const struct credit_account *account, struct limit_profile *profile);

/*
 * Starts the period at unix_s (TIME_UNKNOWN: none, see limiter_wall_s()), measures the units taken,
 * and fills the credit. The interval between calls is CREDIT_LOOK_NS, or CREDIT_REST_NS while
 * credit_account_is_active() is false.
 */
struct credit_news credit_account_look(struct credit_account *account,
	const struct credit_owner *owner, int64_t unix_s, uint64_t now_ns);

/*
 * Repeats a request that was not granted immediately, after messages arrived or a write completed.
 * Returns true if it requested units, so that a commit or a message might be necessary.
 */
bool credit_account_retry(
	struct credit_account *account, const struct credit_owner *owner, uint64_t now_ns);

/* Returns the units in the credit to the ledger. The next look fills it again. */
void credit_account_return(struct credit_account *account, const struct credit_owner *owner);

/* Returns true if units were taken or requested recently. */
bool credit_account_is_active(const struct credit_account *account, uint64_t now_ns);

#endif
