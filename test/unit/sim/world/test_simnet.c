/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "base/prng.h"
#include "world/simnet.h"

#define DRAWS    1000000
#define SEED     11
#define SIGMAS   5
#define NS_IN_MS 1e6
#define PART     0.841344746 /* share of a normal distribution below mean + deviation */

/*
 * Minimum, mean, standard deviation, and the value below which a part PART lies, for every kind of
 * delay of 50 ms with a spread of 4 ms. In ms, from the formulas of the distributions. A mean of n
 * draws may be off by SIGMAS × sigma / sqrt(n), a count of them by SIGMAS × sqrt(n PART (1 -
 * PART)).
 */
TEST(test_distributions)
{
	static const struct {
		enum delay_kind kind;
		double least, mean, sigma, most;
	} rows[] = {
		{DELAY_CONSTANT, 50, 50, 0, 0},
		{DELAY_UNIFORM, 50, 52, 1.154701, 53.365379}, /* 4 / sqrt(12) */
		{DELAY_NORMAL, 0, 50, 4, 54},
		{DELAY_EXPONENTIAL, 50, 54, 4, 57.364087}, /* 4 ln(1 / (1 - PART)) more */
		{DELAY_PARETO, 50, 54, 8.944272,
			56.530531} /* 4 sqrt(5); 6 ((1 - PART)^-0.4 - 1) more */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct network network = {
			.kind = rows[i].kind, .delay_ns = 50000000, .spread_ns = 4000000};
		double sum = 0, off;
		unsigned below = 0;
		struct prng prng;

		prng_seed(&prng, SEED);
		for (unsigned k = 0; k < DRAWS; k++) {
			double delay = (double)network_delay(&network, &prng) / NS_IN_MS;

			assert_true(delay >= rows[i].least);
			sum += delay;
			below += delay < rows[i].most;
		}
		off = fabs(sum / DRAWS - rows[i].mean);
		/* Nanoseconds are rounded down. */
		if (off > SIGMAS * rows[i].sigma / sqrt(DRAWS) + 1 / NS_IN_MS)
			fail_msg("seed %d: mean of kind %d is off by %g ms", SEED, rows[i].kind,
				off);
		off = fabs(below - DRAWS * PART);
		if (rows[i].sigma > 0 && off > SIGMAS * sqrt(DRAWS * PART * (1 - PART)))
			fail_msg("seed %d: part of kind %d is off by %g draws", SEED, rows[i].kind,
				off);
	}
}

/* No delay is negative, however wide the distribution is. */
TEST(test_never_negative)
{
	struct network network = {.kind = DELAY_NORMAL, .delay_ns = 1000000, .spread_ns = 10000000};
	struct prng prng;
	unsigned none = 0;

	prng_seed(&prng, SEED);
	for (unsigned k = 0; k < 10000; k++) {
		uint64_t delay = network_delay(&network, &prng);

		assert_true(delay < 100000000);
		none += delay == 0;
	}
	/* 46 % of a normal distribution is below its mean less a tenth of its deviation. */
	assert_in_range(none, 4352, 4852);
}

/* Arrivals in a world of four nodes. */
struct arrivals {
	struct events events;
	struct simnet net;
	unsigned n, from, to;
	uint64_t at_ns[8];
	uint8_t bytes[8];
	size_t len;
	bool nobody;
};

static bool take_datagram(void *world, unsigned from, unsigned to, uint8_t *bytes, size_t len)
{
	struct arrivals *w = world;

	assert_true(len <= sizeof(w->bytes) && w->n < 8);
	w->from = from;
	w->to = to;
	w->at_ns[w->n++] = w->events.now_ns;
	memcpy(w->bytes, bytes, len);
	w->len = len;
	return !w->nobody;
}

static void begin_world(struct arrivals *w, struct link_queue *out, const uint32_t *side)
{
	*w = (struct arrivals){.net = {.receive = take_datagram, .side = side, .out = out}};
	w->net.events = &w->events;
}

static void send_eight(struct arrivals *w, const struct network *link, unsigned to)
{
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct prng prng;

	prng_seed(&prng, SEED);
	simnet_send(&w->net, link, &prng, 1, to, bytes, sizeof(bytes));
}

static void check_totals(const struct arrivals *w, unsigned sent, unsigned lost)
{
	assert_int_equal(w->net.totals.datagrams, sent);
	assert_int_equal(w->net.totals.bytes, 36 * sent); /* with 28 bytes of headers */
	assert_int_equal(w->net.totals.lost, lost);
	assert_int_equal(w->net.totals.lost_bytes, 36 * lost);
}

TEST(test_carried)
{
	static const struct {
		struct network link;
		unsigned copies;
		uint64_t at_ns;
	} rows[] = {
		{{.delay_ns = 50}, 1, 50},
		{{.delay_ns = 50, .loss = 1}, 0, 0},
		{{.delay_ns = 50, .duplicate = 1}, 2, 50},
		{{.delay_ns = 50, .reorder = 1, .reorder_ns = 7}, 1, 57},
		{{.delay_ns = 50, .reorder_ns = 7}, 1, 50},
		{{.delay_ns = 50, .duplicate = 1, .reorder = 1, .reorder_ns = 7}, 2, 57},
		{{.delay_ns = 50, .duplicate = 1, .loss = 1}, 0, 0},
		/* 36 bytes at 8 Mbit/s take 36 us. */
		{{.delay_ns = 50, .rate_bps = 8000000, .queue_bytes = 100}, 1, 36050},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct link_queue *out = calloc(4, sizeof(*out));
		struct arrivals w;

		begin_world(&w, out, NULL);
		send_eight(&w, &rows[i].link, 3);
		assert_int_equal(w.n, 0);
		events_run(&w.events, 1000000, &w);
		assert_int_equal(w.n, rows[i].copies);
		for (unsigned k = 0; k < w.n; k++)
			assert_int_equal(w.at_ns[k], rows[i].at_ns);
		if (w.n) {
			assert_int_equal(w.from, 1);
			assert_int_equal(w.to, 3);
			assert_int_equal(w.len, 8);
			assert_memory_equal(w.bytes, "\1\2\3\4\5\6\7\10", 8);
		}
		check_totals(&w, 1, rows[i].copies == 0);
		simnet_free(&w.net);
		events_free(&w.events);
	}
}

/* In a bottleneck packets wait for each other, and a packet that does not fit is lost. */
TEST(test_bottleneck)
{
	const struct network link = {.delay_ns = 50, .rate_bps = 8000000, .queue_bytes = 72};
	struct arrivals w;

	begin_world(&w, calloc(4, sizeof(struct link_queue)), NULL);
	for (unsigned i = 0; i < 3; i++)
		send_eight(&w, &link, 3);
	check_totals(&w, 3, 1);
	events_run(&w.events, 1000000, &w);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.at_ns[0], 36050);
	assert_int_equal(w.at_ns[1], 72050);
	check_totals(&w, 3, 1);
	simnet_free(&w.net);
	events_free(&w.events);
}

/* A partition before a packet is sent, or while it is in flight; or a missing receiver. */
TEST(test_parted)
{
	const struct network link = {.delay_ns = 50};
	uint32_t side[4] = {0, 0, 1, 0};
	struct arrivals w;

	begin_world(&w, NULL, side);
	assert_true(simnet_joins(&w.net, 1, 3));
	assert_false(simnet_joins(&w.net, 1, 2));
	send_eight(&w, &link, 2);
	check_totals(&w, 1, 1);
	send_eight(&w, &link, 3);
	side[3] = 2;
	events_run(&w.events, 1000, &w);
	assert_int_equal(w.n, 0);
	check_totals(&w, 2, 2);
	side[3] = 0;
	w.nobody = true;
	send_eight(&w, &link, 3);
	events_run(&w.events, 2000, &w);
	assert_int_equal(w.n, 1);
	check_totals(&w, 3, 3);
	send_eight(&w, &link, 3); /* still in flight at the end */
	simnet_free(&w.net);
	events_free(&w.events);
}
