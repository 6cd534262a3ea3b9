/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans of a simulated limiter.
 */
#include "node.h"

#include "engine/engine.h"
#include "node_clock.h"
#include "node_totals.h"
#include "policy/kind.h"

bool node_lends(const struct sim *sim)
{
	const struct group *group = &sim->scenario->group;

	for (unsigned i = 0; i < group->n_policies; i++)
		if (policy_lends(&group->policies[i], group->gossip.loans))
			return true;
	return false;
}

static struct lending_place place_of(const struct node *node, unsigned policy)
{
	const struct sim *sim = node->sim;

	return (struct lending_place){
		.engine = &node->engine,
		.slot = policy,
		.now = node_clock(sim, node, sim->events.now_ns),
		.hz = NODE_HZ,
	};
}

static struct loan_bucket look_at_bucket(void *context, unsigned policy)
{
	struct lending_place place = place_of(context, policy);

	return lending_look(&place);
}

static struct loan_taken take_tokens(
	void *context, unsigned policy, uint64_t keep, uint64_t most, bool withhold)
{
	struct lending_place place = place_of(context, policy);

	return lending_take(&place, keep, most, withhold);
}

static uint64_t give_tokens(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	struct lending_place place = place_of(context, policy);

	if (place.now >= until_ns)
		return 0;
	lending_give(&place, lending_seen(&place), &bytes);
	return bytes;
}

struct limiter_buckets node_buckets(struct sim *sim, struct node *node)
{
	if (!node_lends(sim))
		return (struct limiter_buckets){0};
	return (struct limiter_buckets){node, look_at_bucket, take_tokens, give_tokens};
}

static void node_look(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;

	/* Skips events from before a crash or during a pause. */
	if (!node->limiter || node->paused || argument != node->loan_ns)
		return;
	limiter_look(node->limiter, node_clock(sim, node, sim->events.now_ns));
	if (limiter_conserve(node->limiter))
		node_enforce_changes(sim, node);
	node_follow_up(sim, node);
	node_await_look(sim, node);
}

void node_await_look(struct sim *sim, struct node *node)
{
	uint64_t next = limiter_next_look(node->limiter);

	if (next == UINT64_MAX)
		return;
	node->loan_ns = node_time(sim, node, next);
	if (node->loan_ns <= sim->events.now_ns)
		node->loan_ns = sim->events.now_ns + 1;
	events_at(&sim->events, node->loan_ns, node_look, node, node->loan_ns);
}

static void add_loans(struct loan_totals *sum, const struct node *node, unsigned policy)
{
	struct loan_totals loans;

	if (!node->limiter)
		return;
	loans = limiter_loans(node->limiter, policy);
	sum->borrowed += loans.borrowed;
	sum->lent += loans.lent;
}

static void add_messages(struct loan_counters *sum, const struct node *node)
{
	const struct loan_counters *c = node->limiter ? limiter_loan_counters(node->limiter) : NULL;

	if (!c)
		return;
	sum->requests += c->requests;
	sum->offers += c->offers;
	sum->unanswered += c->unanswered;
	sum->ignored += c->ignored;
}

struct loan_counters nodes_loan_messages(const struct sim *sim)
{
	struct loan_counters sum = sim->loan_messages;

	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		add_messages(&sum, &sim->nodes[i]);
	return sum;
}

void node_keep_loans(struct sim *sim, const struct node *node)
{
	add_messages(&sim->loan_messages, node);
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		add_loans(&sim->loans[p], node, p);
}

struct loan_totals nodes_loans(const struct sim *sim, unsigned policy)
{
	struct loan_totals sum = sim->loans[policy];

	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		add_loans(&sum, &sim->nodes[i], policy);
	return sum;
}
