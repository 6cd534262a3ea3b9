/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies with a quota at one limiter of the simulation.
 */
#include "node_totals.h"

#include <errno.h>

#include "base/math.h"
#include "engine/states.h"
#include "policy/kind.h"
#include "node_clock.h"
#include "record.h"

static bool has_total(const struct sim *sim, unsigned p)
{
	return policy_is_quota(&sim->scenario->group.policies[p]);
}

static struct credit_owner owner_of(const struct sim *sim, const struct node *node, unsigned p)
{
	return (struct credit_owner){.limiter = node->limiter,
		.index = p,
		.policy = &sim->scenario->group.policies[p],
		.n_workers = node->engine.n_workers};
}

int node_totals_create(struct sim *sim, struct node *node)
{
	unsigned n = sim->scenario->group.n_policies;
	uint64_t now = node_clock(sim, node, sim->events.now_ns);
	int ret;

	if (!limiter_budget(node->limiter))
		return 0;
	ret = credit_states_alloc(&node->totals, &node->engine, n);
	for (unsigned p = 0; ret == 0 && p < n; p++) {
		const struct credit_owner owner = owner_of(sim, node, p);

		if (has_total(sim, p))
			spent_begins(
				sim, p, credit_states_begin(&node->totals, &owner, now)->period);
	}
	return ret;
}

bool node_totals_look(struct sim *sim, struct node *node, unsigned p)
{
	struct credit_account *account = &node->totals.accounts[p];
	const struct credit_owner owner = owner_of(sim, node, p);
	uint64_t now = node_clock(sim, node, sim->events.now_ns);
	struct credit_news news = {0};

	if (has_total(sim, p)) {
		limiter_clock(
			node->limiter, node_wall_ns(sim, node, sim->events.now_ns), false, now);
		news = credit_account_look(
			account, &owner, limiter_wall_s(node->limiter, now), now);
	}
	if (news.turned)
		spent_begins(sim, p, account->period);
	return news.changed;
}

uint64_t node_totals_rest(const struct sim *sim, const struct node *node)
{
	uint64_t now = node_clock(sim, node, sim->events.now_ns);

	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		if (has_total(sim, p) && credit_account_is_active(&node->totals.accounts[p], now))
			return CREDIT_LOOK_NS;
	return CREDIT_REST_NS;
}

void node_totals_retry(struct sim *sim, struct node *node)
{
	uint64_t now = node_clock(sim, node, sim->events.now_ns);

	for (unsigned p = 0; node->totals.accounts && p < sim->scenario->group.n_policies; p++) {
		const struct credit_owner owner = owner_of(sim, node, p);

		if (has_total(sim, p))
			credit_account_retry(&node->totals.accounts[p], &owner, now);
	}
}

static const struct policy_state *total_state(
	const struct node *node, const struct total_before *before)
{
	return &node->engine.workers[before->worker].states[before->policy];
}

static uint64_t passed_bytes(const struct policy_state *state)
{
	return state->bytes - state->dropped_bytes;
}

static uint64_t aside_bytes(const struct policy_state *state)
{
	return police_fallback_bytes(state) + police_over_bytes(state);
}

struct total_before node_totals_before(const struct node *node, unsigned worker, unsigned policy)
{
	struct total_before before = {.worker = worker, .policy = policy};
	const struct policy_state *state = total_state(node, &before);
	const struct credit_account *account = &node->totals.accounts[policy];

	before.passed = passed_bytes(state);
	before.aside = aside_bytes(state);
	before.earlier = credit_cache_held(&state->other->meter.credit) -
			 police_returns(state, account->generation);
	return before;
}

void node_totals_after(struct sim *sim, struct node *node, const struct total_before *before)
{
	const struct policy_state *state = total_state(node, before);
	uint64_t passed = passed_bytes(state) - before->passed;
	uint64_t paid = passed - (aside_bytes(state) - before->aside);

	if (paid)
		spent_add(sim, before->policy, node->index,
			node->totals.accounts[before->policy].period, paid,
			min_u64(before->earlier, paid));
}

/* --- commit ----------------------------------------------------------------------------------- */

static void disk_save_done(void *world, void *object, uint64_t argument);

static int write_disk_record(
	void *node, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	return disk_write(&((struct node *)node)->disk, kind, id, record, len);
}

/* A limiter without a ledger never has anything to commit. */
static void commit_begin(struct sim *sim, struct node *node)
{
	int ret;

	if (node->committing || !limiter_uncommitted(node->limiter))
		return;
	ret = limiter_save(node->limiter, write_disk_record, node);
	if (ret == -EAGAIN)
		return;
	if (ret) {
		sim->events.error = ret;
		return;
	}
	node->committing = true;
	events_after(&sim->events, sim->scenario->commit_ns, disk_save_done, node, node->starts);
}

void node_follow_up(struct sim *sim, struct node *node)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned to;
	size_t len;

	commit_begin(sim, node);
	while ((len = limiter_send(node->limiter, buf, &to)) > 0)
		simnet_send(&sim->net, sim->network, &sim->prng[STREAM_NETWORK], node->index, to,
			buf, len);
}

/* The disk has the records, and the meters enforce no more than their amounts. */
static void disk_save_done(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;

	if (!node->limiter || argument != node->starts)
		return;
	if (node->paused) { /* control does not poll the disk before */
		events_at(&sim->events, node->resume_ns, disk_save_done, node, argument);
		return;
	}
	node->committing = false;
	sim->events.error = disk_commit(&node->disk);
	if (sim->events.error)
		return;
	limiter_committed(node->limiter, node_clock(sim, node, sim->events.now_ns));
	node_totals_retry(sim, node);
	node_follow_up(sim, node);
}

void node_drop_commit(struct node *node)
{
	disk_forget_written(&node->disk);
	node->committing = false;
}
