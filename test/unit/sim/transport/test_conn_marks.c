/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * ECN-capable senders (RFC 3168, RFC 8257): which packets carry ECT, and the reaction to marks.
 */

#include "check.h"
#include "scope.h"

#include "conn_net.h"

END_POINTER(net_destroy, struct net *)

#define MSS  1448
#define WIDE (64u << 20)

static const struct {
	enum transport transport;
	bool ecn;
	uint8_t ect;
} senders[] = {
	{TRANSPORT_NEWRENO, false, NOT_ECT},
	{TRANSPORT_CUBIC, false, NOT_ECT},
	{TRANSPORT_BBR, false, NOT_ECT},
	{TRANSPORT_QUIC, false, NOT_ECT},
	{TRANSPORT_NEWRENO, true, ECT_0},
	{TRANSPORT_CUBIC, true, ECT_0},
	{TRANSPORT_DCTCP, false, ECT_1},
};

#define SENDERS (COUNT(senders))

static struct net *net_of(const struct net_params *p, size_t s, uint64_t bytes)
{
	const struct conn_params params = {
		senders[s].transport, MSS, bytes, WIDE, true, 0, senders[s].ecn};

	return net_create(p, &params, 1);
}

/* New data carries the sender's ECT. Retransmissions, handshakes and acknowledgements never do. */
TEST(test_capable_packets)
{
	for (size_t s = 0; s < SENDERS; s++) {
		struct net_params p = {.delay_ns = 10 * MS, .loss = 0.02, .mark = 0.02, .seed = s};
		struct net *net = net_of(&p, s, 2000 * MSS);
		uint64_t next = 0;
		unsigned again = 0;

		assert_true(net_finish(net, 600 * SECOND));
		for (unsigned i = 0; i < net->n_log; i++) {
			const struct segment *seg = &net->log[i].segment;
			bool fresh = seg->len && !seg->syn && seg->seq >= next;

			again += seg->len && !fresh;
			next = fresh ? seg->seq + seg->len : next;
			assert_int_equal(seg->ecn, fresh ? senders[s].ect : NOT_ECT);
		}
		assert_true(again > 0 || senders[s].transport == TRANSPORT_QUIC);
		assert_int_equal(net->marked > 0, senders[s].ect != NOT_ECT);
		net_destroy(net);
	}
}

/* Segments in a round trip under random marks, without a loss. */
static double window_under_marks(size_t s, double p, uint64_t seed)
{
	struct net_params np = {.delay_ns = 50 * MS, .mark = p, .seed = seed};
	struct net *net = net_of(&np, s, 0);
	uint64_t before;
	double segments;

	net_run(net, 20 * SECOND);
	before = conn_stats(&net->conns[0])->delivered;
	net_run(net, 620 * SECOND);
	segments = (double)(conn_stats(&net->conns[0])->delivered - before) / MSS;
	assert_int_equal(conn_stats(&net->conns[0])->resent, 0);
	assert_int_equal(conn_stats(&net->conns[0])->recoveries, 0);
	net_destroy(net);
	return segments / 600 * 0.1;
}

/* NewReno reacts to marks like to losses: the law of the square root (Mathis et al. 1997). */
TEST(test_classic_law)
{
	static const double marks[] = {0.01, 0.003, 0.001};

	for (size_t i = 0; i < 3; i++)
		assert_near(window_under_marks(4, marks[i], i + 1) * sqrt(marks[i] / 1.5), 1, 0.15);
}

/*
 * DCTCP: alpha is p, and a reduction by alpha / 2 of W lasts a round trip without growth. From its
 * end to the next mark 1 / p segments are acknowledged: W grows by 1 / p W. So W is sqrt(2) / p.
 */
TEST(test_scalable_law)
{
	static const double marks[] = {0.05, 0.02, 0.01, 0.005};

	for (size_t i = 0; i < 4; i++) {
		double got = window_under_marks(6, marks[i], i + 1) * marks[i];

		if (getenv("CONN_FIGURES"))
			printf("p %g: %.3f marks in a round trip\n", marks[i], got);
		assert_near(got / sqrt(2), 1, 0.2);
	}
}

/* All data of some round trips is marked: the window is halved exactly once in each. */
TEST(test_once_a_window)
{
	for (uint64_t seed = 1; seed <= ROUNDS(60); seed++) {
		struct prng prng;
		struct net_params p = {.seed = seed};
		unsigned rounds, halved = 0;
		uint64_t rtt_ns;
		struct net *net;
		uint32_t before;

		prng_seed(&prng, seed);
		rounds = 1 + prng_below(&prng, 3);
		p.delay_ns = (5 + prng_below(&prng, 95)) * MS;
		rtt_ns = 2 * p.delay_ns;
		p.mark_from_ns = 7 * rtt_ns + prng_below(&prng, 100) * rtt_ns / 100;
		p.mark_to_ns = p.mark_from_ns + rounds * rtt_ns;
		net = net_of(&p, 4, 0);
		net_run(net, p.mark_from_ns);
		before = net->conns[0].tcp.sender.window.ssthresh;
		assert_int_equal(before, WINDOW_NO_LIMIT);
		for (uint64_t at = p.mark_from_ns; at < p.mark_to_ns + 3 * rtt_ns; at += MS) {
			uint32_t now = net->conns[0].tcp.sender.window.ssthresh;

			halved += now != before;
			before = now;
			net_run(net, at);
		}
		if (halved < rounds || halved > rounds + 1)
			fail_msg("seed %llu: %u reductions in %u rounds", (unsigned long long)seed,
				halved, rounds);
		assert_int_equal(conn_stats(&net->conns[0])->resent, 0);
		net_destroy(net);
	}
}

/* alpha moves a sixteenth of the way to the part of marks in each window (RFC 8257). */
TEST(test_alpha)
{
	struct net_params p = {.delay_ns = 50 * MS,
		.mark_from_ns = 3 * SECOND,
		.mark_to_ns = 3 * SECOND + 1600 * MS};
	ENDED_BY(net_destroy_at) struct net *net = net_of(&p, 6, 0);
	const struct ecn *ecn = &net->conns[0].tcp.sender.ecn;
	double alpha;

	net->params[0].window = 200 * MSS; /* slow start ends at the receiver's window */
	net_run(net, 3 * SECOND);
	alpha = ecn->alpha;
	assert_near(log(alpha) / log(15.0 / 16), 29, 2); /* windows without a mark, from 1 on */
	net_run(net, 4600 * MS);
	assert_near(log(1 - ecn->alpha) - log(1 - alpha), 16 * log(15.0 / 16), 0.2);
}
