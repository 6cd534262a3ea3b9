/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that the meters of a node enforce.
 */
#include "node.h"

#include <inttypes.h>
#include <math.h>

#include "base/math.h"
#include "conserve/conserve.h"
#include "engine/states.h"
#include "policy/kind.h"
#include "node_clock.h"
#include "record.h"

#define RELEASE_NS 1000 /* no sooner are those that wait looked at again */

/* A limit can be above its policy's by rounding alone. */
#define ABOVE 1.000001

/*
 * Sets the limit of a meter, and adds the difference to the sum over all limiters. A hard limit is
 * of whole units in its time, so its sum is exact however often it changes.
 */
static void set_enforced(struct sim *sim, struct node *node, unsigned p, const struct enforced *now)
{
	struct enforced *mine = &node->enforced[p], *all = &sim->enforced[p];

	all->rate += now->rate - mine->rate;
	all->limit += now->limit - mine->limit;
	all->burst += now->burst - mine->burst;
	*mine = *now;
	overshoot_note(sim, p);
}

struct engine_limit node_limit_of(struct sim *sim, struct node *node, unsigned p)
{
	const struct policy *policy = &node_policies(node)[p];
	struct engine_limit limit = {.policy = policy, .slot = p, .hz = NODE_HZ};
	double rate;

	engine_view(&node->engine, node->limiter, p, &limit);
	rate = limit.view.local_limit;
	if (policy->limit_s > 1) /* divided by it before: units are whole */
		rate = rint(rate * policy->limit_s);
	set_enforced(sim, node, p,
		&(struct enforced){
			.rate = rate,
			.limit = limit.view.local_limit,
			.burst = limit.view.local_burst,
			.ending = limit.view.ending,
		});
	return limit;
}

void node_await_release(struct sim *sim, struct node *node, unsigned worker)
{
	const struct shaper *shaper = node->engine.workers[worker].shaper;
	uint64_t now = sim->events.now_ns, at;

	if (!shaper || !shaper_waits(shaper))
		return;
	at = node_time(sim, node, shaper_next(shaper, node_clock(sim, node, now)));
	if (at < now + RELEASE_NS)
		at = now + RELEASE_NS;
	if (node->release_ns[worker] && node->release_ns[worker] <= at)
		return;
	node->release_ns[worker] = at;
	events_at(&sim->events, at, sim->released, node, worker);
}

static void check_view(struct sim *sim, const struct node *node, unsigned p)
{
	const struct policy *policy = &node_policies(node)[p];
	struct limiter_view v;
	double most;

	limiter_view(node->limiter, p, &v);
	most = v.limit;
	/* A limiter can have more of a hard limit than a lower one, while another one owes. */
	if (policy_is_hard(policy))
		most = fmax(most, (double)sim->in_force[p].most_bps / 8 / policy_limit_s(policy));
	if (!isfinite(v.local_limit) || !isfinite(v.effective_limit) || !isfinite(v.demand) ||
		!isfinite(v.weight) || !isfinite(v.global_demand) || !isfinite(v.global_weight) ||
		!isfinite(v.drain) || !isfinite(v.drop))
		record_problem(sim, "limiter %u: not a number", node->index);
	else if (v.local_limit < 0 || v.local_limit > most * ABOVE || v.demand < 0 ||
		 v.weight < 0 || v.global_demand < 0 || v.drain < 0 || v.drop < 0 || v.drop > 1)
		record_problem(sim, "limiter %u: out of bounds (limit %g, demand %g, weight %g)",
			node->index, v.local_limit, v.demand, v.weight);
}

const struct policy *node_policies(const struct node *node)
{
	return node->policies ? node->policies : node->sim->scenario->group.policies;
}

void node_limits_in_force(struct sim *sim, unsigned p)
{
	struct in_force *f = &sim->in_force[p];

	f->most = 0;
	f->least_bps = UINT64_MAX;
	for (unsigned i = 0; i < sim->scenario->n_limiters; i++) {
		const struct policy *policy = &node_policies(&sim->nodes[i])[p];

		f->most = fmax(f->most, policy_rate(policy));
		f->least_bps = min_u64(f->least_bps, policy->limit_bps);
		f->most_bps = max_u64(f->most_bps, policy->limit_bps);
		f->burst = max_u64(f->burst, policy->burst_bytes);
	}
	f->most_ever = fmax(f->most_ever, f->most);
	record_in_force(sim, p, f->most);
}

/* True if an account has a debt, or a part of a neighbour's, which might have one then. */
static bool account_owes(const struct limiter *l, unsigned account)
{
	struct conserve_view view;

	if (account == LIMITER_ADDED)
		return false;
	view = conserve_view(limiter_conserve(l), account, 0);
	return view.balance < 0 || view.inherited > 0;
}

/* A limiter that is down, or has yet to read the limit, might have a debt. */
static bool anybody_owes(const struct sim *sim, unsigned p)
{
	for (unsigned i = 0; i < sim->scenario->n_limiters; i++) {
		const struct node *node = &sim->nodes[i];

		if (!node->limiter || node->reloads ||
			account_owes(node->limiter, limiter_conserve_index(node->limiter, p)) ||
			account_owes(node->limiter, limiter_conserve_burst_index(node->limiter, p)))
			return true;
	}
	return false;
}

/* A lower limit that all limiters have read holds from the time when all debts are paid. */
static void settle_lower_limit(struct sim *sim, unsigned p)
{
	const struct policy *policy = &node_policies(&sim->nodes[0])[p];
	struct in_force *f = &sim->in_force[p];
	bool same = f->least_bps == policy->limit_bps && f->most == policy_rate(policy);

	if (same && (f->most_bps > f->least_bps || f->burst > policy->burst_bytes) &&
		!anybody_owes(sim, p)) {
		f->most_bps = f->least_bps;
		f->burst = policy->burst_bytes;
	}
}

/* Checks the sum of a hard limit over all meters; see conserve/conserve.h. */
static void check_enforced_sum(struct sim *sim, unsigned p)
{
	const struct policy *policy = &sim->scenario->group.policies[p];
	const struct enforced *all = &sim->enforced[p];
	const struct in_force *f = &sim->in_force[p];
	double bps = all->rate * 8;

	if (!policy_is_hard(policy))
		return;
	settle_lower_limit(sim, p);
	/* Each limiter divides its burst by its own limit. */
	if ((double)all->burst > (double)f->burst * fmax(1, bps / (double)f->least_bps))
		record_problem(sim, "policy %s: buckets of %" PRIu64 " bytes in all", policy->name,
			all->burst);
	if (bps > (double)f->most_bps)
		record_problem(sim, "policy %s: %.0f bit/s are enforced in all", policy->name,
			bps / policy_limit_s(policy));
}

/* Ends the leased part of a limit on the workers, as of that tick. */
static void end_limit(struct sim *sim, struct node *node, unsigned p, uint64_t from)
{
	const struct enforced of = node->enforced[p];

	if (of.ending == 0)
		return;
	engine_states_end(&node->engine, p, of.ending, from);
	set_enforced(sim, node, p,
		&(struct enforced){
			.rate = (double)expiry_left((uint64_t)of.rate, of.ending),
			.limit = (double)expiry_left((uint64_t)of.limit, of.ending),
			.burst = expiry_left(of.burst, of.ending),
		});
}

void node_enforce(struct sim *sim, struct node *node, unsigned p)
{
	struct engine_limit limit = node_limit_of(sim, node, p);

	if (engine_enforce(&node->engine, &limit, node_clock(sim, node, sim->events.now_ns)))
		record_problem(sim, "limiter %u: rate out of range", node->index);
	for (unsigned w = 0; w < node->engine.n_workers; w++)
		node_await_release(sim, node, w);
	if (node->ended)
		end_limit(sim, node, p, node_clock(sim, node, sim->events.now_ns));
	check_view(sim, node, p);
	check_enforced_sum(sim, p);
}

void node_enforce_changes(struct sim *sim, struct node *node)
{
	unsigned n = sim->scenario->group.n_policies;

	for (unsigned p = limiter_next_change(node->limiter, 0); p < n;
		p = limiter_next_change(node->limiter, p + 1))
		node_enforce(sim, node, p);
}

void node_enforce_nothing(struct sim *sim, struct node *node)
{
	for (unsigned p = 0; node->enforced && p < sim->scenario->group.n_policies; p++)
		set_enforced(sim, node, p, &(struct enforced){0});
}

/* Sets until when the limits hold without another word of control. */
static void set_lease(struct sim *sim, struct node *node, uint64_t now)
{
	uint64_t lease = sim->scenario->ledger.lease_ns;

	expiry_init(&node->expiry, now + expiry_time(limiter_lease_ends(node->limiter), now, lease),
		2 * lease);
}

void node_lease_start(struct sim *sim, struct node *node)
{
	node->ended = 0;
	set_lease(sim, node, node_clock(sim, node, sim->events.now_ns));
}

void node_lease_renew(struct sim *sim, struct node *node)
{
	uint64_t now = node_clock(sim, node, sim->events.now_ns);

	set_lease(sim, node, now);
	if (!node->ended || expiry_is_past(&node->expiry, now))
		return;
	node->ended = 0;
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		if (policy_is_hard(&sim->scenario->group.policies[p]))
			node_enforce(sim, node, p);
}

static void leases_end(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;
	uint64_t now = node_clock(sim, node, sim->events.now_ns);

	(void)argument;
	/* Skips events from before the end of a pause, or before an end that has been seen. */
	if (!node->paused || !expiry_is_past(&node->expiry, now) ||
		expiry_until(&node->expiry) == 0)
		return;
	node->ended = expiry_see(&node->expiry, now);
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		end_limit(sim, node, p, node->ended);
	for (unsigned w = 0; w < node->engine.n_workers; w++)
		node_await_release(sim, node, w);
}

void node_lease_run_out(struct sim *sim, struct node *node)
{
	uint64_t at = node_time(sim, node, expiry_until(&node->expiry));

	if (!limiter_conserve(node->limiter)) /* no limit has a lease */
		return;
	events_at(&sim->events, at > sim->events.now_ns ? at : sim->events.now_ns, leases_end, node,
		0);
}
