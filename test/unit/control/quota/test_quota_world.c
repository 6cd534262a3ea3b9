/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A tree of limiters with a network that loses, repeats and reorders messages. Edges are cut,
 * limiters crash and return with their newest record or none, and each begins a period at its own
 * time. Never more than the total is used. After all faults no unit is missing, and a limiter that
 * needs units gets the last one.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "quota/quota.h"

#define NODES    9
#define STEP     (MS / 4)
#define TRANSITS 4096
#define PERIODS  4
#define RECORD   4096
#define CHUNK    64
#define VAIN     24000 /* steps after which no more is expected */

struct transit {
	struct quota_message message;
	uint64_t at_ns;
	unsigned to, edge;
};

struct node {
	struct quota_node *quota; /* NULL while down */
	unsigned n, to[NODES], back[NODES];
	char record[RECORD], writing[RECORD];
	size_t len, writing_len;
	uint64_t written_ns, up_ns, epoch, rolls_ns;
	bool is_writing, durable;
	uint64_t wants;
};

struct world {
	struct node nodes[NODES];
	struct transit transits[TRANSITS];
	unsigned n_transits;
	struct prng prng;
	uint64_t seed, now_ns, total, shares[NODES];
	uint64_t used[PERIODS + 1]; /* by traffic, in each period */
	uint64_t periods;           /* the present period */
	bool cut[NODES];            /* the edge to the parent */
	bool faults, memory_losses;
	unsigned crashes;
};

static bool quota_world_chance(struct world *w, unsigned in)
{
	return prng_below(&w->prng, in) == 0;
}

static uint64_t period_of(const struct world *w, const struct node *node)
{
	uint64_t period = 1;

	while (period < w->periods && w->now_ns >= node->rolls_ns * period)
		period++;
	return period;
}

static void boot_quota_node(struct world *w, unsigned k, bool recovering)
{
	struct node *node = &w->nodes[k];
	struct quota_params params = {
		.share = w->shares[k],
		.period = period_of(w, node),
		.n_edges = node->n,
		.epoch = ++node->epoch,
		.recovering = recovering,
		.durable = node->durable,
		.chunk = CHUNK,
		.theta_ns = 4 * MS,
		.memory_ns = 200 * MS,
		.repeat_ns = 50 * MS,
		.seed = w->seed + k,
	};
	int err = node->len
			  ? quota_restore(&params, node->record, node->len, w->now_ns, &node->quota)
			  : quota_create(&params, w->now_ns, &node->quota);

	assert_int_equal(err, 0);
	for (unsigned e = 0; e < node->n; e++)
		quota_link(node->quota, e, true, w->total / NODES);
}

static void join_quota_nodes(struct world *w, unsigned a, unsigned b)
{
	struct node *x = &w->nodes[a], *y = &w->nodes[b];

	x->to[x->n] = b;
	y->to[y->n] = a;
	x->back[x->n] = y->n;
	y->back[y->n] = x->n;
	x->n++;
	y->n++;
}

static struct world *world_new(uint64_t seed, uint64_t periods)
{
	struct world *w = test_calloc(1, sizeof(*w));

	w->seed = seed;
	w->periods = periods;
	prng_seed(&w->prng, seed);
	for (unsigned k = 0; k < NODES; k++) {
		w->shares[k] = prng_below(&w->prng, 2000);
		w->total += w->shares[k];
		w->nodes[k].durable = quota_world_chance(w, 2);
		w->nodes[k].rolls_ns = 900 * MS + prng_below(&w->prng, 200) * MS;
		if (k > 0)
			join_quota_nodes(w, prng_below(&w->prng, k), k);
	}
	for (unsigned k = 0; k < NODES; k++)
		boot_quota_node(w, k, false);
	return w;
}

static void world_free(struct world *w)
{
	for (unsigned k = 0; k < NODES; k++)
		quota_destroy(w->nodes[k].quota);
	test_free(w);
}

END_POINTER(world_free, struct world *)

static bool is_cut(const struct world *w, unsigned a, unsigned b)
{
	return w->cut[a > b ? a : b];
}

static void put_quota_transit(
	struct world *w, unsigned from, unsigned edge, const struct quota_message *m)
{
	assert_true(w->n_transits < TRANSITS);
	w->transits[w->n_transits++] = (struct transit){
		.message = *m,
		.at_ns = w->now_ns + MS / 2 + prng_below(&w->prng, w->faults ? 5 * MS : MS),
		.to = w->nodes[from].to[edge],
		.edge = w->nodes[from].back[edge],
	};
}

static void send_quota_messages(struct world *w, unsigned k)
{
	struct node *node = &w->nodes[k];
	struct quota_message m;
	uint32_t edge;

	while (quota_next(node->quota, w->now_ns, &edge, &m)) {
		if (is_cut(w, k, node->to[edge]) || (w->faults && quota_world_chance(w, 8)))
			continue;
		put_quota_transit(w, k, edge, &m);
		if (w->faults && quota_world_chance(w, 10))
			put_quota_transit(w, k, edge, &m);
	}
}

static void deliver_quota_transits(struct world *w)
{
	for (unsigned i = w->n_transits; i-- > 0;) {
		struct transit t = w->transits[i];

		if (t.at_ns > w->now_ns)
			continue;
		w->transits[i] = w->transits[--w->n_transits];
		if (w->nodes[t.to].quota)
			quota_receive(w->nodes[t.to].quota, t.edge, &t.message, w->now_ns);
	}
}

static void run_quota_disk(struct world *w, struct node *node)
{
	if (node->is_writing && w->now_ns >= node->written_ns) {
		memcpy(node->record, node->writing, node->writing_len);
		node->len = node->writing_len;
		node->is_writing = false;
		quota_committed(node->quota);
	}
	if (node->is_writing || !quota_uncommitted(node->quota))
		return;
	assert_true(quota_record_size(node->quota) <= RECORD);
	if (quota_save(node->quota, node->writing, &node->writing_len))
		return;
	node->is_writing = true;
	node->written_ns = w->now_ns + prng_below(&w->prng, 2 * MS);
}

static void crash_quota_node(struct world *w, unsigned k)
{
	struct node *node = &w->nodes[k];

	w->crashes++;
	quota_destroy(node->quota);
	node->quota = NULL;
	node->is_writing = false;
	node->up_ns = w->now_ns + prng_below(&w->prng, 100 * MS);
}

static void spend_quota_units(struct world *w, struct node *node)
{
	uint64_t units = node->wants ? node->wants : 1 + prng_below(&w->prng, 40);
	uint64_t period = quota_view(node->quota, w->now_ns).period;
	int ret = quota_spend(node->quota, units, w->now_ns);

	node->wants = ret == -EAGAIN ? units : 0;
	if (ret)
		return;
	w->used[period] += units;
	if (w->used[period] > w->total)
		fail_msg("seed %" PRIu64 ": %" PRIu64 " used of %" PRIu64, w->seed, w->used[period],
			w->total);
}

static void quota_world_trouble(struct world *w, unsigned k)
{
	if (quota_world_chance(w, 400))
		w->cut[k] = !w->cut[k];
	/* Without a disk it restarts recovering; rarely, because its balance is forfeited. */
	if (quota_world_chance(w, 600) &&
		(w->nodes[k].durable || (w->memory_losses && quota_world_chance(w, 3))))
		crash_quota_node(w, k);
}

/* Each node spends once in `busy` steps, or never if it is 0. */
static void step_quota_world(struct world *w, unsigned busy)
{
	w->now_ns += STEP;
	deliver_quota_transits(w);
	for (unsigned k = 0; k < NODES; k++) {
		struct node *node = &w->nodes[k];

		if (w->faults && node->quota)
			quota_world_trouble(w, k);
		if (!node->quota && w->now_ns >= node->up_ns)
			boot_quota_node(w, k, !node->durable || node->len == 0);
		if (!node->quota)
			continue;
		if (period_of(w, node) > quota_view(node->quota, w->now_ns).period) {
			assert_int_equal(quota_period(node->quota, period_of(w, node), w->shares[k],
						 w->now_ns),
				0);
			node->is_writing = false; /* the record being written is void */
		}
		if (busy && quota_world_chance(w, busy * (k + 1)))
			spend_quota_units(w, node);
		quota_tick(node->quota, w->now_ns);
		if (node->durable)
			run_quota_disk(w, node);
		send_quota_messages(w, k);
	}
}

static bool in_flight(const struct world *w)
{
	for (unsigned k = 0; k < NODES; k++)
		for (unsigned e = 0; e < w->nodes[k].n; e++)
			if (quota_edge(w->nodes[k].quota, e).in_flight)
				return true;
	return false;
}

static void heal_quota_world(struct world *w)
{
	w->faults = false;
	memset(w->cut, 0, sizeof(w->cut));
	for (unsigned k = 0; k < NODES; k++)
		w->nodes[k].up_ns = w->now_ns;
	for (unsigned i = 0; i < 4000; i++)
		step_quota_world(w, 0);
	for (unsigned k = 0; k < NODES; k++)
		quota_forgo(w->nodes[k].quota); /* its traffic does not come back */
	for (unsigned i = 0; i < 4000 && in_flight(w); i++)
		step_quota_world(w, 0);
}

/* Every unit of the last period is accounted for. */
static void check_nothing_lost(struct world *w)
{
	uint64_t spent = 0, unused = 0;
	int64_t held = 0;

	for (unsigned k = 0; k < NODES; k++) {
		struct quota_view view = quota_view(w->nodes[k].quota, w->now_ns);

		held += view.balance;
		spent += view.spent;
		unused += view.prepaid;
	}
	if (in_flight(w))
		fail_msg("seed %" PRIu64 ": in flight for good", w->seed);
	if (held + (int64_t)spent != (int64_t)w->total)
		fail_msg("seed %" PRIu64 ": %" PRId64 " held, %" PRIu64 " spent of %" PRIu64,
			w->seed, held, spent, w->total);
	if (w->used[w->periods] + unused > spent)
		fail_msg("seed %" PRIu64 ": more used than spent", w->seed);
	/* A crash costs units that were saved as spent and not used yet. */
	if (spent - w->used[w->periods] - unused > (uint64_t)w->crashes * 4 * CHUNK)
		fail_msg("seed %" PRIu64 ": %" PRIu64 " lost in %u crashes", w->seed,
			spent - w->used[w->periods] - unused, w->crashes);
}

/* One node takes unit after unit: it gets all units of the others. */
static void check_progress(struct world *w)
{
	unsigned taker = prng_below(&w->prng, NODES);
	int64_t left = 0;

	for (unsigned vain = 0; vain < VAIN; vain++) {
		step_quota_world(w, 0);
		while (quota_spend(w->nodes[taker].quota, 1, w->now_ns) == 0) {
			w->used[w->periods]++;
			vain = 0;
		}
	}
	for (unsigned k = 0; k < NODES; k++)
		left += quota_view(w->nodes[k].quota, w->now_ns).balance;
	if (left != 0)
		fail_msg("seed %" PRIu64 ": %" PRId64 " of %" PRIu64 " left for %u", w->seed, left,
			w->total, taker);
}

#define SEEDS 8

static void run_quota_world(uint64_t seed, uint64_t periods, bool memory_losses)
{
	ENDED_BY(world_free_at) struct world *w = world_new(seed, periods);

	w->faults = true;
	w->memory_losses = memory_losses;
	for (unsigned i = 0; i < 4000 * periods; i++)
		step_quota_world(w, 8);
	heal_quota_world(w);
	if (!memory_losses) {
		check_nothing_lost(w);
		check_progress(w);
	}
}

TEST(test_faults)
{
	for (uint64_t seed = 1; seed <= ROUNDS(SEEDS); seed++)
		run_quota_world(seed, 1, false);
}

TEST(test_periods)
{
	for (uint64_t seed = 1; seed <= ROUNDS(SEEDS / 3); seed++)
		run_quota_world(1000 + seed, PERIODS, false);
}

TEST(test_recovering)
{
	for (uint64_t seed = 1; seed <= ROUNDS(SEEDS); seed++)
		run_quota_world(2000 + seed, 1, true);
}
