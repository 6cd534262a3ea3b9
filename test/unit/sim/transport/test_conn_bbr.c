/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * BBR compared with arithmetic: a queue and a policer with drawn rates and round trips, random
 * loss.
 */

#include "check.h"
#include "scope.h"

#include "conn_net.h"

END_POINTER(net_destroy, struct net *)

#define MSS    1448
#define PACKET 1500
#define WIDE   (64u << 20)
#define QUANTA 6 /* segments above the products that the draft allows */
#define MINUTE (60 * SECOND)

/* A path, and the figures of one sender on it in a minute. */
struct run {
	struct net_params p;
	double rate, product; /* segments a second, and in a round trip */
	struct net *net;
	double used, sent; /* parts of the rate, in the last 40 s */
	uint32_t most;     /* maximum in flight then, in segments */
	unsigned small_ms; /* time with at most four in flight */
};

static void draw_path(struct run *r, uint64_t seed, uint64_t bps)
{
	struct prng prng;

	prng_seed(&prng, seed);
	*r = (struct run){.p = {.seed = seed}};
	r->rate = (double)bps / 8 / PACKET;
	r->product = 8 + prng_unit(&prng) * r->rate / 10; /* segments: up to 100 ms, plus 8 */
	r->p.delay_ns = (uint64_t)(1e9 * r->product / r->rate / 2);
}

static void run_minute(struct run *r)
{
	const struct conn_params params = {TRANSPORT_BBR, MSS, 0, WIDE, true, 0, false};
	uint64_t passed, sent;
	const struct tcp_sender *t;

	r->net = net_create(&r->p, &params, 1);
	net_run(r->net, 20 * SECOND);
	passed = r->net->passed_bytes;
	sent = conn_stats(&r->net->conns[0])->segments;
	t = &r->net->conns[0].tcp.sender;
	for (uint64_t ms = 20000; ms < 60000; ms++) {
		uint32_t flight = board_out(&t->board) - t->board.sacked - t->board.lost +
				  t->board.resent;

		r->most = flight > r->most ? flight : r->most;
		r->small_ms += flight <= 4;
		net_run(r->net, ms * MS);
	}
	r->used = (double)(r->net->passed_bytes - passed) / PACKET / 40 / r->rate;
	r->sent = (double)(conn_stats(&r->net->conns[0])->segments - sent) / 40 / r->rate;
	if (getenv("CONN_FIGURES"))
		printf("rate %.0f product %.1f: used %.4f sent %.4f most %u small %u ms resent %llu\n",
			r->rate, r->product, r->used, r->sent, r->most, r->small_ms,
			(unsigned long long)conn_stats(&r->net->conns[0])->resent);
}

static uint64_t draw_rate(uint64_t seed)
{
	return (uint64_t)(1e6 * exp((double)(seed % 8) / 7 * log(50))); /* 1 to 50 Mbit/s */
}

/* Alone at a link with a buffer: the link is used, and at most two products are in flight. */
TEST(test_alone_at_a_queue)
{
	for (uint64_t seed = 1; seed <= ROUNDS(8); seed++) {
		struct run r;

		draw_path(&r, seed, draw_rate(seed));
		r.p.rate_bps = draw_rate(seed);
		r.p.queue = (unsigned)(4 * r.product) + 20;
		run_minute(&r);
		assert_true(r.used >= 0.95);
		assert_true(r.most <= 2 * (r.product + 2) + QUANTA + 3);
		/* Two to four times in 40 s, for 200 ms and some round trips. */
		assert_in_range(r.small_ms, 400, 4 * (200 + 6 * r.p.delay_ns / MS));
		assert_near((double)r.net->conns[0].tcp.sender.bbr.rtprop_ns / 1e9,
			2 * (double)r.p.delay_ns / 1e9 + 1 / r.rate, 0.002 + 2 / r.rate);
		net_destroy(r.net);
	}
}

/* A policer: the rate is used, and the sender continues to send up to a quarter more. */
TEST(test_alone_at_a_policer)
{
	for (uint64_t seed = 1; seed <= ROUNDS(8); seed++) {
		struct run r;

		draw_path(&r, seed, draw_rate(seed));
		r.p.police_bps = draw_rate(seed);
		r.p.police_burst = 10 * PACKET;
		run_minute(&r);
		assert_true(r.used >= 0.9);
		assert_true(r.sent >= r.used && r.sent <= 1.3);
		net_destroy(r.net);
	}
}

/* One in twenty is lost randomly: the link is used, where NewReno's window would be five. */
TEST(test_loss_does_not_slow_it)
{
	struct run r;

	draw_path(&r, 1, 20000000);
	r.p.delay_ns = 20 * MS;
	r.p.rate_bps = 20000000;
	r.p.queue = 200;
	r.p.loss = 0.05;
	run_minute(&r);
	assert_true(r.used >= 0.85);
	net_destroy(r.net);
}

/* In startup the bandwidth doubles in each round: after n round trips 10 × 2^n segments. */
TEST(test_startup_doubles)
{
	const struct conn_params params = {TRANSPORT_BBR, MSS, 0, WIDE, true, 0, false};
	struct net_params p = {.delay_ns = 50 * MS, .rate_bps = 400000000, .queue = 5000};
	ENDED_BY(net_destroy_at) struct net *net = net_create(&p, &params, 1);

	for (unsigned n = 2; n < 7; n++) {
		double sent;

		net_run(net, (n + 1) * 100 * MS + 50 * MS);
		sent = (double)conn_stats(&net->conns[0])->segments;
		assert_in_range((uint64_t)sent, 5U << n, 40U << n);
	}
}
