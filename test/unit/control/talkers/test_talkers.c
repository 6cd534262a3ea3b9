/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Traffic of many senders is counted exactly, and estimated from a sample like in the workers.
 * Estimates have no bias, margins hold as often as documented, and memory is bounded.
 */
#include "check.h"
#include "scope.h"

#include "base/prng.h"
#include "flow/packet_sample.h"
#include "talkers/talkers.h"

END_POINTER(talkers_free, struct talkers *)

#define HZ      UINT64_C(1000000000)
#define SENDERS 200
#define PACKETS 100000
#define GAP     (HZ / PACKETS) /* PACKETS in a second */

static struct talker_key key_of(uint32_t sender)
{
	struct talker_key key = {{0}};

	memcpy(key.bytes + 8, &sender, sizeof(sender));
	return key;
}

static uint32_t sender_of(const struct talker *talker)
{
	uint32_t sender;

	memcpy(&sender, talker->key.bytes + 8, sizeof(sender));
	return sender;
}

static void add_packet(
	struct talkers *talkers, uint32_t sender, uint32_t bytes, uint64_t weight, bool dropped)
{
	const struct talkers_sample sample = {
		.key = key_of(sender), .bytes = bytes, .weight = weight, .dropped = dropped};

	talkers_add(talkers, &sample);
}

struct exact {
	double packets[SENDERS], bytes[SENDERS], dropped[SENDERS];
	double all_packets, all_bytes;
};

/*
 * Samples the traffic: a few senders send much (1/rank), in packets of two sizes, and each loses
 * its part.
 */
static void send_packets(uint64_t seed, struct talkers *talkers, struct exact *exact)
{
	struct packet_sample lots;
	struct prng prng;

	prng_seed(&prng, seed);
	packet_sample_init(&lots, seed + 1000, 2000, HZ, 0);
	*exact = (struct exact){.all_bytes = 0};
	for (uint64_t i = 0; i < PACKETS; i++) {
		double u = prng_unit(&prng);
		uint32_t sender = (uint32_t)(exp(u * log(SENDERS + 1)) - 1);
		uint32_t bytes = prng_percent(&prng, 40) ? 64 : 1514;
		bool dropped = prng_percent(&prng, sender % 100);
		unsigned shift;

		exact->packets[sender]++;
		exact->bytes[sender] += bytes;
		exact->dropped[sender] += dropped;
		exact->all_packets++;
		exact->all_bytes += bytes;
		if (packet_sample_take(&lots, 1, i * GAP, &shift))
			add_packet(talkers, sender, bytes, UINT64_C(1) << shift, dropped);
	}
}

/* How often a margin held, and the error of the sums. */
struct tally {
	double tried, held;
	double error, variance;
};

static void tally_one(struct tally *tally, double got, double want, double margin, double variance)
{
	tally->tried++;
	tally->held += fabs(got - want) <= margin;
	tally->error += got - want;
	tally->variance += variance;
}

static void assert_tally(const struct tally *tally, const char *what)
{
	/* Three standard errors below the documented rate. */
	if (tally->held < 0.95 * tally->tried - 3 * sqrt(0.95 * 0.05 * tally->tried))
		fail_msg("%s: the margin held %.0f times of %.0f", what, tally->held, tally->tried);
	if (tally->variance > 0 && fabs(tally->error) > 4 * sqrt(tally->variance))
		fail_msg("%s: off by %g, of %g", what, tally->error, sqrt(tally->variance));
}

/* For the largest, some in the middle and the smallest, over all seeds. */
TEST(estimates_have_no_bias)
{
	static const uint32_t looked_at[] = {0, 1, 2, 10, 40, 199};
	struct tally packets[6] = {{0}}, bytes[6] = {{0}}, shares[6] = {{0}}, dropped[6] = {{0}};
	struct talker top[SENDERS];

	for (uint64_t seed = 1; seed <= ROUNDS(160); seed++) {
		struct talkers *talkers = talkers_create(1024, seed);
		struct exact exact;
		size_t n;

		send_packets(seed, talkers, &exact);
		n = talkers_top(talkers, top, SENDERS);
		for (unsigned i = 0; i < 6; i++) {
			uint32_t sender = looked_at[i];
			struct talker none = {.key = key_of(sender)}, *one = &none;
			double margin, share;

			for (size_t k = 0; k < n; k++)
				if (sender_of(&top[k]) == sender)
					one = &top[k];
			tally_one(&packets[i], one->packets, exact.packets[sender],
				one == &none ? talkers_unseen(talkers_all(talkers))
					     : talkers_packets_margin(one),
				one->packets_variance);
			tally_one(&bytes[i], one->bytes, exact.bytes[sender],
				one == &none ? INFINITY
					     : talkers_bytes_margin(talkers_all(talkers), one),
				one->bytes_variance);
			share = talkers_share(talkers_all(talkers), one, &margin);
			tally_one(&shares[i], share, exact.bytes[sender] / exact.all_bytes,
				one == &none ? INFINITY : margin, 0);
			share = talkers_dropped(one, &margin);
			tally_one(&dropped[i], share, exact.dropped[sender] / exact.packets[sender],
				one == &none ? INFINITY : margin, 0);
		}
		talkers_free(talkers);
	}
	for (unsigned i = 0; i < 6; i++) {
		assert_tally(&packets[i], "packets");
		assert_tally(&bytes[i], "bytes");
		assert_tally(&shares[i], "share");
		assert_tally(&dropped[i], "dropped");
	}
}

/* If every packet is sampled, estimates are exact. */
TEST(all_of_them_are_exact)
{
	ENDED_BY(talkers_free_at) struct talkers *talkers = talkers_create(16, 1);
	struct talker top[4];
	double margin;

	for (unsigned i = 0; i < 40; i++)
		add_packet(talkers, i % 4 == 0, 100, 1, i % 8 == 0);
	assert_int_equal(talkers_top(talkers, top, 4), 2);
	assert_near(talkers_share(&(struct talker){0}, &top[0], &margin), 0, 0); /* no total */
	assert_int_equal(sender_of(&top[0]), 0);
	assert_near(top[0].bytes, 3000, 0);
	assert_near(talkers_bytes_margin(talkers_all(talkers), &top[0]), 0, 0);
	assert_near(talkers_share(talkers_all(talkers), &top[0], &margin), 0.75, 1e-12);
	assert_near(margin, 0, 0);
	assert_near(talkers_dropped(&top[1], &margin), 0.5, 1e-12);
	assert_near(margin, 0, 0);
	assert_near(talkers_unseen(talkers_all(talkers)), 0, 0);
}

/* Three samples show little, so margins are wide. */
TEST(few_samples_are_wide)
{
	ENDED_BY(talkers_free_at) struct talkers *talkers = talkers_create(16, 1);
	struct talker one, top[2];
	double margin, share;

	for (unsigned i = 0; i < 3; i++)
		add_packet(talkers, 1, 100, 1024, true);
	assert_int_equal(talkers_top(talkers, &one, 1), 1);
	assert_near(one.packets, 3 * 1024, 0);
	/* A Poisson mean of which 3 were seen is at most 8.8. */
	assert_near(talkers_packets_margin(&one) / 1024, 8.8 - 3, 0.1);
	share = talkers_dropped(&one, &margin);
	assert_near(share, 1, 0);
	assert_true(margin > 0.5 && margin <= 1);
	share = talkers_share(talkers_all(talkers), &one, &margin);
	assert_near(share, 1, 0);
	assert_near(talkers_unseen(talkers_all(talkers)), 3 * 1023, 1e-6);
	/* A share is never below 0 or above 1. */
	add_packet(talkers, 2, 100, 1024, false);
	assert_int_equal(talkers_top(talkers, top, 2), 2);
	assert_near(talkers_share(talkers_all(talkers), &top[1], &margin), 0.25, 0);
	assert_near(margin, 0.75, 0);
}

/*
 * At the end of a score interval the estimate is 1.96 standard errors off, with the error at that
 * end.
 */
static void assert_score(double margin, double variance, double unit)
{
	assert_near(margin * margin, 1.96 * 1.96 * (variance + unit * margin), 1e-6 * variance);
}

/*
 * Five small samples of one sender, two of them dropped, with weight 4; and 20 large ones of
 * others.
 */
TEST(margins_are_scores)
{
	ENDED_BY(talkers_free_at) struct talkers *talkers = talkers_create(16, 1);
	const double n = 5 * 4 / 3.0; /* effective sample size of a share */
	double margin, share, end, own, whole;
	const struct talker *all;
	struct talker top[2];

	for (unsigned i = 0; i < 5; i++)
		add_packet(talkers, 1, 100, 4, i < 2);
	for (unsigned i = 0; i < 20; i++)
		add_packet(talkers, 2, 1000, 4, false);
	assert_int_equal(talkers_top(talkers, top, 2), 2);
	all = talkers_all(talkers);
	own = 5 * 4 * 3 * 1e4;
	whole = own + 20 * 4 * 3 * 1e6;
	assert_near(top[1].packets, 20, 0);
	assert_near(top[1].packets_variance, 5 * 4 * 3, 0);
	assert_near(top[1].bytes, 2000, 0);
	assert_near(top[1].bytes_variance, own, 0);
	assert_near(top[1].dropped, 8, 0);
	assert_near(all->packets, 100, 0);
	assert_near(all->dropped, 8, 0);
	assert_near(all->bytes_variance, whole, 0);
	assert_score(talkers_packets_margin(&top[1]), 5 * 4 * 3, 3);
	/* Its unsampled packets may be as large as the others'. */
	assert_score(talkers_bytes_margin(all, &top[1]), own, whole / 82000);
	assert_score(talkers_bytes_margin(all, &top[0]), 20 * 4 * 3 * 1e6, 3000);
	share = talkers_share(all, &top[1], &margin);
	assert_near(share, 2000 / 82000.0, 1e-12);
	assert_score(margin, (own * (1 - 2 * share) + share * share * whole) / 82000 / 82000,
		whole / 82000 / 82000 * (1 - share));
	share = talkers_dropped(&top[1], &margin);
	assert_near(share, 0.4, 1e-12);
	end = share + margin; /* the wider end is the one towards a half */
	assert_near(margin * margin, 1.96 * 1.96 * end * (1 - end) / n, 1e-9);
	assert_near(talkers_unseen(all), 3 * 3, 1e-12);
}

/*
 * A million spoofed senders with a packet each: large senders are in the table. No estimate exceeds
 * the sent amount, or is below it by more than the reported error.
 */
TEST(spoofed_senders_take_no_memory)
{
	enum { CAPACITY = 256, LARGE = 5, SPOOFED = 1000000 };
	ENDED_BY(talkers_free_at) struct talkers *talkers = talkers_create(CAPACITY, 3);
	struct talker top[CAPACITY + 1];
	double sent[LARGE] = {0}, total = 0;
	struct prng prng;
	size_t n;

	prng_seed(&prng, 5);
	for (uint32_t i = 0; i < SPOOFED; i++) {
		uint32_t large = prng_below(&prng, 20);

		add_packet(talkers, LARGE + i, 64, 1, false);
		total += 64;
		if (large >= LARGE)
			continue;
		add_packet(talkers, large, 100, 1, true);
		sent[large] += 100;
		total += 100;
	}
	n = talkers_top(talkers, top, CAPACITY + 1);
	assert_int_equal(n, CAPACITY);
	for (unsigned i = 0; i < LARGE; i++) {
		uint32_t sender = sender_of(&top[i]);

		assert_true(sender < LARGE);
		assert_true(top[i].bytes <= sent[sender]);
		assert_true(top[i].bytes + top[i].missed >= sent[sender]);
	}
	for (size_t i = 0; i < n; i++)
		assert_true(top[i].missed <= total / CAPACITY);
	assert_near(talkers_all(talkers)->bytes, total, 0);
}

/* The smallest entry is evicted, and its count is the possible error of the next one. */
static void least_gives_way(bool comes_first)
{
	ENDED_BY(talkers_free_at) struct talkers *talkers = talkers_create(2, 1);
	struct talker top[2];

	if (comes_first)
		add_packet(talkers, 1, 100, 1, false);
	add_packet(talkers, 2, 300, 1, false);
	if (!comes_first)
		add_packet(talkers, 1, 100, 1, false);
	add_packet(talkers, 3, 50, 1, false);
	assert_int_equal(talkers_top(talkers, top, 2), 2);
	assert_int_equal(sender_of(&top[0]), 2);
	assert_near(top[0].missed, 0, 0);
	assert_int_equal(sender_of(&top[1]), 3);
	assert_near(top[1].bytes, 50, 0);
	assert_near(top[1].missed, 100, 0);
	add_packet(talkers, 1, 10, 1, false);
	assert_int_equal(talkers_top(talkers, top, 2), 2);
	assert_int_equal(sender_of(&top[1]), 1);
	assert_near(top[1].missed, 150, 0);
}

TEST(the_least_gives_way)
{
	least_gives_way(true);
	least_gives_way(false);
}

/*
 * The order, ties by key, fewer entries than requested, and senders whose samples have several
 * tags.
 */
TEST(order_and_tags)
{
	ENDED_BY(talkers_free_at) struct talkers *talkers = talkers_create(8, 9);
	struct talkers_sample sample = {.key = key_of(2), .bytes = 100, .weight = 2, .tag = 5};
	struct talker top[8];

	assert_int_equal(talkers_top(talkers, top, 8), 0);
	talkers_add(talkers, &sample);
	sample.tag = 6;
	talkers_add(talkers, &sample);
	add_packet(talkers, 7, 100, 1, false);
	add_packet(talkers, 3, 100, 1, false);
	add_packet(talkers, 4, 900, 1, false);
	assert_int_equal(talkers_top(talkers, top, 0), 0);
	assert_int_equal(talkers_top(talkers, top, 3), 3);
	assert_int_equal(sender_of(&top[0]), 4);
	assert_int_equal(sender_of(&top[1]), 2);
	assert_int_equal(sender_of(&top[2]), 3);
	assert_true(top[1].tags && top[1].tag == 5 && !top[0].tags);
	assert_int_equal(top[1].samples, 2);
}
