/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "purse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "allocate/allocate.h"
#include "base/time.h"
#include "box.h"
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

struct purse_account {
	struct purse_account *next, **link; /* of those that have begun */
	struct purse *purse;
	struct lease lease;
	uint32_t slot;
	uint32_t quantum;
	uint16_t generation;
	bool stays;
	bool parked;     /* given back, until packets come */
	uint64_t period; /* as the brain has it */
	uint64_t asked;  /* units, of the brain, which has yet to find them; or 0 */
};

static struct purse_account *account_of(const struct box *box, uint32_t slot)
{
	return box->purses->slots[slot];
}

/* The policy's index, which may have left. */
static bool tenant_of(const struct box *box, const struct purse_account *account, unsigned *policy)
{
	*policy = box->slots.tenant[account->slot];
	return *policy != SLOT_FREE && *policy != SLOT_LEFT;
}

bool box_budget(const struct box *box, unsigned policy, struct quota_view *view)
{
	const struct budget *budget = limiter_budget(box->limiter);
	unsigned index = limiter_budget_index(box->limiter, policy);

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
static uint64_t least_of(const struct box *box, unsigned policy, uint32_t quantum)
{
	const struct policy *p = &box->policies[policy];
	uint64_t packets = p->count == COUNT_BYTES ? READY_BYTES : READY_ITEMS;

	return RTE_MAX(RTE_MAX((uint64_t)quantum * box->config->n_workers, packets), p->chunk);
}

static int purses_prepare(struct box *box, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct purse_account *account;

	(void)hz;
	if (!policy->allocator->counts_units)
		return 0;
	account = calloc(1, sizeof(*account));
	if (!account)
		return -ENOMEM;
	account->purse = rte_zmalloc("purse", sizeof(*account->purse), RTE_CACHE_LINE_SIZE);
	if (!account->purse) {
		free(account);
		return -ENOMEM;
	}
	account->slot = slot;
	box->purses->slots[slot] = account;
	return 0;
}

static void purses_remove(struct box *box, uint32_t slot)
{
	struct purse_account *account = account_of(box, slot);

	if (!account)
		return;
	if (account->link) {
		*account->link = account->next;
		if (account->next)
			account->next->link = account->link;
	}
	rte_free(account->purse);
	free(account);
	box->purses->slots[slot] = NULL;
}

static void link_account(struct box *box, struct purse_account *account)
{
	account->next = box->purses->first;
	if (account->next)
		account->next->link = &account->next;
	account->link = &box->purses->first;
	box->purses->first = account;
}

/* A policy that has moved has its purse already. */
static void purses_begin(struct box *box, unsigned policy)
{
	struct purse_account *account = account_of(box, box->slots.of[policy]);
	struct quota_view view;

	if (!account || account->link)
		return;
	account->quantum = quantum_of(&box->policies[policy], box->config->n_workers);
	lease_init(&account->lease, least_of(box, policy, account->quantum), control_now());
	if (box_budget(box, policy, &view))
		account->period = view.period;
	link_account(box, account);
	box->purses->next_ns = 0;
}

static void purses_join(const struct box *box, uint32_t slot, struct limit_profile *profile)
{
	const struct purse_account *account = account_of(box, slot);

	if (account)
		purse_profile_join(&profile->meter.purse, account->purse, account->generation,
			account->quantum);
}

/* The other one is left to the former slot, and goes with it. */
static void purses_move(struct box *box, uint32_t from, uint32_t to)
{
	struct purse_account *account = account_of(box, from), *unused = account_of(box, to);

	if (!account || !unused)
		return;
	account->slot = to;
	unused->slot = from;
	box->purses->slots[to] = account;
	box->purses->slots[from] = unused;
}

static uint64_t held_by_workers(const struct box *box, uint32_t slot, uint16_t generation)
{
	uint64_t units = 0;

	for (unsigned w = 0; w < box->config->n_workers; w++)
		units += police_returns(&box->workers[w].policies[slot], generation);
	return units;
}

static void purses_moved(struct box *box, uint32_t from, uint32_t to)
{
	const struct purse_account *account = account_of(box, to);
	unsigned policy;

	if (account && tenant_of(box, account, &policy))
		limiter_refund(
			box->limiter, policy, held_by_workers(box, from, account->generation));
}

/* What is left in a purse goes back to the ledger. */
static void return_prepaid_units(struct box *box, struct purse_account *account, unsigned policy)
{
	limiter_refund(box->limiter, policy, purse_turn(account->purse, account->generation));
	lease_empty(&account->lease);
	if (account->asked)
		limiter_forgo(box->limiter, policy);
	account->asked = 0;
}

/*
 * What is in the purses of policies that leave is given back. Should the update fail they are
 * filled again.
 */
static void purses_before_update(struct box *box, const unsigned *known, unsigned n)
{
	struct purse_account *account;
	unsigned policy;

	for (unsigned i = 0; box->purses->first && i < n; i++) {
		account = known[i] == LIMITER_ADDED ? NULL
						    : account_of(box, box->slots.of[known[i]]);
		if (account)
			account->stays = true;
	}
	for (account = box->purses->first; account; account = account->next) {
		if (!account->stays && tenant_of(box, account, &policy))
			return_prepaid_units(box, account, policy);
		account->stays = false;
	}
	box->purses->next_ns = 0;
}

/*
 * The next period, if its time has come, or a reload has begun it: what was not used is void. The
 * wall clock may go back, a period does not.
 */
static bool turn_lease_period(struct box *box, struct purse_account *account, unsigned policy,
	int64_t unix_s, struct quota_view *view)
{
	uint64_t number = period_number(&box->policies[policy], unix_s);
	uint64_t unused;

	if (number > view->period &&
		limiter_period(box->limiter, policy, number, control_now()) == 0)
		box_budget(box, policy, view);
	if (view->period <= account->period)
		return false;
	account->period = view->period;
	unused = purse_turn(account->purse, ++account->generation);
	lease_empty(&account->lease);
	account->asked = 0;
	dirty_mark(&box->dirty, account->slot);
	log_info("policy %s: period %" PRIu64 " begins; %" PRIu64 " units of the last were leased "
		 "and not used",
		box->policies[policy].name, account->period, unused);
	return true;
}

/*
 * Whether to lease nothing: no packets come, and what is in hand for them is most of what is here,
 * as others have taken the rest. So they need it.
 */
static bool lease_should_park(
	const struct purse_account *account, const struct quota_view *view, uint64_t now_ns)
{
	return lease_is_idle(&account->lease, now_ns) &&
	       (account->parked || view->balance < (int64_t)(view->pocket + account->lease.left));
}

/* Whether the brain was asked for anything. */
static bool refill_lease(struct box *box, struct purse_account *account, unsigned policy,
	const struct quota_view *view)
{
	uint64_t now = control_now(), units = account->asked;
	int ret;

	if (lease_should_park(account, view, now)) {
		if (account->parked)
			return false;
		return_prepaid_units(box, account, policy);
		return account->parked = true;
	}
	account->parked = false;
	if (units == 0)
		units = lease_units(&account->lease,
			(uint64_t)RTE_MAX(view->balance, INT64_C(0)) + view->pocket, view->lean);
	if (units == 0)
		return false;
	ret = limiter_spend(box->limiter, policy, units, now);
	account->asked = ret == -EAGAIN ? units : 0;
	if (ret == 0) {
		purse_put(account->purse, units);
		lease_fill(&account->lease, units);
	}
	return true;
}

/* A total that was changed has another quantum. */
static void adapt_quantum(struct box *box, struct purse_account *account, unsigned policy)
{
	uint32_t quantum = quantum_of(&box->policies[policy], box->config->n_workers);

	if (quantum == account->quantum)
		return;
	account->quantum = quantum;
	account->lease.least = least_of(box, policy, quantum);
	dirty_mark(&box->dirty, account->slot);
}

static bool review_lease(
	struct box *box, struct purse_account *account, unsigned policy, int64_t unix_s)
{
	struct lease *lease = &account->lease;
	uint64_t now = control_now();
	struct quota_view view;
	bool turned;

	if (!box_budget(box, policy, &view))
		return false;
	adapt_quantum(box, account, policy);
	turned = turn_lease_period(box, account, policy, unix_s, &view);
	lease_look(lease, purse_left(account->purse), purse_wanted(account->purse), now);
	if (account->asked && now - lease->taken_ns > FORGO_NS) {
		limiter_forgo(box->limiter, policy);
		account->asked = 0;
	}
	return refill_lease(box, account, policy, &view) || turned;
}

uint64_t purses_next(const struct box *box)
{
	return box->purses->first ? box->purses->next_ns : UINT64_MAX;
}

bool purses_look(struct box *box, uint64_t now_ns)
{
	struct timespec wall;
	bool news = false, active = false;
	uint64_t began, took;
	unsigned policy;

	if (now_ns < purses_next(box))
		return false;
	clock_gettime(CLOCK_REALTIME, &wall);
	began = control_now();
	for (struct purse_account *a = box->purses->first; a; a = a->next) {
		if (!tenant_of(box, a, &policy))
			continue;
		news |= review_lease(box, a, policy, wall.tv_sec);
		active |= now_ns - a->lease.taken_ns < LEASE_NS || a->lease.taken_ns > now_ns;
	}
	took = control_now() - began;
	box->purses->next_ns = now_ns + RTE_MAX(active ? LOOK_NS : REST_NS, took * LOOK_PART);
	return news;
}

void purses_retry(struct box *box)
{
	struct quota_view view;
	unsigned policy;

	for (struct purse_account *a = box->purses->first; a; a = a->next)
		if (a->asked && tenant_of(box, a, &policy) && box_budget(box, policy, &view))
			refill_lease(box, a, policy, &view);
}

const struct policy_part purse_part = {
	.prepare = purses_prepare,
	.before_update = purses_before_update,
	.move = purses_move,
	.begin = purses_begin,
	.join = purses_join,
	.moved = purses_moved,
	.remove = purses_remove,
};

int purses_start(struct box *box)
{
	size_t bytes = box->slots.capacity * sizeof(*box->purses->slots);

	box->purses = calloc(1, sizeof(*box->purses));
	if (!box->purses)
		return -ENOMEM;
	box->purses->slots = pages_alloc(bytes, 0, SOCKET_ID_ANY);
	if (box->purses->slots)
		return 0;
	free(box->purses);
	box->purses = NULL;
	return -ENOMEM;
}

void purses_give_back(struct box *box)
{
	unsigned policy;

	for (struct purse_account *a = box->purses->first; a; a = a->next) {
		if (!tenant_of(box, a, &policy))
			continue;
		return_prepaid_units(box, a, policy);
		limiter_refund(box->limiter, policy, held_by_workers(box, a->slot, a->generation));
	}
}

void purses_stop(struct box *box)
{
	purses_give_back(box);
	for (uint32_t i = 0; i < box->slots.capacity; i++)
		purses_remove(box, i);
	pages_free(box->purses->slots, box->slots.capacity * sizeof(*box->purses->slots));
	free(box->purses);
	box->purses = NULL;
}

uint64_t purses_held(const struct box *box, uint32_t slot)
{
	const struct purse_account *account = account_of(box, slot);

	return account ? purse_left(account->purse) : 0;
}
