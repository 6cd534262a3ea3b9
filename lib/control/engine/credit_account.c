/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Fills the credit (meter/credit.h) of a policy with a quota.
 */
#include "engine/credit_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "base/time.h"
#include "meter/credit.h"
#include "police/policy_state.h"
#include "policy/period.h"

#define MEMORY_S 0.5 /* seconds, time constant of a falling rate */
#define FADE     16  /* inverse of the part of the boost that is dropped at each look */

/*
 * Part of the held units that can be leased, as a shift: a quarter, or less if the quota runs low.
 */
#define PART_SHIFT 2
#define LOW_SHIFT  4

#define TARGET_MOST ((double)(CREDIT_MOST / 4))

void credit_lease_init(struct credit_lease *lease, uint64_t least, uint64_t now_ns)
{
	*lease = (struct credit_lease){.least = least, .seen_ns = now_ns, .taken_ns = now_ns};
}

static double lease_target(const struct credit_lease *lease)
{
	double target = lease->rate * ((double)CREDIT_LEASE_NS / SECOND_NS);

	target = target > lease->boost ? target : lease->boost;
	target = target > (double)lease->least ? target : (double)lease->least;
	return target < TARGET_MOST ? target : TARGET_MOST;
}

static void note_rate(struct credit_lease *lease, double taken, double seconds)
{
	double rate = taken / seconds;

	if (rate < lease->rate)
		rate = lease->rate + (rate - lease->rate) * seconds / (MEMORY_S + seconds);
	lease->rate = rate;
}

void credit_lease_look(struct credit_lease *lease, uint64_t left, uint64_t wanted, uint64_t now_ns)
{
	uint64_t taken = lease->left - left;

	if (now_ns > lease->seen_ns)
		note_rate(lease, (double)taken, (double)(now_ns - lease->seen_ns) / SECOND_NS);
	/*
	 * Only if the credit was nearly filled to its target; otherwise the target is not too
	 * small.
	 */
	if (wanted && (double)lease->filled >= lease_target(lease) / 2)
		lease->boost = 2 * lease_target(lease);
	else if (!wanted)
		lease->boost -= lease->boost / FADE;
	if (taken || wanted)
		lease->taken_ns = now_ns;
	lease->left = left;
	lease->need = wanted;
	lease->seen_ns = now_ns;
}

uint64_t credit_lease_units(const struct credit_lease *lease, uint64_t held, bool low)
{
	uint64_t target = (uint64_t)lease_target(lease),
		 part = held >> (low ? LOW_SHIFT : PART_SHIFT);
	uint64_t lack = lease->need > lease->left ? lease->need - lease->left : 0;
	uint64_t units = lease->left < target / 2 ? target - lease->left : 0;

	units = units < part ? units : part;
	return units > lack ? units : lack;
}

void credit_lease_fill(struct credit_lease *lease, uint64_t units)
{
	lease->left += units;
	lease->filled = lease->left;
	lease->need = 0;
}

void credit_lease_empty(struct credit_lease *lease)
{
	lease->left = lease->filled = 0;
}

bool credit_lease_is_idle(const struct credit_lease *lease, uint64_t now_ns)
{
	return now_ns - lease->taken_ns >= CREDIT_IDLE_NS;
}

/* After so long without a request from workers, no packet waits for units. */
#define FORGO_NS (200 * MS_NS)

/* All workers hold at most this part of the quota, as a shift. Each holds at most a quantum. */
#define HELD_SHIFT    16
#define QUANTUM_BYTES UINT64_C(65536)
#define QUANTUM_ITEMS UINT64_C(64) /* packets or flows */

#define READY_BYTES UINT64_C(6056) /* four full packets */
#define READY_ITEMS UINT64_C(4)

bool credit_account_view(
	const struct limiter *limiter, unsigned index, uint64_t now_ns, struct quota_view *view)
{
	const struct budget *budget = limiter_budget(limiter);
	unsigned account = limiter_budget_index(limiter, index);

	if (!budget || account == LIMITER_ADDED)
		return false;
	*view = budget_view(budget, account, now_ns);
	return true;
}

static uint32_t quantum_of(const struct credit_owner *owner)
{
	const struct policy *policy = owner->policy;
	uint64_t most = policy->count == COUNT_BYTES ? QUANTUM_BYTES : QUANTUM_ITEMS;

	return (uint32_t)min_u64((policy->total >> HELD_SHIFT) / owner->n_workers, most);
}

/*
 * Returns the units that are ready for a burst after a pause: a chunk, enough until the next look
 * at the rates typical for such a quota. At least some packets fit.
 */
static uint64_t least_of(const struct credit_owner *owner, uint32_t quantum)
{
	const struct policy *policy = owner->policy;
	uint64_t packets = policy->count == COUNT_BYTES ? READY_BYTES : READY_ITEMS;

	return max_u64(max_u64((uint64_t)quantum * owner->n_workers, packets), policy->chunk);
}

void credit_account_begin(
	struct credit_account *account, const struct credit_owner *owner, uint64_t now_ns)
{
	struct quota_view view;

	*account = (struct credit_account){.credit = account->credit, .quantum = quantum_of(owner)};
	credit_lease_init(&account->lease, least_of(owner, account->quantum), now_ns);
	if (!credit_account_view(owner->limiter, owner->index, now_ns, &view))
		return;
	account->period = view.period;
	if (!view.undated)
		limiter_remembers(owner->limiter, period_begins(owner->policy, view.period));
}

void credit_account_join(const struct credit_account *account, struct limit_profile *profile)
{
	credit_profile_join(
		&profile->meter.credit, account->credit, account->generation, account->quantum);
}

void credit_account_return(struct credit_account *account, const struct credit_owner *owner)
{
	limiter_refund(
		owner->limiter, owner->index, credit_turn(account->credit, account->generation));
	credit_lease_empty(&account->lease);
	if (account->asked)
		limiter_forgo(owner->limiter, owner->index);
	account->asked = 0;
}

/*
 * Starts the next period if its time has come, or if a reload has started it. Unused units become
 * void. The clock can go back, a period cannot.
 */
static void turn_period(struct credit_account *account, const struct credit_owner *owner,
	int64_t unix_s, uint64_t now_ns, struct quota_view *view, struct credit_news *news)
{
	uint64_t number = unix_s == TIME_UNKNOWN ? 0 : period_number(owner->policy, unix_s);

	if (number > view->period &&
		limiter_period(owner->limiter, owner->index, number, now_ns) == 0)
		credit_account_view(owner->limiter, owner->index, now_ns, view);
	if (view->period <= account->period)
		return;
	account->period = view->period;
	news->unused = credit_turn(account->credit, ++account->generation);
	credit_lease_empty(&account->lease);
	account->asked = 0;
	news->turned = news->changed = true;
}

/*
 * Returns true if the account should hold no lease. No packets arrive, and its units are most of
 * those held here. So other limiters have taken the rest and need them.
 */
static bool should_park(
	const struct credit_account *account, const struct quota_view *view, uint64_t now_ns)
{
	return credit_lease_is_idle(&account->lease, now_ns) &&
	       (account->parked || view->balance < (int64_t)(view->prepaid + account->lease.left));
}

/* Returns true without traffic: unused units in a lease would look like a rate of spending. */
static bool is_ahead_of_traffic(const struct credit_lease *lease, uint64_t now_ns)
{
	return lease->need == 0 && (lease->rate <= 0 || credit_lease_is_idle(lease, now_ns));
}

/* Returns true if it made a request to the limiter. */
static bool refill_credit(struct credit_account *account, const struct credit_owner *owner,
	const struct quota_view *view, uint64_t now_ns)
{
	uint64_t units = account->asked;
	int ret;

	if (should_park(account, view, now_ns)) {
		if (account->parked)
			return false;
		credit_account_return(account, owner);
		return account->parked = true;
	}
	account->parked = false;
	if (units == 0)
		units = credit_lease_units(&account->lease,
			(view->balance > 0 ? (uint64_t)view->balance : 0) + view->prepaid,
			view->low);
	if (units == 0)
		return false;
	ret = is_ahead_of_traffic(&account->lease, now_ns)
		      ? limiter_prefetch(owner->limiter, owner->index, units, now_ns)
		      : limiter_spend(owner->limiter, owner->index, units, now_ns);
	account->asked = ret == -EAGAIN ? units : 0;
	if (ret == 0) {
		credit_put(account->credit, units);
		credit_lease_fill(&account->lease, units);
	}
	return true;
}

/* Sets the quantum of a changed quota. Returns true if it differs. */
static bool adapt_quantum(struct credit_account *account, const struct credit_owner *owner)
{
	uint32_t quantum = quantum_of(owner);

	if (quantum == account->quantum)
		return false;
	account->quantum = quantum;
	account->lease.least = least_of(owner, quantum);
	return true;
}

struct credit_news credit_account_look(struct credit_account *account,
	const struct credit_owner *owner, int64_t unix_s, uint64_t now_ns)
{
	struct credit_news news = {0};
	struct quota_view view;

	if (!credit_account_view(owner->limiter, owner->index, now_ns, &view))
		return news;
	news.changed = adapt_quantum(account, owner);
	turn_period(account, owner, unix_s, now_ns, &view, &news);
	credit_lease_look(&account->lease, credit_left(account->credit),
		credit_wanted(account->credit), now_ns);
	if (account->asked && now_ns - account->lease.taken_ns > FORGO_NS) {
		limiter_forgo(owner->limiter, owner->index);
		account->asked = 0;
	}
	news.asked = refill_credit(account, owner, &view, now_ns);
	return news;
}

bool credit_account_retry(
	struct credit_account *account, const struct credit_owner *owner, uint64_t now_ns)
{
	struct quota_view view;

	if (!account->asked || !credit_account_view(owner->limiter, owner->index, now_ns, &view))
		return false;
	return refill_credit(account, owner, &view, now_ns);
}

bool credit_account_is_active(const struct credit_account *account, uint64_t now_ns)
{
	return account->lease.taken_ns > now_ns ||
	       now_ns - account->lease.taken_ns < CREDIT_LEASE_NS;
}

static void join_credit_state(void *context, uint32_t slot, struct limit_profile *profile)
{
	const struct credit_account *account = &((struct credit_states *)context)->accounts[slot];

	if (account->credit)
		credit_account_join(account, profile);
}

int credit_states_alloc(struct credit_states *states, struct engine *engine, unsigned n_slots)
{
	size_t bytes = ((size_t)n_slots + 1) * sizeof(*states->credits);

	states->accounts = calloc((size_t)n_slots + 1, sizeof(*states->accounts));
	states->credits = aligned_alloc(sizeof(*states->credits), bytes);
	if (!states->accounts || !states->credits)
		return -ENOMEM;
	memset(states->credits, 0, bytes);
	engine->driver = (struct engine_driver){.context = states, .join = join_credit_state};
	return 0;
}

void credit_states_free(struct credit_states *states)
{
	free(states->credits);
	free(states->accounts);
	*states = (struct credit_states){0};
}

struct credit_account *credit_states_begin(
	struct credit_states *states, const struct credit_owner *owner, uint64_t now_ns)
{
	struct credit_account *account = &states->accounts[owner->index];

	account->credit = &states->credits[owner->index];
	credit_account_begin(account, owner, now_ns);
	return account;
}
