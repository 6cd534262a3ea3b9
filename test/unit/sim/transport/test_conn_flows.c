/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Results of connections over time: alone under random loss, several at a bottleneck, and with
 * every fault that a network can have.
 */
#include "check.h"

#include "conn_net.h"

#define MSS   1448
#define WIDE  (64u << 20)
#define DELAY (20 * MS)

/* The laws below apply to the first three. */
static const enum transport all[] = {
	TRANSPORT_NEWRENO, TRANSPORT_CUBIC, TRANSPORT_QUIC, TRANSPORT_DCTCP, TRANSPORT_BBR};

static struct conn_params params_of(enum transport transport, uint64_t bytes)
{
	return (struct conn_params){transport, MSS, bytes, WIDE, true, 0, false};
}

/* Segments per round trip of one endless connection that loses a part p. */
static double window_under_loss(enum transport transport, double p, uint64_t delay_ns)
{
	struct net_params np = {.delay_ns = delay_ns, .loss = p, .seed = 11};
	struct conn_params params = params_of(transport, 0);
	struct net *net = net_create(&np, &params, 1);
	uint64_t seconds = p < 0.005 ? 4000 : 2000, before;
	double segments;

	net_run(net, 20 * SECOND);
	before = conn_stats(&net->conns[0])->delivered;
	net_run(net, (20 + seconds) * SECOND);
	segments = (double)(conn_stats(&net->conns[0])->delivered - before) / MSS;
	net_destroy(net);
	return segments / (double)seconds * 2 * (double)delay_ns / 1e9;
}

/*
 * The law of the square root (Mathis et al. 1997): a window that grows by one segment a round trip
 * and is halved at each loss is sqrt(3 / 2p) on average. The law ignores timeouts, and that two
 * losses in one window halve it once.
 */
TEST(test_square_root_law)
{
	/* The last ones take longest. */
	static const double losses[] = {0.02, 0.01, 0.005, 0.002, 0.001};

	for (size_t t = 0; t < 3; t += 2) {
		for (size_t i = 0; i < ROUNDS(5); i++) {
			double want = sqrt(1.5 / losses[i]);
			double got = window_under_loss(all[t], losses[i], 2 * DELAY);

			if (getenv("CONN_FIGURES"))
				printf("%d p %g: %.2f, law %.2f\n", all[t], losses[i], got, want);
			assert_near(got / want, 1, 0.15);
		}
	}
}

/*
 * CUBIC if it is not NewReno: RFC 9438's average window, (C (4 - 0.3) / 1.2)^(1/4) RTT^(3/4) /
 * p^(3/4), if that is larger.
 */
TEST(test_cubic_law)
{
	double rtt = 0.2, p = 0.0005;
	double want = pow(0.4 * 3.7 / 1.2, 0.25) * pow(rtt, 0.75) / pow(p, 0.75);
	double got = window_under_loss(TRANSPORT_CUBIC, p, 100 * MS);

	if (getenv("CONN_FIGURES"))
		printf("cubic: %.2f, law %.2f\n", got, want);
	assert_near(got / want, 1, 0.2);
}

struct share {
	double used;             /* part of the rate, IP bytes */
	double jain;             /* Jain's fairness index of the delivered bytes */
	double resent, timeouts; /* parts of the sent segments */
};

/* n connections through a bottleneck from `warm_s` to `end_s`. */
static struct share share_of(const struct net_params *np, enum transport transport, unsigned n,
	uint64_t stagger_ns, uint64_t warm_s, uint64_t end_s)
{
	struct conn_params params = params_of(transport, 0);
	struct net *net = net_create(np, &params, n);
	double sum = 0, squares = 0, segments = 0, resent = 0, timeouts = 0;
	uint64_t rate_bps = np->rate_bps ? np->rate_bps : np->police_bps, passed;
	uint64_t *before = net_array(n, sizeof(*before));

	for (unsigned i = 0; i < n; i++)
		net->starts[i] = i * stagger_ns;
	net_run(net, warm_s * SECOND);
	passed = net->passed_bytes;
	for (unsigned i = 0; i < n; i++)
		before[i] = conn_stats(&net->conns[i])->delivered;
	net_run(net, end_s * SECOND);
	for (unsigned i = 0; i < n; i++) {
		const struct conn_stats *s = conn_stats(&net->conns[i]);
		double got = (double)(s->delivered - before[i]);

		sum += got;
		squares += got * got;
		segments += (double)s->segments;
		resent += (double)s->resent;
		timeouts += (double)s->timeouts;
	}
	passed = net->passed_bytes - passed;
	net_destroy(net);
	free(before);
	return (struct share){
		.used = (double)passed * 8 / (double)(end_s - warm_s) / (double)rate_bps,
		.jain = sum * sum / n / squares,
		.resent = resent / segments,
		.timeouts = timeouts / segments,
	};
}

static void print_flow_figure(const char *what, enum transport transport, const struct share *s)
{
	if (getenv("CONN_FIGURES"))
		printf("%s, %d: used %.4f jain %.4f resent %.4f timeouts %.4f\n", what, transport,
			s->used, s->jain, s->resent, s->timeouts);
}

/* Two connections, the second ten seconds later, get equal rates in the end. */
TEST(test_two_at_a_queue)
{
	struct net_params np = {.delay_ns = DELAY, .rate_bps = 10000000, .queue = 40, .seed = 1};

	for (size_t t = 0; t < 3; t++) {
		struct share s = share_of(&np, all[t], 2, 10 * SECOND, 60, 300);

		print_flow_figure("two at a queue", all[t], &s);
		assert_true(s.used > 0.99);
		assert_true(s.jain > 0.95);
	}
}

/* Ten connections through a policer without a queue: windows of three and four segments. */
TEST(test_ten_at_a_policer)
{
	struct net_params np = {
		.delay_ns = DELAY,
		.police_bps = 10000000,
		.police_burst = 50000, /* bandwidth-delay product of the path */
		.seed = 1,
	};

	for (size_t t = 0; t < 3; t++) {
		struct share s = share_of(&np, all[t], 10, 13 * MS, 20, 220);

		print_flow_figure("ten at a policer", all[t], &s);
		assert_true(s.used > 0.95);
		assert_true(s.used < 1.001);
		assert_true(s.jain > 0.9);
	}
}

/*
 * Five hundred connections share 5 Mbit/s: each has less than a segment a round trip, so timeouts
 * drive them. On one host they time out together, and the first one is then first again: a few have
 * the whole rate.
 */
TEST(test_crowd_at_a_policer)
{
	struct net_params np = {
		.delay_ns = DELAY,
		.police_bps = 5000000,
		.police_burst = 25000,
		.seed = 1,
	};

	for (size_t t = 0; t < 2; t++) {
		struct share hosts, host;

		np.one_host = false;
		hosts = share_of(&np, all[t], 500, 7 * MS, 20, 80);
		np.one_host = true;
		host = share_of(&np, all[t], 500, 7 * MS, 20, 80);
		print_flow_figure("five hundred at a policer", all[t], &hosts);
		print_flow_figure("the same, of one host", all[t], &host);
		assert_true(hosts.used > 0.98 && host.used > 0.98);
		assert_true(hosts.timeouts > 0.2);
		assert_true(hosts.jain > 0.3);
		assert_true(host.jain < hosts.jain / 2);
	}
}

/* A network with all faults: each transfer ends, with every byte delivered once. */
static struct net *bad_run(enum transport transport, uint64_t seed)
{
	struct conn_params params;
	struct net_params np;
	struct prng prng;

	prng_seed(&prng, seed);
	np = (struct net_params){
		.delay_ns = MS + prng_next(&prng) % (100 * MS),
		.loss = 0.3 * prng_unit(&prng) * prng_unit(&prng),
		.ack_loss = 0.3 * prng_unit(&prng) * prng_unit(&prng),
		.repeat = 0.1 * prng_unit(&prng),
		.jitter_ns = prng_next(&prng) % (100 * MS),
		.jittered = prng_unit(&prng) * prng_unit(&prng),
		.drop_syns = prng_below(&prng, 3),
		.drop_synacks = prng_below(&prng, 3),
		.seed = seed,
	};
	if (prng_below(&prng, 2)) {
		np.rate_bps = 1000000 + prng_below(&prng, 50000000);
		np.queue = 1 + prng_below(&prng, 200);
	}
	params = params_of(transport, 1 + prng_below(&prng, 3000000));
	params.mss = 100 + prng_below(&prng, 1400);
	params.window = params.mss * (1 + prng_below(&prng, 300));
	params.handshake = prng_below(&prng, 4) != 0;
	params.ecn = prng_below(&prng, 2);
	np.mark = prng_unit(&prng);
	return net_create(&np, &params, 1);
}

static void check_bad_run(struct net *net, enum transport transport, uint64_t seed)
{
	const struct conn_stats *s = conn_stats(&net->conns[0]);
	bool done = net_finish(net, 100000 * SECOND);
	uint64_t bytes = net->params[0].bytes;

	if (!done || s->delivered != bytes || s->bytes < bytes || net->flights.n ||
		s->segments - s->resent != net->conns[0].stream.total ||
		conn_deadline(&net->conns[0]) != CONN_NEVER)
		fail_msg("transport %d seed %llu: done %d, %llu of %llu bytes, %llu sent",
			transport, (unsigned long long)seed, done, (unsigned long long)s->delivered,
			(unsigned long long)bytes, (unsigned long long)s->bytes);
}

TEST(test_always_completes)
{
	for (uint64_t seed = 1; seed <= ROUNDS(200); seed++) {
		for (size_t t = 0; t < (seed % 3 ? 3 : 5); t++) {
			struct net *net = bad_run(all[t], seed);

			check_bad_run(net, all[t], seed);
			net_destroy(net);
		}
	}
}

static bool same_sent(const struct net_sent *a, const struct net_sent *b)
{
	return a->at_ns == b->at_ns && a->end == b->end && a->lost == b->lost &&
	       memcmp(&a->segment, &b->segment, sizeof(a->segment)) == 0;
}

/* Two runs with the same seed are equal. */
TEST(test_determinism)
{
	for (uint64_t seed = 1; seed <= ROUNDS(20); seed++) {
		for (size_t t = 0; t < 5; t++) {
			struct net *a = bad_run(all[t], seed), *b = bad_run(all[t], seed);

			net_finish(a, 100000 * SECOND);
			net_finish(b, 100000 * SECOND);
			assert_int_equal(a->now_ns, b->now_ns);
			assert_int_equal(a->n_log, b->n_log);
			for (unsigned i = 0; i < a->n_log; i++)
				assert_true(same_sent(&a->log[i], &b->log[i]));
			assert_memory_equal(conn_stats(a->conns), conn_stats(b->conns),
				sizeof(struct conn_stats));
			net_destroy(a);
			net_destroy(b);
		}
	}
}

static uint64_t random_number(struct prng *prng, uint64_t near)
{
	switch (prng_below(prng, 8)) {
	case 0:
		return prng_next(prng);
	case 1:
		return UINT64_MAX - prng_below(prng, 3);
	case 2:
		return 0;
	default:
		return near + prng_below(prng, 60 * MSS) - prng_below(prng, 20 * MSS);
	}
}

static struct segment random_segment(struct prng *prng, uint64_t near, uint64_t now_ns)
{
	struct segment s = {
		.seq = random_number(prng, near),
		.offset = random_number(prng, near),
		.len = prng_below(prng, 2) ? (uint32_t)random_number(prng, MSS) : 0,
		.syn = prng_below(prng, 20) == 0,
		.fin = prng_below(prng, 20) == 0,
		.is_ack = prng_below(prng, 2),
		.n_sacks = (uint8_t)prng_below(prng, prng_below(prng, 50) ? CONN_SACKS + 1 : 256),
		.ack = random_number(prng, near),
		.ecn = (uint8_t)prng_below(prng, 4),
		.marks = random_number(prng, near),
		.stamp = {random_number(prng, near / MSS), random_number(prng, now_ns),
			random_number(prng, now_ns), random_number(prng, now_ns)},
		.sent_ns = prng_below(prng, 10) ? now_ns : prng_next(prng),
		.echo_ns = prng_below(prng, 10) ? now_ns - MS : prng_next(prng),
	};

	for (unsigned i = 0; i < CONN_SACKS; i++) {
		s.sack[i].from = random_number(prng, near);
		s.sack[i].to = prng_below(prng, 4) ? s.sack[i].from + prng_below(prng, 20 * MSS)
						   : random_number(prng, near);
	}
	return s;
}

/* With any segments at either end, both ends stay consistent, and within the receive window. */
TEST(test_nonsense_is_survived)
{
	for (uint64_t seed = 1; seed <= ROUNDS(100); seed++) {
		struct conn_params params = params_of(all[seed % 5], 0);
		struct conn conn;
		struct prng prng;
		uint64_t now_ns = 1, near = 0;

		prng_seed(&prng, seed);
		params.handshake = prng_below(&prng, 2);
		params.window = 100 * MSS;
		assert_int_equal(conn_init(&conn, &params, now_ns), 0);
		for (unsigned i = 0; i < 3000; i++) {
			enum conn_end end = (enum conn_end)prng_below(&prng, 2);
			struct segment s = random_segment(&prng, near, now_ns), out;

			if (all[seed % 5] == TRANSPORT_QUIC && prng_below(&prng, 2))
				for (unsigned k = 0; k < CONN_SACKS; k++) { /* packet numbers */
					s.sack[k].from = s.sack[k].from / MSS;
					s.sack[k].to = s.sack[k].to / MSS;
				}
			conn_receive(&conn, end, now_ns, &s);
			if (prng_below(&prng, 50) == 0 && conn_deadline(&conn) != CONN_NEVER &&
				conn_deadline(&conn) > now_ns)
				now_ns = conn_deadline(&conn);
			conn_expire(&conn, now_ns);
			for (unsigned k = 0; k < 400; k++) {
				if (!conn_send(&conn, (enum conn_end)(k % 2), now_ns, &out))
					continue;
				if (out.len)
					near = all[seed % 5] == TRANSPORT_QUIC ? out.offset
									       : out.seq;
				assert_true(out.n_sacks <= CONN_SACKS);
				assert_true(out.len <= MSS);
			}
			now_ns += prng_below(&prng, 10 * MS);
			if (params.transport == TRANSPORT_QUIC) {
				assert_true(board_out(&conn.quic.sender.board) <= 100);
			} else {
				assert_true(board_out(&conn.tcp.sender.board) <= 100);
				assert_true(conn.tcp.sender.window.cwnd > 0);
			}
		}
	}
}
