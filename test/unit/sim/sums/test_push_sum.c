/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The estimators of papers. Push-sum becomes exact without loss, is right on average with
 * compensation, and is always finite. Flow updating also becomes exact with losses.
 */
#include "check.h"
#include "scope.h"

#include "gossip_world.h"
#include "sums/sums.h"

#define TICK    (50 * MS)
#define TIMEOUT (1000 * MS)

static const struct world_params usual = {
	.seed = 1,
	.n = 20,
	.n_policies = 1,
	.branching = 3,
	.study = &estimator_push_sum,
	.tick_ns = TICK,
	.timeout_ns = TIMEOUT,
	.delay_ns = 20 * MS,
};

static void begin_push_world(struct world *w, const struct world_params *params)
{
	world_create(w, params);
	for (unsigned i = 0; i < params->n; i++)
		for (unsigned p = 0; p < params->n_policies; p++)
			world_set(w, i, p, 1 + prng_below(&w->prng, 9));
	world_run(w, 5000 * MS);
}

static void expect_right(const struct world *w, double tolerance)
{
	for (unsigned i = 0; i < w->params.n; i++)
		for (unsigned p = 0; p < w->params.n_policies; p++) {
			struct gossip_sum sum;
			unsigned peers;
			double truth;

			if (!w->nodes[i].gossip)
				continue;
			sum = gossip_sum(w->nodes[i].gossip, p);
			truth = world_truth(w, i, p, &peers);
			assert_int_equal(sum.lost, w->params.n - 1 - peers);
			assert_near(sum.weight, truth, tolerance * truth);
			assert_near(sum.demand, 1000 * truth, 1000 * tolerance * truth);
		}
}

/*
 * Datagrams are never lost, but may be repeated and reordered: the sums become exact, also after
 * changes.
 */
TEST(test_hard)
{
	static const struct {
		unsigned n, policies;
		const struct estimator *study;
		uint64_t jitter_ns;
	} cases[] = {
		{1, 1, &estimator_push_sum, 0}, {2, 1, &estimator_compensated, 0},
		{3, 2, &estimator_push_sum, 60 * MS}, {20, 1, &estimator_compensated, 0},
		{20, 3, &estimator_push_sum, 90 * MS},
		{12, 150, &estimator_push_sum, 0}, /* two full datagrams */
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		struct world_params params = usual;
		struct world w;

		params.n = cases[c].n;
		params.n_policies = cases[c].policies;
		params.study = cases[c].study;
		params.jitter_ns = cases[c].jitter_ns;
		params.repeat = 0.2;
		params.sealed = c % 2;
		begin_push_world(&w, &params);
		world_run(&w, 200 * TICK);
		expect_right(&w, 1e-4);
		for (int t = 0; t < 100; t++) {
			world_set(&w, prng_below(&w.prng, params.n), 0, prng_below(&w.prng, 9));
			world_run(&w, TICK / 2);
		}
		world_run(&w, 200 * TICK);
		expect_right(&w, 1e-4);
		world_destroy(&w);
	}
}

/* Reads the push weight that a plain datagram hands over. */
static double push_in(const uint8_t *buf, size_t len, struct sums_round *round)
{
	uint8_t copy[DATAGRAM_MAX];
	struct cursor cursor = {copy, copy + len, false};
	struct datagram_header header;
	struct datagram_body body;
	struct sums_share share;

	memcpy(copy, buf, len);
	datagram_read_header(&cursor, &header);
	datagram_read_body(&cursor, &body);
	sums_read_round(&cursor, round);
	if (body.n_records == 0)
		return 0;
	sums_read_share(&cursor, &share, false);
	assert_false(cursor.failed);
	return share.push;
}

/* The next datagram of one of two limiters, kept back; it contains half of the held mass. */
static size_t next_push_datagram(struct world *w, unsigned from, uint8_t *buf, double *push)
{
	struct sums_round round;
	unsigned to;
	size_t len;

	w->now_ns += TICK;
	gossip_tick(w->nodes[from].gossip, w->now_ns);
	len = gossip_send(w->nodes[from].gossip, buf, &to);
	*push = push_in(buf, len, &round);
	return len;
}

static enum gossip_verdict deliver_push_datagram(
	struct world *w, unsigned to, const uint8_t *buf, size_t len)
{
	uint8_t copy[DATAGRAM_MAX];

	memcpy(copy, buf, len);
	return gossip_receive(w->nodes[to].gossip, w->now_ns, copy, len);
}

/*
 * With two limiters, a datagram contains as much as its sender keeps, so it shows the held mass.
 * Some of `sent` datagrams with shares arrive, in an order. The receiver then holds its own mass
 * and theirs, times their factors.
 */
TEST(test_compensation)
{
	enum { MOST = 12 };
	static const struct {
		bool compensate;
		unsigned sent, n, order[4];
		double factor[4];
	} cases[] = {
		{true, 1, 1, {0}, {1}},
		{true, 3, 3, {0, 1, 2}, {1, 1, 1}},
		{true, 3, 1, {2}, {3}},
		{false, 3, 1, {2}, {1}},
		{true, 4, 2, {1, 3}, {2, 2}},
		{true, 4, 3, {3, 1, 0}, {4, 0, 0}}, /* late, after compensation */
		{false, 4, 3, {3, 1, 0}, {1, 1, 1}},
		{true, 4, 4, {1, 1, 3, 3}, {2, 0, 2, 0}}, /* repeated */
		{false, 4, 4, {1, 1, 3, 3}, {1, 0, 1, 0}},
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		static uint8_t buf[MOST][DATAGRAM_MAX];
		struct world_params params = usual;
		double push[MOST], held, want, kept;
		size_t len[MOST], reply;
		uint8_t other[DATAGRAM_MAX];
		struct world w;

		params.n = 2;
		params.branching = 1;
		params.study = cases[c].compensate ? &estimator_compensated : &estimator_push_sum;
		begin_push_world(&w, &params);
		/* The datagrams in flight arrive; from now on the test calls the ticks. */
		w.nodes[0].next_ns = w.nodes[1].next_ns = UINT64_MAX;
		world_run(&w, TICK);
		reply = next_push_datagram(&w, 1, other, &kept);
		deliver_push_datagram(&w, 0, other, reply);
		for (unsigned k = 0; k < cases[c].sent; k++)
			len[k] = next_push_datagram(&w, 0, buf[k], &push[k]);
		want = kept;
		for (unsigned k = 0; k < cases[c].n; k++) {
			unsigned d = cases[c].order[k];

			deliver_push_datagram(&w, 1, buf[d], len[d]);
			want += cases[c].factor[k] * push[d];
		}
		next_push_datagram(&w, 1, other, &held);
		held *= 2;
		assert_near(held, want, 1e-5);
		world_destroy(&w);
	}
}

/* A long outage does not come back as a flood. */
TEST(test_compensation_is_bounded)
{
	struct world_params params = usual;
	uint8_t buf[DATAGRAM_MAX], other[DATAGRAM_MAX];
	double push, kept, held;
	ENDED_BY(world_destroy) struct world w;
	size_t len = 0;

	params.n = 2;
	params.branching = 1;
	params.timeout_ns = 3600 * UINT64_C(1000000000);
	params.study = &estimator_compensated;
	begin_push_world(&w, &params);
	w.nodes[0].next_ns = w.nodes[1].next_ns = UINT64_MAX;
	world_run(&w, TICK);
	/* Nothing arrives: each sending halves the mass that a limiter keeps. */
	for (int k = 0; k < 18; k++) {
		len = next_push_datagram(&w, 0, buf, &push);
		next_push_datagram(&w, 1, other, &kept);
	}
	deliver_push_datagram(&w, 1, buf, len);
	next_push_datagram(&w, 1, other, &held);
	assert_near(2 * held, kept + 17 * push, 0.01 * push);
}

/* After a crash or a restart of a limiter the masses of all begin again. */
TEST(test_restart_and_loss)
{
	ENDED_BY(world_destroy) struct world w;

	begin_push_world(&w, &usual);
	world_set(&w, 7, 0, 500);
	world_run(&w, 200 * TICK);
	world_crash(&w, 7);
	world_start(&w, 7);
	world_set(&w, 7, 0, 3);
	world_run(&w, 300 * TICK);
	expect_right(&w, 1e-3);
	assert_int_equal(gossip_peer(w.nodes[0].gossip, 7)->restarts, 1);
	world_set(&w, 4, 0, 200);
	world_run(&w, 100 * TICK);
	world_crash(&w, 4);
	world_run(&w, gossip_timeout(w.nodes[0].gossip) + 300 * TICK);
	expect_right(&w, 1e-3);
}

/* Any limiters crash, even all except one: none of their values count. */
TEST(test_any_loss)
{
	for (unsigned n = 2; n <= 3; n++)
		for (unsigned gone = 0; gone < n; gone++) {
			struct world_params params = usual;
			struct world w;

			params.n = n;
			begin_push_world(&w, &params);
			world_set(&w, gone, 0, 500);
			world_run(&w, 100 * TICK);
			world_crash(&w, gone);
			world_run(&w, gossip_timeout(w.nodes[!gone].gossip) + 100 * TICK);
			for (unsigned i = 0; i < n; i++) {
				struct gossip_sum sum;
				unsigned peers;
				double truth = world_truth(&w, i, 0, &peers);

				if (i == gone)
					continue;
				sum = gossip_sum(w.nodes[i].gossip, 0);
				assert_int_equal(sum.lost, 1);
				assert_near(sum.weight, truth, 0.01);
				assert_near(sum.demand, 1000 * truth, 10);
			}
			world_destroy(&w);
		}
}

TEST(test_partition)
{
	ENDED_BY(world_destroy) struct world w;

	begin_push_world(&w, &usual);
	for (unsigned i = 0; i < w.params.n; i++)
		w.nodes[i].side = i % 3 == 0;
	world_run(&w, gossip_timeout(w.nodes[0].gossip) + 300 * TICK);
	expect_right(&w, 1e-3);
	for (unsigned i = 0; i < w.params.n; i++)
		w.nodes[i].side = i;
	world_run(&w, gossip_timeout(w.nodes[0].gossip) + 20 * TICK);
	for (unsigned i = 0; i < w.params.n; i++) {
		struct gossip_sum sum = gossip_sum(w.nodes[i].gossip, 0);

		assert_int_equal(sum.lost, w.params.n - 1);
		assert_near(sum.weight, 0, 1e-3);
		w.nodes[i].side = 0;
	}
	world_run(&w, 500 * TICK);
	expect_right(&w, 1e-3);
}

/* The network loses, repeats and reorders datagrams: the sums still become exact. */
TEST(test_flow_updating)
{
	for (uint64_t seed = 1; seed <= ROUNDS(8); seed++) {
		struct world_params params = usual;
		struct prng prng;
		struct world w;

		prng_seed(&prng, seed);
		params.seed = seed;
		params.study = &estimator_flow_updating;
		params.n = 2 + prng_below(&prng, 19);
		params.n_policies = seed % 4 ? 1 + prng_below(&prng, 3)
					     : 90; /* several datagrams */
		params.branching = 1 + prng_below(&prng, 4);
		params.loss = 0.05 * prng_below(&prng, 8);
		params.repeat = 0.2;
		params.jitter_ns = prng_below(&prng, 100) * MS;
		params.sealed = seed % 2;
		begin_push_world(&w, &params);
		for (int t = 0; t < 100; t++) {
			world_set(&w, prng_below(&w.prng, params.n), 0, prng_below(&w.prng, 9));
			world_run(&w, TICK / 2);
		}
		world_run(&w, 1000 * TICK);
		expect_right(&w, 1e-3);
		world_destroy(&w);
	}
}

/* The mean error, as a part of the sum, of all limiters over a minute of changes and losses. */
static double error_under(double loss, bool compensate, uint64_t seed, double *most)
{
	struct world_params params = usual;
	double off = 0, total = 0;
	unsigned samples = 0;
	struct world w;

	params.seed = seed;
	params.loss = loss;
	params.study = compensate ? &estimator_compensated : &estimator_push_sum;
	params.n = 50;
	begin_push_world(&w, &params);
	*most = 0;
	for (int t = 0; t < 600; t++) {
		unsigned k = prng_below(&w.prng, params.n);

		world_set(&w, k, 0, 1 + prng_below(&w.prng, 9));
		world_run(&w, 2 * TICK);
		total = 0;
		for (unsigned i = 0; i < params.n; i++)
			total += w.weights[i];
		for (unsigned i = 0; i < params.n; i++) {
			double weight = gossip_sum(w.nodes[i].gossip, 0).weight;
			double error = fabs(weight + w.weights[i] - total) / total;

			assert_true(isfinite(weight) && weight >= 0);
			off += error;
			samples++;
			*most = fmax(*most, error);
		}
	}
	world_destroy(&w);
	return off / samples;
}

/* Prints figures for a document, and checks their order. */
TEST(test_losses)
{
	static const double losses[] = {0, 0.01, 0.05};

	for (size_t k = 0; k < 3; k++) {
		double error[2] = {0}, most[2] = {0}, m;

		for (uint64_t seed = 1; seed <= ROUNDS(3); seed++)
			for (int c = 0; c < 2; c++) {
				error[c] += error_under(losses[k], c, seed, &m) / ROUNDS(3);
				most[c] = fmax(m, most[c]);
			}
		printf("N 50, 10 changes a second, loss %.0f %%: mean error %.3g %% (most %.3g %%), "
		       "compensated %.3g %% (most %.3g %%)\n",
			100 * losses[k], 100 * error[0], 100 * most[0], 100 * error[1],
			100 * most[1]);
		if (losses[k] > 0)
			assert_true(error[1] < error[0]);
		else
			assert_true(error[0] < 0.1 && error[1] < 0.1);
	}
}

/* Masses that shrink or grow without end are replaced before they stop being finite. */
TEST(test_worn_masses)
{
	for (int compensate = 0; compensate < 2; compensate++) {
		struct world_params params = usual;
		struct world w;

		params.n = 5;
		params.branching = 4;
		params.loss = 0.3;
		params.study = compensate ? &estimator_compensated : &estimator_push_sum;
		params.timeout_ns = 10 * TIMEOUT;
		begin_push_world(&w, &params);
		for (int t = 0; t < 2000; t++) {
			world_run(&w, 2 * TICK);
			for (unsigned i = 0; i < params.n; i++) {
				struct gossip_sum sum = gossip_sum(w.nodes[i].gossip, 0);

				assert_true(isfinite(sum.weight) && isfinite(sum.demand));
				assert_true(sum.weight >= 0 && sum.demand >= 0);
				/* At most five times the total of all limiters. */
				assert_true(sum.weight < 5 * 9 * 5);
			}
		}
		world_destroy(&w);
	}
}

TEST(test_malformed)
{
	static const struct {
		unsigned records, written, more;
		float push, demand;
		enum gossip_verdict want;
	} cases[] = {
		{1, 1, 0, 1, 1, GOSSIP_UNPROVEN},
		{1, 1, 0, 1, -1, GOSSIP_UNPROVEN}, /* a share may be of any sign */
		{0, 0, 0, 1, 1, GOSSIP_UNPROVEN},
		{2, 1, 0, 1, 1, GOSSIP_MALFORMED},
		{1, 1, 1, 1, 1, GOSSIP_MALFORMED},
		{0, 0, 1, 1, 1, GOSSIP_MALFORMED},
		{1, 1, 0, -1, 1, GOSSIP_MALFORMED},
		{1, 1, 0, NAN, 1, GOSSIP_MALFORMED},
		{1, 1, 0, 1, INFINITY, GOSSIP_MALFORMED},
	};
	struct world_params params = usual;
	struct world w;

	params.n = 2;
	world_create(&w, &params);
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t buf[200] = {0};
		struct cursor cursor = {buf, buf + sizeof(buf), false};
		struct datagram_header header = {.version = DATAGRAM_VERSION,
			.flags = GOSSIP_STUDY << DATAGRAM_ESTIMATOR_SHIFT,
			.sender = w.roster->ids[0],
			.epoch = 77,
			.counter = 1};
		struct datagram_body body = {
			w.roster->ids[1], 0, 0, 1, (uint16_t)cases[i].records, 3};
		struct sums_round round = {0, 1};
		struct sums_share share = {w.policies[0], cases[i].push, cases[i].demand, 1};

		datagram_write_header(&cursor, &header);
		datagram_write_body(&cursor, &body);
		sums_write_round(&cursor, &round);
		for (unsigned k = 0; k < cases[i].written; k++)
			sums_write_share(&cursor, &share, false);
		assert_int_equal(gossip_receive(w.nodes[1].gossip, w.now_ns, buf,
					 (size_t)(cursor.at - buf) + cases[i].more),
			cases[i].want);
	}
	world_destroy(&w);
}

/*
 * Reads the shares of two policies in a plain datagram and can replace one; returns the generation.
 */
static uint32_t shares_in(
	uint8_t *buf, size_t len, struct sums_share shares[2], const struct sums_share *instead)
{
	struct cursor cursor = {buf, buf + len, false}, at;
	struct datagram_header header;
	struct sums_round round;
	struct datagram_body body;

	datagram_read_header(&cursor, &header);
	datagram_read_body(&cursor, &body);
	sums_read_round(&cursor, &round);
	assert_int_equal(body.n_records, 2);
	at = cursor;
	for (unsigned k = 0; k < 2; k++)
		sums_read_share(&cursor, &shares[k], false);
	assert_false(cursor.failed);
	if (instead) {
		sums_write_share(&at, instead, false);
		shares[0] = *instead;
	}
	return round.generation;
}

static const struct sums_share *share_of(const struct sums_share shares[2], uint64_t policy)
{
	return &shares[shares[0].policy == policy ? 0 : 1];
}

static double sum_of(double a, const struct sums_share *taken, double b)
{
	return taken ? a + b : a;
}

/*
 * An implausible share is ignored and its sender reported; the next share of the datagram counts.
 */
TEST(test_implausible_shares)
{
	static const double most = 1e6; /* one limiter of two */
	static const struct {
		float push, demand, weight;
		bool strange, taken, blown; /* blown: the mass becomes too large */
	} cases[] = {
		{0.5F, 70, 8, false, true, false},
		{0.5F, 70, 8, true, false, false},
		{1048576, 70, 8, false, true, true},
		{1048640, 70, 8, false, false, false},
		{0.5F, 2000000, 8, false, true, false},
		{0.5F, -2000001, 8, false, false, false},
		{0.5F, 2000001, 8, false, false, false},
		{0.5F, 70, -2000000, false, true, false},
		{0.5F, 70, 2000001, false, false, false},
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		struct sums_share kept[2], told[2], held[2], odd;
		uint8_t buf[DATAGRAM_MAX], other[DATAGRAM_MAX];
		const struct gossip_counters *counters;
		struct world_params params = usual;
		uint32_t generation;
		struct world w;
		size_t len;
		double push;

		params.n = 2;
		params.n_policies = 2;
		params.branching = 1;
		params.demand_max = most;
		begin_push_world(&w, &params);
		w.nodes[0].next_ns = w.nodes[1].next_ns = UINT64_MAX;
		world_run(&w, TICK);
		counters = gossip_counters(w.nodes[1].gossip);
		len = next_push_datagram(&w, 1, other, &push);
		generation = shares_in(other, len, kept, NULL);
		deliver_push_datagram(&w, 0, other, len);
		len = next_push_datagram(&w, 0, buf, &push);
		shares_in(buf, len, told, NULL);
		odd = (struct sums_share){cases[c].strange ? 7 : told[0].policy, cases[c].push,
			cases[c].demand, cases[c].weight};
		shares_in(buf, len, told, &odd);
		assert_int_equal(deliver_push_datagram(&w, 1, buf, len), GOSSIP_ACCEPTED);
		assert_int_equal(counters->unknown_policy, cases[c].strange);
		assert_int_equal(counters->implausible, !cases[c].taken && !cases[c].strange);
		assert_int_equal(
			gossip_peer(w.nodes[1].gossip, 0)->implausible, counters->implausible);
		len = next_push_datagram(&w, 1, other, &push);
		assert_int_equal(shares_in(other, len, held, NULL), generation + cases[c].blown);
		for (unsigned p = 0; p < 2 && !cases[c].blown; p++) {
			const struct sums_share *mine = share_of(kept, w.policies[p]);
			const struct sums_share *now = share_of(held, w.policies[p]);
			const struct sums_share *his = NULL;

			if (told[1].policy == w.policies[p])
				his = &told[1];
			else if (cases[c].taken)
				his = &told[0];
			assert_near(
				2 * now->push, sum_of(mine->push, his, his ? his->push : 0), 1e-5);
			assert_near(2 * now->demand,
				sum_of(mine->demand, his, his ? his->demand : 0), 1);
			assert_near(2 * now->weight,
				sum_of(mine->weight, his, his ? his->weight : 0), 1);
		}
		world_destroy(&w);
	}
}

/*
 * Policies are added, withdrawn and moved. The others lose no mass. An added policy begins with a
 * push weight of 1. A withdrawn one is still handed on, because others have a part of it.
 */
TEST(test_other_policies)
{
	enum { LIMITERS = 3, ADDED = 0x77777777 };
	static const unsigned from[] = {GOSSIP_ADDED, 2, 0};
	struct world_params params = usual;
	ENDED_BY(world_destroy) struct world w;

	params.n = LIMITERS;
	params.n_policies = 3;
	params.branching = 2;
	begin_push_world(&w, &params);
	for (unsigned i = 0; i < LIMITERS; i++) {
		const uint64_t ids[] = {ADDED, w.policies[2], w.policies[0]};
		struct gossip *g = w.nodes[i].gossip;
		struct gossip_sum before[3], after;

		for (unsigned p = 0; p < 3; p++)
			before[p] = gossip_sum(g, p);
		assert_int_equal(gossip_update(g, ids, 3, from, TICK, w.now_ns), 0);
		for (unsigned p = 1; p < 3; p++) {
			after = gossip_sum(g, p);
			assert_true(after.demand == before[from[p]].demand && after.demand > 0);
			assert_true(after.weight == before[from[p]].weight && after.weight > 0);
		}
		after = gossip_sum(g, 0);
		assert_true(after.demand == 0 && after.weight == 0);
		/*
		 * The first estimate assumes that all limiters have the same value, that of this
		 * one.
		 */
		gossip_set(g, 0, 1000 * (i + 1), i + 1);
		after = gossip_sum(g, 0);
		assert_near(after.demand, (LIMITERS - 1) * 1000.0 * (i + 1), 1e-9);
		assert_near(after.weight, (LIMITERS - 1) * (i + 1.0), 1e-9);
	}
	world_run(&w, 200 * TICK);
	for (unsigned i = 0; i < LIMITERS; i++) {
		for (unsigned p = 0; p < 3; p += 2) {
			struct gossip_sum sum = gossip_sum(w.nodes[i].gossip, p == 0 ? 2 : 1);
			unsigned peers;
			double truth = world_truth(&w, i, p, &peers);

			assert_near(sum.weight, truth, 1e-4 * truth);
			assert_near(sum.demand, 1000 * truth, 0.1 * truth);
		}
		assert_near(gossip_sum(w.nodes[i].gossip, 0).weight, 6 - (i + 1.0), 1e-3);
		assert_near(gossip_sum(w.nodes[i].gossip, 0).demand, 6000 - 1000 * (i + 1.0), 1);
	}
}

/* A policy without a value is still sent, because a mass of it can be with others. */
TEST(test_withdrawn_is_said)
{
	static const unsigned from[] = {1};
	struct world_params params = usual;
	struct sums_share shares[2];
	uint8_t buf[DATAGRAM_MAX];
	ENDED_BY(world_destroy) struct world w;
	double push;
	size_t len;

	params.n = 2;
	params.n_policies = 2;
	params.branching = 1;
	world_create(&w, &params);
	world_set(&w, 0, 1, 9);
	world_run(&w, 5000 * MS);
	w.nodes[0].next_ns = w.nodes[1].next_ns = UINT64_MAX;
	assert_int_equal(
		gossip_update(w.nodes[0].gossip, w.policies + 1, 1, from, TICK, w.now_ns), 0);
	len = next_push_datagram(&w, 0, buf, &push);
	shares_in(buf, len, shares, NULL);
	assert_int_equal(shares[0].policy, w.policies[1]);
	assert_true(shares[0].demand > 0);
	assert_int_equal(shares[1].policy, w.policies[0]);
	assert_true(shares[1].push > 0 && shares[1].demand == 0);
}

/*
 * One timeout for each tick of a round of all peers. In a tree one timeout, and a tick for each
 * edge to the root and down again.
 */
TEST(test_timeout)
{
	static const struct {
		const struct estimator *study;
		enum gossip_estimator estimator;
		unsigned n, branching;
		double timeouts;
		unsigned edges;
	} cases[] = {
		{&estimator_push_sum, GOSSIP_STATE, 2, 1, 1, 0},
		{&estimator_push_sum, GOSSIP_STATE, 20, 3, 7, 0},
		{&estimator_push_sum, GOSSIP_STATE, 19, 3, 6, 0},
		{&estimator_push_sum, GOSSIP_STATE, 3, 2, 1, 0},
		{NULL, GOSSIP_STATE, 20, 3, 7, 0},
		{NULL, GOSSIP_STATE, 19, 3, 6, 0},
		{NULL, GOSSIP_STATE, 1, 3, 1, 0},
		{NULL, GOSSIP_TREE, 13, 3, 1.5, 2 * 2},
		{NULL, GOSSIP_TREE, 14, 3, 1.5, 2 * 3},
		{NULL, GOSSIP_TREE, 1, 3, 1.5, 0},
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		struct world_params params = usual;
		struct world w;

		params.study = cases[c].study;
		params.estimator = cases[c].estimator;
		params.n = cases[c].n;
		params.branching = cases[c].branching;
		world_create(&w, &params);
		assert_int_equal(gossip_timeout(w.nodes[0].gossip),
			(uint64_t)(cases[c].timeouts * TIMEOUT) +
				cases[c].edges * (TICK + 50 * MS));
		world_destroy(&w);
	}
}

/* A share without room is not written at all. */
TEST(test_room)
{
	const struct sums_share share = {0x01020304, 1, 2, 3};
	uint8_t buf[21] = {0}, none[21] = {0};

	for (size_t room = 0; room <= 20; room++) {
		struct cursor cursor = {buf, buf + room, false};

		memset(buf, 0xaa, sizeof(buf));
		sums_write_share(&cursor, &share, false);
		assert_int_equal(cursor.failed, room < 20);
		assert_int_equal(cursor.at - buf, room < 20 ? 0 : 20);
		memset(none, 0xaa, sizeof(none));
		assert_memory_equal(cursor.at, none, sizeof(buf) - (size_t)(cursor.at - buf));
		if (room >= 20)
			assert_memory_equal(buf, "\0\0\0\0\1\2\3\4", 8);
	}
}

static void write_head(struct cursor *cursor)
{
	const struct datagram_header header = {.version = DATAGRAM_VERSION,
		.flags = GOSSIP_STUDY << DATAGRAM_ESTIMATOR_SHIFT,
		.sender = 0x11223344,
		.epoch = UINT64_C(0x5152535455565758),
		.counter = UINT64_C(0x6162636465666768)};
	const struct datagram_body body = {
		0x71727374, UINT64_C(0x8182838485868788), 0x91929394, 0x41424344, 3, 3};

	datagram_write_header(cursor, &header);
	datagram_write_body(cursor, &body);
}

/* A header and a body, whose numbers are of two, four and eight bytes. */
TEST(test_room_of_head)
{
	uint8_t whole[200], buf[200], none[200];
	struct cursor all = {whole, whole + sizeof(whole), false};
	size_t len;

	memset(none, 0xaa, sizeof(none));
	write_head(&all);
	assert_false(all.failed);
	len = (size_t)(all.at - whole);
	for (size_t room = 0; room <= len; room++) {
		struct cursor cursor = {buf, buf + room, false};
		size_t written;

		memset(buf, 0xaa, sizeof(buf));
		write_head(&cursor);
		written = (size_t)(cursor.at - buf);
		assert_int_equal(cursor.failed, room < len);
		assert_true(written <= room && room - written < sizeof(uint64_t));
		assert_memory_equal(buf, whole, written);
		assert_memory_equal(buf + written, none, sizeof(none) - written);
	}
}
