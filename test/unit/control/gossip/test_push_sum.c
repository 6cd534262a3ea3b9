/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The paper's estimator: exact in the end when nothing is lost, right on average when losses are
 * compensated for, and finite whatever happens.
 */
#include "check.h"

#include <string.h>

#include <sodium.h>

#include "gossip_world.h"

#define TICK    (50 * MS)
#define TIMEOUT (1000 * MS)

static const struct world_params usual = {
	.seed = 1,
	.n = 20,
	.n_policies = 1,
	.branching = 3,
	.estimator = GOSSIP_PUSH_SUM,
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

/* Nothing is lost, repeated perhaps and overtaken: the sums become exact, changes included. */
static void test_conserved(void **state)
{
	static const struct {
		unsigned n, policies;
		bool compensate;
		uint64_t jitter_ns;
	} cases[] = {
		{1, 1, false, 0}, {2, 1, true, 0}, {3, 2, false, 60 * MS}, {20, 1, true, 0},
		{20, 3, false, 90 * MS}, {12, 150, false, 0}, /* two datagrams full */
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct world_params params = usual;
		struct world w;

		params.n = cases[c].n;
		params.n_policies = cases[c].policies;
		params.compensate = cases[c].compensate;
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
static double push_in(const uint8_t *buf, size_t len, struct datagram_round *round)
{
	uint8_t copy[DATAGRAM_MAX];
	struct cursor cursor = {copy, copy + len, false};
	struct datagram_header header;
	struct datagram_body body;
	struct datagram_share share;

	memcpy(copy, buf, len);
	datagram_read_header(&cursor, &header);
	datagram_read_body(&cursor, &body);
	datagram_read_round(&cursor, round);
	if (body.n_records == 0)
		return 0;
	datagram_read_share(&cursor, &share);
	assert_false(cursor.failed);
	return share.push;
}

/* The next datagram of one of two limiters, kept back; half of what it holds is in it. */
static size_t next_push_datagram(struct world *w, unsigned from, uint8_t *buf, double *push)
{
	struct datagram_round round;
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
 * What a datagram hands over is what its sender keeps, with two limiters: so it says what is held.
 * Of `sent` datagrams with shares some arrive, in an order, and the receiver then holds its own and
 * what they count for.
 */
static void test_compensation(void **state)
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
		{true, 4, 3, {3, 1, 0}, {4, 0, 0}}, /* late, and made up for: not twice */
		{false, 4, 3, {3, 1, 0}, {1, 1, 1}},
		{true, 4, 4, {1, 1, 3, 3}, {2, 0, 2, 0}}, /* repeated */
		{false, 4, 4, {1, 1, 3, 3}, {1, 0, 1, 0}},
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		static uint8_t buf[MOST][DATAGRAM_MAX];
		struct world_params params = usual;
		double push[MOST], held, want, kept;
		size_t len[MOST], reply;
		uint8_t other[DATAGRAM_MAX];
		struct world w;

		params.n = 2;
		params.branching = 1;
		params.compensate = cases[c].compensate;
		begin_push_world(&w, &params);
		/* What is in flight arrives; from now on we tick. */
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
static void test_compensation_is_bounded(void **state)
{
	struct world_params params = usual;
	uint8_t buf[DATAGRAM_MAX], other[DATAGRAM_MAX];
	double push, kept, held;
	struct world w;
	size_t len = 0;

	(void)state;
	params.n = 2;
	params.branching = 1;
	params.timeout_ns = 3600 * UINT64_C(1000000000);
	params.compensate = true;
	begin_push_world(&w, &params);
	w.nodes[0].next_ns = w.nodes[1].next_ns = UINT64_MAX;
	world_run(&w, TICK);
	/* Nothing arrives: both have half as much after each. */
	for (int k = 0; k < 18; k++) {
		len = next_push_datagram(&w, 0, buf, &push);
		next_push_datagram(&w, 1, other, &kept);
	}
	deliver_push_datagram(&w, 1, buf, len);
	next_push_datagram(&w, 1, other, &held);
	assert_near(2 * held, kept + 17 * push, 0.01 * push);
	world_destroy(&w);
}

/* What a limiter left with the others when it went, and took of theirs, does not stay. */
static void test_restart_and_loss(void **state)
{
	struct world w;

	(void)state;
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
	world_destroy(&w);
}

static void test_partition(void **state)
{
	struct world w;

	(void)state;
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
	world_destroy(&w);
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
	params.compensate = compensate;
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

/* Figures for a document; and the order that there must be among them. */
static void test_losses(void **state)
{
	static const double losses[] = {0, 0.01, 0.05};

	(void)state;
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

/* Masses that wear away, or are blown up, are replaced before they are no numbers any more. */
static void test_worn_masses(void **state)
{
	(void)state;
	for (int compensate = 0; compensate < 2; compensate++) {
		struct world_params params = usual;
		struct world w;

		params.n = 5;
		params.branching = 4;
		params.loss = 0.3;
		params.compensate = compensate;
		params.timeout_ns = 10 * TIMEOUT;
		begin_push_world(&w, &params);
		for (int t = 0; t < 2000; t++) {
			world_run(&w, 2 * TICK);
			for (unsigned i = 0; i < params.n; i++) {
				struct gossip_sum sum = gossip_sum(w.nodes[i].gossip, 0);

				assert_true(isfinite(sum.weight) && isfinite(sum.demand));
				assert_true(sum.weight >= 0 && sum.demand >= 0);
				/* No more than all have, five times over. */
				assert_true(sum.weight < 5 * 9 * 5);
			}
		}
		world_destroy(&w);
	}
}

static void test_malformed(void **state)
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

	(void)state;
	params.n = 2;
	world_create(&w, &params);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t buf[200] = {0};
		struct cursor cursor = {buf, buf + sizeof(buf), false};
		struct datagram_header header = {.version = DATAGRAM_VERSION,
			.flags = GOSSIP_PUSH_SUM << DATAGRAM_ESTIMATOR_SHIFT,
			.sender = w.roster->ids[0],
			.epoch = 77,
			.counter = 1};
		struct datagram_body body = {w.roster->ids[1], 0, 0, 1, (uint16_t)cases[i].records};
		struct datagram_round round = {0, 1};
		struct datagram_share share = {w.policies[0], cases[i].push, cases[i].demand, 1};

		datagram_write_header(&cursor, &header);
		datagram_write_body(&cursor, &body);
		datagram_write_round(&cursor, &round);
		for (unsigned k = 0; k < cases[i].written; k++)
			datagram_write_share(&cursor, &share);
		assert_int_equal(gossip_receive(w.nodes[1].gossip, w.now_ns, buf,
					 (size_t)(cursor.at - buf) + cases[i].more),
			cases[i].want);
	}
	world_destroy(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conserved),
		cmocka_unit_test(test_compensation),
		cmocka_unit_test(test_compensation_is_bounded),
		cmocka_unit_test(test_restart_and_loss),
		cmocka_unit_test(test_partition),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_worn_masses),
		cmocka_unit_test(test_malformed),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
