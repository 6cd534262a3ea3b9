/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts the limits that a limiter has decided into the profiles of its workers.
 */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "base/expiry.h"
#include "base/math.h"
#include "base/time.h"
#include "engine/counts.h"
#include "police/charge.h"
#include "police/borrow.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "police/try.h"
#include "policy/kind.h"
#include "policy/trial.h"

int engine_init(struct engine *engine, unsigned n_workers, unsigned n_cpus)
{
	engine->n_workers = n_workers;
	engine->n_cpus = n_cpus;
	engine->workers = calloc(engine_lines(engine), sizeof(*engine->workers));
	engine->flows = calloc((size_t)engine_lines(engine) * FLOW_SLOTS, sizeof(*engine->flows));
	return engine->workers && engine->flows ? 0 : -ENOMEM;
}

void engine_free(struct engine *engine)
{
	free(engine->workers);
	free(engine->flows);
	engine->workers = NULL;
	engine->flows = NULL;
}

/*
 * Sets the parent of a policy for the division of rates. A policy that limits no rate has no part
 * of an ancestor's limit: its packets count as the ancestor's own.
 */
static void place_in_tree(
	const struct policy *policies, unsigned index, struct limiter_policy *limits)
{
	const struct policy *policy = &policies[index];
	int divider = policy_divider(policies, index);

	limits[index].below = limits[policy->parent].id | 1;
	if (divider == POLICY_NO_PARENT)
		return;
	if (!policy_limits_rate(policy)) {
		limits[divider].own |= !policy->unmatched;
		return;
	}
	limits[index].child = true;
	limits[index].parent = limits[divider].id;
	limits[index].guaranteed_bps = policy->guaranteed_bps;
}

struct limiter_policy *engine_limiter_policies(
	const struct policy *policies, unsigned n, enum loans loans, int64_t unix_s)
{
	struct limiter_policy *limits = calloc((size_t)n + 1, sizeof(*limits));

	for (unsigned i = 0; limits && i < n; i++) {
		limits[i] = limit_profile_policy(&policies[i], unix_s);
		limits[i].lends = policy_lends(&policies[i], loans);
	}
	for (unsigned i = 0; limits && i < n; i++)
		if (policy_has_parent(&policies[i]))
			place_in_tree(policies, i, limits);
	return limits;
}

bool engine_is_borrowed(const struct engine *engine, const struct policy *policy)
{
	return engine->shared_buckets &&
	       (policy_shares_shared_bucket(policy) ||
		       (engine->n_cpus > 0 && policy_is_one_bucket(policy)));
}

void engine_view(const struct engine *engine, const struct limiter *limiter, unsigned index,
	struct engine_limit *limit)
{
	limiter_view(limiter, index, &limit->view);
	if (engine->slots[limit->slot].held) {
		limit->view.local_limit = 0;
		limit->view.local_burst = 0;
	}
}

static uint64_t trial_burst(const struct engine_limit *limit, const struct policy *trial)
{
	double part = limit_burst_part(limit->policy, &limit->view);
	uint64_t burst = (uint64_t)((double)trial->burst_bytes * part);
	uint64_t least = limit_burst_least(limit->policy);

	if (!policy_is_hard(limit->policy) && part > 0 && burst < least)
		burst = min_u64(least, trial->burst_bytes);
	return burst;
}

bool engine_trial(
	const struct engine *engine, const struct engine_limit *limit, struct engine_trial *trial)
{
	unsigned line = engine->slots[limit->slot].trial;

	if (line == 0 || !policy_has_trial(limit->policy))
		return false;
	trial->policy = policy_trial(limit->policy);
	trial->limit = (struct engine_limit){
		.policy = &trial->policy,
		.slot = trial_slot(limit->slot, line, engine->n_slots),
		.hz = limit->hz,
		.clock = limit->clock,
		.view.local_limit = policy_rate(&trial->policy) *
				    limit_part(limit->policy, &limit->view),
		.view.local_burst = trial_burst(limit, &trial->policy),
	};
	return true;
}

/*
 * Computes the workers' parts of a policy's local limit; their sum is at most 1. Parts of a hard
 * limit are equal and never change. Otherwise one worker might apply its larger part before another
 * applies its smaller one, and both together would exceed the limit.
 */
static void divide_limit(
	const struct engine *engine, const struct engine_limit *limit, double *parts)
{
	static const struct share even[CONFIG_WORKERS_MAX];
	const struct share *shares = engine->slots[limit->slot].shares;

	for (unsigned w = 0; w < engine->n_workers; w++)
		parts[w] = 1; /* single worker, or a shared bucket that limits all */
	if (shares)
		shares_divide(
			policy_is_hard(limit->policy) ? even : shares, engine->n_workers, parts);
}

int engine_profile(const struct engine *engine, const struct engine_limit *limit, double part,
	struct limit_profile *profile)
{
	int ret = limit_profile_init(profile, limit->policy, limit->slot, &limit->view,
		&engine->slots[limit->slot].sampling, part, limit->hz);

	if (ret == 0 && engine_is_borrowed(engine, limit->policy) && !profile->shaped)
		profile->meter.bucket = police_borrow_profile();
	return ret;
}

/*
 * Returns true if workers hold quanta of the shared bucket. They hold none of a hard limit: if it
 * falls, they would still have them. They hold none for counts of packets, and none for queues,
 * where each packet waits for its own tokens.
 */
static bool holds_quanta(const struct policy *policy)
{
	return !policy_is_hard(policy) && !policy_is_shaped(policy) && policy->count == COUNT_BYTES;
}

static int shared_bucket_profile_of(const struct engine *engine, const struct engine_limit *limit,
	struct shared_bucket_profile *profile)
{
	struct token_bucket_params params = {.burst_bytes = limit->view.local_burst,
		.unit_bits = (uint8_t)policy_unit_bits(limit->policy)};

	limit_rate_params(&params, limit->policy, limit->view.local_limit);
	return shared_bucket_profile_init(profile, &params, engine_lines_of(engine, limit->slot),
		holds_quanta(limit->policy) ? engine->frame : 0, limit->hz);
}

static int make_profile(const struct engine *engine, const struct engine_limit *limit, double part,
	struct limit_profile *profile)
{
	const struct engine_driver *driver = &engine->driver;
	int ret = engine_profile(engine, limit, part, profile);

	if (profile->shaped)
		profile->shape.terms.clock = limit->clock;
	if (ret == 0 && driver->join && !engine_is_borrowed(engine, limit->policy))
		driver->join(driver->context, limit->slot, profile);
	return ret;
}

static int begin_shared_bucket(
	struct engine *engine, const struct engine_limit *limit, uint64_t now, bool spent)
{
	struct shared_bucket *shared = &engine->shared_buckets[limit->slot];
	struct shared_bucket_profile profile;
	int ret = shared_bucket_profile_of(engine, limit, &profile);

	if (ret)
		return ret;
	engine->slots[limit->slot].shared_published = 0;
	engine->slots[limit->slot].ended = 0;
	engine->slots[limit->slot].ending = limit->view.ending;
	shared_bucket_init(shared, &profile, now);
	if (spent)
		shared_bucket_spend(shared);
	return 0;
}

static void begin_queue(struct engine *engine, const struct engine_limit *limit,
	struct policy_state *state, const struct limit_profile *profile, uint64_t now)
{
	const struct policy_start start = {
		.now = now,
		.hz = limit->hz,
		.shared = engine->shared_buckets ? &engine->shared_buckets[limit->slot] : NULL,
	};

	shaped_init(state, profile, &start);
}

static void begin_worker(struct engine *engine, const struct engine_limit *limit, unsigned worker,
	const struct limit_profile *profile, uint64_t now, bool spent)
{
	struct policy_state *state = &engine->workers[worker].states[limit->slot];
	const struct engine_driver *driver = &engine->driver;

	police_limit(state, profile, now);
	if (profile->shaped)
		begin_queue(engine, limit, state, profile, now);
	else if (engine_is_borrowed(engine, limit->policy))
		police_borrow_init(state, &engine->shared_buckets[limit->slot].profiles[0]);
	if (spent)
		policy_state_spend(state, now);
	if (driver->begun)
		driver->begun(driver->context, worker, profile);
}

/*
 * Returns the part of a line. The CPUs of the kernel use only shared buckets, which limit all
 * lines.
 */
static double part_of_line(const struct engine *engine, const double *parts, unsigned line)
{
	return line < engine->n_workers ? parts[line] : 1;
}

static int begin_limit(struct engine *engine, const struct engine_limit *limit, uint64_t now,
	uint64_t now_ns, bool spent)
{
	struct engine_slot *slot = &engine->slots[limit->slot];
	double parts[CONFIG_WORKERS_MAX];
	int ret = 0;

	slot->measured_ns = now_ns;
	slot->packets = 0;
	divide_limit(engine, limit, parts);
	if (engine_is_borrowed(engine, limit->policy))
		ret = begin_shared_bucket(engine, limit, now, spent);
	for (unsigned w = 0; w < engine_lines_of(engine, limit->slot); w++) {
		struct limit_profile profile;
		int err = make_profile(engine, limit, part_of_line(engine, parts, w), &profile);

		if (err == 0)
			begin_worker(engine, limit, w, &profile, now, spent);
		ret = ret ? ret : err;
		*engine_totals_of(engine, limit->slot, w) = (struct police_totals){0};
	}
	return ret;
}

int engine_begin(struct engine *engine, const struct engine_limit *limit, uint64_t now,
	uint64_t now_ns, bool spent)
{
	int ret = begin_limit(engine, limit, now, now_ns, spent);
	int err = engine_begin_trial(engine, limit, now, now_ns);

	return ret ? ret : err;
}

int engine_begin_trial(
	struct engine *engine, const struct engine_limit *limit, uint64_t now, uint64_t now_ns)
{
	struct engine_trial trial;

	if (!engine_trial(engine, limit, &trial))
		return 0;
	return begin_limit(engine, &trial.limit, now, now_ns, false);
}

static void publish_to_worker(struct engine *engine, const struct engine_limit *limit,
	unsigned worker, const struct limit_profile *profile, uint64_t now)
{
	const struct engine_driver *driver = &engine->driver;
	struct policy_state *state = &engine->workers[worker].states[limit->slot];

	if (driver->publish) {
		driver->publish(driver->context, worker, profile);
		return;
	}
	police_limit(state, profile, now);
	if (profile->shaped)
		shaped_limit(engine->workers[worker].shaper, state, profile, now, limit->hz);
}

/* Returns the longest wait of a packet, in ticks. */
static uint64_t longest_wait(const struct engine_limit *limit)
{
	return (uint64_t)((unsigned __int128)limit->policy->shape.delay_ns * limit->hz / SECOND_NS);
}

/*
 * Changes the limit after part of it has ended. Since then, virtual time ran at the rate of the
 * rest.
 */
static void change_ended(struct shared_bucket *shared, const struct shared_bucket_profile *profile,
	const struct engine_slot *slot, uint64_t now)
{
	uint64_t at = expiry_slowed(slot->ended, now, slot->ending);

	shared_bucket_trim(shared, at, now, slot->ending, 0);
	shared_bucket_change_since(shared, profile, at, now);
}

/* Changes the limit immediately for all workers. Returns 0, or -ERANGE without a change. */
static int change_shared_bucket(
	struct engine *engine, const struct engine_limit *limit, uint64_t now)
{
	struct shared_bucket *shared = &engine->shared_buckets[limit->slot];
	struct engine_slot *slot = &engine->slots[limit->slot];
	struct shared_bucket_profile profile, present = shared_bucket_read(shared);
	int ret = shared_bucket_profile_of(engine, limit, &profile);

	if (ret)
		return ret;
	if (slot->restarts)
		shared_bucket_restart(shared, &profile, now);
	else if (slot->ended)
		change_ended(shared, &profile, slot, now);
	else if (!shared_bucket_profile_equal(&profile, &present)) {
		if (policy_is_timed(limit->policy))
			shared_bucket_change_booked(shared, &profile, &slot->shared_published,
				longest_wait(limit), now);
		else
			shared_bucket_change(shared, &profile, now);
	}
	slot->ending = limit->view.ending;
	slot->ended = 0;
	slot->restarts = false;
	return 0;
}

/*
 * Sends profiles without a rate, because the shared bucket has it. Calculating the rate again would
 * be most of the cost of a change.
 */
static void publish_to_borrowers(
	struct engine *engine, const struct engine_limit *limit, uint64_t now)
{
	struct limit_profile profile;

	limit_profile_borrowed(&profile, limit->policy, limit->slot, &limit->view,
		&engine->slots[limit->slot].sampling);
	for (unsigned w = 0; w < engine_lines_of(engine, limit->slot); w++)
		publish_to_worker(engine, limit, w, &profile, now);
}

static int publish_limit(struct engine *engine, const struct engine_limit *limit, uint64_t now)
{
	double parts[CONFIG_WORKERS_MAX];
	struct limit_profile profile;
	int ret = 0, err = 0;

	divide_limit(engine, limit, parts);
	for (unsigned w = 0; w < engine_lines_of(engine, limit->slot); w++) {
		/* Equal parts share one profile. */
		if (w == 0 || part_of_line(engine, parts, w) != part_of_line(engine, parts, w - 1))
			err = make_profile(engine, limit, part_of_line(engine, parts, w), &profile);
		if (err == 0)
			publish_to_worker(engine, limit, w, &profile, now);
		ret = ret ? ret : err;
	}
	return ret;
}

static int enforce_limit(struct engine *engine, const struct engine_limit *limit, uint64_t now)
{
	int ret;

	if (!engine_is_borrowed(engine, limit->policy))
		return publish_limit(engine, limit, now);
	ret = change_shared_bucket(engine, limit, now);
	if (ret)
		return ret;
	if (policy_is_shaped(limit->policy))
		return publish_limit(engine, limit, now);
	publish_to_borrowers(engine, limit, now);
	return 0;
}

int engine_enforce(struct engine *engine, const struct engine_limit *limit, uint64_t now)
{
	int ret = enforce_limit(engine, limit, now), err = 0;
	struct engine_trial trial;

	if (engine_trial(engine, limit, &trial))
		err = enforce_limit(engine, &trial.limit, now);
	return ret ? ret : err;
}

int engine_worker_profile(const struct engine *engine, const struct engine_limit *limit,
	unsigned worker, struct limit_profile *profile)
{
	double parts[CONFIG_WORKERS_MAX];

	divide_limit(engine, limit, parts);
	return make_profile(engine, limit, parts[worker], profile);
}

static struct shared_bucket *bucket_of(const struct lending_place *place)
{
	return &place->engine->shared_buckets[place->slot];
}

/* Bytes per second, rounded up. */
static uint64_t rate_of(const struct lending_place *place, uint64_t tokens_a_tick)
{
	return (uint64_t)((tokens_t)tokens_a_tick * place->hz >> TOKEN_SHIFT) + 1;
}

struct loan_bucket lending_look(const struct lending_place *place)
{
	struct shared_bucket copy;

	shared_bucket_copy(bucket_of(place), &copy);
	return (struct loan_bucket){
		.level = shared_bucket_level(&copy, place->now),
		.burst = copy.profiles[0].burst >> GCRA_SHIFT,
		.rate = rate_of(place, copy.profiles[0].rate),
	};
}

/*
 * Makes the bucket shallower. Control later publishes a limit that is smaller by the same amount,
 * and that changes nothing more.
 */
static void withhold_depth(const struct lending_place *place, uint64_t bytes)
{
	struct shared_bucket_profile profile = shared_bucket_read(bucket_of(place));

	profile.burst -= bytes << GCRA_SHIFT;
	shared_bucket_change(bucket_of(place), &profile, place->now);
}

struct loan_taken lending_take(
	const struct lending_place *place, uint64_t keep, uint64_t most, bool withhold)
{
	const struct engine_slot *slot = &place->engine->slots[place->slot];
	struct shared_bucket_loan loan;

	/* Virtual time is shifted until control publishes the limit again, so it lends nothing. */
	if (withhold && (slot->ended || slot->restarts))
		return (struct loan_taken){0};
	loan = shared_bucket_lend(bucket_of(place), place->now, keep, most);
	if (withhold && loan.units > 0)
		withhold_depth(place, loan.units);

	return (struct loan_taken){
		.bytes = loan.units,
		.room = loan.room,
		.rate = rate_of(place, loan.rate),
	};
}

uint64_t lending_seen(const struct lending_place *place)
{
	return shared_bucket_seen(bucket_of(place));
}

bool lending_give(const struct lending_place *place, uint64_t seen, uint64_t *bytes)
{
	return shared_bucket_give(bucket_of(place), seen, place->now, bytes);
}
