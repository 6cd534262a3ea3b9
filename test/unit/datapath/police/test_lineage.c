/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that are charged at several levels: to all of them or to none. A level counts the packets
 * that reach it. The model has buckets of whole bytes or packets, charged one by one.
 */
#include "check.h"

#include "base/prng.h"
#include "police/lineage.h"

#define LEVELS POLICY_LEVELS_MOST
#define TOKENS (UINT64_C(1000) << TOKEN_BYTE)
#define MARKS  10 /* DSCP of the lowest level; higher levels follow */

/* Levels that earn a byte or a packet every `period` ticks, and their model. */
struct world {
	struct policy_state states[LEVELS];
	struct policy_extended others[LEVELS];
	struct lineage lineage;
	bool packets;
	struct level {
		enum action action;
		uint64_t period, burst, last; /* ticks a unit; units; last earning */
		uint64_t units;
		uint64_t seen, dropped, over, seen_units;
	} model[LEVELS];
};

static void level_open(struct world *w, unsigned k, struct prng *prng)
{
	const enum action actions[] = {ACTION_DROP, ACTION_DROP, ACTION_MARK, ACTION_COUNT};
	struct level *level = &w->model[k];
	struct policy_state *state = &w->states[k];
	struct token_bucket_profile profile;

	*level = (struct level){.action = actions[prng_below(prng, 4)],
		.period = UINT64_C(1) << prng_below(prng, 4),
		.burst = w->packets ? 1 + prng_below(prng, 8) : 1500 + prng_below(prng, 6000)};
	level->units = level->burst;
	profile = (struct token_bucket_profile){
		.rate = INT64_C(1) << TOKEN_SHIFT >> __builtin_ctzll(level->period),
		.burst = level->burst << TOKEN_BYTE};
	*state = (struct policy_state){.limit = profile, .bucket.tokens = profile.burst};
	if (!w->packets && level->action == ACTION_DROP) {
		token_bucket_set_owner(&state->bucket, police_owner(POLICE_SIMPLE | POLICE_BELOW,
							       POLICE_UNSAMPLED, ACCOUNTING_L3));
	} else {
		w->others[k] = (struct policy_extended){.action = (uint8_t)level->action,
			.mark = (int8_t)(MARKS + k),
			.count = w->packets ? COUNT_PACKETS : COUNT_BYTES,
			.profile.bucket = profile,
			.meter.bucket.tokens = profile.burst};
		state->other = &w->others[k];
	}
	w->lineage.levels[k] = state;
}

static void world_open(struct world *w, struct prng *prng)
{
	memset(w, 0, sizeof(*w));
	w->lineage.n = 1 + prng_below(prng, LEVELS);
	w->packets = prng_below(prng, 2);
	for (unsigned k = 0; k < w->lineage.n; k++)
		level_open(w, k, prng);
}

static void level_earn(struct level *level, uint64_t now)
{
	uint64_t earned = (now - level->last) / level->period;

	level->units += earned;
	level->last += earned * level->period;
	if (level->units >= level->burst) {
		level->units = level->burst;
		level->last = now; /* a full bucket keeps no part of a unit */
	}
}

/* Charges and counts a packet in the model. Returns true if it passes. */
static bool model_passes(struct world *w, uint64_t cost, uint64_t now, int *mark)
{
	unsigned seen = w->lineage.n;
	bool passes = true;

	*mark = -2;
	for (unsigned k = 0; k < w->lineage.n; k++)
		level_earn(&w->model[k], now);
	for (unsigned k = w->lineage.n; k-- > 0;)
		if (w->model[k].units < cost && w->model[k].action == ACTION_DROP) {
			seen = k + 1;
			passes = false;
		}
	for (unsigned k = 0; k < seen; k++) {
		struct level *level = &w->model[k];

		level->seen++;
		level->seen_units += cost;
		level->dropped += !passes;
		if (!passes)
			continue;
		if (level->units >= cost) {
			level->units -= cost;
			continue;
		}
		level->over++;
		if (level->action == ACTION_MARK && *mark == -2)
			*mark = MARKS + (int)k;
	}
	return passes;
}

/* A level earns tokens only when it is charged. */
static void check_counts(struct world *w, uint64_t now)
{
	for (unsigned k = 0; k < w->lineage.n; k++) {
		const struct level *level = &w->model[k];

		assert_int_equal(w->states[k].packets, level->seen);
		assert_int_equal(w->states[k].bytes, level->seen_units);
		assert_int_equal(w->states[k].dropped_packets, level->dropped);
		assert_int_equal(police_over_packets(&w->states[k]), level->over);
		token_bucket_refill(lineage_bucket(w->lineage.levels[k]),
			lineage_profile(w->lineage.levels[k]), now);
		assert_int_equal(
			lineage_bucket(w->lineage.levels[k])->tokens >> TOKEN_BYTE, level->units);
	}
}

TEST(test_against_model)
{
	struct prng prng;
	unsigned passed = 0, dropped = 0, marked = 0;

	prng_seed(&prng, 18);
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t now = 0;
		struct world w;

		world_open(&w, &prng);
		for (unsigned i = 0; i < 200; i++) {
			uint32_t bytes = 60 + prng_below(&prng, 1455);
			struct lineage l = w.lineage;
			enum verdict verdict;
			int mark;

			now += prng_below(&prng, w.packets ? 12 : 8000);
			police_lineage_begin(&l, bytes);
			assert_int_equal(l.cost, w.packets ? 1 : bytes);
			verdict = police_lineage_ask(&l, now);
			if (verdict == VERDICT_MARK)
				assert_in_range(police_lineage_marker(&l), 0, l.n - 1);
			assert_int_equal(police_lineage_settle(&l, now), verdict != VERDICT_DROP);
			assert_int_equal(
				model_passes(&w, l.cost, now, &mark), verdict != VERDICT_DROP);
			assert_int_equal(verdict == VERDICT_MARK, mark != -2);
			if (verdict == VERDICT_MARK)
				assert_int_equal(
					police_mark(l.levels[police_lineage_marker(&l)]), mark);
			check_counts(&w, now);
			passed += verdict == VERDICT_PASS;
			dropped += verdict == VERDICT_DROP;
			marked += verdict == VERDICT_MARK;
		}
	}
	/* All outcomes occurred often. */
	assert_true(passed > 10000 && dropped > 10000 && marked > 10000);
}

/* A packet that cannot be marked is refused at the level that had to mark it. */
TEST(test_unmarkable)
{
	struct policy_extended other = {.action = ACTION_MARK};
	struct policy_state leaf = {.limit.burst = TOKENS}, link = {.other = &other}, top = leaf;
	struct lineage l = {.levels = {&leaf, &link, &top}, .n = 3};

	token_bucket_set_owner(&leaf.bucket, police_owner(POLICE_SIMPLE, 0, ACCOUNTING_L2));
	token_bucket_set_owner(&top.bucket, police_owner(POLICE_SIMPLE, 0, ACCOUNTING_L2));
	leaf.bucket.tokens = top.bucket.tokens = TOKENS;
	police_lineage_begin(&l, 100);
	assert_int_equal(police_lineage_ask(&l, 0), VERDICT_MARK);
	assert_int_equal(police_lineage_marker(&l), 1);
	police_lineage_refuse(&l, 1);
	assert_false(police_lineage_settle(&l, 0));
	assert_int_equal(leaf.bucket.tokens, TOKENS);
	assert_int_equal(leaf.dropped_packets, 1);
	assert_int_equal(link.dropped_packets, 1);
	assert_int_equal(top.packets, 0);
}

/*
 * Tests all answers of three levels to a packet. Each level has exactly enough tokens, only a part
 * of them, or not quite enough.
 */
TEST(test_each_answer)
{
	static const enum action actions[] = {ACTION_DROP, ACTION_MARK, ACTION_COUNT};
	enum { CHOICES = 6, COST = 3, BITS = 4 };

	for (unsigned i = 0; i < CHOICES * CHOICES * CHOICES; i++) {
		const unsigned choices[] = {
			i % CHOICES, i / CHOICES % CHOICES, i / CHOICES / CHOICES};
		struct policy_extended others[3];
		struct policy_state states[3] = {0};
		struct lineage l = {.n = 3, .total = 3, .cost = COST};
		enum verdict verdict = VERDICT_PASS;
		unsigned lacking = 0;

		for (unsigned k = 3; k-- > 0;) {
			bool lacks = choices[k] & 1;

			others[k] = (struct policy_extended){
				.action = (uint8_t)actions[choices[k] / 2],
				.count = COUNT_PACKETS,
				.unit_bits = BITS,
				.profile.bucket.burst = TOKENS,
				.meter.bucket.tokens = ((uint64_t)COST << BITS << TOKEN_BYTE) -
						       lacks};
			states[k].other = &others[k];
			l.levels[k] = &states[k];
			if (lacks && others[k].action == ACTION_DROP) {
				verdict = VERDICT_DROP;
				lacking = LINEAGE_REFUSED | k;
			} else if (lacks && !(lacking & LINEAGE_REFUSED)) {
				lacking |= 1U << k;
				if (others[k].action == ACTION_MARK)
					verdict = VERDICT_MARK;
				else if (verdict == VERDICT_PASS)
					verdict = VERDICT_COUNT;
			}
		}
		if (police_lineage_ask(&l, 0) != verdict || l.over != lacking)
			fail_msg("answer %u: %x, not %x", i, l.over, lacking);
		if (verdict == VERDICT_MARK) {
			unsigned marker = police_lineage_marker(&l);

			assert_true(lacking >> marker & 1);
			assert_int_equal(others[marker].action, ACTION_MARK);
			for (unsigned k = 0; k < marker; k++)
				assert_false((lacking >> k & 1) && others[k].action == ACTION_MARK);
		}
		if (verdict == VERDICT_DROP)
			continue;
		assert_true(police_lineage_settle(&l, 0));
		for (unsigned k = 0; k < 3; k++) {
			bool lacks = choices[k] & 1;

			assert_int_equal(others[k].meter.bucket.tokens,
				lacks ? ((uint64_t)COST << BITS << TOKEN_BYTE) - 1 : 0);
			assert_int_equal(others[k].over_packets, lacks);
			assert_int_equal(others[k].over_bytes, lacks ? COST : 0);
			assert_int_equal(states[k].packets, 1);
			assert_int_equal(states[k].bytes, COST);
			assert_int_equal(states[k].dropped_packets, 0);
			assert_int_equal(states[k].dropped_bytes, 0);
		}
	}
}

/* Several packets in one call, for which a simple level has the tokens. */
TEST(test_several_pass)
{
	struct policy_state level = {.bucket.tokens = TOKENS, .packets = 3, .bytes = 50};

	lineage_pass_plain(&level, 2, 900);
	assert_int_equal(level.packets, 5);
	assert_int_equal(level.bytes, 950);
	assert_int_equal(level.bucket.tokens, UINT64_C(100) << TOKEN_BYTE);
	assert_int_equal(level.dropped_packets, 0);
}
