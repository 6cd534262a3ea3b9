/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A neighbour that has lost its memory learns its balance from the others. A recovering ledger
 * sends epoch 0, and as its stamp the epoch in which it will begin. Each receiver closes the edge:
 * it refuses all statements of an earlier start of the recovering one. Once this is committed, it
 * answers with the amounts that it has granted and received. The recovering one takes these as its
 * own counters, crossed over. An amount that was on its way back then is nowhere else, and never
 * arrives. When all edges are closed its balance follows from them.
 *
 * It takes two answers to close an edge, because one can be damaged and a ledger without memory has
 * nothing to compare it with. The whole limit is no bound: it can have been larger before. Both
 * must name the same `received`; of `granted` the smaller one counts, and the rest is received
 * after the recovery, by the usual rules.
 *
 * Two recovering neighbours send each other zeros, or the counters of this edge that one of them
 * has already received.
 */
#include <string.h>

#include "ledger/ledger_private.h"

/* Returns true for a repeated request, whose answer is the same. */
static bool asked_before(const struct ledger_edge *e, const struct ledger_statement *s)
{
	return s->stamp == e->now.least_epoch;
}

/* Records the request. It is later than all earlier statements, and earlier than all to come. */
static void edge_asked(struct ledger_edge *e, uint64_t now_ns, const struct ledger_statement *s)
{
	e->reported.epoch = 0;
	e->reported.word = e->life.word = 0;
	e->life.count = 0;
	e->life.unproven = false;
	e->reported.stamp = s->stamp;
	e->reported.at_ns = now_ns;
	e->reported.known = true;
}

/*
 * Grants the backup neighbour all that it was promised. It can have inherited this, and passed it
 * on, before it lost its memory; then it owes this amount to others.
 */
static void give_what_was_promised(struct ledger *l, struct ledger_edge *e)
{
	uint64_t lock = edge_lock(e);

	if (lock > e->now.granted)
		l->balance -= (int64_t)(lock - e->now.granted);
	e->now.granted = max_u64(e->now.granted, lock);
	e->now.promised = e->now.granted;
	e->leased_ns = 0;
	e->inherited = 0;
}

static bool statement_is_stale(const struct ledger_edge *e, const struct ledger_statement *s)
{
	return s->stamp < e->now.least_epoch || s->stamp <= e->reported.epoch ||
	       (e->reported.epoch == 0 && s->stamp <= e->reported.stamp);
}

enum ledger_verdict recovering_asks(
	struct ledger *l, struct ledger_edge *e, uint64_t now_ns, const struct ledger_statement *s)
{
	if (statement_is_stale(e, s))
		return LEDGER_OLD;
	edge_asked(e, now_ns, s);
	e->was_asked = true;
	if (asked_before(e, s))
		return LEDGER_HEARD;
	e->reported.granted = e->received;
	e->reported.promised = 0;
	e->reported.echoed = false;
	if (!l->recovering)
		give_what_was_promised(l, e);
	e->now.least_epoch = s->stamp;
	if (l->recovering)
		e->committed.least_epoch = s->stamp; /* we have no memory that could be lost */
	else
		l->dirty = true;
	return LEDGER_NEWS;
}

/*
 * Chooses a larger epoch if a neighbour has received one of ours that is not below this one. All
 * edges must then be closed again, because statements with that epoch can still be on their way.
 * Returns true if the epoch has changed.
 */
static bool ask_louder(struct ledger *l, const struct ledger_statement *s)
{
	uint64_t known = max_u64(s->least_epoch, s->echo_epoch);

	if (s->echo_epoch == 0)
		known = max_u64(known, s->echo_stamp);
	if (known < l->epoch || (known == l->epoch && s->echo_epoch == 0) || known >= LEDGER_MOST)
		return false;
	l->epoch = known + 1;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].closed = l->edges[i].answer.given = false;
	return true;
}

static bool answers_recovering(const struct ledger *l, const struct ledger_statement *s)
{
	return s->echo_epoch == 0 && s->echo_stamp == l->epoch && s->least_epoch == l->epoch;
}

/*
 * Returns true if the previous answer has the same `received`; then *granted is the smaller of
 * both. A recovering neighbour has one stamp only, so that a repeated answer of it counts as two.
 */
static bool answer_is_confirmed(
	struct ledger_edge *e, const struct ledger_statement *s, uint64_t *granted)
{
	const struct ledger_answer previous = e->answer;

	e->answer = (struct ledger_answer){
		.epoch = s->epoch, .granted = s->granted, .received = s->received, .given = true};
	*granted = min_u64(previous.granted, s->granted);
	return previous.given && previous.epoch == s->epoch && previous.received == s->received;
}

/* Closes the edge with the neighbour's counters, crossed over. */
static void edge_closed(struct ledger_edge *e, const struct ledger_statement *s, uint64_t granted)
{
	struct ledger_terms terms = {
		.granted = s->received,
		.promised = s->received,
		.least_epoch = max_u64(e->now.least_epoch, s->epoch),
	};

	edge_commit_all(e, &terms);
	e->locked = s->received;
	e->received = granted;
	e->reported.granted = granted;
	e->reported.received = s->received;
	e->reported.promised = 0;
	e->reported.echoed = false;
	e->closed = true;
}

bool recovering_ends(struct ledger *l)
{
	__int128 balance = l->share;

	if (l->incomplete)
		return false;
	for (uint32_t i = 0; i < l->n_edges; i++) {
		const struct ledger_edge *e = &l->edges[i];

		if (!e->closed)
			return false;
		balance += (__int128)e->received - e->now.granted;
	}
	if (balance > (int64_t)LEDGER_MOST || balance < -(int64_t)LEDGER_MOST)
		return false;
	l->balance = (int64_t)balance;
	l->recovering = false;
	/* Earlier lives are unknown, so that an echo of them proves nothing. */
	memset(l->lives, 0, sizeof(l->lives));
	l->lives[0] = (struct ledger_life){.epoch = l->epoch, .word = l->word};
	l->first_epoch = l->epoch;
	l->dirty = true;
	return true;
}

enum ledger_verdict recovering_receives(
	struct ledger *l, struct ledger_edge *e, uint64_t now_ns, const struct ledger_statement *s)
{
	enum ledger_verdict verdict = LEDGER_HEARD;
	uint64_t granted;

	if (ask_louder(l, s))
		verdict = LEDGER_NEWS;
	if (s->epoch == 0)
		verdict = recovering_asks(l, e, now_ns, s);
	else if (s->epoch < e->now.least_epoch || s->epoch < e->reported.epoch ||
		 (s->epoch == e->reported.epoch && s->stamp <= e->reported.stamp))
		return LEDGER_OLD;
	if (!answers_recovering(l, s) || (s->epoch == 0 && s->stamp < e->now.least_epoch))
		return verdict;
	if (s->epoch > 0) {
		e->reported.epoch = s->epoch;
		e->reported.word = e->life.word = s->word;
		e->life.count = s->count;
		e->life.unproven = false;
		e->reported.stamp = s->stamp;
		e->reported.at_ns = now_ns;
		e->reported.known = true;
	}
	if (e->closed || !answer_is_confirmed(e, s, &granted))
		return verdict;
	edge_closed(e, s, granted);
	return recovering_ends(l) ? LEDGER_NEWS : verdict;
}
