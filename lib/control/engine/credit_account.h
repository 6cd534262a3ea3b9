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

#include "base/time.h"
#include "budget/budget.h"
#include "engine/engine.h"
#include "limiter/limiter.h"
#include "meter/credit.h"
#include "policy/policy.h"

/* --- lease of credit -------------------------------------------------------------------------- */

/*
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

/* --- credit of all workers -------------------------------------------------------------------- */

/*
 * The credits of an engine whose workers are states, not threads (engine/states.h), by slot: for
 * the simulator and the replay of captures. One thread.
 */

/* Zeroed before use. */
struct credit_states {
	struct credit *credits;
	struct credit_account *accounts; /* credit is NULL in slots without a quota */
};

/*
 * Allocates credits for n_slots slots. The engine joins them to profiles, and has no other driver.
 * Call it before adding states. Returns 0 or -ENOMEM; call credit_states_free() in both cases,
 * after freeing the engine.
 */
int credit_states_alloc(struct credit_states *states, struct engine *engine, unsigned n_slots);
void credit_states_free(struct credit_states *states);

/* Starts the account of a policy with a quota. The slot is its index in the limiter. */
struct credit_account *credit_states_begin(
	struct credit_states *states, const struct credit_owner *owner, uint64_t now_ns);

#endif
