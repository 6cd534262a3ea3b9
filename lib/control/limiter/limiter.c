/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter: measurements and datagrams in, local limits and datagrams out.
 */
#include "limiter/limiter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "base/time.h"
#include "limiter/aggregate.h"

/* Without policies there is still gossip, so that peers see that we are there. */
#define IDLE_TICK_NS UINT64_C(50000000)

/*
 * Flow rates swing by a factor of two in every sawtooth, over many round trips. They are remembered
 * this many times as long as the demand, so that a weight compares means and not phases.
 */
#define FLOW_MEMORY 4.0

/*
 * Flows of a few packets a second are remembered for longer: as long as it takes STEADY_PACKETS of
 * an unbottlenecked flow, at most STEADY_MAX_S. With fewer packets the rates of seven flows spread
 * more by chance than the rates of three, and look like fewer flows.
 */
#define STEADY_PACKETS 40
#define STEADY_MAX_S   60

/* Packets in the demand's memory from which a rate shows a change. */
#define CHANGE_PACKETS 8

/*
 * After a peer begins to count again, no share grows for 1/HOLD_SHARE of the timeout. In that time
 * the other limiters shrink their shares, so that no part of the limit counts twice.
 */
#define HOLD_SHARE 4

/*
 * Bytes per second that are no demand any more, where policies idle. It takes the default filter 8
 * s to forget 100 kB/s as far as that.
 */
#define IDLE_RATE 1e-3

/*
 * A limiter of a hard limit has no more of the burst than of the limit. If its flows lose all their
 * packets, or after a restart, it keeps a bucket of STARVE_PACKETS for STARVE_NS. So the next
 * retransmission passes: after an outage of half a minute a sender's timer is that long. The bucket
 * takes at most STARVE_MOST of limit/N.
 */
#define STARVE_PACKETS 2
#define STARVE_NS      (60 * SECOND_NS)
#define STARVE_MOST    0.1
#define FULL_PACKET    1514 /* bytes */

uint64_t policies_tick(const struct limiter_policy *policies, unsigned n)
{
	uint64_t tick = n ? UINT64_MAX : IDLE_TICK_NS;

	for (unsigned i = 0; i < n; i++)
		if (policies[i].interval_ns < tick)
			tick = policies[i].interval_ns;
	return tick;
}

static int create_gossip(struct limiter *l, const struct limiter_params *params, uint64_t now_ns)
{
	struct gossip_params gossip = params->gossip;
	uint64_t *ids = calloc(params->n_policies + 1, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < params->n_policies; i++)
		ids[i] = limiter_key(&params->policies[i]);
	gossip.policies = ids;
	gossip.n_policies = params->n_policies;
	gossip.tick_ns = l->gossip_tick_ns;
	ret = gossip_create(&gossip, now_ns, &l->gossip);
	free(ids);
	return ret;
}

static int create_aggregates(
	struct limiter *l, const struct limiter_params *params, uint64_t now_ns)
{
	size_t words = bitmap_words(l->n_policies);

	l->aggregates = calloc((size_t)l->n_policies + 1, sizeof(*l->aggregates));
	l->active = malloc(words * sizeof(*l->active));
	l->changed = malloc(words * sizeof(*l->changed));
	l->flow_scratch = calloc((size_t)l->n_workers * FLOW_SLOTS, sizeof(*l->flow_scratch));
	if (!l->aggregates || !l->active || !l->changed || !l->flow_scratch)
		return -ENOMEM;
	memset(l->active, 0xff, words * sizeof(*l->active));
	memset(l->changed, 0xff, words * sizeof(*l->changed));
	for (unsigned i = 0; i < l->n_policies; i++) {
		aggregate_init(&l->aggregates[i], &params->policies[i], l->n, now_ns);
		if (params->ledger.n_records > 0) /* flows lost packets while it was down */
			l->aggregates[i].starves_until_ns = now_ns + STARVE_NS;
	}
	return 0;
}

int limiter_create(const struct limiter_params *params, uint64_t now_ns, struct limiter **out)
{
	struct limiter *l;
	int ret;

	if (params->n_workers == 0 || !params->gossip.roster)
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->n = params->gossip.roster->n;
	l->n_policies = params->n_policies;
	l->n_workers = params->n_workers;
	l->started_ns = l->ticked_ns = now_ns;
	l->skips_idle = params->skips_idle;
	l->overshoot_alarm = params->overshoot_alarm;
	l->ledger = params->ledger;
	l->roster = params->gossip.roster;
	l->self = params->gossip.self;
	l->gossip_params = params->gossip;
	l->gossip_params.keyring = NULL;
	l->silent = l->n - 1;
	l->now_ns = now_ns;
	l->budget_ns = UINT64_MAX;
	timekeeper_begin(&l->keeper, 0, now_ns, now_ns);
	l->tick_ns = policies_tick(params->policies, params->n_policies);
	l->next_ns = now_ns + l->tick_ns;
	l->gossip_tick_ns = gossip_clock(params->gossip.estimator, l->tick_ns);
	l->gossip_ns = now_ns + l->gossip_tick_ns;
	ret = create_aggregates(l, params, now_ns);
	if (ret == 0)
		ret = create_gossip(l, params, now_ns);
	if (ret == 0)
		ret = terms_create(l);
	if (ret == 0)
		ret = levels_create(params->policies, params->n_policies, &l->levels);
	if (ret == 0)
		ret = accounts_set(l, params->policies, params->n_policies, now_ns);
	if (ret == 0)
		ret = loans_create(l, params, now_ns);
	if (ret == 0)
		ret = limiter_members_create(l, params->members);
	l->ledger.records = NULL;
	l->ledger.n_records = 0;
	l->ledger.members = NULL;
	if (ret) {
		limiter_destroy(l);
		return ret;
	}
	accounts_index(l);
	levels_index(l);
	loans_index(l);
	terms_set(l, now_ns);
	limiter_rates_refresh(l, now_ns);
	overshoot_begin(l);
	*out = l;
	return 0;
}

void limiter_destroy(struct limiter *l)
{
	if (!l)
		return;
	for (unsigned i = 0; l->aggregates && i < l->n_policies; i++) {
		free(l->aggregates[i].flows);
		free(l->aggregates[i].history);
	}
	free(l->aggregates);
	free(l->active);
	free(l->changed);
	free(l->flow_scratch);
	budget_destroy(l->budget);
	conserve_destroy(l->conserve);
	agree_destroy(l->agree);
	levels_destroy(l->levels);
	loan_destroy(l->loan);
	limiter_members_destroy(l);
	gossip_destroy(l->gossip);
	free(l);
}

uint64_t limiter_next(const struct limiter *l)
{
	uint64_t next = min_u64(l->next_ns, l->gossip_ns);

	return min_u64(next, min_u64(limiter_rates_next(l), l->budget_ns));
}

/* The tick after this one, on the old beat unless that has been missed altogether. */
static uint64_t next_beat(uint64_t due, uint64_t period, uint64_t now)
{
	return due + period > now ? due + period : now + period;
}

/* Memory for them is taken with the first byte: most of very many policies never see one. */
static unsigned measure_flows(struct limiter *l, struct aggregate *a,
	const struct limiter_sample *sample, double interval_s, const struct steady_memory *memory)
{
	double old = 0, all = 0;
	unsigned n = 0;

	if (!a->flows && sample->arrived_bytes > 0)
		a->flows = calloc(l->n_workers, sizeof(*a->flows));
	if (!a->flows)
		return 0;
	for (unsigned w = 0; w < l->n_workers; w++) {
		n += flow_rates_add(&a->flows[w], sample->slots + (size_t)w * FLOW_SLOTS,
			interval_s, memory, l->flow_scratch + n);
		old += a->flows[w].old_rate;
	}
	for (unsigned i = 0; i < n; i++)
		all += l->flow_scratch[i];
	if (all > 0)
		a->old_part = old / all;
	return n;
}

/* Two powers for each policy would cost more than everything that an idle one takes. */
static const struct keeps *keeps_of(
	struct limiter *l, const struct limiter_policy *policy, double interval_s)
{
	struct keeps *keeps = &l->keeps;

	double p = policy->keep_per_second;

	if (keeps->interval_s != interval_s || keeps->per_second != p)
		*keeps = (struct keeps){
			.per_second = p,
			.interval_s = interval_s,
			.keep = demand_keep(p, interval_s),
			.slow = demand_keep(p, interval_s / FLOW_MEMORY),
			.quick_s = p > 0 ? -1 / log(p) : interval_s,
		};
	return keeps;
}

static void hold_after_loss(struct limiter *l, struct aggregate *a, unsigned lost,
	const struct allocate_state *before, uint64_t now_ns)
{
	if (lost < a->lost)
		a->hold_until_ns = now_ns + gossip_timeout(l->gossip) / HOLD_SHARE;
	a->lost = lost;
	if (now_ns >= a->hold_until_ns)
		return;
	a->state.local_limit = min_double(a->state.local_limit, before->local_limit);
	a->state.local_burst = min_double(a->state.local_burst, before->local_burst);
}

/* After a long silence a demand is zero, and all flows are new ones. */
static void forget_demand(struct limiter *l, struct aggregate *a)
{
	a->demand.rate = a->demand.sum = 0;
	a->demand_slow = (struct steady_rate){0};
	for (unsigned w = 0; a->flows && w < l->n_workers; w++)
		flow_rates_forget(&a->flows[w]);
}

/*
 * Less than before counts as 0: the difference would be nearly 2^64, and would be sent to the group
 * as demand.
 */
static double arrived_since(const struct aggregate *a, const struct limiter_sample *sample)
{
	if (sample->arrived_bytes < a->arrived_bytes)
		return 0;
	return (double)(sample->arrived_bytes - a->arrived_bytes);
}

/* Units of the policy's burst in a full packet. */
static double full_packet(const struct aggregate *a)
{
	return a->policy.packet ? a->policy.packet : FULL_PACKET;
}

/* The memory of flows' rates, by the packets of an unbottlenecked flow. */
static struct steady_memory flow_memory(const struct aggregate *a, const struct keeps *keeps)
{
	double packets_s = a->state.flow_rate / full_packet(a);
	double memory_s = FLOW_MEMORY * keeps->quick_s;
	struct steady_memory memory = {
		.keep = keeps->keep,
		.slow = keeps->slow,
		.comparable_from = CHANGE_PACKETS * full_packet(a) / keeps->quick_s,
	};

	if (packets_s > 0 && packets_s * memory_s < STEADY_PACKETS) {
		memory_s = max_double(
			memory_s, min_double(STEADY_PACKETS / packets_s, STEADY_MAX_S));
		memory.slow = exp(-keeps->interval_s / memory_s);
	}
	return memory;
}

/* An interval without arrivals leaves the state as it is. */
static void note_starvation(
	struct aggregate *a, const struct limiter_sample *sample, uint64_t now_ns)
{
	double arrived = arrived_since(a, sample);
	double lost = (double)(sample->dropped_packets - a->dropped_packets) * full_packet(a);

	if (arrived > 0)
		a->starves_until_ns = arrived <= lost ? now_ns + STARVE_NS : 0;
}

/* The limit that a starving limiter keeps, bytes per second; 0 if it does not starve. */
static double least_limit(const struct limiter *l, const struct aggregate *a, uint64_t now_ns)
{
	double part;

	if (!aggregate_hard(a) || now_ns >= a->starves_until_ns || a->policy.burst_bytes == 0)
		return 0;
	part = STARVE_PACKETS * full_packet(a) / (double)a->policy.burst_bytes;
	return min_double(part, STARVE_MOST / l->n) * a->share;
}

static void allocate_limit(
	struct limiter *l, unsigned policy, const struct limiter_sample *sample, uint64_t now_ns)
{
	struct aggregate *a = &l->aggregates[policy];
	double interval_s = (double)(now_ns - a->measured_ns) / SECOND_NS;
	struct allocate_state before = a->state;
	struct gossip_sum sum = gossip_sum(l->gossip, policy);
	const struct keeps *keeps = keeps_of(l, &a->policy, interval_s);
	struct allocate_input in = {
		.interval_s = interval_s,
		.keep = keeps->keep,
		.n = l->n,
		.lost = sum.lost,
		.limit = a->share,
		.demand_now = arrived_since(a, sample) / interval_s,
		.dropped = sample->dropped_packets != a->dropped_packets,
		.waits = sample->backlog > 0,
		.remote_weight = sum.weight,
		.remote_demand = sum.demand,
		.flow = l->flow_scratch,
		.burst = (double)a->policy.burst_bytes,
		.burst_least = (double)policy_burst_floor(&a->policy),
		.parent = a->parent,
		.wanted = a->parent ? levels_wanted(l, a) : 0,
	};
	struct steady_memory memory = flow_memory(a, keeps);
	struct allocate_output out;

	note_starvation(a, sample, now_ns);
	in.least = least_limit(l, a, now_ns);
	demand_add(&a->demand, in.demand_now, keeps->keep);
	demand_steady(&a->demand_slow, in.demand_now, &memory);
	if (in.demand_now <= 0 && a->demand.rate < IDLE_RATE)
		forget_demand(l, a);
	in.demand = a->demand.rate;
	in.demand_slow = a->demand_slow.rate;
	if (a->policy.allocator->samples_flows && !a->parent)
		in.n_flows = measure_flows(l, a, sample, interval_s, &memory);
	in.old_part = a->old_part;
	if (a->policy.allocator->remembers)
		aggregate_remember(l, a, sample, &in, now_ns);
	a->policy.allocator->allocate(&a->state, &in, &out);
	a->asked = in.demand;
	a->n_flows = in.n_flows;
	if (aggregate_hard(a)) {
		/* The ledger decides the enforced limit; the allocator continues from that. */
		limiter_rates_want(l, a);
		a->state.local_limit = before.local_limit;
		a->state.local_burst = before.local_burst;
		a->lost = sum.lost;
	} else if (a->policy.allocator->gossips) {
		hold_after_loss(l, a, sum.lost, &before, now_ns);
	}
	a->effective_limit = a->policy.allocator->gossips ? allocate_effective_limit(&in)
							  : in.limit;
	a->claimed = a->level == LEVEL_NONE ? in.demand : levels_claim(l, a, &in);
	a->global_demand = sum.demand + a->claimed;
	a->global_weight = sum.weight + out.weight;
	if (l->speaks && aggregate_gossips(a)) {
		gossip_set_limit(l->gossip, policy, limiter_policy_rate(&a->policy));
		gossip_set(l->gossip, policy, a->claimed, out.weight);
	}
}

static bool same_answer(const struct allocate_state *a, const struct allocate_state *b)
{
	return a->local_limit == b->local_limit && a->local_burst == b->local_burst &&
	       a->drain == b->drain && a->drop == b->drop && a->weight == b->weight;
}

/*
 * Returns true if another interval without a byte and without news from the peers would change
 * nothing, here or for them. Then the demand is 0, and the last answer equals the one before.
 */
static bool may_idle(const struct limiter *l, const struct aggregate *a,
	const struct allocate_state *before, uint64_t now_ns)
{
	return l->skips_idle && a->demand.rate <= 0 && same_answer(before, &a->state) &&
	       !(aggregate_hard(a) && (a->target_moved || now_ns < a->starves_until_ns)) &&
	       !aggregate_remembers(a, now_ns) &&
	       (!aggregate_gossips(a) ||
		       (gossip_reports_news(l->gossip) && l->speaks && now_ns >= a->hold_until_ns));
}

static void end_interval(
	struct limiter *l, unsigned policy, uint64_t now_ns, limiter_measure measure, void *context)
{
	struct aggregate *a = &l->aggregates[policy];
	struct allocate_state before = a->state;
	struct limiter_sample sample = {0};

	measure(context, policy, &sample);
	allocate_limit(l, policy, &sample, now_ns);
	a->arrived_bytes = sample.arrived_bytes;
	a->dropped_packets = sample.dropped_packets;
	a->measured_ns = now_ns;
	a->next_ns = next_beat(a->next_ns, a->policy.interval_ns, now_ns);
	if (!same_answer(&before, &a->state))
		bitmap_set(l->changed, policy);
	if (may_idle(l, a, &before, now_ns)) {
		bitmap_clear(l->active, policy);
		loans_rest(l, policy, now_ns);
	}
}

bool limiter_measures(const struct limiter *l, uint64_t now_ns)
{
	return now_ns >= l->next_ns;
}

static void tick_gossip(struct limiter *l, uint64_t now_ns)
{
	if (now_ns < l->gossip_ns)
		return;
	gossip_tick(l->gossip, now_ns);
	l->silent = gossip_silent(l->gossip);
	l->gossip_ns = next_beat(l->gossip_ns, l->gossip_tick_ns, now_ns);
}

bool limiter_tick(struct limiter *l, uint64_t now_ns, limiter_measure measure, void *context)
{
	bool changed = false;

	limiter_units_tick(l, now_ns);
	if (!limiter_measures(l, now_ns)) {
		tick_gossip(l, now_ns);
		return now_ns >= limiter_rates_next(l) && limiter_rates_refresh(l, now_ns);
	}
	accounts_watch_names(l, now_ns);
	/*
	 * A limiter that has just started enforces limit/N with any weight, so peers must continue
	 * to leave it that much. It sends nothing about its policies until it has received a
	 * message, or has waited for the timeout after which silent peers are lost.
	 */
	l->speaks = l->speaks || gossip_alive(l->gossip) > 0 ||
		    now_ns - l->started_ns >= gossip_timeout(l->gossip);
	if (l->skips_idle)
		for (unsigned i = gossip_next_news(l->gossip, 0); i < l->n_policies;
			i = gossip_next_news(l->gossip, i + 1))
			limiter_wake(l, i);
	levels_tick(l);
	for (unsigned i = bitmap_next(l->active, l->n_policies, 0); i < l->n_policies;
		i = bitmap_next(l->active, l->n_policies, i + 1)) {
		struct aggregate *a = &l->aggregates[i];
		double before = a->state.local_limit;

		if (now_ns >= a->next_ns)
			end_interval(l, i, now_ns, measure, context);
		changed |= a->state.local_limit != before;
		overshoot_tick(l, i, now_ns);
	}
	changed |= limiter_members_return(l);
	changed |= limiter_rates_tick(l, now_ns);
	tick_gossip(l, now_ns);
	l->now_ns = now_ns;
	terms_tick(l, now_ns);
	limiter_members_tick(l);
	limiter_units_ask(l);
	l->ticked_ns = now_ns;
	l->next_ns = next_beat(l->next_ns, l->tick_ns, now_ns);
	return changed;
}

unsigned limiter_next_change(struct limiter *l, unsigned from)
{
	unsigned policy = bitmap_next(l->changed, l->n_policies, from);

	if (policy < l->n_policies)
		bitmap_clear(l->changed, policy);
	return policy;
}

size_t limiter_send(struct limiter *l, uint8_t *buf, unsigned *peer)
{
	size_t len = gossip_send(l->gossip, buf, peer);

	return len > 0 ? len : accounts_send(l, buf, peer);
}

enum gossip_verdict limiter_receive(struct limiter *l, uint64_t now_ns, uint8_t *buf, size_t len)
{
	enum gossip_verdict verdict = gossip_receive(l->gossip, now_ns, buf, len);
	struct gossip_message message;

	if (verdict == GOSSIP_ACCEPTED)
		terms_received(l, gossip_from(l->gossip));
	if (verdict == GOSSIP_MESSAGE) {
		message = gossip_message(l->gossip, buf, len);
		accounts_receive(l, now_ns, &message);
	}
	return verdict;
}

void limiter_view(const struct limiter *l, unsigned policy, struct limiter_view *view)
{
	const struct aggregate *a = &l->aggregates[policy];

	*view = (struct limiter_view){
		.limit = limiter_policy_rate(&a->policy),
		.share = a->share,
		.effective_limit = a->effective_limit,
		.local_limit = l->left ? 0 : a->state.local_limit,
		.drain = a->state.drain,
		.drop = a->state.drop,
		.local_burst = l->left ? 0 : aggregate_burst(l, a),
		.ending = a->ending,
		.demand = a->asked,
		.weight = a->state.weight,
		.global_demand = a->global_demand,
		.global_weight = a->global_weight,
		.lost = a->policy.allocator->gossips ? a->lost : l->silent,
		.flows = a->n_flows,
		.flow_rate = a->state.flow_rate,
		.regime = a->state.regime,
	};
}

struct keyring *limiter_rekey(struct limiter *l, struct keyring *keyring)
{
	return gossip_rekey(l->gossip, keyring);
}

uint64_t limiter_timeout(const struct limiter *l)
{
	return gossip_timeout(l->gossip);
}

const struct gossip *limiter_gossip(const struct limiter *l)
{
	return l->gossip;
}
