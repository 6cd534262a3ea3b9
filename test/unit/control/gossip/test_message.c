/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages between two limiters on a network that records: which of them are delivered.
 */
#include "check.h"
#include "scope.h"

#include "gossip/gossip.h"
#include "one_key.h"

#define TICK    (50 * MS)
#define ROOM    1200
#define MANY    24 /* a roster whose members are not all neighbours in the tree */
#define TAPE    400
#define REACHES 3 /* ticks of a first exchange, without gossip */

static const uint8_t key[DATAGRAM_KEY] = "a key for those who write to us";

struct datagram {
	uint8_t bytes[ROOM];
	size_t len;
};

/* Two limiters of a roster, which do not watch each other with a tree estimator; and a tape. */
struct pair {
	struct roster *roster;
	enum gossip_estimator estimator;
	unsigned n, at[2];
	uint64_t now, epoch;
	struct gossip *g[2];
	bool gossips; /* their gossip arrives */
	struct datagram tape[TAPE];
	unsigned n_tape;
	uint64_t delivered[2];
};

static void pair_start_one(struct pair *p, unsigned i)
{
	struct gossip_params params = {
		.roster = p->roster,
		.self = p->at[i],
		.keyring = one_key(p->roster, p->at[i], &key),
		.epoch = ++p->epoch,
		.seed = p->epoch,
		.branching = 2,
		.tick_ns = TICK,
		.timeout_ns = 20 * TICK,
		.datagram_max = ROOM,
		.estimator = p->estimator,
	};

	end_gossip_and_keys(p->g[i]);
	assert_int_equal(gossip_create(&params, p->now, &p->g[i]), 0);
}

static struct pair *pair_new(enum gossip_estimator estimator, unsigned n, bool gossips)
{
	struct pair *p = test_calloc(1, sizeof(*p));
	uint32_t ids[MANY];

	for (unsigned i = 0; i < n; i++)
		ids[i] = 100 + i;
	assert_int_equal(roster_create(ids, n, &p->roster), 0);
	p->n = n;
	p->at[0] = p->roster->sorted[n - 1].index;
	p->at[1] = p->roster->sorted[n - 2].index;
	p->estimator = estimator;
	p->gossips = gossips;
	p->now = 1000 * TICK;
	p->epoch = 7000;
	pair_start_one(p, 0);
	pair_start_one(p, 1);
	return p;
}

static void pair_free(struct pair *p)
{
	end_gossip_and_keys(p->g[0]);
	end_gossip_and_keys(p->g[1]);
	roster_destroy(p->roster);
	test_free(p);
}

END_POINTER(pair_free, struct pair *)

static enum gossip_verdict arrive(struct pair *p, unsigned i, const struct datagram *datagram)
{
	struct datagram copy = *datagram;
	enum gossip_verdict verdict = gossip_receive(p->g[i], p->now, copy.bytes, copy.len);

	p->delivered[i] += verdict == GOSSIP_MESSAGE &&
			   gossip_message(p->g[i], copy.bytes, copy.len).len > 0;
	return verdict;
}

/* Seals a message of one byte from one limiter to the other. */
static struct datagram message_from(struct pair *p, unsigned i)
{
	struct datagram d;

	*gossip_message_at(d.bytes) = 42;
	d.len = gossip_seal_message(p->g[i], d.bytes, 1, p->at[!i]);
	return d;
}

static void pair_gossip(struct pair *p, unsigned i)
{
	struct datagram d;
	unsigned to;

	gossip_tick(p->g[i], p->now);
	while ((d.len = gossip_send(p->g[i], d.bytes, &to)) > 0)
		if (p->gossips && to == p->at[!i])
			arrive(p, !i, &d);
}

/* A tick of both limiters: each sends the other a message, and answers unproven datagrams. */
static unsigned pair_tick(struct pair *p, bool record)
{
	unsigned answers = 0, to;
	struct datagram d;

	p->now += TICK;
	for (unsigned i = 0; i < 2; i++)
		pair_gossip(p, i);
	for (unsigned i = 0; i < 2; i++) {
		while ((d.len = gossip_answer(p->g[i], d.bytes, &to)) > 0) {
			arrive(p, !i, &d);
			answers++;
		}
		d = message_from(p, i);
		if (record && i == 0 && p->n_tape < TAPE)
			p->tape[p->n_tape++] = d;
		arrive(p, !i, &d);
	}
	return answers;
}

static void pair_ticks(struct pair *p, unsigned n, bool record)
{
	while (n--)
		pair_tick(p, record);
}

static const struct {
	enum gossip_estimator estimator;
	unsigned n;
	bool gossips;
} ways[] = {
	{GOSSIP_STATE, 2, true},
	{GOSSIP_STATE, 2, false},
	{GOSSIP_STATE, MANY, false},
	{GOSSIP_TREE, MANY, true},
};

/* Two limiters without contact before, with gossip or without: how soon messages arrive. */
TEST(test_first_messages)
{
	for (unsigned w = 0; w < COUNT(ways); w++) {
		struct pair *p = pair_new(ways[w].estimator, ways[w].n, ways[w].gossips);

		pair_ticks(p, REACHES, false);
		p->delivered[0] = p->delivered[1] = 0;
		pair_ticks(p, 10, false);
		assert_int_equal(p->delivered[0], 10);
		assert_int_equal(p->delivered[1], 10);
		/* One of them restarts, then the other. */
		for (unsigned i = 0; i < 2; i++) {
			pair_start_one(p, i);
			pair_ticks(p, REACHES, false);
			p->delivered[0] = p->delivered[1] = 0;
			pair_ticks(p, 10, false);
			assert_int_equal(p->delivered[0], 10);
			assert_int_equal(p->delivered[1], 10);
		}
		pair_free(p);
	}
}

/* No recorded message is delivered; each counts as a replay or as unproven. */
static void refuse_tape(struct pair *p)
{
	uint64_t delivered = p->delivered[1];

	for (unsigned i = 0; i < p->n_tape; i++) {
		enum gossip_verdict verdict = arrive(p, 1, &p->tape[i]);

		assert_true(verdict == GOSSIP_REPLAY || verdict == GOSSIP_UNPROVEN);
	}
	assert_int_equal(p->delivered[1], delivered);
}

/* A tape is played to the same incarnations, then to later ones of the receiver and the sender. */
TEST(test_recorded_messages)
{
	for (unsigned w = 0; w < COUNT(ways); w++) {
		struct pair *p = pair_new(ways[w].estimator, ways[w].n, ways[w].gossips);

		pair_ticks(p, 20, false);
		pair_ticks(p, 100, true);
		assert_int_equal(p->n_tape, 100);
		for (unsigned i = 0; i < p->n_tape; i++)
			assert_int_equal(arrive(p, 1, &p->tape[i]), GOSSIP_REPLAY);
		pair_start_one(p, 1);
		refuse_tape(p);
		/*
		 * The receiver has contact with the sender, whose incarnation is still the tape's.
		 */
		for (unsigned t = 0; t < 20; t++) {
			pair_ticks(p, 1, false);
			refuse_tape(p);
		}
		pair_start_one(p, 0);
		for (unsigned t = 0; t < 20; t++) {
			refuse_tape(p);
			pair_ticks(p, 1, false);
		}
		pair_start_one(p, 1);
		refuse_tape(p);
		pair_free(p);
	}
}

/* Replays cause at most one answer a tick; proven messages cause none. */
TEST(test_answers_are_few)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_new(GOSSIP_STATE, 2, false);
	unsigned answers = 0;

	pair_ticks(p, 20, true);
	for (unsigned t = 0; t < 50; t++)
		answers += pair_tick(p, false);
	assert_int_equal(answers, 0);
	pair_start_one(p, 0);
	pair_start_one(p, 1);
	for (unsigned t = 0; t < 50; t++) {
		unsigned to, told = 0;
		struct datagram d;

		p->now += TICK;
		gossip_tick(p->g[1], p->now);
		for (unsigned i = 0; i < 100; i++) {
			arrive(p, 1, &p->tape[i % p->n_tape]);
			d.len = gossip_answer(p->g[1], d.bytes, &to);
			assert_in_range(d.len, 0, p->tape[0].len);
			told += d.len > 0;
		}
		assert_int_equal(told, 1);
	}
}

/* A late message is delivered once, if it is still in the replay window. */
TEST(test_late_messages)
{
	ENDED_BY(pair_free_at) struct pair *p = pair_new(GOSSIP_STATE, 2, false);
	struct datagram late, later;

	pair_ticks(p, 10, false);
	late = message_from(p, 0);
	later = message_from(p, 0);
	assert_int_equal(arrive(p, 1, &later), GOSSIP_MESSAGE);
	assert_int_equal(arrive(p, 1, &late), GOSSIP_MESSAGE);
	assert_int_equal(arrive(p, 1, &late), GOSSIP_REPLAY);
	assert_int_equal(arrive(p, 1, &later), GOSSIP_REPLAY);
	late = message_from(p, 0);
	for (unsigned i = 0; i < REPLAY_WINDOW; i++)
		later = message_from(p, 0);
	assert_int_equal(arrive(p, 1, &later), GOSSIP_MESSAGE);
	assert_int_equal(arrive(p, 1, &late), GOSSIP_REPLAY);
}

/*
 * A limiter gossips, but has sent no messages for a while. Then another incarnation of the same
 * name proves itself by a message. Until the timeout after the previous incarnation's last
 * datagram, the receiver suspects that both run.
 */
TEST(test_another_start_by_message)
{
	for (unsigned silent = 0; silent < 60; silent++) {
		struct pair *p = pair_new(GOSSIP_STATE, 2, true);
		struct gossip *previous;
		struct datagram d;
		unsigned to, replaced = 0;

		pair_ticks(p, 10, false);
		for (unsigned i = 0; i < silent; i++) {
			p->now += TICK;
			pair_gossip(p, 0);
			pair_gossip(p, 1);
		}
		assert_int_equal(gossip_doubt(p->g[1], p->at[0]), GOSSIP_SURE);
		previous = p->g[0];
		p->g[0] = NULL;
		pair_start_one(p, 0);
		for (unsigned i = 0; i < 30 && !replaced; i++) {
			p->now += TICK;
			pair_gossip(p, 1);
			/* The previous incarnation also gossips. */
			gossip_tick(previous, p->now);
			while ((d.len = gossip_send(previous, d.bytes, &to)) > 0)
				arrive(p, 1, &d);
			for (unsigned k = 0; k < 2; k++)
				while ((d.len = gossip_answer(p->g[k], d.bytes, &to)) > 0)
					arrive(p, !k, &d);
			d = message_from(p, 0);
			replaced = arrive(p, 1, &d) == GOSSIP_MESSAGE;
		}
		assert_true(replaced);
		assert_true(gossip_doubt(p->g[1], p->at[0]) >= GOSSIP_RIVAL);
		end_gossip_and_keys(previous);
		pair_free(p);
	}
}
