/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The share of a limiter that dies, restarts or loses its state. It is promised to the backup
 * neighbour, which inherits it, and returns by a record or from the neighbours. Messages of a
 * previous ledger instance have no effect.
 */
#include "check.h"
#include "scope.h"

#include "conserve_world.h"

END_POINTER(conserve_destroy, struct conserve *)
END_POINTER(group_free, struct group *)

/* Messages that the network records at most. */
#define TAPE 2000

/*
 * The backup of a dead limiter inherits the promised amount, not before the lease has ended, and
 * gives it back.
 */
TEST(test_friend)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 50);
	uint64_t before = 0, after = 0;
	unsigned dead = 1;

	step_conserve_times(g, 20);
	assert_true(conserve_view(g->nodes[dead].c, 0, g->now).promised > 0);
	g->nodes[dead].cut = true;
	step_conserve_times(g, LEASE / TICK / 2);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	for (unsigned i = 0; i < 3; i++)
		before += conserve_counters(g->nodes[i].c)->adoptions;
	assert_int_equal(before, 0);
	step_conserve_times(g, 2 * LEASE / TICK);
	for (unsigned i = 0; i < 3; i++)
		after += conserve_counters(g->nodes[i].c)->adoptions;
	assert_int_equal(
		after, 2); /* the limiter that it backs up is alone, too: it inherits from both */
	assert_int_equal(sum_usable(g, 0), LIMIT);
	g->nodes[dead].cut = false;
	step_conserve_times(g, 40);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(conserve_view(g->nodes[i].c, 0, g->now).inherited, 0);
}

/* A promise reduces the amount that can be given, so it is reduced for a grant. */
TEST(test_promise_moves)
{
	ENDED_BY(group_free_at) struct group *g = group_started(4, 1, 100);

	step_conserve_times(g, 20);
	assert_true(conserve_view(g->nodes[0].c, 0, g->now).free < LIMIT / 4 / 10);
	want_limit_at(g, 0, 3);
	step_conserve_times(g, 12);
	assert_true(limit_of(g, 3, 0) > LIMIT * 95 / 100);
	assert_int_equal(sum_usable(g, 0), LIMIT);
}

/*
 * Half of the amount above the floor is promised; the promise changes only if it is off by a
 * sixteenth of the balance.
 */
TEST(test_promise_is_renewed)
{
	const uint64_t share = 1 << 20, floor = share / 100;
	static const struct {
		uint64_t gives;
		bool renewed;
	} rows[] = {
		{1 << 15, false},
		{1 << 18, true},
	};

	for (size_t k = 0; k < COUNT(rows); k++) {
		struct group *g = group_new(2, 1, 50);
		uint64_t left = share - rows[k].gives;

		g->policies[0].limit = 2 * share;
		for (unsigned i = 0; i < 2; i++)
			start_conserve_node(g, i, false);
		step_conserve_times(g, 20);
		assert_int_equal(promised_by(g, 0), (share - floor) / 2);
		conserve_target(g->nodes[0].c, 0, (double)left);
		conserve_target(g->nodes[1].c, 0, (double)(share + rows[k].gives));
		step_conserve_times(g, 5);
		assert_int_equal(limit_of(g, 0, 0), left);
		assert_int_equal(promised_by(g, 0),
			rows[k].renewed ? (left - floor) / 2 : (share - floor) / 2);
		assert_int_equal(promised_by(g, 1), rows[k].renewed
							    ? (share + rows[k].gives - floor) / 2
							    : (share - floor) / 2);
		group_free(g);
	}
}

/* A small amount is also given if everything is promised. */
TEST(test_promise_makes_way_for_a_little)
{
	const uint64_t share = 1 << 20, little = 1 << 15;
	ENDED_BY(group_free_at) struct group *g = group_new(2, 1, 100);

	g->policies[0].limit = 2 * share;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	step_conserve_times(g, 20);
	assert_true(conserve_view(g->nodes[0].c, 0, g->now).free < little / 2);
	conserve_target(g->nodes[0].c, 0, (double)(share - little));
	conserve_target(g->nodes[1].c, 0, (double)(share + little));
	step_conserve_times(g, 20);
	assert_near((double)limit_of(g, 1, 0), (double)(share + little), share / 256.0 + 1);
}

/*
 * If less is free than two limiters should get, each gets a proportional part. The rest is not
 * promised then. When no limiter misses anything, the promise is the same as before.
 */
TEST(test_promise_in_the_way)
{
	const double share = 1 << 20, floor = (1 << 20) / 100;
	ENDED_BY(group_free_at) struct group *g = group_new(3, 1, 50);
	uint64_t free, granted, held;

	g->policies[0].limit = UINT64_C(3) << 20;
	for (unsigned i = 0; i < 3; i++)
		start_conserve_node(g, i, false);
	step_conserve_times(g, 20);
	for (unsigned i = 0; i < 3; i++)
		conserve_target(g->nodes[i].c, 0, share * (i == 0 ? 0.25 : 1.375));
	step_conserve_times(g, 1);
	free = conserve_view(g->nodes[0].c, 0, g->now).free;
	assert_true(free < (uint64_t)(share * 0.75));
	conserve_tick(g->nodes[0].c, g->now += TICK);
	granted = edge_of(g, 0, 0).ledger.granted;
	assert_int_equal(edge_of(g, 0, 1).ledger.granted, granted);
	assert_near((double)granted, (double)free / 2, 1);
	held = (uint64_t)conserve_view(g->nodes[0].c, 0, g->now).balance;
	assert_near((double)promised_by(g, 0),
		((double)held - floor - (share * 0.75 - 2 * (double)granted)) / 2, 2);
	step_conserve_times(g, 100);
	held = limit_of(g, 0, 0);
	assert_near((double)held, share / 4, share / 256 + 1);
	assert_near((double)promised_by(g, 0), ((double)held - floor) / 2, (double)held / 16);
}

/*
 * The heir of the only other limiter: it inherits the promised amount once, and reports that
 * immediately. It gives the amount back, even if it could use it.
 */
TEST(test_heir)
{
	ENDED_BY(group_free_at) struct group *g = group_started(2, 1, 50);
	struct conserve *heir = g->nodes[0].c;
	uint8_t buf[ROOM];
	uint64_t promised, left;
	unsigned to;

	step_conserve_times(g, 20);
	promised = promised_by(g, 1);
	left = limit_of(g, 0, 0) - promised_by(g, 0);
	g->nodes[1].cut = true;
	for (unsigned ms = 0; conserve_counters(heir)->adoptions == 0 && ms < 2 * LEASE / MS;
		ms++) {
		while (conserve_send(heir, g->now, buf, ROOM, &to) > 0)
			;
		conserve_tick(heir, g->now += MS);
	}
	assert_int_equal(conserve_counters(heir)->adoptions, 1);
	assert_int_equal(conserve_view(heir, 0, g->now).inherited, promised);
	assert_int_equal(limit_of(g, 0, 0), left + promised);
	assert_int_equal(conserve_send(heir, g->now, buf, ROOM, &to), BOOK_HEAD + CONSERVE_ENTRY);
	conserve_target(heir, 0, (double)LIMIT);
	step_conserve_times(g, 10);
	assert_int_equal(conserve_counters(heir)->adoptions, 1);
	assert_int_equal(conserve_view(heir, 0, g->now).inherited, promised);
	g->nodes[1].cut = false;
	step_conserve_times(g, 10);
	assert_int_equal(conserve_view(heir, 0, g->now).inherited, 0);
	assert_int_equal(limit_of(g, 1, 0), LIMIT / 2);
}

TEST(test_restart)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 0);
	uint64_t held;

	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5);
	held = limit_of(g, 1, 0);
	conserve_destroy(g->nodes[1].c);
	g->nodes[1].c = NULL;
	step_conserve_times(g, 3);
	start_conserve_node(g, 1, true);
	/*
	 * Amounts received since its last grant are not in its record; the peer sends them again.
	 */
	assert_true(limit_of(g, 1, 0) <= held);
	step_conserve_times(g, 3);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_int_equal(limit_of(g, 1, 0), held);
	/* Without its record it holds nothing, until the others have reported its balance. */
	conserve_destroy(g->nodes[1].c);
	g->params.recovering = true;
	start_conserve_node(g, 1, false);
	assert_true(conserve_view(g->nodes[1].c, 0, g->now).recovering);
	assert_int_equal(limit_of(g, 1, 0), 0);
	step_conserve_times(g, 5);
	assert_int_equal(sum_usable(g, 0), LIMIT);
	assert_false(conserve_view(g->nodes[1].c, 0, g->now).recovering);
}

TEST(test_other_edges)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 0);
	struct book_record record = {1, g->nodes[0].record, 0};
	struct conserve_params params = g->params;
	ENDED_BY(conserve_destroy_at) struct conserve *c;

	step_conserve_times(g, 3);
	record.len = g->nodes[0].len;
	params.records = &record;
	params.n_records = 1;
	params.epoch = 99;
	params.self = 1; /* the same number of edges, to other peers */
	assert_int_equal(conserve_create(&params, g->now, &c), -EINVAL);
	params.self = 0;
	g->nodes[0].record[20] ^= 1;
	assert_int_equal(conserve_create(&params, g->now, &c), -EINVAL);
	g->nodes[0].record[20] ^= 1;
	assert_int_equal(conserve_create(&params, g->now, &c), 0);
}

/*
 * A recovering limiter has no record. After another crash it is recovering again, which its store
 * shows, and remains so if its policy is removed and added. Otherwise it would get its share a
 * second time.
 */
TEST(test_recovering_again)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 2, 0);

	want_limit_at(g, 0, 1);
	step_conserve_times(g, 5); /* the shares of nodes 0 and 2 move to node 1 */
	conserve_destroy(g->nodes[0].c);
	g->nodes[0].len = 0;
	g->nodes[0].cut = true;
	g->params.recovering = true;
	start_conserve_node(g, 0, false);
	step_conserve_times(g, 2);
	conserve_destroy(g->nodes[0].c);
	assert_int_equal(g->nodes[0].len, 0);
	start_conserve_node(g, 0, false);
	assert_int_equal(conserve_update(g->nodes[0].c, &g->policies[1], 1, g->now), 0);
	step_conserve_times(g, 2);
	assert_int_equal(g->nodes[0].len, 0);
	assert_int_equal(conserve_update(g->nodes[0].c, g->policies, 2, g->now), 0);
	step_conserve_times(g, 2);
	assert_true(conserve_view(g->nodes[0].c, 0, g->now).recovering);
	assert_int_equal(limit_of(g, 0, 0), 0);
	g->nodes[0].cut = false;
	step_conserve_times(g, 20);
	assert_false(conserve_view(g->nodes[0].c, 0, g->now).recovering);
	assert_int_equal(sum_usable(g, 0), LIMIT);
}

/* All messages of the group, recorded by the network. */
struct tape {
	unsigned n;
	struct {
		unsigned from, to;
		size_t len;
		uint8_t bytes[ROOM];
	} at[TAPE];
};

/* A step whose messages are all recorded. */
static void step_recorded(struct group *g, struct tape *tape)
{
	g->now += TICK;
	for (unsigned i = 0; i < g->n; i++) {
		unsigned to;

		conserve_tick(g->nodes[i].c, g->now);
		if (book_save(conserve_book(g->nodes[i].c), NULL, NULL) == 0)
			book_committed(conserve_book(g->nodes[i].c));
		for (; tape->n < TAPE; tape->n++) {
			uint8_t *at = tape->at[tape->n].bytes;
			size_t len = conserve_send(g->nodes[i].c, g->now, at, ROOM, &to);

			if (len == 0)
				break;
			tape->at[tape->n].from = i;
			tape->at[tape->n].to = to;
			tape->at[tape->n].len = len;
			assert_true(conserve_receive(g->nodes[to].c, i, g->now, at, len) >= 0);
		}
	}
}

/* Every limiter starts with empty state and another identity, as if it had never run. */
static void begin_next_life(struct group *g)
{
	for (unsigned i = 0; i < g->n; i++)
		conserve_destroy(g->nodes[i].c);
	g->epoch = 0;
	g->now = 5 * TICK; /* the machines have restarted, too */
	g->params.identity.low++;
	for (unsigned i = 0; i < g->n; i++)
		start_conserve_node(g, i, false);
}

/*
 * All limiters start with empty state, with the same names, policies and key. An adversary replays
 * messages of their previous ledger instance, whose epochs and amounts are higher than the present
 * ones.
 */
TEST(test_previous_life)
{
	struct tape *tape = test_calloc(1, sizeof(*tape));
	struct group *g = group_new(2, 1, 50);

	g->epoch = 2;
	for (unsigned i = 0; i < 2; i++)
		start_conserve_node(g, i, false);
	want_limit_at(g, 0, 1);
	for (unsigned i = 0; i < 100; i++)
		step_recorded(g, tape);
	assert_in_range(limit_of(g, 1, 0), LIMIT * 9 / 10, LIMIT);
	assert_in_range(tape->n, 20, TAPE - 1);
	begin_next_life(g);
	step_conserve_times(g, 40);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < tape->n; i++) {
			unsigned to = tape->at[i].to;

			assert_int_equal(conserve_receive(g->nodes[to].c, tape->at[i].from, g->now,
						 tape->at[i].bytes, tape->at[i].len),
				-ESTALE);
		}
		step_conserve_times(g, 10); /* each step checks the sum */
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct conserve_counters *counters = conserve_counters(g->nodes[i].c);

		assert_int_equal(counters->verdicts[LEDGER_INVALID], 0);
		assert_int_equal(conserve_book(g->nodes[i].c)->links[0].invalid, 0);
		assert_true(conserve_book(g->nodes[i].c)->links[0].foreign > 0);
	}
	/* The edge still works as well. */
	want_limit_at(g, 0, 0);
	step_conserve_times(g, 100);
	assert_in_range(limit_of(g, 0, 0), LIMIT * 9 / 10, LIMIT);
	group_free(g);
	test_free(tape);
}

/*
 * A limiter that missed the new ledger instance continues the old one: nothing moves, and both
 * sides detect it.
 */
TEST(test_left_behind)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 0);
	const struct book *behind, *other;

	g->params.identity.low++;
	for (unsigned i = 0; i < 2; i++) {
		conserve_destroy(g->nodes[i].c);
		start_conserve_node(g, i, false);
	}
	for (unsigned i = 0; i < 3; i++) {
		uint8_t buf[ROOM];
		unsigned to;
		size_t len;

		conserve_tick(g->nodes[i].c, g->now += TICK);
		while ((len = conserve_send(g->nodes[i].c, g->now, buf, ROOM, &to)) > 0)
			assert_int_equal(conserve_receive(g->nodes[to].c, i, g->now, buf, len),
				i == 2 || to == 2 ? -ESTALE : 0);
	}
	behind = conserve_book(g->nodes[2].c);
	other = conserve_book(g->nodes[0].c);
	assert_true(behind->links[0].foreign > 0 && behind->links[1].foreign > 0);
	assert_int_equal(behind->links[0].peer_identity.low, g->params.identity.low);
	assert_true(other->links[book_edge(other, 2)].foreign > 0);
	assert_int_equal(other->links[book_edge(other, 1)].foreign, 0);
}

/*
 * A limiter with empty state learns the identity, like its state, from all its neighbours. It does
 * not while one is silent, or if two identities differ. A neighbour that also has empty state does
 * not prevent it.
 */
TEST(test_learnt_identity)
{
	const struct book_identity ours = {7, 8}, others = {7, 9}, none = {0};
	const struct {
		struct book_identity a, b;
		bool b_speaks;
		struct book_identity learnt;
	} cases[] = {
		{ours, ours, true, ours},
		{ours, ours, false, none},
		{ours, others, true, none},
		{ours, none, true, ours},
		{none, none, true, none},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct group *g = group_new(3, 1, 0);
		struct book *book;
		uint8_t head[BOOK_HEAD];

		g->params.recovering = true;
		g->params.identity = none;
		start_conserve_node(g, 2, false);
		book = conserve_book(g->nodes[2].c);
		book->identity = cases[i].a; /* the identity that this neighbour would send */
		book_write_head(book, CONSERVE_MESSAGE, head);
		book->identity = none;
		assert_int_equal(
			conserve_receive(g->nodes[2].c, 0, g->now, head, BOOK_HEAD), -ESTALE);
		book->identity = cases[i].b;
		book_write_head(book, CONSERVE_MESSAGE, head);
		book->identity = none;
		if (cases[i].b_speaks)
			(void)conserve_receive(g->nodes[2].c, 1, g->now, head, BOOK_HEAD);
		assert_true(book_identity_equal(book->identity, cases[i].learnt));
		conserve_destroy(g->nodes[2].c);
		g->nodes[2].c = NULL;
		group_free(g);
	}
}

/*
 * If its neighbours have the identity, a limiter with empty state gets back its part of the limit.
 */
TEST(test_recovering_without_identity)
{
	ENDED_BY(group_free_at) struct group *g = group_started(3, 1, 0);
	struct conserve_params params = g->params;

	want_limit_at(g, 0, 2);
	step_conserve_times(g, 50);
	conserve_destroy(g->nodes[2].c);
	params.self = 2;
	params.epoch = 1000;
	params.recovering = true;
	params.identity = (struct book_identity){0};
	assert_int_equal(conserve_create(&params, g->now, &g->nodes[2].c), 0);
	assert_int_equal(limit_of(g, 2, 0), 0);
	for (unsigned i = 0; i < 100; i++) {
		g->now += TICK;
		for (unsigned k = 0; k < 3; k++) {
			conserve_tick(g->nodes[k].c, g->now);
			if (book_save(conserve_book(g->nodes[k].c), NULL, NULL) == 0)
				book_committed(conserve_book(g->nodes[k].c));
		}
		for (unsigned k = 0; k < 3; k++) {
			uint8_t buf[ROOM];
			unsigned to;
			size_t len;

			while ((len = conserve_send(g->nodes[k].c, g->now, buf, ROOM, &to)) > 0)
				conserve_receive(g->nodes[to].c, k, g->now, buf, len);
		}
		assert_true(sum_usable(g, 0) <= LIMIT);
	}
	assert_in_range(limit_of(g, 2, 0), LIMIT / 2, LIMIT);
	assert_int_equal(conserve_book(g->nodes[2].c)->identity.low, 1);
	assert_int_equal(conserve_book(g->nodes[0].c)->links[0].foreign, 0);
}

/* Stale statements, however many, do not keep a dead neighbour alive. */
TEST(test_kept_alive)
{
	struct tape *tape = test_calloc(1, sizeof(*tape));
	struct group *g = group_started(2, 1, 0);
	const struct book *book = conserve_book(g->nodes[0].c);

	want_limit_at(g, 0, 0);
	for (unsigned i = 0; i < 20; i++)
		step_recorded(g, tape);
	assert_true(book_alive(book, 0, g->now));
	for (uint64_t end = g->now + 2 * LEASE; g->now < end; g->now += TICK)
		for (unsigned i = 0; i < tape->n; i++)
			if (tape->at[i].to == 0)
				(void)conserve_receive(g->nodes[0].c, 1, g->now, tape->at[i].bytes,
					tape->at[i].len);
	assert_false(book_alive(book, 0, g->now));
	group_free(g);
	test_free(tape);
}

static bool may_forget(void *context, const struct book_account *account)
{
	return true;
}

static void forget_and_add(struct group *g)
{
	struct conserve *c = g->nodes[0].c;

	assert_int_equal(conserve_update(c, g->policies, 1, g->now), 0);
	assert_int_equal(book_forget(conserve_book(c), may_forget, NULL), 1);
	assert_int_equal(conserve_update(c, g->policies, 2, g->now), 0);
}

static void restart_without_record(struct group *g)
{
	conserve_destroy(g->nodes[0].c);
	g->params.word = 2;
	start_conserve_node(g, 0, true); /* with the record of policy 0 */
}

/*
 * A limiter forgets a policy and has it again, in the same start or the next, while its neighbours
 * remember its shares. Only that policy recovers, and the other one goes on. In the same start it
 * has its share until the first two answers, `late` ticks.
 */
static void check_forgotten(void (*forget)(struct group *g), unsigned late)
{
	ENDED_BY(group_free_at) struct group *g = group_new(3, 2, 50);

	g->params.word = 1;
	g->params.proof_ns = 5 * TICK;
	for (unsigned i = 0; i < g->n; i++)
		start_conserve_node(g, i, false);
	step_conserve_times(g, 20);
	want_limit_at(g, 0, 0);
	want_limit_at(g, 1, 1);
	step_conserve_times(g, 60);
	forget(g);
	want_limit_at(g, 0, 0);
	want_limit_at(g, 1, 1);
	for (unsigned k = 0; k < 100; k++) {
		step_conserve_group(g);
		assert_true(k < late || sum_usable(g, 1) <= LIMIT);
		assert_true(k < 10 || limit_of(g, 0, 0) > LIMIT * 9 / 10);
	}
	assert_int_equal(conserve_book(g->nodes[0].c)->closures, 0);
	assert_int_equal(sum_usable(g, 1), LIMIT);
}

TEST(test_forgotten)
{
	check_forgotten(restart_without_record, 0);
	check_forgotten(forget_and_add, 2);
}

/*
 * Limiter 0 is cut off. Its backup inherits the reserved amount, grants it to the third one, and
 * restarts with an older record: its statements renew no lease.
 */
TEST(test_old_record_renews_no_lease)
{
	for (unsigned old = 1; old < 3; old++) {
		struct group *g = group_new(3, 1, 100);
		uint8_t record[RECORD];
		size_t len;

		g->params.word = 1;
		g->params.proof_ns = 5 * TICK;
		for (unsigned i = 0; i < g->n; i++)
			start_conserve_node(g, i, false);
		step_conserve_times(g, 20);
		want_limit_at(g, 0, 0);
		step_conserve_times(g, 60);
		len = g->nodes[old].len;
		memcpy(record, g->nodes[old].record, len);
		g->nodes[0].cut = true;
		want_limit_at(g, 0, 3 - old);
		step_conserve_times(g, 60);
		memcpy(g->nodes[old].record, record, len);
		g->nodes[old].len = len;
		conserve_destroy(g->nodes[old].c);
		g->params.word = 2;
		g->nodes[0].cut = false;
		start_conserve_node(g, old, true);
		step_conserve_times(g, 100); /* checks the sum */
		assert_int_equal(sum_usable(g, 0), LIMIT);
		group_free(g);
	}
}
