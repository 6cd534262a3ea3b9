/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * An engine whose workers are states, not threads: for the simulator and the replay of captures.
 */
#include "engine/states.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "police/borrow.h"
#include "police/expire.h"
#include "police/lineage.h"
#include "police/sample.h"
#include "police/shaped.h"
#include "police/try.h"
#include "policy/kind.h"
#include "policy/trial.h"

struct engine;
struct engine_worker;
struct policy_shape;
struct policy_state;
struct shape_packet;

/*
 * Charges a packet to its policy and all ancestors, or to none, on a worker whose states the engine
 * changes itself.
 */

/*
 * Lends the policy in a slot the missing tokens for a packet of that cost, from the bucket that
 * workers share. Does nothing if the policy does not borrow.
 */
static void state_lend(const struct engine *engine, struct policy_state *state, uint32_t slot,
	uint32_t cost, uint64_t now)
{
	const struct engine_slot *of = &engine->slots[slot];
	const struct police_end end = {.from = of->ended, .ending = of->ending};
	struct shared_bucket *shared = engine->shared_buckets;

	if (!shared)
		return;
	if (of->ended && (police_is_simple(state) || police_borrows(state)))
		(void)police_borrow_ended(state, &shared[slot], cost, now, &end);
	else if (police_is_simple(state))
		(void)police_borrow(state, &shared[slot], cost, now);
	else if (police_borrows(state))
		(void)police_borrow_other(state, &shared[slot], cost, now);
}

/*
 * Replaces marking, which this engine cannot do. An ECN mark, which a sender takes for congestion,
 * becomes a drop. Other marks only count.
 */
static enum verdict mark_as(struct lineage *lineage)
{
	unsigned k = police_lineage_marker(lineage);

	if (police_mark(lineage->levels[k]) != MARK_ECN)
		return VERDICT_COUNT;
	police_lineage_refuse(lineage, k);
	return VERDICT_DROP;
}

/* Samples the packet at each level that it reaches. */
static void sample_levels(
	struct engine_worker *mine, const struct lineage_packet *asked, unsigned from, unsigned to)
{
	const struct lineage *lineage = &asked->lineage;

	for (unsigned k = from; k < to; k++) {
		struct flow_sample *sample = mine->samples[asked->slots->slots[k]];

		if (police_samples(lineage->levels[k]) && sample)
			police_sample(sample, lineage->levels[k], asked->packet, asked->data,
				lineage->cost);
	}
}

enum verdict engine_states_ask_levels(
	struct engine *engine, unsigned worker, struct lineage_packet *asked)
{
	struct engine_worker *mine = &engine->workers[worker];
	const uint32_t *slots = asked->slots->slots;
	struct lineage *lineage = &asked->lineage;

	*lineage = (struct lineage){.n = asked->slots->n};
	for (unsigned k = 0; k < lineage->n; k++)
		lineage->levels[k] = &mine->states[slots[k]];
	police_lineage_begin(lineage, police_cost(lineage->levels[0], asked->packet, asked->data,
					      asked->frame_len, asked->now));
	sample_levels(mine, asked, 0, 1);
	for (unsigned k = 0; k < lineage->n; k++)
		state_lend(engine, lineage->levels[k], slots[k], lineage->cost, asked->now);
	if (police_lineage_asks_source(lineage))
		police_lineage_source(lineage, asked->packet, asked->data, asked->now);
	return police_lineage_ask(lineage, asked->now);
}

bool engine_states_settle_levels(
	struct engine *engine, unsigned worker, struct lineage_packet *asked)
{
	sample_levels(&engine->workers[worker], asked, 1, police_lineage_reached(&asked->lineage));
	return police_lineage_settle(&asked->lineage, asked->now);
}

enum verdict engine_states_police_levels(struct engine *engine, unsigned worker,
	const struct lineage_slots *slots, const struct packet *packet, const uint8_t *data,
	uint32_t frame_len, uint64_t now, struct lineage_charge *charge)
{
	struct lineage_packet asked = {
		.slots = slots, .packet = packet, .data = data, .frame_len = frame_len, .now = now};
	enum verdict verdict = engine_states_ask_levels(engine, worker, &asked);

	if (verdict == VERDICT_MARK)
		verdict = mark_as(&asked.lineage);
	charge->cost = asked.lineage.cost;
	charge->reached = police_lineage_reached(&asked.lineage);
	return engine_states_settle_levels(engine, worker, &asked) ? verdict : VERDICT_DROP;
}

/* Returns the ancestors of a policy whose packets wait. */
static struct lineage above_of(
	struct engine_worker *worker, uint32_t slot, const struct shape_packet *packet)
{
	struct lineage_slots slots = engine_states_lineage(worker->engine->policies, slot);
	struct lineage lineage = {.n = slots.n - 1,
		.total = slots.n - 1,
		.cost = packet->cost,
		.over = packet->spare};

	for (unsigned k = 0; k < lineage.n; k++)
		lineage.levels[k] = &worker->states[slots.slots[k + 1]];
	return lineage;
}

static void lend_above(struct engine_worker *worker, const struct lineage *lineage, uint64_t now)
{
	for (unsigned k = 0; k < lineage->n; k++)
		state_lend(worker->engine, lineage->levels[k],
			(uint32_t)(lineage->levels[k] - worker->states), lineage->cost, now);
}

/* The packet stores the levels that caused the verdict until it is counted. */
static bool take_above(
	void *context, struct shape_queue *queue, struct shape_packet *packet, uint64_t now)
{
	struct engine_worker *worker = context;
	struct lineage lineage = above_of(worker, ((struct policy_shape *)queue)->slot, packet);
	enum verdict verdict;

	lineage.over = 0;
	lend_above(worker, &lineage, now);
	verdict = police_lineage_ask(&lineage, now);
	if (verdict == VERDICT_MARK)
		verdict = mark_as(&lineage);
	if (verdict == VERDICT_DROP)
		return false;
	police_lineage_take(&lineage);
	packet->spare = (uint8_t)lineage.over;
	return true;
}

static void give_above(void *context, struct shape_queue *queue, struct shape_packet *packet)
{
	struct lineage lineage = above_of(context, ((struct policy_shape *)queue)->slot, packet);

	police_lineage_give(&lineage);
}

/* Counts a packet that leaves at the ancestors. */
static void state_above_count(struct engine_worker *worker, const struct policy_shape *shape,
	const struct shape_packet *packet)
{
	struct lineage lineage = above_of(worker, shape->slot, packet);

	police_lineage_count(&lineage);
}

struct lineage_slots engine_states_lineage(const struct policy *policies, unsigned policy)
{
	struct lineage_slots lineage = {.slots = {policy}, .n = 1};

	for (; policy_has_parent(&policies[policy]); policy = (unsigned)policies[policy].parent)
		lineage.slots[lineage.n++] = (uint32_t)policies[policy].parent;
	return lineage;
}

/* Allocates whole cache lines of zeros, at least one; NULL: no memory. */
static void *lines_alloc(size_t size)
{
	size_t whole = (size / CACHE_LINE + 1) * CACHE_LINE;
	void *memory = aligned_alloc(CACHE_LINE, whole);

	return memory ? memset(memory, 0, whole) : NULL;
}

int engine_states_alloc(struct engine *engine, unsigned n_workers, unsigned n_policies)
{
	size_t n = trial_lines(n_policies) + 1;
	int ret = engine_init(engine, n_workers, 0);

	engine->n_slots = n_policies;
	engine->slots = calloc(n, sizeof(*engine->slots));
	engine->totals = calloc(n * n_workers, sizeof(*engine->totals));
	if (!engine->slots || !engine->totals)
		ret = -ENOMEM;
	if (n_workers > 1 && engine_states_share(engine, n_policies))
		ret = -ENOMEM;
	for (unsigned w = 0; ret == 0 && w < n_workers; w++) {
		struct engine_worker *worker = &engine->workers[w];
		const size_t lines = trial_lines(n_policies);

		worker->states = lines_alloc(lines * sizeof(*worker->states));
		worker->samples = calloc(lines + 1, sizeof(*worker->samples));
		if (!worker->states || !worker->samples)
			ret = -ENOMEM;
	}
	return ret;
}

int engine_states_share(struct engine *engine, unsigned n_policies)
{
	size_t n = trial_lines(n_policies) + 1;

	if (!engine->shared_buckets)
		engine->shared_buckets = lines_alloc(n * sizeof(*engine->shared_buckets));
	return engine->shared_buckets ? 0 : -ENOMEM;
}

static void worker_free(struct engine_worker *worker, size_t lines)
{
	for (size_t i = 0; i < lines; i++) {
		if (worker->states)
			free(policy_state_memory(&worker->states[i]));
		if (worker->samples)
			free(worker->samples[i]);
	}
	free(worker->states);
	free(worker->samples);
	free(worker->shaper_memory);
}

void engine_states_free(struct engine *engine, unsigned n_policies)
{
	for (unsigned w = 0; engine->workers && w < engine->n_workers; w++)
		worker_free(&engine->workers[w], trial_lines(n_policies));
	for (size_t i = 0; engine->slots && i < trial_lines(n_policies); i++)
		free(engine->slots[i].shares);
	free(engine->slots);
	free(engine->totals);
	free(engine->shared_buckets);
	engine_free(engine);
	*engine = (struct engine){0};
}

/* Most of this memory is never touched, so it is not resident. */
int engine_states_wait(struct engine *engine, const struct policy *policies, uint32_t most,
	uint64_t hz, uint64_t now)
{
	engine->policies = policies;
	for (unsigned w = 0; w < engine->n_workers; w++) {
		struct engine_worker *worker = &engine->workers[w];
		/* The ancestors' decision on a packet that leaves the shaper. */
		const struct shape_above above = {
			.take = take_above, .give = give_above, .context = worker};
		uintptr_t at;

		worker->shaper_memory = calloc(1, shaper_bytes(most) + CACHE_LINE);
		if (!worker->shaper_memory)
			return -ENOMEM;
		at = (uintptr_t)worker->shaper_memory + CACHE_LINE - 1;
		worker->shaper = (struct shaper *)(at / CACHE_LINE * CACHE_LINE);
		shaper_init(worker->shaper, hz, most, now);
		worker->engine = engine;
		shaper_ask(worker->shaper, &above);
	}
	return 0;
}

/* Allocates the shares of several workers, if they have no shared bucket. */
static int shares_alloc(struct engine *engine, const struct engine_limit *limit)
{
	struct engine_slot *slot = &engine->slots[limit->slot];

	if (engine->n_workers == 1 || slot->shares || engine_is_borrowed(engine, limit->policy))
		return 0;
	slot->shares = calloc(engine->n_workers, sizeof(*slot->shares));
	return slot->shares ? 0 : -ENOMEM;
}

static int add_state(struct engine *engine, unsigned worker, const struct engine_limit *limit,
	const struct policy_start *start)
{
	struct engine_worker *mine = &engine->workers[worker];
	size_t bytes = policy_extended_bytes(limit->policy);
	struct limit_profile profile;
	void *memory = NULL;
	int ret = engine_profile(engine, limit, 1, &profile);

	if (ret == 0)
		ret = shares_alloc(engine, limit);
	if (ret)
		return ret;
	if (policy_samples_flows(limit->policy)) {
		mine->samples[limit->slot] = calloc(1, sizeof(struct flow_sample));
		if (!mine->samples[limit->slot])
			return -ENOMEM;
	}
	if (bytes) {
		memory = lines_alloc(bytes);
		if (!memory)
			return -ENOMEM;
	}
	policy_state_init(&mine->states[limit->slot], memory, limit->policy, &profile, start);
	return 0;
}

int engine_states_add(struct engine *engine, unsigned worker, const struct engine_limit *limit,
	const struct policy_start *start)
{
	int ret = add_state(engine, worker, limit, start);
	struct engine_trial trial;

	if (ret || !policy_has_trial(limit->policy))
		return ret;
	engine->slots[limit->slot].trial = 1;
	police_set_trial(&engine->workers[worker].states[limit->slot], 1);
	(void)engine_trial(engine, limit, &trial);
	return add_state(engine, worker, &trial.limit, start);
}

/* Counts the packet in the trial first, independent of its verdict. */
static void try_state(const struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now)
{
	struct policy_state *states = engine->workers[worker].states;
	unsigned line = police_trial(&states[slot]);
	uint32_t at = trial_slot(slot, line, engine->n_slots);

	if (line)
		police_try(&states[at], engine->shared_buckets ? &engine->shared_buckets[at] : NULL,
			packet, data, frame_len, now);
}

static uint32_t charge_of(const struct engine_worker *mine, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now)
{
	const struct policy_state *state = &mine->states[slot];
	uint32_t cost = police_cost(state, packet, data, frame_len, now);

	if (police_samples(state) && mine->samples[slot])
		police_sample(mine->samples[slot], state, packet, data, cost);
	return cost;
}

void engine_states_end(struct engine *engine, uint32_t slot, uint8_t ending, uint64_t from)
{
	if (engine->slots[slot].ending && !engine->slots[slot].ended)
		engine->slots[slot].ended = from;
	for (unsigned w = 0; w < engine->n_workers; w++)
		(void)police_end_limit(&engine->workers[w].states[slot], engine->workers[w].shaper,
			engine->shared_buckets, ending, from);
}

enum verdict engine_states_police(struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now,
	uint32_t *cost)
{
	struct engine_worker *mine = &engine->workers[worker];
	struct policy_state *state = &mine->states[slot];

	try_state(engine, worker, slot, packet, data, frame_len, now);
	*cost = charge_of(mine, slot, packet, data, frame_len, now);
	state_lend(engine, state, slot, *cost, now);
	return police_charge(state, packet, data, *cost, now);
}

static void add_delay(
	struct engine_worker *mine, struct policy_shape *shape, uint64_t arrival, uint64_t now)
{
	delay_add(&shape->delay, shaper_counts(mine->shaper)->lateness_unit,
		now > arrival ? now - arrival : 0);
}

enum shape_verdict engine_states_arrive(struct engine *engine, unsigned worker, uint32_t slot,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len, uint64_t now,
	struct shape_packet *waiting)
{
	struct engine_worker *mine = &engine->workers[worker];
	struct policy_state *state = &mine->states[slot];
	struct policy_shape *shape = police_shape(state->other);
	enum shape_verdict verdict;
	uint32_t cost;

	try_state(engine, worker, slot, packet, data, frame_len, now);
	cost = charge_of(mine, slot, packet, data, frame_len, now);
	*waiting = (struct shape_packet){.cost = cost,
		.arrival = now,
		.flags = shaped_marks(state) && packet->ecn ? SHAPE_ECN : 0};
	verdict = shape_arrive(mine->shaper, &shape->queue, waiting, cost, now, now);
	if (verdict > SHAPE_WAITS) {
		shaped_counts_refusal(state, cost, (enum drop_reason)verdict);
		return verdict;
	}
	shaped_counts_arrival(state, cost);
	if (verdict == SHAPE_WAITS) {
		shaped_waits(shape, cost);
		return verdict;
	}
	add_delay(mine, shape, now, now);
	if (shape->terms.below)
		state_above_count(mine, shape, waiting);
	return verdict;
}

bool engine_states_leave(struct engine *engine, unsigned worker, uint32_t slot,
	const struct shape_packet *waiting, uint64_t now)
{
	struct engine_worker *mine = &engine->workers[worker];
	struct policy_state *state = &mine->states[slot];
	struct policy_shape *shape = police_shape(state->other);

	shaped_leaves(shape, waiting->cost);
	if (waiting->flags & SHAPE_DROP) {
		shaped_counts_drop(state, waiting->cost,
			waiting->flags & SHAPE_DELAY_EXCEEDED ? DROP_DELAY_EXCEEDED : DROP_CODEL);
		return false;
	}
	add_delay(mine, shape, waiting->arrival, now);
	if (shape->terms.below)
		state_above_count(mine, shape, waiting);
	return true;
}
