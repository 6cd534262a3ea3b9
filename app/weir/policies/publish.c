/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "publish.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/time.h"
#include "box.h"
#include "log.h"
#include "police/charge.h"
#include "police/lend.h"
#include "police/other.h"
#include "engine/profile.h"
#include "parts.h"
#include "police/shaped.h"
#include "tenant.h"
#include "policy/kind.h"
#include "totals.h"

static bool is_conserved(const struct box *box, unsigned policy)
{
	return box->policies[policy].guarantee == GUARANTEE_CONSERVED;
}

/*
 * The parts of a policy's local limit that workers get; their sum is at most 1. A conserved one's
 * never change: a worker that hears of its larger part before another has heard of its smaller one
 * would pass what is not there.
 */
static void divide(const struct box *box, unsigned policy, double parts[CONFIG_WORKERS_MAX])
{
	static const struct share even[CONFIG_WORKERS_MAX];
	const struct share *shares = box->splits[box->slots.of[policy]].shares;

	for (unsigned w = 0; w < box->config->n_workers; w++)
		parts[w] = 1; /* alone, or of a reserve, which is what limits all */
	if (shares)
		shares_divide(
			is_conserved(box, policy) ? even : shares, box->config->n_workers, parts);
}

/* What the policy in a slot may pass by now. */
static struct limiter_view view_of(const struct box *box, unsigned policy)
{
	struct limiter_view view;

	limiter_view(box->limiter, policy, &view);
	if (box->splits[box->slots.of[policy]].held) {
		view.local_limit = 0;
		view.local_burst = 0;
	}
	return view;
}

static int make_profile(const struct box *box, unsigned policy, double part,
	const struct limiter_view *view, struct limit_profile *profile)
{
	const struct policy *config = &box->policies[policy];
	uint32_t slot = box->slots.of[policy];
	int ret = limit_profile_init(
		profile, config, slot, view, &box->splits[slot].sampling, part, box->clock.hz);

	if (ret)
		log_err("policy %s: %s", config->name, strerror(-ret));
	else if (tenant_is_lent(box, config) && !profile->shaped)
		profile->meter.bucket = police_lent_profile();
	parts_join(box, slot, profile);
	return ret;
}

/*
 * Of what is conserved workers hold no quanta: what is lowered elsewhere would leave them these.
 * Nor where packets wait, each until its own tokens have come.
 */
static bool holds_quanta(const struct box *box, unsigned policy)
{
	return !is_conserved(box, policy) && !policy_is_shaped(&box->policies[policy]);
}

static int make_reserve(const struct box *box, unsigned policy, const struct limiter_view *view,
	struct reserve_profile *profile)
{
	struct token_bucket_params params = {.burst_bytes = view->local_burst};
	int ret;

	limit_rate_params(&params, &box->policies[policy], view->local_limit);
	ret = reserve_profile_init(profile, &params, box->config->n_workers,
		holds_quanta(box, policy) ? box->frame : 0, box->clock.hz);

	if (ret)
		log_err("policy %s: %s", box->policies[policy].name, strerror(-ret));
	return ret;
}

/* Ticks that a packet waits at most. */
static uint64_t longest_wait(const struct box *box, unsigned policy)
{
	return (uint64_t)((unsigned __int128)box->policies[policy].shape.delay_ns * box->clock.hz /
			  SECOND_NS);
}

/* False when the round has no place for it. */
static bool change_reserve(struct box *box, unsigned policy, const struct limiter_view *view)
{
	uint32_t slot = box->slots.of[policy];
	struct reserve *reserve = &box->reserves[slot];
	struct reserve_profile profile;

	if (make_reserve(box, policy, view, &profile))
		return true;
	if (reserve_profile_equal(&profile, reserve->profile))
		return true;
	if (policy_is_timed(&box->policies[policy]))
		return reserve_change_booked(&box->rounds.changes, reserve, &profile,
			&box->splits[slot].reserve_told, longest_wait(box, policy), rte_rdtsc());
	return reserve_change(&box->rounds.changes, reserve, &profile, rte_rdtsc());
}

/* False when there was no room, in some worker's ring or else. */
static bool tell(struct box *box, uint32_t slot)
{
	unsigned policy = box->slots.tenant[slot];
	double parts[CONFIG_WORKERS_MAX];
	struct limiter_view view = view_of(box, policy);
	bool told = true;

	divide(box, policy, parts);
	if (tenant_is_lent(box, &box->policies[policy]))
		told = change_reserve(box, policy, &view);
	for (unsigned w = 0; told && w < box->config->n_workers; w++) {
		struct limit_profile profile;

		if (make_profile(box, policy, parts[w], &view, &profile) == 0)
			told = post_send(&box->workers[w].post, &profile);
	}
	return told;
}

/*
 * A reserve's former limit is looked at until all workers have been quiescent: so a round changes
 * each once, and begins when they have been since the round before. False: not yet.
 */
static bool begin_round(struct box *box)
{
	if (!box->reserves)
		return true;
	if (!publisher_is_past(&box->publisher, box->rounds.ended))
		return false;
	box->rounds.moved = reserve_round(&box->rounds.changes);
	return true;
}

static void end_round(struct box *box)
{
	if (box->rounds.moved || box->rounds.changes.n)
		box->rounds.ended = publisher_moment(&box->publisher);
}

/* Up to the first that does not fit: the others would not, either. */
static void tell_round(struct box *box)
{
	for (unsigned i = 0; i < PUBLISH_ROUND && !dirty_is_empty(&box->dirty); i++) {
		uint32_t slot = dirty_next(&box->dirty);

		if (!tell(box, slot))
			return;
		dirty_told(&box->dirty, slot);
	}
}

void publish_all_later(struct box *box)
{
	for (unsigned p = 0; p < box->n_policies; p++)
		dirty_mark(&box->dirty, box->slots.of[p]);
}

bool publish(struct box *box)
{
	unsigned p = limiter_next_change(box->limiter, 0);

	for (; p < box->n_policies; p = limiter_next_change(box->limiter, p + 1))
		dirty_mark(&box->dirty, box->slots.of[p]);
	return publish_rest(box);
}

bool publish_rest(struct box *box)
{
	if (dirty_is_empty(&box->dirty))
		return true;
	if (!begin_round(box))
		return false;
	tell_round(box);
	end_round(box);
	return dirty_is_empty(&box->dirty);
}

static void begin_reserve(
	struct box *box, unsigned policy, const struct limiter_view *view, bool spent)
{
	uint32_t slot = box->slots.of[policy];
	struct reserve *reserve = &box->reserves[slot];
	struct reserve_profile profile;

	if (make_reserve(box, policy, view, &profile))
		return;
	box->splits[slot].reserve_told = 0;
	reserve_init(reserve, &profile, rte_rdtsc());
	if (spent)
		reserve_spend(reserve);
}

static void begin_queue(struct box *box, uint32_t slot, struct policy_state *state,
	const struct limit_profile *profile, uint64_t now)
{
	const struct policy_start start = {
		.now = now,
		.hz = box->clock.hz,
		.reserve = box->reserves ? &box->reserves[slot] : NULL,
	};

	shaped_init(state, profile, &start);
}

static void begin_worker(struct box *box, unsigned policy, struct worker *worker, double part,
	const struct limiter_view *view, bool spent)
{
	uint32_t slot = box->slots.of[policy];
	struct policy_state *state = &worker->policies[slot];
	uint64_t now = rte_rdtsc();
	struct limit_profile profile;

	if (make_profile(box, policy, part, view, &profile))
		return;
	police_limit(state, &profile, now);
	if (profile.shaped)
		begin_queue(box, slot, state, &profile, now);
	else if (tenant_is_lent(box, &box->policies[policy]))
		police_lend_init(state, box->reserves[slot].profile);
	if (spent)
		policy_state_spend(state, now);
	post_begin(&worker->post, &profile);
}

void publish_begin(struct box *box, unsigned policy, bool spent)
{
	uint32_t slot = box->slots.of[policy];
	double parts[CONFIG_WORKERS_MAX];
	struct limiter_view view = view_of(box, policy);

	spent |= is_conserved(box, policy);
	box->splits[slot].measured_ns = control_now();
	box->splits[slot].packets = 0;
	parts_begin(box, policy);
	divide(box, policy, parts);
	if (tenant_is_lent(box, &box->policies[policy]))
		begin_reserve(box, policy, &view, spent);
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		begin_worker(box, policy, &box->workers[w], parts[w], &view, spent);
		*box_totals(box, slot, w) = (struct police_totals){0};
	}
}

/* The only one who exchanges a snapshot: every line that its classifier leads to is ready. */
void publish_classifier(
	struct box *box, struct snapshot *snapshot, const struct publish_changes *changes)
{
	const struct snapshot *former = box->publisher.current;

	snapshot->leaving = changes->leaving;
	snapshot->n_leaving = changes->n_leaving;
	snapshot->seated = changes->reseats || !former ? snapshot->generation : former->seated;
	snapshot->shapes = false;
	for (unsigned p = 0; p < box->n_policies; p++)
		snapshot->shapes |= policy_is_shaped(&box->policies[p]);
	snapshot->classifier = box->classifier;
	snapshot->sourced = box->sourced;
	snapshot->n_sourced = box->n_sourced;
	publisher_publish(&box->publisher, snapshot);
}

int publish_first(struct box *box)
{
	struct snapshot *snapshot;

	parts_plan(box, NULL, NULL, 0);
	for (unsigned p = 0; p < box->n_policies; p++) {
		int ret = tenant_prepare(box, &box->policies[p], box->slots.of[p], box->clock.hz);

		if (ret)
			return ret;
		publish_begin(box, p, false);
	}
	snapshot = publisher_take(&box->publisher);
	if (!snapshot)
		return -ENOMEM;
	publish_classifier(box, snapshot, &(struct publish_changes){0});
	return 0;
}
