/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "publish.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "box.h"
#include "clock.h"
#include "log.h"
#include "parts.h"
#include "policy/kind.h"
#include "tenant.h"

static void log_limit(const struct policy *policy, int err)
{
	if (err)
		log_err("policy %s: %s", policy->name, strerror(-err));
}

/* What the policy in a slot may pass by now. */
static struct engine_limit published_limit(const struct box *box, unsigned policy)
{
	struct engine_limit limit = {.policy = &box->policies[policy],
		.slot = box->slots.of[policy],
		.hz = box->clock.hz};

	engine_view(&box->engine, box->limiter, policy, &limit);
	return limit;
}

static void join_parts(void *context, uint32_t slot, struct limit_profile *profile)
{
	parts_join(context, slot, profile);
}

static void begin_post(void *context, unsigned worker, const struct limit_profile *profile)
{
	post_begin(&((struct box *)context)->workers[worker].post, profile);
}

static bool send_post(void *context, unsigned worker, const struct limit_profile *profile)
{
	return post_send(&((struct box *)context)->workers[worker].post, profile);
}

/* False when there was no room, in some worker's ring or else. */
static bool send_profile(struct box *box, uint32_t slot)
{
	struct engine_limit limit = published_limit(box, box->slots.tenant[slot]);
	int ret = 0;

	if (engine_is_lent(&box->engine, limit.policy))
		ret = engine_change_reserve(
			&box->engine, &limit, &box->rounds.changes, rte_rdtsc());
	if (ret == 0)
		ret = engine_enforce(&box->engine, &limit, rte_rdtsc());
	if (ret == -EAGAIN)
		return false;
	log_limit(limit.policy, ret);
	return true;
}

/*
 * A reserve's former limit is looked at until all workers have been quiescent: so a round changes
 * each once, and begins when they have been since the round before. False: not yet.
 */
static bool begin_reserve_round(struct box *box)
{
	if (!box->engine.reserves)
		return true;
	if (!publisher_is_past(&box->publisher, box->rounds.ended))
		return false;
	box->rounds.moved = reserve_round(&box->rounds.changes);
	return true;
}

static void end_reserve_round(struct box *box)
{
	if (box->rounds.moved || box->rounds.changes.n)
		box->rounds.ended = publisher_moment(&box->publisher);
}

/* Up to the first that does not fit: the others would not, either. */
static void tell_round(struct box *box)
{
	for (unsigned i = 0; i < PUBLISH_ROUND && !dirty_is_empty(&box->dirty); i++) {
		uint32_t slot = dirty_next(&box->dirty);

		if (!send_profile(box, slot))
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
	if (!begin_reserve_round(box))
		return false;
	tell_round(box);
	end_reserve_round(box);
	return dirty_is_empty(&box->dirty);
}

void publish_begin(struct box *box, unsigned policy, bool spent)
{
	struct engine_limit limit = published_limit(box, policy);

	spent |= policy_is_conserved(limit.policy);
	parts_begin(box, policy);
	log_limit(limit.policy,
		engine_begin(&box->engine, &limit, rte_rdtsc(), control_now(), spent));
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

	box->engine.driver = (struct engine_driver){box, join_parts, begin_post, send_post};
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
