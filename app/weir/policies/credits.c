/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Quotas (allocator quota) on this limiter.
 */
#include "credits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "allocate/allocate.h"
#include "engine/credit_account.h"
#include "instance.h"
#include "event.h"
#include "pages.h"
#include "wall.h"

/* Reviews take at most one part in so many of the time. */
#define LOOK_PART 20

struct slot_credit {
	struct slot_credit *next, **link; /* in the list of credits that have begun */
	struct credit_account account;
	uint32_t slot;
	bool stays;
	uint8_t published;
};

static struct slot_credit *credit_in_slot(const struct instance *inst, uint32_t slot)
{
	return inst->credits->slots[slot];
}

/* Gets the policy's index; returns false if it has left. */
static bool policy_in_slot(
	const struct instance *inst, const struct slot_credit *mine, unsigned *policy)
{
	*policy = inst->slots.policy[mine->slot];
	return *policy != SLOT_FREE && *policy != SLOT_LEFT;
}

static struct credit_owner owner_of(const struct instance *inst, unsigned policy)
{
	return (struct credit_owner){.limiter = inst->limiter,
		.index = policy,
		.policy = &inst->policies[policy],
		.n_workers = inst->config->n_workers};
}

bool instance_budget(const struct instance *inst, unsigned policy, struct quota_view *view)
{
	return credit_account_view(inst->limiter, policy, control_now(), view);
}

static int credits_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	struct slot_credit *mine;

	(void)hz;
	if (!policy->allocator->counts_units)
		return 0;
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	mine->account.credit = rte_zmalloc("credit", sizeof(struct credit), RTE_CACHE_LINE_SIZE);
	if (!mine->account.credit) {
		free(mine);
		return -ENOMEM;
	}
	mine->slot = slot;
	inst->credits->slots[slot] = mine;
	return 0;
}

static void credits_remove(struct instance *inst, uint32_t slot)
{
	struct slot_credit *mine = credit_in_slot(inst, slot);

	if (!mine)
		return;
	if (mine->link) {
		*mine->link = mine->next;
		if (mine->next)
			mine->next->link = mine->link;
	}
	rte_free(mine->account.credit);
	free(mine);
	inst->credits->slots[slot] = NULL;
}

/* A policy that has moved has its credit already. */
static void credits_begin(struct instance *inst, unsigned policy)
{
	struct slot_credit *mine = credit_in_slot(inst, inst->slots.of[policy]);
	const struct credit_owner owner = owner_of(inst, policy);

	if (!mine || mine->link)
		return;
	credit_account_begin(&mine->account, &owner, control_now());
	mine->next = inst->credits->first;
	if (mine->next)
		mine->next->link = &mine->next;
	mine->link = &inst->credits->first;
	inst->credits->first = mine;
	inst->credits->next_ns = 0;
}

static void credits_join(const struct instance *inst, uint32_t slot, struct limit_profile *profile)
{
	const struct slot_credit *mine = credit_in_slot(inst, slot);

	if (mine)
		credit_account_join(&mine->account, profile);
}

/* Exchanges both credits: the unused one is freed with the previous slot. */
static void credits_move(struct instance *inst, uint32_t from, uint32_t to)
{
	struct slot_credit *mine = credit_in_slot(inst, from), *unused = credit_in_slot(inst, to);

	if (!mine || !unused)
		return;
	mine->slot = to;
	unused->slot = from;
	inst->credits->slots[to] = mine;
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
	const struct slot_credit *mine = credit_in_slot(inst, to);
	unsigned policy;

	if (mine && policy_in_slot(inst, mine, &policy))
		limiter_refund(inst->limiter, policy,
			held_by_workers(inst, from, mine->account.generation));
}

/* Returns the units of a credit to the ledger. */
static void return_prepaid_units(struct instance *inst, struct slot_credit *mine, unsigned policy)
{
	const struct credit_owner owner = owner_of(inst, policy);

	credit_account_return(&mine->account, &owner);
}

/*
 * Returns the units in the credits of policies that leave. If the update fails, they are filled
 * again.
 */
static void credits_before_update(struct instance *inst, const unsigned *known, unsigned n)
{
	struct slot_credit *mine;
	unsigned policy;

	for (unsigned i = 0; inst->credits->first && i < n; i++) {
		mine = known[i] == LIMITER_ADDED ? NULL
						 : credit_in_slot(inst, inst->slots.of[known[i]]);
		if (mine)
			mine->stays = true;
	}
	for (mine = inst->credits->first; mine; mine = mine->next) {
		if (!mine->stays && policy_in_slot(inst, mine, &policy))
			return_prepaid_units(inst, mine, policy);
		mine->stays = false;
	}
	inst->credits->next_ns = 0;
}

/* Returns true if there might be something to send, or to publish to the workers. */
static bool review_credit(
	struct instance *inst, struct slot_credit *mine, unsigned policy, int64_t unix_s)
{
	const struct credit_owner owner = owner_of(inst, policy);
	const struct credit_news news = credit_account_look(
		&mine->account, &owner, unix_s, control_now());

	if (news.changed)
		dirty_mark(&inst->dirty, mine->slot);
	if (news.turned)
		event(PERIOD_BEGINS, event_word("policy", owner.policy->name),
			event_count("period", mine->account.period),
			event_count("unused", news.unused));
	return news.asked || news.turned;
}

uint64_t credits_next(const struct instance *inst)
{
	return inst->credits->first ? inst->credits->next_ns : UINT64_MAX;
}

bool credits_look(struct instance *inst, uint64_t now_ns)
{
	bool news = false, active = false;
	int64_t wall_s;
	uint64_t began, took;
	unsigned policy;

	if (now_ns < credits_next(inst))
		return false;
	wall_look(inst);
	began = control_now();
	wall_s = limiter_wall_s(inst->limiter, began);
	for (struct slot_credit *a = inst->credits->first; a; a = a->next) {
		if (!policy_in_slot(inst, a, &policy))
			continue;
		news |= review_credit(inst, a, policy, wall_s);
		active |= credit_account_is_active(&a->account, now_ns);
	}
	took = control_now() - began;
	inst->credits->next_ns = now_ns + RTE_MAX(active ? CREDIT_LOOK_NS : CREDIT_REST_NS,
						  took * LOOK_PART);
	return news;
}

void credits_retry(struct instance *inst)
{
	unsigned policy;

	for (struct slot_credit *a = inst->credits->first; a; a = a->next) {
		struct credit_owner owner;

		if (!a->account.asked || !policy_in_slot(inst, a, &policy))
			continue;
		owner = owner_of(inst, policy);
		credit_account_retry(&a->account, &owner, control_now());
	}
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

	for (struct slot_credit *a = inst->credits->first; a; a = a->next) {
		if (!policy_in_slot(inst, a, &policy))
			continue;
		return_prepaid_units(inst, a, policy);
		limiter_refund(inst->limiter, policy,
			held_by_workers(inst, a->slot, a->account.generation));
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

uint8_t *credits_published(const struct instance *inst, uint32_t slot)
{
	struct slot_credit *mine = credit_in_slot(inst, slot);

	return mine && mine->link ? &mine->published : NULL;
}

uint64_t credits_held(const struct instance *inst, uint32_t slot)
{
	const struct slot_credit *mine = credit_in_slot(inst, slot);

	return mine ? credit_left(mine->account.credit) : 0;
}
