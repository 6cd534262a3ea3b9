/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "publish.h"

#include <errno.h>
#include <string.h>

#include "box.h"
#include "log.h"
#include "police/profile.h"

/* A worker without traffic keeps this part of an even share, for its first packets. */
#define SPLIT_FLOOR 0.05

#define WORD 64 /* policies in a word of box->untold */

/* Part of a policy's local limit that a worker gets; the parts sum to 1. */
static double worker_share(const struct box *box, unsigned policy, unsigned worker)
{
	const struct split *split = &box->splits[policy];
	unsigned n = box->config->n_workers;
	double sum = 0;

	if (n == 1)
		return 1;
	for (unsigned i = 0; i < n; i++)
		sum += split->demand[i].rate;
	if (sum <= 0)
		return 1.0 / n;
	return SPLIT_FLOOR / n + (1 - SPLIT_FLOOR) * split->demand[worker].rate / sum;
}

static int make_profile(const struct box *box, unsigned policy, unsigned worker,
	const struct limiter_view *view, struct limit_profile *profile)
{
	const struct policy *config = &box->config->policies[policy];
	int ret = limit_profile_init(profile, config, policy, view, &box->splits[policy].sampling,
		worker_share(box, policy, worker), box->clock.hz);

	if (ret)
		log_err("policy %s: %s", config->name, strerror(-ret));
	return ret;
}

/* False when some worker's ring had no room. */
static bool tell(struct box *box, unsigned policy)
{
	struct limiter_view view;
	bool told = true;

	limiter_view(box->limiter, policy, &view);
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		struct limit_profile profile;

		if (make_profile(box, policy, w, &view, &profile) == 0)
			told &= post_send(&box->workers[w].post, &profile);
	}
	return told;
}

bool publish(struct box *box)
{
	bool told = true;

	memset(box->untold, 0, (box->config->n_policies / WORD + 1) * sizeof(*box->untold));
	for (unsigned p = 0; p < box->config->n_policies; p++) {
		if (tell(box, p))
			continue;
		box->untold[p / WORD] |= UINT64_C(1) << p % WORD;
		told = false;
	}
	box->all_told = told;
	return told;
}

bool publish_rest(struct box *box)
{
	bool told = true;

	if (box->all_told)
		return true;
	for (unsigned word = 0; word <= box->config->n_policies / WORD; word++)
		for (uint64_t left = box->untold[word]; left; left &= left - 1) {
			unsigned bit = (unsigned)__builtin_ctzll(left);

			if (tell(box, word * WORD + bit))
				box->untold[word] &= ~(UINT64_C(1) << bit);
			else
				told = false;
		}
	box->all_told = told;
	return told;
}

static int begin_policy(struct box *box, unsigned policy)
{
	struct limiter_view view;
	int ret = 0;

	limiter_view(box->limiter, policy, &view);
	for (unsigned w = 0; ret == 0 && w < box->config->n_workers; w++) {
		struct limit_profile profile;

		ret = make_profile(box, policy, w, &view, &profile);
		if (ret == 0)
			ret = worker_add_policy(
				&box->workers[w], &box->config->policies[policy], &profile);
		if (ret == 0)
			post_begin(&box->workers[w].post, &profile);
	}
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
