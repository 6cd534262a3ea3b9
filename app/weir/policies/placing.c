/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Placed policies, whose sources are assigned to workers: the state of each, and its rounds.
 */
#include "placing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_memory.h>

#include "instance.h"
#include "rx_rings.h"
#include "event.h"
#include "pages.h"
#include "base/time.h"
#include "police/shaped.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "steering.h"
#include "tick.h"

/* A round with few packets is extended to so many times its length. */
#define EXTENSIONS 10

/* Interval of the checks if buckets have arrived on their wanted workers. */
#define MOVE_NS UINT64_C(20000000)

/*
 * Rounds' time that moves can take: a bucket that is too busy to be held back might never arrive.
 */
#define PATIENCE 10

/*
 * Returns true for a path whose receive rings its worker owns. Each pair of rings belongs to one
 * path.
 */
static bool is_lane(
	const struct instance *inst, unsigned w, unsigned i, const struct policy *policy)
{
	const struct path *path = &inst->workers[w].paths[i];

	return path->rings && path->rings->steering && rx_rings_owned(path->rings, w) &&
	       policy_may_enter(policy, path->wire, path->direction);
}

static unsigned list_lanes(
	const struct instance *inst, const struct policy *policy, struct placing_ring *rings)
{
	unsigned n = 0;

	for (unsigned w = 0; w < inst->config->n_workers; w++)
		for (unsigned i = 0; i < inst->workers[w].n_paths; i++) {
			if (!is_lane(inst, w, i, policy))
				continue;
			if (rings)
				rings[n].steering = inst->workers[w].paths[i].rings->steering;
			n++;
		}
	return n;
}

static void *alloc_placing_lines(size_t bytes)
{
	return rte_zmalloc("placing", bytes, RTE_CACHE_LINE_SIZE);
}

static int alloc_parts(struct placing *placing)
{
	placing->workers = calloc(placing->n_workers, sizeof(*placing->workers));
	placing->rings = calloc(placing->n_rx_rings, sizeof(*placing->rings));
	if (!placing->workers || !placing->rings)
		return -ENOMEM;
	for (unsigned w = 0; w < placing->n_workers; w++) {
		placing->workers[w].seat = alloc_placing_lines(sizeof(struct shaped_steering));
		if (!placing->workers[w].seat)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < placing->n_rx_rings; i++) {
		placing->rings[i].reta = alloc_placing_lines(sizeof(struct reta));
		if (!placing->rings[i].reta)
			return -ENOMEM;
	}
	return 0;
}

struct placing *placing_of(const struct instance *inst, uint32_t slot)
{
	return inst->placings->slots[slot];
}

/* Policies that leave or move take no room. */
static void placing_plan(
	struct instance *inst, const uint32_t *slots, const bool *stays, unsigned n)
{
	inst->placings->room = PLACINGS_MOST;
	for (unsigned i = 0; i < n; i++)
		inst->placings->room -= stays[i] && placing_of(inst, slots[i]);
}

static int placing_prepare(
	struct instance *inst, const struct policy *policy, uint32_t slot, uint64_t hz)
{
	unsigned n = policy_is_placed(policy) ? list_lanes(inst, policy, NULL) : 0;
	struct placing *placing;

	(void)hz;
	if (n == 0)
		return 0;
	if (inst->placings->room == 0) {
		event(POLICY_NOT_PLACED, event_word("policy", policy->name),
			event_count("most", PLACINGS_MOST));
		return 0;
	}
	placing = calloc(1, sizeof(*placing));
	if (!placing)
		return -ENOMEM;
	inst->placings->room--;
	inst->placings->slots[slot] = placing;
	placing->slot = slot;
	placing->n_rx_rings = n;
	placing->n_workers = inst->config->n_workers;
	if (alloc_parts(placing))
		return -ENOMEM;
	list_lanes(inst, policy, placing->rings);
	for (unsigned w = 0; w < placing->n_workers; w++)
		worker_shape(&inst->workers[w], slot)->seat = placing->workers[w].seat;
	return 0;
}

static struct rebalance_params rebalance_params_of(
	const struct instance *inst, const struct policy *policy)
{
	const struct place_config *place = &policy->place;
	bool grouped = place->key.v4 < 32 || place->key.v6 < 128;

	return (struct rebalance_params){
		.n_workers = inst->config->n_workers,
		.principles = (place->concentrate ? PLACE_CONCENTRATE : 0u) |
			      (place->max_min ? PLACE_MAX_MIN : 0u) |
			      (place->correlate ? PLACE_CORRELATED : 0u),
		.grouped = grouped,
		.slo = (double)policy->slo_p99_ns / SECOND_NS,
	};
}

/* Returns the number of buckets of all policies that are wanted on a worker. */
static uint64_t buckets_at(const struct instance *inst, unsigned worker)
{
	uint64_t n = 0;

	for (const struct placing *p = inst->placings->first; p; p = p->next)
		for (unsigned i = 0; i < RETA_SIZE; i++)
			n += reta_target_of(&p->reta_target, i) == worker;
	return n;
}

/*
 * Returns the first of the workers with the fewest buckets: usually the owner of the wire's queue.
 */
static unsigned least_busy(const struct instance *inst, unsigned owner)
{
	unsigned n = inst->config->n_workers, best = owner;
	uint64_t least = buckets_at(inst, owner);

	for (unsigned i = 1; i < n; i++) {
		unsigned w = (owner + i) % n;
		uint64_t buckets = buckets_at(inst, w);

		if (buckets >= least)
			continue;
		best = w;
		least = buckets;
	}
	return best;
}

static const struct policy_shape *shape_on(
	const struct instance *inst, const struct placing *placing, unsigned w)
{
	return worker_shape(&inst->workers[w], placing->slot);
}

static void set_wanted_workers(struct placing *placing)
{
	for (unsigned i = 0; i < RETA_SIZE; i++)
		reta_target_set(&placing->reta_target, i, placing->rebalance.wanted[i]);
}

static void begin_lane(
	const struct instance *inst, const struct placing *placing, const struct placing_ring *lane)
{
	const struct policy *policy = &inst->policies[inst->slots.policy[placing->slot]];

	reta_init(lane->reta, &placing->reta_target);
	lane->reta->strict = policy_is_hard(policy);
	for (unsigned w = 0; w < placing->n_workers; w++)
		lane->reta->queues[w] = (struct reta_queue){
			.waited = &shape_on(inst, placing, w)->waited,
			.left = &placing->workers[w].seat->left,
		};
	steering_add(lane->steering, placing->slot, lane->reta);
}

static void placing_begin(struct instance *inst, unsigned policy)
{
	const struct policy *config = &inst->policies[policy];
	struct placing *placing = placing_of(inst, inst->slots.of[policy]);
	struct rebalance_params params;

	if (!placing)
		return;
	params = rebalance_params_of(inst, config);
	rebalance_init(&placing->rebalance, &params,
		least_busy(inst, placing->rings[0].steering->migration.owner));
	reta_target_init(&placing->reta_target, &config->place.key, 0);
	set_wanted_workers(placing);
	for (unsigned i = 0; i < placing->n_rx_rings; i++)
		begin_lane(inst, placing, &placing->rings[i]);
	placing->next = inst->placings->first;
	inst->placings->first = placing;
	inst->placings->next_ns = 0;
}

static void placing_change(struct instance *inst, unsigned policy)
{
	struct placing *placing = placing_of(inst, inst->slots.of[policy]);
	struct rebalance_params params = rebalance_params_of(inst, &inst->policies[policy]);

	if (!placing)
		return;
	rebalance_change(&placing->rebalance, &params);
	placing->changed = true;
}

static void unlink_placing(struct instance *inst, const struct placing *placing)
{
	struct placing **link = &inst->placings->first;

	while (*link && *link != placing)
		link = &(*link)->next;
	if (*link)
		*link = placing->next;
}

static void placing_leave(struct instance *inst, uint32_t slot)
{
	struct placing *placing = placing_of(inst, slot);

	if (!placing)
		return;
	unlink_placing(inst, placing);
	for (unsigned i = 0; i < placing->n_rx_rings; i++)
		steering_leave(placing->rings[i].steering, slot);
}

static bool placing_is_done(const struct instance *inst, uint32_t slot)
{
	const struct placing *placing = placing_of(inst, slot);

	for (unsigned i = 0; placing && i < placing->n_rx_rings; i++)
		if (!steering_is_done(placing->rings[i].steering, slot))
			return false;
	return true;
}

static void placing_remove(struct instance *inst, uint32_t slot)
{
	struct placing *placing = placing_of(inst, slot);

	if (!placing)
		return;
	unlink_placing(inst, placing);
	for (unsigned i = 0; placing->rings && i < placing->n_rx_rings; i++) {
		if (placing->rings[i].steering)
			steering_remove(placing->rings[i].steering, slot);
		rte_free(placing->rings[i].reta);
	}
	for (unsigned w = 0; placing->workers && w < placing->n_workers; w++)
		rte_free(placing->workers[w].seat);
	rebalance_free(&placing->rebalance);
	free(placing->workers);
	free(placing->rings);
	free(placing);
	inst->placings->slots[slot] = NULL;
}

const struct policy_part placing_part = {
	.plan = placing_plan,
	.prepare = placing_prepare,
	.begin = placing_begin,
	.change = placing_change,
	.leave = placing_leave,
	.is_done = placing_is_done,
	.remove = placing_remove,
};

int placings_start(struct instance *inst)
{
	size_t bytes = inst->slots.capacity * sizeof(*inst->placings->slots);

	inst->placings = calloc(1, sizeof(*inst->placings));
	if (!inst->placings)
		return -ENOMEM;
	inst->placings->slots = pages_alloc(bytes, 0, SOCKET_ID_ANY);
	if (inst->placings->slots)
		return 0;
	free(inst->placings);
	inst->placings = NULL;
	return -ENOMEM;
}

void placings_stop(struct instance *inst)
{
	for (uint32_t i = 0; i < inst->slots.capacity; i++)
		placing_remove(inst, i);
	pages_free(inst->placings->slots, inst->slots.capacity * sizeof(*inst->placings->slots));
	free(inst->placings);
	inst->placings = NULL;
}

struct placing_counts placing_counts(const struct placing *placing)
{
	struct placing_counts counts = {0};

	for (unsigned i = 0; i < placing->n_rx_rings; i++) {
		const struct placing_ring *lane = &placing->rings[i];
		const struct migration *migration = &lane->steering->migration;

		for (unsigned b = 0; b < RETA_SIZE; b++)
			counts.away += reta_worker(lane->reta, b) !=
				       reta_target_of(&placing->reta_target, b);
		counts.kept += counter_read32(&migration->kept);
		counts.moved += counter_read(&migration->moved);
		counts.called_off += counter_read(&migration->called_off);
	}
	return counts;
}

/* Requests moves from owners with buckets to move; returns true if there are any. */
static bool request_moves(const struct placing *placing)
{
	bool away = false;

	for (unsigned i = 0; i < placing->n_rx_rings; i++) {
		const struct placing_ring *lane = &placing->rings[i];
		bool differs = false;

		for (unsigned b = 0; b < RETA_SIZE && !differs; b++)
			differs = reta_worker(lane->reta, b) !=
				  reta_target_of(&placing->reta_target, b);
		if (differs && steering_is_done(lane->steering, placing->slot))
			steering_ask(lane->steering, placing->slot);
		away |= differs || !steering_is_done(lane->steering, placing->slot);
	}
	return away;
}

/* Reads the present counts of all workers and owners into [1]. */
static void count_bucket_loads(const struct instance *inst, struct placing *placing)
{
	memset(placing->bytes[1], 0, sizeof(placing->bytes[1]));
	memset(placing->count[1], 0, sizeof(placing->count[1]));
	for (unsigned i = 0; i < placing->n_rx_rings; i++)
		for (unsigned b = 0; b < RETA_SIZE; b++) {
			const struct reta *reta = placing->rings[i].reta;

			placing->bytes[1][b] += counter_read(&reta->bytes[b]);
			placing->count[1][b] += counter_read(&reta->packets[b]);
		}
	for (unsigned w = 0; w < placing->n_workers; w++) {
		struct placing_worker *worker = &placing->workers[w];
		const struct worker *lcore = &inst->workers[w];

		delay_fold(&worker->delay[1], &shape_on(inst, placing, w)->delay);
		delay_fold(&worker->reach[1], &worker->seat->reach);
		delay_fold(&worker->late[1], &shaper_counts(lcore->shaper)->lateness);
		worker->packets[1] = counter_read(&lcore->counters.rx_packets);
		worker->busy[1] = counter_read(&lcore->counters.busy_cycles);
		worker->handing[1] = counter_read(&lcore->counters.handing_cycles);
	}
}

/* Begins a round with the latest counts. */
static void begin_placing_round(struct placing *placing, uint64_t round_ns, uint64_t now)
{
	memcpy(placing->bytes[0], placing->bytes[1], sizeof(placing->bytes[0]));
	memcpy(placing->count[0], placing->count[1], sizeof(placing->count[0]));
	for (unsigned w = 0; w < placing->n_workers; w++) {
		struct placing_worker *worker = &placing->workers[w];

		worker->delay[0] = worker->delay[1];
		worker->reach[0] = worker->reach[1];
		worker->late[0] = worker->late[1];
		worker->packets[0] = worker->packets[1];
		worker->busy[0] = worker->busy[1];
		worker->handing[0] = worker->handing[1];
	}
	placing->measures = true;
	placing->waits = 0;
	placing->began_ns = now;
	placing->due_ns = now + round_ns;
}

/* Returns the 99th percentile of the delays counted in the round, in seconds. */
static double p99_of(const struct delay_sum sums[2], uint64_t *packets)
{
	uint64_t hz = tick_hz();
	struct delay_sum sum;

	for (unsigned i = 0; i < DELAY_BINS; i++)
		sum.bins[i] = sums[1].bins[i] - sums[0].bins[i];
	*packets = delay_count(&sum);
	return (double)delay_quantile(&sum, 0.99, delay_unit(hz)) / (double)hz;
}

/*
 * Evaluates a worker's round. Its cost of a packet is the average of all its packets: an upper
 * bound when there are few, because they arrive in smaller bursts.
 */
static void see_worker(struct placing *placing, unsigned w, double seconds, double batch)
{
	struct placing_worker *worker = &placing->workers[w];
	double packets = (double)(worker->packets[1] - worker->packets[0]);
	double busy = (double)(worker->busy[1] - worker->busy[0]) / (double)tick_hz();
	double handing = (double)(worker->handing[1] - worker->handing[0]) / (double)tick_hz();
	uint64_t left, own, late;
	double p99 = p99_of(worker->delay, &left), reach = p99_of(worker->reach, &own);

	placing->seen.workers[w] = (struct rebalance_worker){
		.packets = left,
		.p99 = p99,
		.added = reach + p99_of(worker->late, &late),
		.cost = packets > 0 ? busy / packets / batch : 0,
		.others = packets > (double)own ? (packets - (double)own) * batch / seconds : 0,
		.handing = handing / seconds,
	};
}

static void measure_placing_round(
	const struct instance *inst, struct placing *placing, uint64_t now)
{
	const struct policy *policy = &inst->policies[inst->slots.policy[placing->slot]];
	double seconds = (double)(now - placing->began_ns) / SECOND_NS;
	uint64_t(*units)[RETA_SIZE] = policy->count == COUNT_PACKETS ? placing->count
								     : placing->bytes;
	uint64_t bytes = 0, packets = 0;

	memset(placing->rates, 0, sizeof(placing->rates));
	for (unsigned b = 0; b < RETA_SIZE; b++) {
		placing->seen.rates[b] = (double)(units[1][b] - units[0][b]) / seconds;
		placing->rates[reta_target_of(&placing->reta_target, b)] += placing->seen.rates[b];
		bytes += units[1][b] - units[0][b];
		packets += placing->count[1][b] - placing->count[0][b];
	}
	placing->seen.batch = packets ? (double)bytes / (double)packets : 1;
	for (unsigned w = 0; w < placing->n_workers; w++)
		see_worker(placing, w, seconds, placing->seen.batch);
}

/* Returns true if the round has too few packets and can still wait for more. */
static bool is_short(const struct placing *placing, const struct policy *policy, uint64_t now)
{
	uint64_t packets = 0;

	for (unsigned b = 0; b < RETA_SIZE; b++)
		packets += placing->count[1][b] - placing->count[0][b];
	return packets < REBALANCE_PACKETS && !placing->changed &&
	       now - placing->began_ns < EXTENSIONS * policy->place.round_ns;
}

/* Returns true if the wait for moving buckets is over: too long, or their policy has changed. */
static bool is_late(struct placing *placing, const struct policy *policy)
{
	return placing->changed || ++placing->waits * MOVE_NS > PATIENCE * policy->place.round_ns;
}

/* Called at the end of a round, or while buckets move. */
static void check_placing(struct instance *inst, struct placing *placing, uint64_t now)
{
	const struct policy *policy = &inst->policies[inst->slots.policy[placing->slot]];

	count_bucket_loads(inst, placing);
	if (placing->measures && is_short(placing, policy, now)) {
		placing->due_ns = now + policy->place.round_ns;
		return;
	}
	if (placing->measures) {
		placing->changed = false;
		measure_placing_round(inst, placing, now);
		if (rebalance_round(&placing->rebalance, &placing->seen))
			set_wanted_workers(placing);
	}
	if (!request_moves(placing) || is_late(placing, policy)) {
		begin_placing_round(placing, policy->place.round_ns, now);
		return;
	}
	placing->measures = false;
	placing->due_ns = now + MOVE_NS;
}

/* Returns the policy that is due first. */
static struct placing *first_due_placing(const struct instance *inst)
{
	struct placing *first = inst->placings->first;

	for (struct placing *p = first; p; p = p->next)
		if (p->due_ns < first->due_ns)
			first = p;
	return first;
}

/*
 * One policy a call: a trial on many workers takes milliseconds, and many can be due at the same
 * time.
 */
void placings_look(struct instance *inst, uint64_t now)
{
	struct placing *first;

	if (now < inst->placings->next_ns)
		return;
	first = first_due_placing(inst);
	if (first && now >= first->due_ns)
		check_placing(inst, first, now);
	first = first_due_placing(inst);
	inst->placings->next_ns = first ? first->due_ns : UINT64_MAX;
}

uint64_t placings_next(const struct instance *inst)
{
	return inst->placings->first ? inst->placings->next_ns : UINT64_MAX;
}
