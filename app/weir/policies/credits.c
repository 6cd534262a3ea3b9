/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "credits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "allocate/allocate.h"
#include "base/time.h"
#include "instance.h"
#include "lease.h"
#include "log.h"
#include "pages.h"
#include "policy/period.h"

/* Looks while packets pass, and while none does; the looks themselves take no more than a part. */
#define LOOK_NS   UINT64_C(5000000)
#define REST_NS   (10 * MS_NS)
#define LOOK_PART 20

/* Where nobody has wanted more for so long, nobody waits. */
#define FORGO_NS UINT64_C(200000000)

/* What all workers may hold is so small a part of the total, in bits; and each no more than. */
#define HELD_SHIFT    16
#define QUANTUM_BYTES UINT64_C(65536)
#define QUANTUM_ITEMS UINT64_C(64) /* packets or flows */

#define READY_BYTES UINT64_C(6056) /* four full packets */
#define READY_ITEMS UINT64_C(4)

struct credit_account {
	struct credit_account *next, **link; /* of those that have begun */
	struct credit *credit;
	struct lease lease;
	uint32_t slot;
	uint32_t quantum;
	uint16_t generation;
	bool stays;
	bool parked;     /* given back, until packets come */
	uint64_t period; /* as the brain has it */
	uint64_t asked;  /* units, of the brain, which has yet to find them; or 0 */
};

static struct credit_account *account_of(const struct instance *inst, uint32_t slot)
{
	return inst->credits->slots[slot];
}

/* The policy's index, which may have left. */
static bool policy_in_slot(
	const struct instance *inst, const struct credit_account *account, unsigned *policy)
{
	*policy = inst->slots.policy[account->slot];
	return *policy != SLOT_FREE && *policy != SLOT_LEFT;
}

bool instance_budget(const struct instance *inst, unsigned policy, struct quota_view *view)
{
	const struct budget *budget = limiter_budget(inst->limiter);
	unsigned index = limiter_budget_index(inst->limiter, policy);

	if (!budget || index == LIMITER_ADDED)
		return false;
	*view = budget_view(budget, index, control_now());
	return true;
}

static uint32_t quantum_of(const struct policy *policy, unsigned n_workers)
{
	uint64_t most = policy->count == COUNT_BYTES ? QUANTUM_BYTES : QUANTUM_ITEMS;

	return (uint32_t)RTE_MIN((policy->total >> HELD_SHIFT) / n_workers, most);
}

/*
 * What lies ready for who begins: a chunk, so that a burst after a pause passes until the next look
 * as fast as such a total is made for; some packets at any rate.
 */
static uint64_t least_of(const struct instance *inst, unsigned policy, uint32_t quantum)
{
	const struct policy *p = &inst->policies[policy];
	uint64_t packets = p->count == COUNT_BYTES ? READY_BYTES : READY_ITEMS;

	return RTE_MAX(RTE_MAX((uint64_t)quantum * inst->config->n_workers, packets), p->chunk);
}

static int credits_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct credit_account *account;

	(void)hz;
	if (!policy->allocator->counts_units)
		return 0;
	account = calloc(1, sizeof(*account));
	if (!account)
		return -ENOMEM;
	account->credit = rte_zmalloc("credit", sizeof(*account->credit), RTE_CACHE_LINE_SIZE);
	if (!account->credit) {
		free(account);
		return -ENOMEM;
	}
	account->slot = slot;
	inst->credits->slots[slot] = account;
	return 0;
}

static void credits_remove(struct instance *inst, uint32_t slot)
{
	struct credit_account *account = account_of(inst, slot);

	if (!account)
		return;
	if (account->link) {
		*account->link = account->next;
		if (account->next)
			account->next->link = account->link;
	}
	rte_free(account->credit);
	free(account);
	inst->credits->slots[slot] = NULL;
}

static void link_account(struct instance *inst, struct credit_account *account)
{
	account->next = inst->credits->first;
	if (account->next)
		account->next->link = &account->next;
	account->link = &inst->credits->first;
	inst->credits->first = account;
}

/* A policy that has moved has its credit already. */
static void credits_begin(struct instance *inst, unsigned policy)
{
	struct credit_account *account = account_of(inst, inst->slots.of[policy]);
	struct quota_view view;

	if (!account || account->link)
		return;
	account->quantum = quantum_of(&inst->policies[policy], inst->config->n_workers);
	lease_init(&account->lease, least_of(inst, policy, account->quantum), control_now());
	if (instance_budget(inst, policy, &view))
		account->period = view.period;
	link_account(inst, account);
	inst->credits->next_ns = 0;
}

static void credits_join(const struct instance *inst, uint32_t slot, struct limit_profile *profile)
{
	const struct credit_account *account = account_of(inst, slot);

	if (account)
		credit_profile_join(&profile->meter.credit, account->credit, account->generation,
			account->quantum);
}

/* The other one is left to the former slot, and goes with it. */
static void credits_move(struct instance *inst, uint32_t from, uint32_t to)
{
	struct credit_account *account = account_of(inst, from), *unused = account_of(inst, to);

	if (!account || !unused)
		return;
	account->slot = to;
	unused->slot = from;
	inst->credits->slots[to] = account;
	inst->credits->slots[from] = unused;
}

static uint64_t held_by_workers(const struct instance *inst, uint32_t slot, uint16_t generation)
{
	uint64_t units = 0;

	for (unsigned w = 0; w < inst->config->n_workers; w++)
		units += police_returns(&inst->workers[w].policies[slot], generation);
	return units;
}

static void credits_moved(struct instance *inst, uint32_t from, uint32_t to)
{
	const struct credit_account *account = account_of(inst, to);
	unsigned policy;

	if (account && policy_in_slot(inst, account, &policy))
		limiter_refund(
			inst->limiter, policy, held_by_workers(inst, from, account->generation));
}

/* What is left in a credit goes back to the ledger. */
static void return_prepaid_units(
	struct instance *inst, struct credit_account *account, unsigned policy)
{
	limiter_refund(inst->limiter, policy, credit_turn(account->credit, account->generation));
	lease_empty(&account->lease);
	if (account->asked)
		limiter_forgo(inst->limiter, policy);
	account->asked = 0;
}

/*
 * What is in the credits of policies that leave is given back. Should the update fail they are
 * filled again.
 */
static void credits_before_update(struct instance *inst, const unsigned *known, unsigned n)
{
	struct credit_account *account;
	unsigned policy;

	for (unsigned i = 0; inst->credits->first && i < n; i++) {
		account = known[i] == LIMITER_ADDED ? NULL
						    : account_of(inst, inst->slots.of[known[i]]);
		if (account)
			account->stays = true;
	}
	for (account = inst->credits->first; account; account = account->next) {
		if (!account->stays && policy_in_slot(inst, account, &policy))
			return_prepaid_units(inst, account, policy);
		account->stays = false;
	}
	inst->credits->next_ns = 0;
}

/*
 * The next period, if its time has come, or a reload has begun it: what was not used is void. The
 * wall clock may go back, a period does not.
 */
static bool turn_lease_period(struct instance *inst, struct credit_account *account,
	unsigned policy, int64_t unix_s, struct quota_view *view)
{
	uint64_t number = period_number(&inst->policies[policy], unix_s);
	uint64_t unused;

	if (number > view->period &&
		limiter_period(inst->limiter, policy, number, control_now()) == 0)
		instance_budget(inst, policy, view);
	if (view->period <= account->period)
		return false;
	account->period = view->period;
	unused = credit_turn(account->credit, ++account->generation);
	lease_empty(&account->lease);
	account->asked = 0;
	dirty_mark(&inst->dirty, account->slot);
	log_info("policy %s: period %" PRIu64 " begins; %" PRIu64 " units of the last were leased "
		 "and not used",
		inst->policies[policy].name, account->period, unused);
	return true;
}

/*
 * Whether to lease nothing: no packets come, and what is in hand for them is most of what is here,
 * as others have taken the rest. So they need it.
 */
static bool lease_should_park(
	const struct credit_account *account, const struct quota_view *view, uint64_t now_ns)
{
	return lease_is_idle(&account->lease, now_ns) &&
	       (account->parked || view->balance < (int64_t)(view->prepaid + account->lease.left));
}

/* Whether the brain was asked for anything. */
static bool refill_lease(struct instance *inst, struct credit_account *account, unsigned policy,
	const struct quota_view *view)
{
	uint64_t now = control_now(), units = account->asked;
	int ret;

	if (lease_should_park(account, view, now)) {
		if (account->parked)
			return false;
		return_prepaid_units(inst, account, policy);
		return account->parked = true;
	}
	account->parked = false;
	if (units == 0)
		units = lease_units(&account->lease,
			(uint64_t)RTE_MAX(view->balance, INT64_C(0)) + view->prepaid, view->low);
	if (units == 0)
		return false;
	ret = limiter_spend(inst->limiter, policy, units, now);
	account->asked = ret == -EAGAIN ? units : 0;
	if (ret == 0) {
		credit_put(account->credit, units);
		lease_fill(&account->lease, units);
	}
	return true;
}

/* A total that was changed has another quantum. */
static void adapt_quantum(struct instance *inst, struct credit_account *account, unsigned policy)
{
	uint32_t quantum = quantum_of(&inst->policies[policy], inst->config->n_workers);

	if (quantum == account->quantum)
		return;
	account->quantum = quantum;
	account->lease.least = least_of(inst, policy, quantum);
	dirty_mark(&inst->dirty, account->slot);
}

static bool review_lease(
	struct instance *inst, struct credit_account *account, unsigned policy, int64_t unix_s)
{
	struct lease *lease = &account->lease;
	uint64_t now = control_now();
	struct quota_view view;
	bool turned;

	if (!instance_budget(inst, policy, &view))
		return false;
	adapt_quantum(inst, account, policy);
	turned = turn_lease_period(inst, account, policy, unix_s, &view);
	lease_look(lease, credit_left(account->credit), credit_wanted(account->credit), now);
	if (account->asked && now - lease->taken_ns > FORGO_NS) {
		limiter_forgo(inst->limiter, policy);
		account->asked = 0;
	}
	return refill_lease(inst, account, policy, &view) || turned;
}

uint64_t credits_next(const struct instance *inst)
{
	return inst->credits->first ? inst->credits->next_ns : UINT64_MAX;
}

bool credits_look(struct instance *inst, uint64_t now_ns)
{
	struct timespec wall;
	bool news = false, active = false;
	uint64_t began, took;
	unsigned policy;

	if (now_ns < credits_next(inst))
		return false;
	clock_gettime(CLOCK_REALTIME, &wall);
	began = control_now();
	for (struct credit_account *a = inst->credits->first; a; a = a->next) {
		if (!policy_in_slot(inst, a, &policy))
			continue;
		news |= review_lease(inst, a, policy, wall.tv_sec);
		active |= now_ns - a->lease.taken_ns < LEASE_NS || a->lease.taken_ns > now_ns;
	}
	took = control_now() - began;
	inst->credits->next_ns = now_ns + RTE_MAX(active ? LOOK_NS : REST_NS, took * LOOK_PART);
	return news;
}

void credits_retry(struct instance *inst)
{
	struct quota_view view;
	unsigned policy;

	for (struct credit_account *a = inst->credits->first; a; a = a->next)
		if (a->asked && policy_in_slot(inst, a, &policy) &&
			instance_budget(inst, policy, &view))
			refill_lease(inst, a, policy, &view);
}

const struct policy_part credit_part = {
	.prepare = credits_prepare,
	.before_update = credits_before_update,
	.move = credits_move,
	.begin = credits_begin,
	.join = credits_join,
	.moved = credits_moved,
	.remove = credits_remove,
};

int credits_start(struct instance *inst)
{
	size_t bytes = inst->slots.capacity * sizeof(*inst->credits->slots);

	inst->credits = calloc(1, sizeof(*inst->credits));
	if (!inst->credits)
		return -ENOMEM;
	inst->credits->slots = pages_alloc(bytes, 0, SOCKET_ID_ANY);
	if (inst->credits->slots)
		return 0;
	free(inst->credits);
	inst->credits = NULL;
	return -ENOMEM;
}

void credits_give_back(struct instance *inst)
{
	unsigned policy;

	for (struct credit_account *a = inst->credits->first; a; a = a->next) {
		if (!policy_in_slot(inst, a, &policy))
			continue;
		return_prepaid_units(inst, a, policy);
		limiter_refund(
			inst->limiter, policy, held_by_workers(inst, a->slot, a->generation));
	}
}

void credits_stop(struct instance *inst)
{
	credits_give_back(inst);
	for (uint32_t i = 0; i < inst->slots.capacity; i++)
		credits_remove(inst, i);
	pages_free(inst->credits->slots, inst->slots.capacity * sizeof(*inst->credits->slots));
	free(inst->credits);
	inst->credits = NULL;
}

uint64_t credits_held(const struct instance *inst, uint32_t slot)
{
	const struct credit_account *account = account_of(inst, slot);

	return account ? credit_left(account->credit) : 0;
}
