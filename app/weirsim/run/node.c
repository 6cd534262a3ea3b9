/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter of the simulation: weir's control logic (lib/control/limiter) and packet decisions
 * (lib/datapath/police), driven by its engine, on a clock of its own.
 */
#include "node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/counts.h"
#include "engine/credit_account.h"
#include "engine/states.h"
#include "packet/mark.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "policy/kind.h"
#include "policy/schedule.h"
#include "sums/sums.h"
#include "node_clock.h"
#include "record.h"
#include "node_totals.h"

#define HELD_MAX   256 /* datagrams in a socket's buffer */
#define AGED_LINES 64  /* lines of a table of sources that age in each interval */
#define SPARES     2   /* adjacent dead limiters that disconnect no other */

#define WAITING_MOST 16384 /* packets, on each worker */

/* Adds the counts of its trial of a policy, if it runs. */
static void add_tried(struct node *node, unsigned policy, struct policy_totals *sum)
{
	struct policy_totals totals;

	if (!node->limiter)
		return;
	engine_trial_totals(&node->engine, policy, &totals);
	sum->passed_packets += totals.passed_packets;
	sum->passed_bytes += totals.passed_bytes;
	sum->dropped_packets += totals.dropped_packets;
	sum->dropped_bytes += totals.dropped_bytes;
}

void nodes_tried(const struct sim *sim, unsigned policy, struct policy_totals *totals)
{
	*totals = sim->tried[policy];
	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		add_tried(&sim->nodes[i], policy, totals);
}

static int policy_create(struct sim *sim, struct node *node, unsigned p)
{
	struct engine_limit limit = node_limit_of(sim, node, p);
	uint64_t now = node_clock(sim, node, sim->events.now_ns);
	int ret = 0;

	for (unsigned w = 0; ret == 0 && w < sim->scenario->n_workers; w++) {
		struct policy_start start = {
			.now = now,
			.hz = NODE_HZ,
			.secret = node->secret,
			.seed = prng_next(&sim->prng[STREAM_NODES]),
		};

		ret = engine_states_add(&node->engine, w, &limit, &start);
	}
	if (ret)
		return ret;
	return engine_begin(&node->engine, &limit, now, now, policy_is_hard(limit.policy));
}

static bool any_is_shaped(const struct scenario *s)
{
	for (unsigned i = 0; i < s->group.n_policies; i++)
		if (policy_is_shaped(&s->group.policies[i]))
			return true;
	return false;
}

static int policies_create(struct sim *sim, struct node *node)
{
	const struct scenario *s = sim->scenario;
	unsigned n = s->group.n_policies;
	uint32_t largest = 0;
	int ret = engine_states_alloc(&node->engine, s->n_workers, n);

	if (ret == 0 && node_lends(sim))
		ret = engine_states_share(&node->engine, n);
	for (unsigned i = 0; i < s->n_traffic; i++)
		if (s->traffic[i].packet_bytes > largest)
			largest = s->traffic[i].packet_bytes;
	/* The most bytes that a packet can cost, with any accounting. */
	node->engine.frame = largest + ETHERNET_HEADER + POLICE_WIRE;
	node->enforced = calloc(n + 1, sizeof(*node->enforced));
	node->release_ns = calloc(s->n_workers, sizeof(*node->release_ns));
	if (!node->enforced || !node->release_ns)
		ret = -ENOMEM;
	if (ret == 0 && any_is_shaped(s))
		ret = engine_states_wait(&node->engine, s->group.policies, WAITING_MOST, NODE_HZ,
			node_clock(sim, node, sim->events.now_ns));
	if (ret == 0)
		ret = node_totals_create(sim, node);
	engine_share_begin(
		&node->engine, s->group.policies, n, node_clock(sim, node, sim->events.now_ns));
	for (unsigned p = 0; ret == 0 && p < n; p++)
		ret = policy_create(sim, node, p);
	return ret;
}

/* Returns the n records on its disk, to be freed; NULL without memory. */
static struct limiter_record *node_disk_records(const struct node *node)
{
	const struct disk_batch *durable = &node->disk.durable;
	struct limiter_record *records = calloc(durable->n + 1, sizeof(*records));

	for (unsigned i = 0; records && i < durable->n; i++)
		records[i] = (struct limiter_record){
			(enum limiter_record_kind)durable->records[i].kind, durable->records[i].id,
			durable->records[i].at, durable->records[i].len};
	return records;
}

/*
 * Returns the ledger of a node. After a crash it has its disk; at first the disk is empty, for a
 * new limiter.
 */
static struct limiter_ledger ledger_of(
	const struct sim *sim, const struct node *node, const struct limiter_record *records)
{
	const struct ledger_config *config = &sim->scenario->ledger;

	return (struct limiter_ledger){
		.overlay = {.shape = config->ring ? OVERLAY_RING : OVERLAY_RANDOM,
			.degree = config->degree,
			.spares = SPARES},
		.records = records,
		.n_records = node->disk.durable.n,
		.durable = true,
		.epoch = node->starts,
		.identity = {.low = 1}, /* one ledger a run */
		.lease_ns = config->lease_ns,
		.drift_ppm = config->drift_ppm,
		.promise = config->promise,
		.tree_degree = config->tree_degree,
		.timeout_ns = sim->scenario->group.gossip.timeout_ns,
	};
}

/* Estimators of papers; NULL: one of lib/control/gossip. */
static const struct estimator *const studies[] = {
	[ESTIMATOR_PUSH_SUM] = &estimator_push_sum,
	[ESTIMATOR_COMPENSATED] = &estimator_compensated,
	[ESTIMATOR_FLOW_UPDATING] = &estimator_flow_updating,
};

static int build_node_limiter(struct sim *sim, struct node *node, uint64_t age_ns)
{
	const struct scenario *s = sim->scenario;
	enum estimator_choice estimator = s->group.gossip.estimator;
	struct limiter_policy *policies = engine_limiter_policies(
		node_policies(node), s->group.n_policies, s->group.gossip.loans, TIME_UNKNOWN);
	struct limiter_record *records = node_disk_records(node);
	struct limiter_params params = {
		.gossip = {.self = node->index,
			.roster = sim->roster,
			.epoch = 1 + prng_next(&sim->prng[STREAM_NODES]) / 2,
			.seed = prng_next(&sim->prng[STREAM_NODES]),
			.branching = s->group.gossip.branching,
			.timeout_ns = s->group.gossip.timeout_ns,
			.datagram_max = s->group.gossip.datagram_max,
			.estimator = studies[estimator] ? GOSSIP_STUDY
							: (enum gossip_estimator)estimator,
			.study = studies[estimator]},
		.policies = policies,
		.n_policies = s->group.n_policies,
		.n_workers = s->n_workers,
		.ledger = ledger_of(sim, node, records),
		.buckets = node_buckets(sim, node),
	};
	int ret = -ENOMEM;

	if (policies && records)
		ret = limiter_create(&params, node_clock(sim, node, sim->events.now_ns) - age_ns,
			&node->limiter);
	free(records);
	free(policies);
	return ret;
}

/* Context of a limiter's measurements, by its own clock. */
struct measuring {
	struct sim *sim;
	struct node *node;
	uint64_t now_ns;
};

static void measure_policy(void *context, unsigned policy, struct limiter_sample *sample)
{
	const struct measuring *m = context;

	engine_measure(
		&m->node->engine, policy, &node_policies(m->node)[policy], m->now_ns, sample);
}

/* Called after an interval. */
static void publish_limits(struct sim *sim, struct node *node, uint64_t now)
{
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++) {
		node_enforce(sim, node, p);
		overshoot_check(sim, node, p);
		for (unsigned w = 0; w < node->engine.n_workers; w++)
			policy_state_age(&node->engine.workers[w].states[p], now, AGED_LINES);
	}
	engine_share_samples(&node->engine, now);
}

static void schedule_tick(struct sim *sim, struct node *node);

static void node_tick(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;
	struct measuring measuring = {sim, node, node_clock(sim, node, sim->events.now_ns)};

	/* An event from before a crash or a pause. */
	if (!node->limiter || node->paused || argument != node->next_tick_ns)
		return;
	limiter_tick(node->limiter, measuring.now_ns, measure_policy, &measuring);
	sim->ticks++;
	node_totals_retry(sim, node);
	publish_limits(sim, node, measuring.now_ns);
	node_lease_renew(sim, node);
	node_follow_up(sim, node);
	schedule_tick(sim, node);
}

static void schedule_tick(struct sim *sim, struct node *node)
{
	uint64_t at = node_time(sim, node, limiter_next(node->limiter));

	node->next_tick_ns = at > sim->events.now_ns ? at : sim->events.now_ns + 1;
	events_at(&sim->events, node->next_tick_ns, node_tick, node, node->next_tick_ns);
}

/*
 * Called after messages, or a commit: hard limits change with statements of neighbours, and so do
 * the ends of leases. Requested units might have arrived.
 */
static void take_news(struct sim *sim, struct node *node)
{
	node_totals_retry(sim, node);
	node_enforce_changes(sim, node);
	node_lease_renew(sim, node);
	node_follow_up(sim, node);
	if (node_time(sim, node, limiter_next(node->limiter)) < node->next_tick_ns)
		schedule_tick(sim, node);
}

/* Reloads as weir does. */
static int reload_limiter(struct sim *sim, struct node *node)
{
	unsigned n = sim->scenario->group.n_policies;
	struct limiter_policy *limits = engine_limiter_policies(
		node_policies(node), n, sim->scenario->group.gossip.loans, TIME_UNKNOWN);
	unsigned *from = calloc(n, sizeof(*from));
	int ret = limits && from ? 0 : -ENOMEM;

	for (unsigned p = 0; ret == 0 && p < n; p++)
		from[p] = p;
	if (ret == 0)
		ret = limiter_update(
			node->limiter, limits, n, from, node_clock(sim, node, sim->events.now_ns));
	free(limits);
	free(from);
	return ret;
}

static void reload_node(struct sim *sim, struct node *node)
{
	int ret = reload_limiter(sim, node);

	node->reloads = false;
	if (ret)
		sim->events.error = ret;
	else
		take_news(sim, node);
}

void node_change_limit(
	struct sim *sim, struct node *node, unsigned policy, const struct limit_terms *terms)
{
	const struct group *group = &sim->scenario->group;

	if (!node->policies) {
		node->policies = malloc(group->n_policies * sizeof(*node->policies));
		if (!node->policies) {
			sim->events.error = -ENOMEM;
			return;
		}
		memcpy(node->policies, group->policies,
			group->n_policies * sizeof(*node->policies));
	}
	node->policies[policy] = policy_with_terms(&node->policies[policy], terms);
	node_limits_in_force(sim, policy);
	node->reloads = node->limiter != NULL;
	if (node->reloads && !node->paused)
		reload_node(sim, node);
}

static void schedule_look(struct sim *sim, struct node *node, uint64_t at_ns);

static void look_at_totals(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;

	/* An event from before a crash or a pause. */
	if (!node->limiter || argument != node->look_ns)
		return;
	node->look_ns = 0;
	if (node->paused)
		return;
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		if (node_totals_look(sim, node, p))
			node_enforce(sim, node, p);
	take_news(sim, node);
	schedule_look(sim, node, sim->events.now_ns + node_totals_rest(sim, node));
}

static void schedule_look(struct sim *sim, struct node *node, uint64_t at_ns)
{
	node->look_ns = at_ns;
	events_at(&sim->events, at_ns, look_at_totals, node, at_ns);
}

/* Starts the looks at a random time, so that the limiters look at different times. */
static void watch_totals(struct sim *sim, struct node *node)
{
	uint64_t most = CREDIT_LOOK_NS;

	if (node->totals.accounts && !node->look_ns)
		schedule_look(sim, node,
			sim->events.now_ns + 1 + prng_next(&sim->prng[STREAM_NODES]) % most);
}

int node_start(struct sim *sim, struct node *node, uint64_t age_ns)
{
	int ret;

	node->starts++;
	ret = build_node_limiter(sim, node, age_ns);
	if (ret == 0)
		ret = policies_create(sim, node);
	if (ret == 0) {
		node_lease_start(sim, node);
		schedule_tick(sim, node);
		watch_totals(sim, node);
		node_await_look(sim, node);
	}
	return ret;
}

static void held_free(struct node *node)
{
	for (unsigned i = 0; i < node->n_held; i++)
		free(node->held[i].buf);
	free(node->held);
	node->held = NULL;
	node->n_held = 0;
}

static uint64_t looks_of(const struct node *node)
{
	return node->limiter ? gossip_counters(limiter_gossip(node->limiter))->looks : 0;
}

double nodes_looks(const struct sim *sim)
{
	uint64_t looks = sim->looks;

	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		looks += looks_of(&sim->nodes[i]);
	return sim->ticks ? (double)looks / (double)sim->ticks : 0;
}

void node_crash(struct sim *sim, struct node *node)
{
	sim->looks += looks_of(node);
	for (unsigned p = 0; p < sim->scenario->group.n_policies; p++)
		add_tried(node, p, &sim->tried[p]);
	node_keep_loans(sim, node);
	limiter_destroy(node->limiter);
	node->limiter = NULL;
	node->paused = node->reloads = false;
	node->look_ns = 0;
	node_drop_commit(node);
	held_free(node);
	node_enforce_nothing(sim, node);
	free(node->enforced);
	free(node->release_ns);
	node->enforced = NULL;
	node->release_ns = NULL;
	engine_states_free(&node->engine, sim->scenario->group.n_policies);
	credit_states_free(&node->totals);
}

static void node_take_message(struct sim *sim, struct node *node, uint8_t *buf, size_t len)
{
	limiter_receive(node->limiter, node_clock(sim, node, sim->events.now_ns), buf, len);
	if (limiter_conserve(node->limiter) || limiter_budget(node->limiter))
		take_news(sim, node);
	else if (node_lends(sim))
		node_follow_up(sim, node);
}

static void resume_node(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct node *node = object;

	if (!node->paused || argument != node->resume_ns)
		return;
	node->paused = false;
	for (unsigned i = 0; i < node->n_held; i++)
		node_take_message(sim, node, node->held[i].buf, node->held[i].len);
	held_free(node);
	if (node->reloads)
		reload_node(sim, node);
	schedule_tick(sim, node);
	watch_totals(sim, node);
	node_await_look(sim, node);
}

void node_pause(struct sim *sim, struct node *node, uint64_t for_ns)
{
	uint64_t until = sim->events.now_ns + for_ns;

	if (!node->limiter || (node->paused && until <= node->resume_ns))
		return;
	node->paused = true;
	node->resume_ns = until;
	node_lease_run_out(sim, node);
	events_at(&sim->events, until, resume_node, node, until);
}

static bool hold_datagram(struct node *node, const uint8_t *buf, size_t len)
{
	struct held *held = reallocarray(node->held, node->n_held + 1, sizeof(*held));

	if (!held)
		return false;
	node->held = held;
	held += node->n_held;
	held->buf = malloc(len);
	if (!held->buf)
		return false;
	memcpy(held->buf, buf, len);
	held->len = len;
	node->n_held++;
	return true;
}

bool node_receive(void *world, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	struct sim *sim = world;
	struct node *node = &sim->nodes[to];

	(void)from;
	if (!node->limiter)
		return false;
	if (node->paused)
		return node->n_held < HELD_MAX && hold_datagram(node, buf, len);
	node_take_message(sim, node, buf, len);
	return true;
}

static enum passage node_shape(struct sim *sim, struct node *node, unsigned worker, unsigned policy,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len,
	struct shape_packet *waiting)
{
	uint64_t now = node_clock(sim, node, sim->events.now_ns);
	enum shape_verdict verdict = engine_states_arrive(
		&node->engine, worker, policy, packet, data, frame_len, now, waiting);

	if (verdict != SHAPE_WAITS)
		return verdict == SHAPE_PASSES ? PASSAGE_PASSES : PASSAGE_DROPPED;
	node_await_release(sim, node, worker);
	return PASSAGE_WAITS;
}

/* Marks an IPv4 header with these ECN bits as weir does. Returns false if it cannot. */
static bool node_mark(int mark, uint8_t *ecn)
{
	const struct packet packet = {.family = PACKET_IPV4};
	uint8_t header[20] = {0x45, *ecn};
	bool marked = mark_frame(header, sizeof(header), &packet, mark);

	*ecn = header[1] & 0x3;
	return marked;
}

static enum passage node_police_levels(struct sim *sim, struct node *node, unsigned worker,
	unsigned policy, const struct packet *packet, const uint8_t *data, uint32_t frame_len)
{
	uint64_t now = node_clock(sim, node, sim->events.now_ns);
	const struct policy *policies = sim->scenario->group.policies;
	struct lineage_slots lineage = engine_states_lineage(policies, policy);
	struct total_before before;
	struct lineage_charge charge;
	enum verdict verdict;
	unsigned total = 0;

	while (total < lineage.n && !policy_is_quota(&policies[lineage.slots[total]]))
		total++;
	if (total < lineage.n)
		before = node_totals_before(node, worker, lineage.slots[total]);
	verdict = engine_states_police_levels(
		&node->engine, worker, &lineage, packet, data, frame_len, now, &charge);
	if (total < lineage.n)
		node_totals_after(sim, node, &before);
	return verdict == VERDICT_DROP ? PASSAGE_DROPPED : PASSAGE_PASSES;
}

enum passage node_police(struct sim *sim, struct node *node, unsigned policy, struct packet *packet,
	const uint8_t *data, uint32_t frame_len, struct shape_packet *waiting)
{
	uint64_t now = node_clock(sim, node, sim->events.now_ns);
	struct total_before before;
	struct policy_state *state;
	enum verdict verdict;
	unsigned worker;
	uint32_t cost;
	bool markable;

	if (!node->limiter)
		return PASSAGE_DROPPED;
	/* Spreads flows over workers, as a port does over its queues. */
	worker = node->engine.n_workers == 1
			 ? 0
			 : packet_flow_hash(packet, data) % node->engine.n_workers;
	state = &node->engine.workers[worker].states[policy];
	if (police_is_shaped(state))
		return node_shape(sim, node, worker, policy, packet, data, frame_len, waiting);
	if (policy_has_parent(&sim->scenario->group.policies[policy]))
		return node_police_levels(sim, node, worker, policy, packet, data, frame_len);
	if (police_is_quota(state))
		before = node_totals_before(node, worker, policy);
	verdict = engine_states_police(
		&node->engine, worker, policy, packet, data, frame_len, now, &cost);
	if (police_is_quota(state))
		node_totals_after(sim, node, &before);
	if (verdict != VERDICT_MARK)
		return verdict == VERDICT_DROP ? PASSAGE_DROPPED : PASSAGE_PASSES;
	markable = node_mark(police_mark(state), &packet->ecn);
	police_marked(state, packet, data, cost, now, markable);
	return markable ? PASSAGE_PASSES : PASSAGE_DROPPED;
}

unsigned node_release(
	struct sim *sim, struct node *node, unsigned worker, struct shape_packet **out, unsigned n)
{
	return shaper_release(node->engine.workers[worker].shaper,
		node_clock(sim, node, sim->events.now_ns), out, n);
}

bool node_leaves(struct sim *sim, struct node *node, unsigned worker, unsigned policy,
	const struct shape_packet *waiting)
{
	return engine_states_leave(
		&node->engine, worker, policy, waiting, node_clock(sim, node, sim->events.now_ns));
}

unsigned node_flush(struct node *node, struct shape_packet **out, unsigned n)
{
	for (unsigned w = 0; w < node->engine.n_workers; w++) {
		struct shaper *shaper = node->engine.workers[w].shaper;

		if (shaper && shaper_waits(shaper))
			return shaper_flush(shaper, out, n);
	}
	return 0;
}

void node_delays(const struct node *node, unsigned policy, struct delay_sum *sum)
{
	for (unsigned w = 0; node->limiter && w < node->engine.n_workers; w++) {
		struct policy_extended *other = node->engine.workers[w].states[policy].other;
		struct delay_sum one = {0};

		delay_fold(&one, &police_shape(other)->delay);
		delay_merge(sum, &one);
	}
}

uint64_t node_waiting(const struct node *node)
{
	uint64_t packets = 0;

	for (unsigned w = 0; w < node->engine.n_workers; w++)
		if (node->engine.workers[w].shaper)
			packets += shaper_counts(node->engine.workers[w].shaper)->packets;
	return packets;
}

void node_view(const struct node *node, unsigned policy, struct limiter_view *view)
{
	if (node->limiter)
		limiter_view(node->limiter, policy, view);
	else
		*view = (struct limiter_view){0};
	if (node->limiter && node->ended) /* the workers enforce less than the limiter has */
		view->local_limit = node->enforced[policy].rate /
				    policy_limit_s(&node->sim->scenario->group.policies[policy]);
}

static uint64_t shortest_node_interval(const struct scenario *s)
{
	uint64_t shortest = s->group.policies[0].interval_ns;

	for (unsigned i = 1; i < s->group.n_policies; i++)
		if (s->group.policies[i].interval_ns < shortest)
			shortest = s->group.policies[i].interval_ns;
	return shortest;
}

/*
 * Starts all limiters some time before the run begins, so that their intervals end at different
 * times.
 */
int nodes_create(struct sim *sim)
{
	const struct scenario *s = sim->scenario;
	uint32_t *ids = calloc(s->n_limiters, sizeof(*ids));
	int ret = -ENOMEM;

	sim->nodes = calloc(s->n_limiters, sizeof(*sim->nodes));
	sim->enforced = calloc(s->group.n_policies, sizeof(*sim->enforced));
	sim->in_force = calloc(s->group.n_policies, sizeof(*sim->in_force));
	for (unsigned i = 0; ids && i < s->n_limiters; i++)
		ids[i] = name_hash(s->limiters[i].name);
	sim->tried = calloc(s->group.n_policies, sizeof(*sim->tried));
	sim->loans = calloc(s->group.n_policies, sizeof(*sim->loans));
	sim->truth = calloc(s->group.n_policies, sizeof(*sim->truth));
	if (sim->nodes && sim->enforced && sim->in_force && sim->tried && sim->loans &&
		sim->truth && ids)
		ret = roster_create(ids, s->n_limiters, &sim->roster);
	free(ids);
	for (unsigned i = 0; ret == 0 && i < s->n_limiters; i++)
		sim->nodes[i].sim = sim;
	for (unsigned p = 0; ret == 0 && p < s->group.n_policies; p++)
		node_limits_in_force(sim, p);
	for (unsigned i = 0; ret == 0 && i < s->n_limiters; i++) {
		struct node *node = &sim->nodes[i];

		node->index = i;
		node->secret = prng_next(&sim->prng[STREAM_NODES]);
		ret = node_start(
			sim, node, prng_next(&sim->prng[STREAM_NODES]) % shortest_node_interval(s));
	}
	return ret;
}

void nodes_free(struct sim *sim)
{
	for (unsigned i = 0; sim->nodes && i < sim->scenario->n_limiters; i++) {
		node_crash(sim, &sim->nodes[i]);
		disk_free(&sim->nodes[i].disk);
		free(sim->nodes[i].policies);
	}
	free(sim->nodes);
	free(sim->enforced);
	free(sim->in_force);
	free(sim->tried);
	free(sim->loans);
	free(sim->truth);
	roster_destroy(sim->roster);
}
