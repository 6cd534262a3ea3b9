/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Charges a packet to its policy and all ancestors, or to none, on a worker whose states the engine
 * changes itself.
 */
#include "engine/states.h"
#include "engine/state_above.h"

#include "police/borrow.h"
#include "police/expire.h"
#include "police/lineage.h"
#include "police/sample.h"
#include "police/shaped.h"
#include "policy/kind.h"

void state_lend(const struct engine *engine, struct policy_state *state, uint32_t slot,
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

void state_above_begin(struct engine_worker *worker)
{
	const struct shape_above above = {
		.take = take_above, .give = give_above, .context = worker};

	shaper_ask(worker->shaper, &above);
}

void state_above_count(struct engine_worker *worker, const struct policy_shape *shape,
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
