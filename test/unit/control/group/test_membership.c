/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#include "group/membership.h"

#define WAIT 20

static void claim(struct peer *peer, uint64_t epoch, uint32_t tick, struct prng *prng)
{
	struct peer_claim received = {.epoch = epoch, .tick = (uint32_t)epoch};

	peer_claim(peer, &received, tick, WAIT, prng);
}

static bool is_claimed(const struct peer *peer, uint64_t epoch)
{
	for (unsigned i = 0; i < PEER_CLAIMS; i++)
		if (peer->claims[i].epoch == epoch)
			return true;
	return false;
}

static uint64_t next_epoch(struct peer *peer, uint32_t tick)
{
	const struct peer_claim *next = peer_next_claim(peer, tick, WAIT);

	return next ? next->epoch : 0;
}

/* All claims are echoed once in a round; a claim that never was comes first. */
TEST(test_claims_in_turn)
{
	struct peer peer = {0};
	struct prng prng;
	unsigned echoed[PEER_CLAIMS + 1] = {0};

	prng_seed(&prng, 1);
	assert_int_equal(next_epoch(&peer, 0), 0);
	for (uint64_t e = 1; e < PEER_CLAIMS; e++)
		claim(&peer, e, 0, &prng);
	for (unsigned i = 1; i < PEER_CLAIMS; i++)
		echoed[next_epoch(&peer, 1)]++;
	for (uint64_t e = 1; e < PEER_CLAIMS; e++)
		assert_int_equal(echoed[e], 1);
	next_epoch(&peer, 2);
	claim(&peer, PEER_CLAIMS, 2, &prng);
	assert_int_equal(next_epoch(&peer, 2), PEER_CLAIMS);
	for (unsigned i = 0; i < PEER_CLAIMS; i++)
		echoed[next_epoch(&peer, 3)]++;
	for (uint64_t e = 1; e < PEER_CLAIMS; e++)
		assert_int_equal(echoed[e], 2);
}

/* A flood of epochs displaces only claims that have had their echoes. */
TEST(test_claims_displaced)
{
	struct peer peer = {0};
	struct prng prng;

	prng_seed(&prng, 1);
	claim(&peer, 1, 0, &prng);
	for (uint64_t e = 2; e < 1000; e++)
		claim(&peer, e, 0, &prng);
	assert_true(is_claimed(&peer, 1));
	assert_false(is_claimed(&peer, 999));
	/* All except the last have been echoed, and are repeated again and again. */
	for (unsigned i = 1; i < PEER_CLAIMS; i++)
		next_epoch(&peer, 1);
	for (uint32_t tick = 1; tick <= WAIT; tick++)
		for (uint64_t e = 1; e <= PEER_CLAIMS; e++)
			claim(&peer, e, tick, &prng);
	claim(&peer, 2000, WAIT, &prng);
	assert_false(is_claimed(&peer, 2000));
	for (uint64_t e = 1; e < PEER_CLAIMS; e++)
		claim(&peer, e, WAIT + 1, &prng);
	for (uint64_t e = 2000; e < 3000; e++)
		claim(&peer, e, WAIT + 1, &prng);
	assert_true(is_claimed(&peer, 2000));
	assert_true(is_claimed(&peer, 2000 + PEER_CLAIMS - 2));
	assert_false(is_claimed(&peer, 2000 + PEER_CLAIMS - 1));
	assert_true(is_claimed(&peer, PEER_CLAIMS)); /* never echoed */
}

/*
 * A claim that is no longer repeated is not echoed, and while the peer is alive, no refuted one is.
 */
TEST(test_claims_that_end)
{
	struct peer peer = {.alive = true};
	struct prng prng;

	prng_seed(&prng, 1);
	claim(&peer, 1, 0, &prng);
	assert_int_equal(next_epoch(&peer, 0), 1);
	claim(&peer, 1, WAIT - 1, &prng);
	assert_int_equal(next_epoch(&peer, WAIT - 1), 1);
	assert_int_equal(next_epoch(&peer, WAIT), 0);
	peer.alive = false;
	assert_int_equal(next_epoch(&peer, WAIT), 1);
	assert_int_equal(next_epoch(&peer, 2 * WAIT - 1), 0);
	peer.alive = true;
	claim(&peer, 1, 2 * WAIT, &prng); /* repeated: gets another echo */
	assert_int_equal(next_epoch(&peer, 2 * WAIT), 1);
}

/* A recording does not lower the tick that is echoed for a claim. */
TEST(test_claims_newest_tick)
{
	struct peer peer = {0};
	struct prng prng;
	struct peer_claim newer = {.epoch = 7, .tick = 50}, older = {.epoch = 7, .tick = 3};

	prng_seed(&prng, 1);
	peer_claim(&peer, &newer, 0, WAIT, &prng);
	peer_claim(&peer, &older, 0, WAIT, &prng);
	assert_int_equal(peer_next_claim(&peer, 0, WAIT)->tick, 50);
}

TEST(test_epochs_that_are_over)
{
	struct peer peer = {0};

	for (uint64_t e = 1; e <= PEER_RETIRED + 2; e++) {
		peer_accept(&peer, e, 0, 0);
		peer_proven(&peer, 1);
	}
	assert_int_equal(peer.restarts, PEER_RETIRED + 1);
	assert_null(peer_find_retired(&peer, 1));
	for (uint64_t e = 2; e <= PEER_RETIRED + 1; e++)
		assert_non_null(peer_find_retired(&peer, e));
	assert_null(peer_find_retired(&peer, PEER_RETIRED + 2));
}

/* Counters from before the proof were for other limiters, or for an earlier start of ours. */
TEST(test_counters_begin_at_the_proof)
{
	struct peer peer = {0};

	peer_accept(&peer, 1, 0, 0);
	peer_proven(&peer, 1000);
	assert_false(peer_counter_fresh(&peer, 999));
	assert_true(peer_counter_fresh(&peer, 1000));
	assert_false(peer_counter_fresh(&peer, 1000));
	assert_false(peer_counter_fresh(&peer, 1000 - REPLAY_WINDOW + 1));
	assert_true(peer_counter_fresh(&peer, 1002));
	assert_true(peer_counter_fresh(&peer, 1001));
}

/*
 * A tick relayed by others is echoed only while the peer is silent; its next datagram replaces it.
 */
TEST(test_its_own_word)
{
	struct peer peer = {0};

	peer_accept(&peer, 1, 100, 1000);
	peer_proven(&peer, 1);
	peer_note_own_tick(&peer, 100, 7, 1000);
	peer_note_reported_tick(&peer, 120, 1500);
	assert_int_equal(peer.tick, 120);
	assert_int_equal(peer.advanced_ns, 1500);
	assert_int_equal(peer_echo_tick(&peer, 8, 2), 100);
	assert_int_equal(peer_echo_tick(&peer, 9, 2), 120);
	peer_note_own_tick(&peer, 101, 9, 2000);
	assert_int_equal(peer.tick, 101);
	assert_int_equal(peer.advanced_ns, 2000);
	peer_note_own_tick(&peer, 101, 10, 3000); /* another datagram of that tick: no news of it */
	assert_int_equal(peer.advanced_ns, 2000);
}

TEST(test_how_far_it_can_be)
{
	struct peer peer = {0};

	peer_accept(&peer, 1, UINT32_MAX - 1, 1000);
	assert_true(peer_can_be_at(&peer, 1U << 30, 1000, 0, 10)); /* without information */
	peer_proven(&peer, 1);
	peer_note_own_tick(&peer, UINT32_MAX, 0, 2000);
	assert_true(peer_can_be_at(&peer, UINT32_MAX - 5, 2000, 0, 10));
	assert_true(peer_can_be_at(&peer, 4, 2000, 50, 10));
	assert_false(peer_can_be_at(&peer, 5, 2000, 50, 10));
	assert_true(peer_can_be_at(&peer, 5, 2010, 50, 10));
	assert_false(peer_can_be_at(&peer, 1U << 30, 2010, 50, 10));
}

/*
 * A peer counts if both its datagrams and its confirmations are within the timeout, or by a clock
 * that is slightly ahead.
 */
TEST(test_who_counts)
{
	static const struct {
		uint64_t advanced_ns, confirmed_ns;
		bool counts;
	} rows[] = {
		{901, 901, true},
		{900, 901, false},
		{901, 900, false},
		{1050, 1001, true},
		{1001, 1050, true},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct peer peer = {.advanced_ns = 1000}; /* the initial state */

		peer_confirmed(&peer, 1000);
		assert_false(peer_expire(&peer, 1000, 100)); /* there is no peer */
		peer = (struct peer){0};
		peer_accept(&peer, 1, 0, rows[i].advanced_ns);
		assert_false(peer_expire(&peer, rows[i].advanced_ns, 100)); /* not confirmed */
		peer_confirmed(&peer, rows[i].confirmed_ns);
		peer_confirmed(&peer, rows[i].confirmed_ns - 1); /* late */
		assert_int_equal(peer_expire(&peer, 1000, 100), rows[i].counts);
		assert_int_equal(peer.alive, rows[i].counts);
		assert_false(peer_expire(&peer, 1000, 100));
		assert_int_equal(peer_expire(&peer, 1150, 100), rows[i].counts);
		assert_false(peer.alive);
	}
}

/* The newest echoed tick of ours: late ones are ignored, and numbers wrap around. */
TEST(test_newest_echo)
{
	struct peer peer = {0};

	peer_echoed(&peer, UINT32_MAX - 1);
	assert_true(peer.has_echoed);
	assert_int_equal(peer.echoed, UINT32_MAX - 1);
	peer_echoed(&peer, UINT32_MAX - 2);
	assert_int_equal(peer.echoed, UINT32_MAX - 1);
	peer_echoed(&peer, 1);
	assert_int_equal(peer.echoed, 1);
}
