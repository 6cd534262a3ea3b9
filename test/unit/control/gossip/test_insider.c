/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter of the group lies, within the format, about the others or about itself. The others
 * continue to count each other by their own datagrams.
 */
#include "check.h"
#include "scope.h"

#include "gossip_world.h"

#define N       5
#define LIAR    4
#define VICTIM  1 /* the limiter that it lies about */
#define MOST    1e9
#define WORLDS  60
#define LIES_MS 8000
#define FAR     (1U << 30)

static struct world_params insider_params(enum gossip_estimator estimator, uint64_t seed)
{
	return (struct world_params){.seed = seed,
		.n = N,
		.n_policies = 2,
		.branching = 2,
		.estimator = estimator,
		.demand_max = MOST,
		.tick_ns = 50 * MS,
		.timeout_ns = 1000 * MS,
		.delay_ns = MS};
}

static void begin_group(struct world *w, const struct world_params *params)
{
	world_create(w, params);
	for (unsigned i = 0; i < N; i++)
		for (unsigned p = 0; p < params->n_policies; p++)
			world_set(w, i, p, 1 + i);
	world_run(w, 6000 * MS);
}

/* Begins a datagram that is accepted as the liar's next; the caller writes the body. */
static struct cursor begin_lie(
	struct world *w, unsigned to, uint8_t *buf, struct datagram_body *body)
{
	struct cursor cursor = {.at = buf, .end = buf + DATAGRAM_MAX};
	const struct peer *peer = gossip_peer(w->nodes[to].gossip, LIAR);
	struct datagram_header header = {.version = DATAGRAM_VERSION,
		.flags = (uint8_t)(w->params.estimator << DATAGRAM_ESTIMATOR_SHIFT),
		.newest = DATAGRAM_VERSION,
		.oldest = DATAGRAM_VERSION,
		.sender = w->roster->ids[LIAR],
		.epoch = peer ? peer->epoch : 1,
		.counter = peer ? peer->counter + 1 : 1};

	*body = (struct datagram_body){
		.receiver = w->roster->ids[to], .tick = peer ? peer->tick : 1};
	datagram_write_header(&cursor, &header);
	return cursor;
}

static void tell_lie(struct world *w, unsigned to, uint8_t *buf, const struct cursor *cursor)
{
	assert_false(cursor->failed);
	assert_int_equal(
		gossip_receive(w->nodes[to].gossip, w->now_ns, buf, (size_t)(cursor->at - buf)),
		GOSSIP_ACCEPTED);
}

/* Sends a section on another limiter with one record of that section's tick. */
static void tell_of(
	struct world *w, unsigned to, const struct datagram_section *section, float value)
{
	struct datagram_record record = {w->policies[0], section->tick, value, value};
	struct datagram_body body;
	uint8_t buf[DATAGRAM_MAX];
	struct cursor cursor = begin_lie(w, to, buf, &body);

	datagram_write_body(&cursor, &body);
	datagram_write_section(&cursor, section);
	datagram_write_record(&cursor, &record);
	tell_lie(w, to, buf, &cursor);
}

/* Claims that the victim is `ahead` ticks further and has this demand and weight. */
static void tell_of_victim(struct world *w, unsigned to, uint32_t ahead, float value)
{
	const struct peer *victim = gossip_peer(w->nodes[to].gossip, VICTIM);
	struct datagram_section section = {
		w->roster->ids[VICTIM], victim->epoch, victim->tick + ahead, 1};

	tell_of(w, to, &section, value);
}

static void expect_all_count(const struct world *w)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < N; k++)
			if (i != k && i != LIAR && k != LIAR &&
				!gossip_peer(w->nodes[i].gossip, k)->alive)
				fail_msg("estimator %u, seed %lu: %u lost %u", w->params.estimator,
					w->params.seed, i, k);
}

static void expect_truth(const struct world *w, double tolerance)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned p = 0; p < w->params.n_policies; p++) {
			struct gossip_sum sum;
			unsigned peers;
			double truth = world_truth(w, i, p, &peers);

			if (!w->nodes[i].gossip)
				continue;
			sum = gossip_sum(w->nodes[i].gossip, p);
			assert_int_equal(sum.lost, N - 1 - peers);
			assert_near(sum.weight, truth, tolerance);
			assert_near(sum.demand, 1000 * truth, 1000 * tolerance);
		}
}

static void run_and_expect_all(struct world *w, uint64_t ns)
{
	for (uint64_t end = w->now_ns + ns; w->now_ns < end;) {
		world_run(w, WORLD_STEP);
		expect_all_count(w);
	}
}

/* One datagram to each peer, once, with a tick 19 months ahead. */
TEST(test_a_tick_far_ahead)
{
	struct world_params params = insider_params(GOSSIP_STATE, 1);
	ENDED_BY(world_destroy) struct world w;

	begin_group(&w, &params);
	expect_truth(&w, 1e-6);
	for (unsigned i = 0; i < LIAR; i++)
		if (i != VICTIM) {
			tell_of_victim(&w, i, FAR, 1e8F);
			assert_int_equal(gossip_peer(w.nodes[i].gossip, LIAR)->implausible, 1);
			assert_int_equal(gossip_counters(w.nodes[i].gossip)->implausible, 1);
		}
	expect_truth(&w, 1e-6);
	run_and_expect_all(&w, 10000 * MS);
	expect_truth(&w, 1e-6);
}

/* A lie in every tick, with a plausible tick: the victim's own records still take effect. */
TEST(test_a_direct_word_wins)
{
	struct world_params params = insider_params(GOSSIP_STATE, 2);
	ENDED_BY(world_destroy) struct world w;
	bool lied = false;

	begin_group(&w, &params);
	for (unsigned tick = 0; tick < 200; tick++) {
		for (unsigned i = 0; i < LIAR; i++)
			if (i != VICTIM) {
				tell_of_victim(&w, i, 60, 1e6F);
				lied |= gossip_sum(w.nodes[i].gossip, 0).weight > 1e5;
			}
		run_and_expect_all(&w, 50 * MS);
		for (unsigned i = 0; i < LIAR; i++)
			assert_int_equal(
				gossip_peer(w.nodes[VICTIM].gossip, i)->alive, i != VICTIM);
	}
	assert_true(lied);
	/* One round over all peers, plus the datagrams in flight. */
	run_and_expect_all(&w, 300 * MS);
	expect_truth(&w, 1e-6);
}

/*
 * A limiter ignores relayed sections on itself and on their sender; others need the present epoch.
 */
TEST(test_whom_words_are_on)
{
	struct world_params params = insider_params(GOSSIP_STATE, 4);
	static const struct {
		unsigned origin;
		uint64_t epochs_on; /* relative to the epoch that the receiver has */
	} rows[] = {{0, 1}, {LIAR, 0}, {VICTIM, 1}};
	struct gossip_sum before;
	struct gossip *g;
	ENDED_BY(world_destroy) struct world w;

	begin_group(&w, &params);
	g = w.nodes[0].gossip;
	before = gossip_sum(g, 0);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct peer *peer = gossip_peer(g, rows[i].origin);
		struct datagram_section section = {w.roster->ids[rows[i].origin],
			peer->epoch + rows[i].epochs_on, peer->tick + 1, 1};
		const struct peer was = *peer;

		tell_of(&w, 0, &section, 1e5F);
		assert_int_equal(peer->known, was.known);
		assert_true(peer->epoch == was.epoch);
		assert_int_equal(peer->tick, was.tick);
		assert_near(gossip_sum(g, 0).weight, before.weight, 0);
	}
	assert_int_equal(gossip_counters(g)->implausible, 0);
	tell_of_victim(&w, 0, 1, 1e5F);
	assert_near(gossip_sum(g, 0).weight, before.weight + 1e5 - (1 + VICTIM), 1e-6);
}

/* A peer that never sent is introduced by others with some epoch, and then proves that epoch. */
TEST(test_introduced_by_others)
{
	struct world_params params = insider_params(GOSSIP_STATE, 5);
	const struct peer *peer;
	ENDED_BY(world_destroy) struct world w;

	world_create(&w, &params);
	world_crash(&w, VICTIM);
	for (unsigned i = 0; i < N; i++)
		if (i != VICTIM)
			world_set(&w, i, 0, 1 + i);
	world_run(&w, 6000 * MS);
	peer = gossip_peer(w.nodes[0].gossip, VICTIM);
	tell_of(&w, 0, &(struct datagram_section){w.roster->ids[VICTIM], 0, 9, 1}, 1);
	assert_false(peer->known);
	tell_of(&w, 0, &(struct datagram_section){w.roster->ids[VICTIM], 70, 9, 1}, 1);
	assert_true(peer->known);
	assert_int_equal(peer->tick, 9);
	tell_of(&w, 0, &(struct datagram_section){w.roster->ids[VICTIM], 71, 11, 1}, 1);
	assert_int_equal(peer->epoch, 70);
	assert_int_equal(peer->tick, 9);
	tell_of(&w, 0, &(struct datagram_section){w.roster->ids[VICTIM], 70, 10, 1}, 1);
	assert_int_equal(peer->tick, 10);
}

/*
 * The largest plausible advance of a peer's tick since its last datagram. It is the number of ticks
 * in that time plus the timeout. Each tick counts as long as ours, but at most 10 ms.
 */
TEST(test_how_far_on)
{
	static const struct {
		uint64_t tick_ns, least_ns;
	} rows[] = {{5 * MS, 5 * MS}, {10 * MS, 10 * MS}, {50 * MS, 10 * MS}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct world_params params = insider_params(GOSSIP_STATE, 6);
		struct datagram_section section = {.n_records = 1};
		const struct peer *victim;
		struct gossip *g;
		struct world w;
		uint32_t most;

		params.tick_ns = rows[i].tick_ns;
		begin_group(&w, &params);
		g = w.nodes[0].gossip;
		victim = gossip_peer(g, VICTIM);
		most = (uint32_t)((w.now_ns - victim->own_advanced_ns + gossip_timeout(g)) /
				  rows[i].least_ns);
		section.origin = w.roster->ids[VICTIM];
		section.epoch = victim->epoch;
		section.tick = victim->own_tick + most + 1;
		tell_of(&w, 0, &section, 1e5F);
		assert_int_equal(gossip_peer(g, LIAR)->implausible, 1);
		assert_true(gossip_sum(g, 0).weight < 1e5);
		section.tick--;
		tell_of(&w, 0, &section, 1e5F);
		assert_int_equal(gossip_peer(g, LIAR)->implausible, 1);
		assert_int_equal(victim->tick, section.tick);
		assert_true(gossip_sum(g, 0).weight > 1e5);
		world_destroy(&w);
	}
}

/* Rejects records of a later version than their datagram, and records with impossible values. */
TEST(test_records_that_cannot_be)
{
	struct world_params params = insider_params(GOSSIP_STATE, 3);
	struct datagram_record records[2];
	struct datagram_body body;
	struct gossip_sum before;
	uint8_t buf[DATAGRAM_MAX];
	struct cursor cursor;
	ENDED_BY(world_destroy) struct world w;

	begin_group(&w, &params);
	before = gossip_sum(w.nodes[0].gossip, 0);
	cursor = begin_lie(&w, 0, buf, &body);
	body.n_records = 2;
	records[0] = (struct datagram_record){w.policies[0], body.tick + 2, 1, 1};
	records[1] = (struct datagram_record){w.policies[0], body.tick, (float)(1.01 * MOST), 1};
	datagram_write_body(&cursor, &body);
	datagram_write_record(&cursor, &records[0]);
	datagram_write_record(&cursor, &records[1]);
	tell_lie(&w, 0, buf, &cursor);
	assert_int_equal(gossip_peer(w.nodes[0].gossip, LIAR)->implausible, 2);
	assert_near(gossip_sum(w.nodes[0].gossip, 0).weight, before.weight, 0);
	assert_near(gossip_sum(w.nodes[0].gossip, 0).demand, before.demand, 0);
	/* The next tick and the largest possible value are accepted. */
	cursor = begin_lie(&w, 0, buf, &body);
	body.n_records = 1;
	records[0] = (struct datagram_record){w.policies[0], body.tick + 1, (float)MOST, 1};
	datagram_write_body(&cursor, &body);
	datagram_write_record(&cursor, &records[0]);
	tell_lie(&w, 0, buf, &cursor);
	assert_int_equal(gossip_peer(w.nodes[0].gossip, LIAR)->implausible, 2);
	assert_true(gossip_sum(w.nodes[0].gossip, 0).demand > 0.99 * MOST);
}

static float some_value(struct prng *prng)
{
	return (float)(prng_unit(prng) * (prng_below(prng, 4) ? 1e5 : 2 * MOST * N));
}

static void write_state_lies(struct world *w, struct cursor *cursor, struct prng *prng, unsigned to)
{
	for (unsigned i = 0; i < N; i++) {
		const struct peer *peer = gossip_peer(w->nodes[to].gossip, i);
		uint32_t ahead = prng_below(prng, 3) ? prng_below(prng, 400)
						     : (uint32_t)prng_next(prng);
		struct datagram_section section = {w->roster->ids[i],
			prng_below(prng, 8) ? peer->epoch : prng_next(prng), peer->tick + ahead, 1};
		struct datagram_record record = {w->policies[prng_below(prng, 2)],
			section.tick + 1 - prng_below(prng, 3), some_value(prng), some_value(prng)};

		datagram_write_section(cursor, &section);
		datagram_write_record(cursor, &record);
	}
}

static unsigned write_lies(struct world *w, struct cursor *cursor, struct prng *prng, unsigned to)
{
	struct datagram_sum sum = {w->policies[prng_below(prng, 2)], prng_below(prng, N),
		some_value(prng), some_value(prng)};
	struct datagram_edge edge = {.asks = prng_below(prng, 2),
		.sequence = (uint32_t)prng_next(prng),
		.received = {
			(uint8_t)prng_below(prng, 3), (uint32_t)prng_next(prng), prng_next(prng)}};

	if (w->params.estimator == GOSSIP_STATE) {
		write_state_lies(w, cursor, prng, to);
		return 0;
	}
	edge.link = prng_below(prng, DATAGRAM_LINKS);
	datagram_write_edge(cursor, &edge, DATAGRAM_VERSION);
	if (edge.link != DATAGRAM_APART)
		datagram_write_sum(cursor, &sum);
	return edge.link != DATAGRAM_APART;
}

/* Sends any lie, to any limiter. */
static void lie_at_random(struct world *w, struct prng *prng)
{
	unsigned to = prng_below(prng, LIAR);
	uint8_t buf[DATAGRAM_MAX], *at;
	struct datagram_body body;
	struct cursor cursor = begin_lie(w, to, buf, &body), begin = cursor;
	const struct peer *peer = gossip_peer(w->nodes[to].gossip, LIAR);
	enum gossip_verdict verdict;

	if (!peer || !peer->known)
		return;
	datagram_write_body(&cursor, &body);
	at = cursor.at;
	body.n_records = (uint16_t)write_lies(w, &cursor, prng, to);
	assert_true(cursor.at > at);
	datagram_write_body(&begin, &body);
	verdict = gossip_receive(w->nodes[to].gossip, w->now_ns, buf, (size_t)(cursor.at - buf));
	assert_true(verdict == GOSSIP_ACCEPTED || verdict == GOSSIP_MALFORMED);
}

static void run_lying_world(uint64_t seed, enum gossip_estimator estimator)
{
	struct world_params params = insider_params(estimator, seed);
	struct prng prng;
	ENDED_BY(world_destroy) struct world w;
	unsigned odds;

	prng_seed(&prng, seed);
	odds = 1 + prng_below(&prng, 60);
	params.jitter_ns = prng_below(&prng, 40) * MS;
	begin_group(&w, &params);
	for (unsigned ms = 0; ms < LIES_MS; ms++) {
		if (prng_below(&prng, odds) == 0)
			lie_at_random(&w, &prng);
		world_run(&w, WORLD_STEP);
		if (estimator != GOSSIP_TREE)
			expect_all_count(&w);
		for (unsigned i = 0; i < LIAR; i++) {
			struct gossip_sum sum = gossip_sum(w.nodes[i].gossip, 0);

			assert_true(isfinite(sum.demand) && sum.demand >= 0);
			assert_true(isfinite(sum.weight) && sum.weight >= 0);
			assert_true(sum.demand <= (N - 1) * MOST);
		}
	}
	/* After the liar has gone, no effect of its lies remains. */
	world_crash(&w, LIAR);
	world_run(&w, 4 * gossip_timeout(w.nodes[0].gossip) + 10000 * MS);
	if (estimator != GOSSIP_TREE)
		expect_all_count(&w);
	expect_truth(&w, 1e-6);
}

TEST(test_lying_worlds)
{
	for (unsigned e = 0; e < GOSSIP_ESTIMATORS; e++)
		for (uint64_t seed = 1; seed <= ROUNDS(WORLDS) / GOSSIP_ESTIMATORS; seed++)
			run_lying_world(seed, (enum gossip_estimator)e);
}
