/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * News whose datagrams are all lost is sent again, as soon as the echoes show the loss.
 */
#include "check.h"

#include "gossip/estimator.h"
#include "gossip_world.h"

#define TICK (50 * MS)

/* A peer has echoed up to tick 9; news is sent in ticks 10 and 11; then these echoes arrive. */
TEST(test_verdicts)
{
	static const struct {
		const char *what;
		uint32_t echoes[4]; /* 0: no more */
		enum echo_verdict last;
	} rows[] = {
		{"both heard", {10, 11}, ECHO_ARRIVED},
		{"the first heard", {10}, ECHO_WAIT},
		{"the first lost", {11}, ECHO_ARRIVED},
		{"the second lost", {10, 12}, ECHO_ARRIVED},
		{"both lost", {12}, ECHO_MISSING},
		{"both lost, and more", {20}, ECHO_MISSING},
		{"lost is what came later", {10, 11, 14}, ECHO_WAIT},
		{"an old echo", {8}, ECHO_WAIT},
		{"the same echo", {9, 9}, ECHO_WAIT},
		{"old ones between", {10, 9, 8, 11}, ECHO_ARRIVED},
	};
	static const uint32_t bases[] = {0, UINT32_MAX - 10, UINT32_MAX / 2};

	for (unsigned b = 0; b < COUNT(bases); b++)
		for (unsigned i = 0; i < COUNT(rows); i++) {
			enum echo_verdict verdict = ECHO_WAIT;
			struct echo echo = {0};

			assert_int_equal(echo_take(&echo, bases[b] + 9), ECHO_WAIT);
			assert_false(echo_advance(&echo, bases[b] + 9));
			echo_gather(&echo, bases[b] + 10);
			echo_gather(&echo, bases[b] + 11);
			assert_true(echo_advance(&echo, bases[b] + 11));
			assert_false(echo_advance(&echo, bases[b] + 11));
			for (unsigned k = 0; k < 4 && rows[i].echoes[k]; k++)
				verdict = echo_take(&echo, bases[b] + rows[i].echoes[k]);
			if (verdict != rows[i].last)
				fail_msg("%s: %d", rows[i].what, verdict);
		}
}

/* News gathered while other news waits has its own turn, and its own losses. */
TEST(test_one_after_the_other)
{
	struct echo echo = {0};

	echo_take(&echo, 9);
	echo_gather(&echo, 10);
	assert_true(echo_advance(&echo, 10));
	echo_gather(&echo, 13);
	assert_false(echo_advance(&echo, 13));
	assert_int_equal(echo_take(&echo, 10), ECHO_ARRIVED);
	assert_true(echo_advance(&echo, 14));
	assert_int_equal(echo_take(&echo, 11), ECHO_WAIT);
	assert_int_equal(echo_take(&echo, 12), ECHO_WAIT);
	assert_int_equal(echo_take(&echo, 15), ECHO_MISSING);
	/* Ticks skipped earlier do not affect later news. */
	echo_gather(&echo, 16);
	assert_true(echo_advance(&echo, 16));
	assert_int_equal(echo_take(&echo, 16), ECHO_ARRIVED);
}

static bool cut_one_way(const struct world *world, unsigned from, unsigned to)
{
	return from == world->cut_from && to == world->cut_to;
}

static bool knows_policy_sum(const struct world *w, unsigned who, unsigned policy)
{
	unsigned peers;
	struct gossip_sum sum = gossip_sum(w->nodes[who].gossip, policy);

	return sum.lost == 0 && fabs(sum.weight - world_truth(w, who, policy, &peers)) < 1e-3;
}

static void world_of(struct world *w, unsigned n, uint64_t delay_ns, uint64_t seed)
{
	const struct world_params params = {
		.seed = seed,
		.n = n,
		.n_policies = 200,
		.branching = 3,
		.tick_ns = TICK,
		.timeout_ns = 1000 * MS,
		.delay_ns = delay_ns,
		.jitter_ns = 5 * MS,
	};

	world_create(w, &params);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < params.n_policies; k++)
			world_set(w, i, k, 1 + i + k);
	world_run(w, 100 * TICK);
}

/* Ticks until limiter 1 has 0's change, if it receives none of 0's datagrams for `lost` ticks. */
static unsigned ticks_to_know(unsigned n, uint64_t delay_ns, unsigned lost, uint64_t seed)
{
	unsigned ticks = 0;
	struct world w;

	world_of(&w, n, delay_ns, seed);
	assert_true(knows_policy_sum(&w, 1, 150));
	w.cut = cut_one_way;
	w.cut_from = 0;
	w.cut_to = 1;
	world_set(&w, 0, 150, 5000);
	world_run(&w, lost * TICK);
	assert_int_equal(knows_policy_sum(&w, 1, 150), lost == 0);
	w.cut = NULL;
	while (!knows_policy_sum(&w, 1, 150) && ticks < 300) {
		world_run(&w, TICK);
		ticks++;
	}
	world_destroy(&w);
	return ticks;
}

/*
 * Three one-way delays (a lost datagram, the echo and the repeat need them), and a tick at each
 * end.
 */
TEST(test_lost_twice_is_told_again)
{
	static const uint64_t delays[] = {MS, 30 * MS, 70 * MS, 200 * MS};

	for (uint64_t seed = 1; seed <= 5; seed++)
		for (unsigned n = 2; n <= 4; n++)
			for (unsigned d = 0; d < COUNT(delays); d++)
				for (unsigned lost = 1; lost <= 6; lost++) {
					unsigned most = (unsigned)(3 * delays[d] / TICK) + 4;
					unsigned ticks = ticks_to_know(n, delays[d], lost, seed);

					if (ticks > most)
						fail_msg("seed %" PRIu64 ": %u limiters, %u ticks "
							 "lost, delay %" PRIu64 ": %u ticks",
							seed, n, lost, delays[d], ticks);
				}
}

static uint64_t bytes_of(struct world *w, unsigned ticks)
{
	uint64_t before = w->sent_bytes;

	world_run(w, ticks * TICK);
	return w->sent_bytes - before;
}

/* Without losses, news is sent twice and not again: the bytes sent match. */
TEST(test_told_twice_and_no_more)
{
	for (uint64_t delay = MS; delay < 300 * MS; delay += 33 * MS) {
		uint64_t idle, told;
		struct world w;

		world_of(&w, 2, delay, 1);
		idle = bytes_of(&w, 40);
		for (unsigned k = 0; k < 30; k++)
			world_set(&w, 0, k, 7000 + k);
		told = bytes_of(&w, 40);
		if (told > idle + 2 * 30 * DATAGRAM_RECORD)
			fail_msg("delay %" PRIu64 ": %" PRIu64 " bytes, idle %" PRIu64, delay, told,
				idle);
		world_destroy(&w);
	}
}
