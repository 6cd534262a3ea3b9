/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet of a client below a customer below a link, on workers whose states the engine owns.
 */
#include "check.h"

#include "allocate/allocate.h"
#include "engine/counts.h"
#include "engine/states.h"
#include "police/borrow.h"
#include "police/lineage.h"
#include "police/sample.h"

#define BYTES   1000 /* size of a packet, with its Ethernet header */
#define COST    (BYTES - 14)
#define RATE    1000000 /* bytes a second */
#define NARROW  (10 * COST)
#define WIDE    (100 * COST)
#define MARK_AS 8 /* a DSCP */
#define HASH    UINT32_C(0x12345603)

/* Slots, in an order without meaning; and the lineage, from below. */
enum { LINK, CLIENT, CUSTOMER, SLOTS };
static const unsigned lineage_of_client[] = {CLIENT, CUSTOMER, LINK};

struct levels_world {
	struct policy policies[SLOTS];
	struct engine engine;
	struct engine_limit limits[SLOTS];
	struct lineage_slots lineage;
};

/* A level: its action for packets without tokens, and whether its bucket is empty. */
struct level {
	enum action action;
	int mark;
	bool empty;
};

static void make_levels(struct levels_world *w, const struct level *levels, unsigned narrow)
{
	*w = (struct levels_world){0};
	for (unsigned k = 0; k < SLOTS; k++)
		w->policies[lineage_of_client[k]] = (struct policy){
			.limit_bps = 8 * RATE,
			.burst_bytes = k == narrow ? NARROW : WIDE,
			.allocator = allocator_find("fps"),
			.accounting = ACCOUNTING_L3,
			.action = levels[k].action,
			.mark = levels[k].mark,
			.parent = k + 1 < SLOTS ? (int)lineage_of_client[k + 1] : 0,
			.above = (uint8_t)(SLOTS - 1 - k),
			.children = k > 0,
			.sharers = k > 0,
		};
	w->lineage = engine_states_lineage(w->policies, CLIENT);
}

static void open_levels(
	struct levels_world *w, unsigned workers, const struct level *levels, unsigned narrow)
{
	make_levels(w, levels, narrow);
	assert_int_equal(engine_states_alloc(&w->engine, workers, SLOTS), 0);
	w->engine.frame = BYTES;
	engine_share_begin(&w->engine, w->policies, SLOTS, 0);
	for (unsigned s = 0; s < SLOTS; s++) {
		const struct policy_start start = {.hz = GHZ};

		w->limits[s] = (struct engine_limit){.policy = &w->policies[s],
			.slot = s,
			.hz = GHZ,
			.view = {.local_limit = RATE, .local_burst = w->policies[s].burst_bytes}};
		for (unsigned i = 0; i < workers; i++)
			assert_int_equal(
				engine_states_add(&w->engine, i, &w->limits[s], &start), 0);
		assert_int_equal(engine_begin(&w->engine, &w->limits[s], 0, 0, false), 0);
	}
}

static struct policy_state *state_of_level(struct levels_world *w, unsigned worker, unsigned k)
{
	return &w->engine.workers[worker].states[lineage_of_client[k]];
}

static enum verdict send_through(
	struct levels_world *w, unsigned worker, struct lineage_charge *charge)
{
	static const uint8_t data[64];
	const struct packet packet = {
		.family = PACKET_IPV4, .proto = 17, .l2_len = BYTES - COST, .flow_hash = HASH};

	return engine_states_police_levels(
		&w->engine, worker, &w->lineage, &packet, data, BYTES, 0, charge);
}

static enum verdict ask_through(struct levels_world *w, struct lineage_packet *asked)
{
	static const uint8_t data[64];
	static const struct packet packet = {
		.family = PACKET_IPV4, .proto = 17, .l2_len = BYTES - COST, .flow_hash = HASH};

	*asked = (struct lineage_packet){
		.slots = &w->lineage, .packet = &packet, .data = data, .frame_len = BYTES};
	return engine_states_ask_levels(&w->engine, 0, asked);
}

/* The lineage of each policy, upwards. */
TEST(test_lineages)
{
	static const struct level drop[SLOTS];
	struct levels_world w;

	make_levels(&w, drop, 0);
	for (unsigned k = 0; k < SLOTS; k++) {
		struct lineage_slots from = engine_states_lineage(w.policies, lineage_of_client[k]);

		assert_int_equal(from.n, SLOTS - k);
		for (unsigned i = 0; i < from.n; i++)
			assert_int_equal(from.slots[i], lineage_of_client[k + i]);
	}
}

/* A level that drops, with tokens and without. */
#define HAS                           \
	{                             \
		ACTION_DROP, 0, false \
	}
#define LACKS                        \
	{                            \
		ACTION_DROP, 0, true \
	}

/* The verdict on a packet, and the levels that count it. */
TEST(test_verdicts)
{
	static const struct {
		struct level levels[SLOTS];
		enum verdict verdict;
		unsigned reached;
	} rows[] = {
		{{HAS, HAS, HAS}, VERDICT_PASS, 3},
		{{LACKS, HAS, HAS}, VERDICT_DROP, 1},
		{{HAS, LACKS, HAS}, VERDICT_DROP, 2},
		{{HAS, HAS, LACKS}, VERDICT_DROP, 3},
		{{{ACTION_COUNT, 0, true}, HAS, HAS}, VERDICT_COUNT, 3},
		{{HAS, {ACTION_COUNT, 0, true}, HAS}, VERDICT_COUNT, 3},
		{{{ACTION_COUNT, 0, true}, LACKS, HAS}, VERDICT_DROP, 2},
		/* A DSCP changes nothing for the sender, so the packet is counted. */
		{{HAS, {ACTION_MARK, MARK_AS, true}, HAS}, VERDICT_COUNT, 3},
		{{{ACTION_MARK, MARK_ECN, false}, HAS, HAS}, VERDICT_PASS, 3},
		{{{ACTION_MARK, MARK_ECN, true}, HAS, HAS}, VERDICT_DROP, 1},
		{{HAS, {ACTION_MARK, MARK_ECN, true}, HAS}, VERDICT_DROP, 2},
		{{HAS, HAS, {ACTION_MARK, MARK_ECN, true}}, VERDICT_DROP, 3},
		/* The lowest level that marks decides how. */
		{{{ACTION_COUNT, 0, true}, {ACTION_MARK, MARK_AS, true},
			 {ACTION_MARK, MARK_ECN, true}},
			VERDICT_COUNT, 3},
		{{{ACTION_MARK, MARK_ECN, true}, {ACTION_MARK, MARK_AS, true}, HAS}, VERDICT_DROP,
			1},
	};

	for (size_t r = 0; r < COUNT(rows); r++) {
		struct lineage_charge charge;
		struct levels_world w;

		open_levels(&w, 1, rows[r].levels, SLOTS);
		for (unsigned k = 0; k < SLOTS; k++)
			if (rows[r].levels[k].empty)
				lineage_bucket(state_of_level(&w, 0, k))->tokens = 0;
		assert_int_equal(send_through(&w, 0, &charge), rows[r].verdict);
		assert_int_equal(charge.cost, COST);
		assert_int_equal(charge.reached, rows[r].reached);
		for (unsigned k = 0; k < SLOTS; k++) {
			const struct policy_state *level = state_of_level(&w, 0, k);
			bool dropped = rows[r].verdict == VERDICT_DROP, seen = k < rows[r].reached;
			bool empty = rows[r].levels[k].empty;
			uint64_t left = empty ? 0 : dropped ? WIDE : WIDE - COST;

			assert_int_equal(level->packets, seen);
			assert_int_equal(level->bytes, seen ? COST : 0);
			assert_int_equal(level->dropped_packets, seen && dropped);
			assert_int_equal(police_over_packets(level), !dropped && empty);
			assert_int_equal(
				lineage_bucket(state_of_level(&w, 0, k))->tokens >> TOKEN_BYTE,
				left);
		}
		engine_states_free(&w.engine, SLOTS);
	}
}

/* Marks are decided between the query and the end; `doer` is the level that decides. */
TEST(test_asked)
{
	static const struct {
		struct level levels[SLOTS];
		enum verdict asked;
		unsigned doer;
		bool markable;
		enum verdict own[SLOTS]; /* verdicts of the levels that it reaches */
		unsigned reached;
	} rows[] = {
		{{HAS, HAS, HAS}, VERDICT_PASS, 0, false, {0, 0, 0}, 3},
		{{HAS, {ACTION_MARK, MARK_ECN, true}, {ACTION_COUNT, 0, true}}, VERDICT_MARK, 1,
			true, {VERDICT_PASS, VERDICT_MARK, VERDICT_COUNT}, 3},
		{{HAS, {ACTION_MARK, MARK_ECN, true}, {ACTION_COUNT, 0, true}}, VERDICT_MARK, 1,
			false, {VERDICT_DROP, VERDICT_DROP}, 2},
		{{{ACTION_COUNT, 0, true}, HAS, {ACTION_MARK, MARK_AS, true}}, VERDICT_MARK, 2,
			true, {VERDICT_COUNT, VERDICT_PASS, VERDICT_MARK}, 3},
		{{HAS, {ACTION_COUNT, 0, true}, {ACTION_COUNT, 0, true}}, VERDICT_COUNT, 1, false,
			{VERDICT_PASS, VERDICT_COUNT, VERDICT_COUNT}, 3},
		{{{ACTION_MARK, MARK_AS, true}, LACKS, HAS}, VERDICT_DROP, 1, false,
			{VERDICT_DROP, VERDICT_DROP}, 2},
	};

	for (size_t r = 0; r < COUNT(rows); r++) {
		struct lineage_packet asked;
		struct levels_world w;
		bool refuses;

		open_levels(&w, 1, rows[r].levels, SLOTS);
		for (unsigned k = 0; k < SLOTS; k++)
			if (rows[r].levels[k].empty)
				lineage_bucket(state_of_level(&w, 0, k))->tokens = 0;
		assert_int_equal(ask_through(&w, &asked), rows[r].asked);
		assert_int_equal(state_of_level(&w, 0, 0)->packets, 0);
		if (rows[r].asked != VERDICT_PASS)
			assert_int_equal(
				police_lineage_doer(&asked.lineage, rows[r].asked), rows[r].doer);
		refuses = rows[r].asked == VERDICT_MARK && !rows[r].markable;
		if (refuses)
			police_lineage_refuse(&asked.lineage, rows[r].doer);
		assert_int_equal(engine_states_settle_levels(&w.engine, 0, &asked),
			!refuses && rows[r].asked != VERDICT_DROP);
		assert_int_equal(police_lineage_reached(&asked.lineage), rows[r].reached);
		for (unsigned k = 0; k < SLOTS; k++) {
			bool seen = k < rows[r].reached;

			assert_int_equal(state_of_level(&w, 0, k)->packets, seen);
			if (seen)
				assert_int_equal(
					police_lineage_level(&asked.lineage, k), rows[r].own[k]);
		}
		engine_states_free(&w.engine, SLOTS);
	}
}

/* Flows are sampled where packets are the policy's own, as if no other policy were above. */
TEST(test_samples)
{
	static const struct level drop[SLOTS];

	for (unsigned shift = 0; shift < 3; shift++) {
		struct lineage_charge charge;
		struct levels_world w;
		uint64_t sampled = 0;

		open_levels(&w, 1, drop, SLOTS);
		w.engine.slots[CLIENT].sampling.shift = (uint8_t)shift;
		assert_int_equal(engine_enforce(&w.engine, &w.limits[CLIENT], 0), 0);
		assert_null(w.engine.workers[0].samples[LINK]);
		assert_null(w.engine.workers[0].samples[CUSTOMER]);
		for (unsigned i = 0; i < 8; i++) {
			sampled += (uint64_t)police_samples(state_of_level(&w, 0, 0)) << shift;
			assert_int_equal(send_through(&w, 0, &charge), VERDICT_PASS);
			assert_int_equal(
				flow_slot_count(w.engine.workers[0].samples[CLIENT]->slot[3]),
				sampled * COST);
		}
		assert_true(shift == 0 ? sampled == 8 : sampled > 0);
		engine_states_free(&w.engine, SLOTS);
	}
}

/* A policy whose flows are not weighed has no sample, and needs none. */
TEST(test_unsampled)
{
	static const struct level drop[SLOTS];
	struct lineage_charge charge;
	struct levels_world w;

	open_levels(&w, 1, drop, SLOTS);
	free(w.engine.workers[0].samples[CLIENT]);
	w.engine.workers[0].samples[CLIENT] = NULL;
	assert_true(police_samples(state_of_level(&w, 0, 0)));
	assert_int_equal(send_through(&w, 0, &charge), VERDICT_PASS);
	assert_int_equal(charge.cost, COST);
	engine_states_free(&w.engine, SLOTS);
}

/* A level with a shared bucket borrows from it, if CPUs of the kernel are workers, too. */
static void let_borrow(struct levels_world *w, unsigned k)
{
	struct shared_bucket *shared = &w->engine.shared_buckets[lineage_of_client[k]];
	const struct token_bucket_params params = {.rate_bps = 8 * RATE, .burst_bytes = NARROW};
	struct shared_bucket_profile profile;

	assert_int_equal(shared_bucket_profile_init(&profile, &params, 2, BYTES, GHZ), 0);
	shared_bucket_init(shared, &profile, 0);
	for (unsigned i = 0; i < 2; i++) {
		struct policy_state *level = state_of_level(w, i, k);

		police_borrow_init(level, &profile);
		level->other->profile.bucket = police_borrow_profile();
	}
}

/* All of the narrow level's burst passes, except the part that another worker holds. */
TEST(test_borrowing)
{
	for (unsigned narrow = 0; narrow < SLOTS; narrow++)
		for (unsigned plain = 0; plain < 2; plain++) {
			struct level levels[SLOTS] = {0};
			enum verdict verdict = VERDICT_DROP;
			struct lineage_charge charge;
			struct levels_world w;
			unsigned passed = 0;
			uint64_t quantum;

			if (!plain) {
				levels[narrow].action = ACTION_COUNT;
				verdict = VERDICT_COUNT;
			}
			open_levels(&w, 2, levels, narrow);
			if (!plain)
				let_borrow(&w, narrow);
			quantum = w.engine.shared_buckets[lineage_of_client[narrow]]
					  .profiles[0]
					  .quantum;
			assert_in_range(quantum, 1, NARROW / 4);
			while (send_through(&w, 1, &charge) == VERDICT_PASS)
				passed++;
			assert_int_equal(passed, (NARROW - quantum) / COST);
			assert_int_equal(send_through(&w, 1, &charge), verdict);
			/* The other worker still has its part. */
			assert_int_equal(
				lineage_bucket(state_of_level(&w, 0, narrow))->tokens >> TOKEN_BYTE,
				quantum);
			engine_states_free(&w.engine, SLOTS);
		}
}
