/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group of limiters in virtual time, one of which has a different configuration. For each kind of
 * difference, both sides report it by its name within ten seconds, and report no other.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "base/time.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"

#define NODES    3
#define WALL_NS  (1700000000 * SECOND_NS)
#define ODD      1 /* the limiter whose configuration differs */
#define POLICIES 3
#define TICK     (50 * MS_NS)
#define BUFFER   1200
#define SOON     (10 * SECOND_NS)

enum { SOFT, HARD, TOTAL };

struct told {
	struct limiter_params params;
	struct limiter_policy policies[POLICIES];
	uint32_t ids[NODES + 1];
	unsigned n_ids;
	uint64_t ahead_ns; /* offset of the wall clock */
};

struct group {
	uint64_t now;
	struct limiter *l[NODES];
	struct roster *rosters[NODES];
	struct prng prng;
	unsigned loss;
};

typedef void (*tell_fn)(struct told *told);

/* A kind of difference: its policy, or -1 if it concerns the group; and its name. */
struct kind {
	const char *name;
	int policy; /* -1: of the group */
	tell_fn tell;
	tell_fn usual; /* configures all limiters, or NULL */
};

#define TELLS(function, statement)              \
	static void function(struct told *told) \
	{                                       \
		statement;                      \
	}

TELLS(tell_roster, told->ids[told->n_ids++] = 99)
TELLS(tell_timeout, told->params.gossip.timeout_ns *= 2)
TELLS(tell_estimator, told->params.gossip.estimator = GOSSIP_TREE)
TELLS(tell_lease, told->params.ledger.lease_ns /= 3)
TELLS(tell_drift, told->params.ledger.drift_ppm++)
TELLS(tell_promise, told->params.ledger.promise = 0)
TELLS(tell_overlay, told->params.ledger.overlay.shape = OVERLAY_RING)
TELLS(tell_overlay_degree, told->params.ledger.overlay.degree = 1)
TELLS(tell_tree_degree, told->params.ledger.tree_degree = 3)
TELLS(tell_identity, told->params.ledger.identity.high = 5)
TELLS(tell_clock, told->ahead_ns = 3600 * SECOND_NS)
/* Sets limit and plain limit, as a file does: the effective limit is the configured one. */
static void tell_other_limit(struct limiter_policy *policy, uint64_t limit_bps)
{
	policy->limit_bps = policy->plain.limit_bps = limit_bps;
}

TELLS(tell_limit, tell_other_limit(&told->policies[HARD], 80000000))
TELLS(tell_soft_limit, tell_other_limit(&told->policies[SOFT], 8000008))
TELLS(tell_time, told->policies[HARD].limit_s = told->policies[HARD].plain.limit_s = 60)
TELLS(tell_burst, told->policies[SOFT].burst_bytes = ++told->policies[SOFT].plain.burst_bytes)
TELLS(tell_second, told->policies[SOFT].second = 7)
TELLS(tell_schedule, told->policies[HARD].schedule = 7)
TELLS(tell_override, told->policies[SOFT].override = 7)
TELLS(tell_count, told->policies[SOFT].counts = 1)
TELLS(tell_accounting, told->policies[HARD].accounting = 2)
TELLS(tell_allocator, told->policies[SOFT].allocator = allocator_find("adaptor"))
TELLS(tell_guarantee, told->policies[HARD].guarantee = LIMITER_SOFT)
TELLS(tell_indicator, told->policies[HARD].indicator = &gdrl_utilisation)
TELLS(tell_interval, told->policies[SOFT].interval_ns *= 2)
TELLS(tell_averaging, told->policies[SOFT].keep_per_second = 0.5)
TELLS(tell_history, told->policies[SOFT].history_ns *= 2)
TELLS(tell_total, told->policies[TOTAL].total *= 10)
TELLS(tell_period, told->policies[TOTAL].period_length = 7)
TELLS(tell_drawn, told->policies[TOTAL].drawn = true)
TELLS(tell_parent, told->policies[SOFT].child = true; told->policies[SOFT].parent = 1 + HARD;
	told->policies[SOFT].below = 1 + HARD)
TELLS(tell_weight, tell_parent(told); told->policies[SOFT].weight = 2)
TELLS(tell_guaranteed, tell_parent(told); told->policies[SOFT].guaranteed_bps = 8)
TELLS(tell_presence, told->params.n_policies--)
TELLS(tell_branching, told->params.gossip.branching++)
TELLS(tell_no_drift, told->params.ledger.drift_ppm = 0)

/* Sets given edges: node 7 is in the middle, or 11. Order and direction vary. */
static void tell_edges(struct told *told, const struct overlay_pair *pairs, unsigned n)
{
	told->params.ledger.overlay = (struct overlay_params){
		.shape = OVERLAY_GIVEN, .pairs = pairs, .n_pairs = n};
}

static const struct overlay_pair by_7[] = {{11, 7}, {7, 13}}, round_7[] = {{13, 7}, {7, 11}},
				 by_11[] = {{11, 7}, {13, 11}},
				 by_all[] = {{11, 7}, {7, 13}, {13, 11}};

TELLS(tell_edges_by_7, tell_edges(told, by_7, 2))
TELLS(tell_edges_round_7, tell_edges(told, round_7, 2))
TELLS(tell_edges_by_11, tell_edges(told, by_11, 2))
TELLS(tell_edges_by_all, tell_edges(told, by_all, 3))
TELLS(tell_spares, tell_edges(told, by_7, 2); told->params.ledger.overlay.spares = 1)

static const struct kind kinds[] = {
	{"roster", -1, tell_roster, NULL},
	{"gossip timeout", -1, tell_timeout, NULL},
	{"estimator", -1, tell_estimator, NULL},
	{"lease", -1, tell_lease, NULL},
	{"drift", -1, tell_drift, NULL},
	{"promise", -1, tell_promise, NULL},
	{"overlay", -1, tell_overlay, NULL},
	{"overlay", -1, tell_overlay_degree, NULL},
	{"degree of the tree", -1, tell_tree_degree, NULL},
	{"identity of the ledger", -1, tell_identity, NULL},
	{"clock", -1, tell_clock, NULL},
	{"limit", HARD, tell_limit, NULL},
	{"limit", SOFT, tell_soft_limit, NULL},
	{"time of the limit", HARD, tell_time, NULL},
	{"burst", SOFT, tell_burst, NULL},
	{"burst", SOFT, tell_second, NULL},
	{"schedule", HARD, tell_schedule, NULL},
	{"override", SOFT, tell_override, NULL},
	{"count", SOFT, tell_count, NULL},
	{"accounting", HARD, tell_accounting, NULL},
	{"allocator", SOFT, tell_allocator, NULL},
	{"guarantee", HARD, tell_guarantee, NULL},
	{"indicator", HARD, tell_indicator, NULL},
	{"interval", SOFT, tell_interval, NULL},
	{"averaging", SOFT, tell_averaging, NULL},
	{"history", SOFT, tell_history, NULL},
	{"total", TOTAL, tell_total, NULL},
	{"period", TOTAL, tell_period, NULL},
	{"where shares come from", TOTAL, tell_drawn, NULL},
	{"parent", SOFT, tell_parent, NULL},
	{"weight", SOFT, tell_weight, tell_parent},
	{"guaranteed", SOFT, tell_guaranteed, tell_parent},
	{"presence", TOTAL, tell_presence, NULL},
	{"branching", -1, tell_branching, tell_estimator},
	{"drift", -1, tell_no_drift, NULL},
	{"overlay", -1, tell_edges_by_11, tell_edges_by_7},
	{"overlay", -1, tell_edges_by_all, tell_edges_by_7},
	{"overlay", -1, tell_spares, tell_edges_by_7},
};

static void tell_usual(struct told *told, unsigned i)
{
	static const uint32_t ids[NODES] = {11, 7, 13};

	*told = (struct told){.n_ids = NODES};
	memcpy(told->ids, ids, sizeof(ids));
	for (unsigned p = 0; p < POLICIES; p++)
		told->policies[p] = (struct limiter_policy){
			.id = 1 + p,
			.allocator = allocator_find(p == TOTAL ? "quota" : "fps"),
			.limit_bps = 8000000,
			.burst_bytes = 100000,
			.interval_ns = TICK,
			.keep_per_second = 0.1,
			.history_ns = 2 * SECOND_NS,
			.step_ns = SECOND_NS / 5,
			.guarantee = p == HARD ? LIMITER_HARD : LIMITER_SOFT,
			.total = p == TOTAL ? 1000000 : 0,
			.chunk = 1000,
			.plain = {8000000, 0, 100000},
			.schedule = p == TOTAL ? 0 : 5,
		};
	told->params = (struct limiter_params){
		.gossip = {.epoch = 1 + i,
			.seed = i,
			.branching = 2,
			.timeout_ns = SECOND_NS / 2,
			.datagram_max = BUFFER,
			.estimator = GOSSIP_STATE},
		.n_policies = POLICIES,
		.n_workers = 1,
		.ledger = {.overlay = {.shape = OVERLAY_RANDOM},
			.epoch = 1,
			.identity = {.low = 1},
			.lease_ns = 3 * SECOND_NS,
			.drift_ppm = 100,
			.promise = 50,
			.timeout_ns = SECOND_NS},
	};
}

/* Each machine's clock starts at its own time. */
static uint64_t now_of(const struct group *g, unsigned i)
{
	return g->now + i * 1000 * SECOND_NS;
}

static void start_terms(struct group *g, const struct kind *kind)
{
	g->now = 100 * SECOND_NS;
	for (unsigned i = 0; i < NODES; i++) {
		struct told told;

		tell_usual(&told, i);
		if (kind && kind->usual)
			kind->usual(&told);
		if (i == ODD && kind)
			kind->tell(&told);
		assert_int_equal(roster_create(told.ids, told.n_ids, &g->rosters[i]), 0);
		told.params.gossip.roster = g->rosters[i];
		told.params.gossip.self = roster_find(g->rosters[i], told.ids[i]);
		told.params.policies = told.policies;
		assert_int_equal(limiter_create(&told.params, now_of(g, i), &g->l[i]), 0);
		limiter_clock(g->l[i], WALL_NS + told.ahead_ns, false, now_of(g, i));
	}
}

static void end_terms(struct group *g)
{
	for (unsigned i = 0; i < NODES; i++) {
		limiter_destroy(g->l[i]);
		roster_destroy(g->rosters[i]);
	}
}

static void measure_nothing(void *context, unsigned policy, struct limiter_sample *sample)
{
	static uint64_t slots[FLOW_SLOTS];

	(void)context, (void)policy;
	*sample = (struct limiter_sample){.slots = slots};
}

static unsigned index_at(const struct group *g, unsigned i, uint32_t id)
{
	return roster_find(g->rosters[i], id);
}

static uint32_t id_of(unsigned i)
{
	static const uint32_t ids[NODES] = {11, 7, 13};

	return ids[i];
}

static void carry_terms(struct group *g, unsigned i)
{
	uint8_t buf[BUFFER];
	unsigned to;
	size_t len;

	while ((len = limiter_send(g->l[i], buf, &to)) > 0)
		for (unsigned node = 0; node < NODES; node++)
			if (g->rosters[i]->ids[to] == id_of(node) &&
				!prng_percent(&g->prng, g->loss))
				limiter_receive(g->l[node], now_of(g, node), buf, len);
}

static void run_terms(struct group *g, uint64_t ns)
{
	for (uint64_t end = g->now + ns; g->now < end;) {
		g->now += TICK;
		for (unsigned i = 0; i < NODES; i++) {
			limiter_tick(g->l[i], now_of(g, i), measure_nothing, NULL);
			if (limiter_uncommitted(g->l[i]) && limiter_save(g->l[i], NULL, NULL) == 0)
				limiter_committed(g->l[i], now_of(g, i));
			carry_terms(g, i);
		}
	}
}

/* Returns true if limiter i reports exactly this difference for a peer. */
static bool sees_kind(const struct group *g, unsigned i, unsigned peer, const struct kind *kind)
{
	const struct agree *agree = limiter_agree(g->l[i]);
	unsigned at = index_at(g, i, id_of(peer));
	struct agree_peer_view view = agree_peer(agree, at);
	struct agree_difference difference;
	const char *name;
	bool fixed;

	if (view.n != 1)
		return false;
	difference = agree_difference(agree, at, 0);
	name = limiter_thing(g->l[i], difference.policy == AGREE_GROUP, &difference.things, &fixed);
	if (kind->policy < 0 ? difference.policy != AGREE_GROUP
			     : difference.id != 1 + (uint32_t)kind->policy)
		return false;
	return strcmp(name, kind->name) == 0 && difference.things == 0 &&
	       fixed == (kind->policy < 0);
}

static bool sees_no_difference(const struct group *g, unsigned i, unsigned peer)
{
	struct agree_peer_view view = agree_peer(
		limiter_agree(g->l[i]), index_at(g, i, id_of(peer)));

	return view.n == 0 && !view.more && view.since_ns == 0;
}

static bool sees_none(const struct group *g, unsigned i, unsigned peer)
{
	return agree_peer(limiter_agree(g->l[i]), index_at(g, i, id_of(peer))).has_reported &&
	       sees_no_difference(g, i, peer);
}

/*
 * Checks the two limiters with the same configuration. In a tree they are not neighbours of each
 * other, only of the odd one.
 */
static void check_those_alike(const struct group *g, const struct kind *kind)
{
	bool alike = kind->usual == tell_estimator
			     ? sees_no_difference(g, 0, 2) && sees_no_difference(g, 2, 0)
			     : sees_none(g, 0, 2) && sees_none(g, 2, 0);

	if (!alike)
		fail_msg("%s: between two who were told alike", kind->name);
}

TEST(test_each_kind)
{
	for (unsigned loss = 0; loss <= 20; loss += 20)
		for (size_t k = 0; k < COUNT(kinds); k++) {
			struct group g = {.loss = loss};

			prng_seed(&g.prng, k);
			start_terms(&g, &kinds[k]);
			/* Lost messages are repeated in later rounds. */
			run_terms(&g, loss > 0 ? 3 * SOON : SOON);
			for (unsigned i = 0; i < NODES; i++)
				if (i != ODD && (!sees_kind(&g, i, ODD, &kinds[k]) ||
							!sees_kind(&g, ODD, i, &kinds[k])))
					fail_msg("%s (%zu), loss %u: not seen by %u", kinds[k].name,
						k, loss, i);
			check_those_alike(&g, &kinds[k]);
			end_terms(&g);
		}
	print_message("%zu kinds\n", COUNT(kinds));
}

/* The order in which edges are given is not a difference. */
TEST(test_edges_alike)
{
	static const struct kind kind = {.tell = tell_edges_round_7, .usual = tell_edges_by_7};
	ENDED_BY(end_terms) struct group g = {.loss = 0};

	prng_seed(&g.prng, 1);
	start_terms(&g, &kind);
	run_terms(&g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned peer = 0; peer < NODES; peer++)
			assert_true(i == peer || sees_none(&g, i, peer));
}

/* With the same configuration no difference is ever reported, also with loss. */
TEST(test_no_kind)
{
	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		struct group g = {.loss = (unsigned)seed};

		prng_seed(&g.prng, seed);
		start_terms(&g, NULL);
		for (unsigned step = 0; step < 200; step++) {
			run_terms(&g, TICK);
			for (unsigned i = 0; i < NODES * NODES; i++)
				if (agree_peer(limiter_agree(g.l[i / NODES]),
					    index_at(&g, i / NODES, id_of(i % NODES)))
						.since_ns != 0)
					fail_msg("seed %llu", (unsigned long long)seed);
		}
		assert_true(sees_none(&g, 0, 1));
		end_terms(&g);
	}
}

/* With 8 and 80 Mbit/s configured, the group soon has 8 together, and no more later. */
TEST(test_lowest_limit)
{
	static const struct kind kind = {"limit", HARD, tell_limit, NULL};
	ENDED_BY(end_terms) struct group g = {0};
	uint64_t bursts = 0;
	double sum = 0;

	prng_seed(&g.prng, 1);
	start_terms(&g, &kind);
	run_terms(&g, SOON);
	for (unsigned i = 0; i < NODES; i++) {
		struct limiter_view view;

		limiter_view(g.l[i], HARD, &view);
		sum += view.local_limit;
		bursts += view.local_burst;
	}
	assert_near(sum, 1e6, 10);
	assert_true(bursts <= 100000);
}

static void set_terms(struct group *g, unsigned i, uint64_t limit_bps)
{
	const struct limiter_change_terms changes[] = {
		{SOFT, {limit_bps, 0, 50000}, 0}, {HARD, {limit_bps, 0, 50000}, 0}};

	assert_int_equal(limiter_set_terms(g->l[i], changes, 2, now_of(g, i)), 0);
}

static double sum_of_limits(const struct group *g, unsigned policy, uint64_t *bursts)
{
	struct limiter_view view;
	double sum = 0;

	*bursts = 0;
	for (unsigned i = 0; i < NODES; i++) {
		limiter_view(g->l[i], policy, &view);
		sum += view.local_limit;
		*bursts += view.local_burst;
	}
	return sum;
}

static void expect_at_one(const struct group *g, uint64_t seed)
{
	for (unsigned i = 0; i < NODES * NODES; i++)
		if (agree_peer(limiter_agree(g->l[i / NODES]),
			    index_at(g, i / NODES, id_of(i % NODES)))
				.since_ns != 0)
			fail_msg("seed %llu: a time of day is taken for a difference",
				(unsigned long long)seed);
}

/*
 * All limiters change to another limit by schedule, each a moment after the one before. None
 * reports a difference. The sum of a hard limit never exceeds the higher limit, and not the lower
 * one after all have changed.
 */
static void change_by_time(struct group *g, uint64_t seed, uint64_t from_bps, uint64_t to_bps)
{
	double higher = (double)(from_bps > to_bps ? from_bps : to_bps) / 8, sum = 0;
	uint64_t bursts = 0;

	for (unsigned i = 0; i < NODES; i++) {
		set_terms(g, i, to_bps);
		for (unsigned step = 0; step < 1 + seed % 20; step++) {
			run_terms(g, TICK);
			expect_at_one(g, seed);
			sum = sum_of_limits(g, HARD, &bursts);
			if (sum > higher || bursts > 100000)
				fail_msg("seed %llu: %g B/s", (unsigned long long)seed, sum);
		}
	}
	run_terms(g, SOON);
	expect_at_one(g, seed);
	if (g->loss) /* a lease may expire, and its share is unused then */
		return;
	assert_near(sum_of_limits(g, HARD, &bursts), (double)to_bps / 8, 10);
	assert_true(bursts <= 50000);
	assert_near(sum_of_limits(g, SOFT, &bursts), (double)to_bps / 8, 10);
}

TEST(test_times_of_day)
{
	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		struct group g = {.loss = seed % 2 ? 0 : (unsigned)seed % 20};

		prng_seed(&g.prng, seed);
		start_terms(&g, NULL);
		run_terms(&g, 2 * SECOND_NS);
		change_by_time(&g, seed, 8000000, 2000000);
		change_by_time(&g, seed, 2000000, 16000000);
		end_terms(&g);
	}
}

/* Keeps only this policy, which becomes the first. */
static void tell_one_policy(struct told *told, unsigned policy)
{
	told->policies[0] = told->policies[policy];
	told->params.n_policies = 1;
}

TELLS(tell_hard_alone, tell_one_policy(told, HARD))
TELLS(tell_total_alone, tell_one_policy(told, TOTAL))
TELLS(tell_no_identity, told->params.ledger.identity = (struct book_identity){0})

/*
 * A limiter without a ledger learns the group's ledger identity, from limits, from quotas, or from
 * both.
 */
TEST(test_learnt)
{
	static const struct kind learns[] = {
		{"hard and total", -1, tell_no_identity, NULL},
		{"hard", -1, tell_no_identity, tell_hard_alone},
		{"total", -1, tell_no_identity, tell_total_alone},
	};

	for (unsigned k = 0; k < COUNT(learns); k++) {
		struct group g = {.loss = 0};

		prng_seed(&g.prng, 1 + k);
		start_terms(&g, &learns[k]);
		assert_false(book_identity_known(limiter_identity(g.l[ODD])));
		run_terms(&g, SOON);
		if (!book_identity_equal(limiter_identity(g.l[ODD]), limiter_identity(g.l[0])) ||
			limiter_identity(g.l[ODD]).low != 1)
			fail_msg("%s: learnt %llu", learns[k].name,
				(unsigned long long)limiter_identity(g.l[ODD]).low);
		end_terms(&g);
	}
}

static void tell_lower_in_packets(struct told *told)
{
	told->policies[HARD].limit_bps /= 10;
	told->policies[HARD].counts = 1;
}

static void tell_lower_a_minute(struct told *told)
{
	told->policies[HARD].limit_bps /= 10;
	told->policies[HARD].limit_s = 60;
}

static void tell_lower_on_the_wire(struct told *told)
{
	told->policies[HARD].limit_bps /= 10;
	told->policies[HARD].accounting = 2;
}

static void tell_lower(struct told *told)
{
	told->policies[HARD].limit_bps /= 10;
}

/* A lower limit applies to the others only if it counts in the same units. */
TEST(test_other_units)
{
	static const struct {
		tell_fn tell;
		double most; /* bytes a second that the two others have together, of 1e6 */
	} rows[] = {
		{tell_lower, 2e5 / 3},
		{tell_lower_in_packets, 2e6 / 3},
		{tell_lower_a_minute, 2e6 / 3},
		{tell_lower_on_the_wire, 2e6 / 3},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		const struct kind kind = {"limit", HARD, rows[k].tell, NULL};
		struct limiter_view view;
		struct group g = {0};
		uint64_t bursts;
		double others;

		prng_seed(&g.prng, 1);
		start_terms(&g, &kind);
		run_terms(&g, SOON);
		limiter_view(g.l[ODD], HARD, &view);
		others = sum_of_limits(&g, HARD, &bursts) - view.local_limit;
		/* Except the share reserved for a neighbour that does not take part. */
		assert_true(others <= rows[k].most + 10 && others > rows[k].most / 2);
		end_terms(&g);
	}
}

/* One limiter has a roster of four, three lack the fourth: each has at most a fourth. */
TEST(test_other_roster)
{
	static const struct kind kind = {"roster", -1, tell_roster, NULL};
	ENDED_BY(end_terms) struct group g = {0};
	uint64_t bursts;
	double sum;

	prng_seed(&g.prng, 1);
	start_terms(&g, &kind);
	run_terms(&g, SOON);
	sum = sum_of_limits(&g, HARD, &bursts);
	assert_true(sum <= 0.75e6 + 10 && sum > 0.5e6);
}

TELLS(tell_limit_and_total, tell_soft_limit(told); tell_total(told))

/*
 * With different totals configured, all soon use the lowest. This holds although no unit is spent,
 * and also with another difference.
 */
TEST(test_lowest_total)
{
	static const struct kind rows[] = {
		{"total", TOTAL, tell_total, NULL}, {"both", TOTAL, tell_limit_and_total, NULL}};

	for (unsigned k = 0; k < COUNT(rows); k++) {
		struct group g = {0};

		prng_seed(&g.prng, 1);
		start_terms(&g, &rows[k]);
		run_terms(&g, SOON);
		for (unsigned i = 0; i < NODES; i++)
			assert_int_equal(budget_total(limiter_budget(g.l[i]),
						 limiter_budget_index(g.l[i], TOTAL)),
				1000000);
		end_terms(&g);
	}
}

/*
 * Both neighbours see that their ledgers differ; neighbours with the same ledger see no difference.
 */
TEST(test_foreign_neighbour)
{
	static const struct kind kind = {"identity of the ledger", -1, tell_identity, NULL};
	struct limiter_neighbour neighbour;
	ENDED_BY(end_terms) struct group g = {0};

	prng_seed(&g.prng, 1);
	start_terms(&g, &kind);
	run_terms(&g, SOON);
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned peer = 0; peer < NODES; peer++) {
			assert_int_equal(
				limiter_neighbour(g.l[i], index_at(&g, i, id_of(peer)), &neighbour),
				peer != i);
			if (peer == i)
				continue;
			assert_true(neighbour.has_reported);
			assert_int_equal(neighbour.peer_identity.high, peer == ODD ? 5 : 0);
			assert_int_equal(neighbour.peer_identity.low, 1);
			assert_int_equal(neighbour.foreign, peer == ODD || i == ODD);
			assert_int_equal(neighbour.foreign_messages > 0, neighbour.foreign);
			assert_int_equal(neighbour.invalid, 0);
		}
}
