/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "publish.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/bitmap.h"
#include "box.h"
#include "log.h"
#include "police/lend.h"
#include "police/other.h"
#include "police/profile.h"

/* Plain policies draw from a reserve if there are several workers; what others have is divided. */
static bool is_lent(const struct box *box, unsigned policy)
{
	return box->reserves && policy_is_plain(&box->config->policies[policy]);
}

/* The parts of a policy's local limit that workers get; their sum is at most 1. */
static void divide(const struct box *box, unsigned policy, double parts[CONFIG_WORKERS_MAX])
{
	const struct share *shares = box->splits[policy].shares;

	for (unsigned w = 0; w < box->config->n_workers; w++)
		parts[w] = 1; /* alone, or of a reserve, which is what limits all */
	if (shares)
		shares_divide(shares, box->config->n_workers, parts);
}

static int make_profile(const struct box *box, unsigned policy, double part,
	const struct limiter_view *view, struct limit_profile *profile)
{
	const struct policy *config = &box->config->policies[policy];
	int ret = limit_profile_init(
		profile, config, policy, view, &box->splits[policy].sampling, part, box->clock.hz);

	if (ret)
		log_err("policy %s: %s", config->name, strerror(-ret));
	else if (is_lent(box, policy))
		profile->meter.bucket = police_lent_profile();
	return ret;
}

static int make_reserve(const struct box *box, unsigned policy, const struct limiter_view *view,
	struct reserve_profile *profile)
{
	struct token_bucket_params params = {
		.rate_bps = (uint64_t)(view->local_limit * 8),
		.burst_bytes = view->local_burst,
	};
	int ret = reserve_profile_init(
		profile, &params, box->config->n_workers, true, box->clock.hz);

	if (ret)
		log_err("policy %s: %s", box->config->policies[policy].name, strerror(-ret));
	return ret;
}

/* False when the round has no place for it. */
static bool change_reserve(struct box *box, unsigned policy, const struct limiter_view *view)
{
	struct reserve *reserve = &box->reserves[policy];
	struct reserve_profile profile;

	if (make_reserve(box, policy, view, &profile))
		return true;
	if (reserve_profile_equal(&profile, reserve->profile))
		return true;
	return reserve_change(&box->changes, reserve, &profile, rte_rdtsc());
}

/* False when there was no room, in some worker's ring or else. */
static bool tell(struct box *box, unsigned policy)
{
	double parts[CONFIG_WORKERS_MAX];
	struct limiter_view view;
	bool told = true;

	limiter_view(box->limiter, policy, &view);
	divide(box, policy, parts);
	if (is_lent(box, policy))
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
	if (rte_rcu_qsbr_check(box->publisher.rcu, box->reserves_token, false) != 1)
		return false;
	box->reserves_moved = reserve_round(&box->changes);
	return true;
}

static void end_round(struct box *box)
{
	if (box->reserves_moved || box->changes.n)
		box->reserves_token = rte_rcu_qsbr_start(box->publisher.rcu);
}

/* The next policy to tell of, after the last one: those whose turn has come are not overtaken. */
static unsigned next_untold(const struct box *box)
{
	unsigned n = box->config->n_policies;
	unsigned policy = bitmap_next(box->untold, n, box->told_to);

	return policy < n ? policy : bitmap_next(box->untold, n, 0);
}

/* Up to the first that does not fit: the others would not, either. */
static void tell_round(struct box *box)
{
	for (unsigned i = 0; i < PUBLISH_ROUND; i++) {
		unsigned policy = next_untold(box);

		box->all_told = policy == box->config->n_policies;
		if (box->all_told || !tell(box, policy))
			return;
		bitmap_clear(box->untold, policy);
		box->told_to = policy + 1;
	}
}

void publish_later(struct box *box, unsigned policy)
{
	bitmap_set(box->untold, policy);
	box->all_told = false;
}

void publish_all_later(struct box *box)
{
	for (unsigned p = 0; p < box->config->n_policies; p++)
		publish_later(box, p);
}

bool publish(struct box *box)
{
	unsigned n = box->config->n_policies;

	for (unsigned p = limiter_next_change(box->limiter, 0); p < n;
		p = limiter_next_change(box->limiter, p + 1))
		publish_later(box, p);
	return publish_rest(box);
}

bool publish_rest(struct box *box)
{
	if (box->all_told || !begin_round(box))
		return box->all_told;
	tell_round(box);
	end_round(box);
	return box->all_told;
}

static int begin_reserve(struct box *box, unsigned policy, const struct limiter_view *view)
{
	struct reserve_profile profile;
	int ret = make_reserve(box, policy, view, &profile);

	if (ret == 0)
		reserve_init(&box->reserves[policy], &profile, rte_rdtsc());
	return ret;
}

static int begin_worker(struct box *box, unsigned policy, struct worker *worker, double part,
	const struct limiter_view *view)
{
	struct limit_profile profile;
	int ret = make_profile(box, policy, part, view, &profile);

	if (ret == 0)
		ret = worker_add_policy(worker, &box->config->policies[policy], &profile);
	if (ret)
		return ret;
	if (is_lent(box, policy))
		police_lend_init(&worker->policies[policy], box->reserves[policy].profile);
	post_begin(&worker->post, &profile);
	return 0;
}

static int begin_policy(struct box *box, unsigned policy)
{
	double parts[CONFIG_WORKERS_MAX];
	struct limiter_view view;
	int ret = 0;

	limiter_view(box->limiter, policy, &view);
	divide(box, policy, parts);
	if (is_lent(box, policy))
		ret = begin_reserve(box, policy, &view);
	for (unsigned w = 0; ret == 0 && w < box->config->n_workers; w++)
		ret = begin_worker(box, policy, &box->workers[w], parts[w], &view);
	return ret;
}

/* The only one who exchanges a snapshot: every line that its classifier leads to is ready. */
static int publish_classifier(struct box *box)
{
	struct snapshot *snapshot;

	publisher_reclaim(&box->publisher);
	snapshot = publisher_take(&box->publisher);
	if (!snapshot)
		return -ENOMEM;
	snapshot->classifier = box->classifier;
	publisher_publish(&box->publisher, snapshot);
	return 0;
}

int publish_first(struct box *box)
{
	int ret = 0;

	for (unsigned p = 0; ret == 0 && p < box->config->n_policies; p++)
		ret = begin_policy(box, p);
	return ret ? ret : publish_classifier(box);
}
