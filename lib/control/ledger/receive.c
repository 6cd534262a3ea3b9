/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Statements between neighbours, and the amounts that a backup neighbour takes.
 *
 * Why a promise is never used twice. The promiser A uses it while its clock is below s + lease; s
 * is the newest of its stamps that the backup F has echoed. F takes it, at real time t, once its
 * own clock has advanced by the patience since it received A's newest stamp n. A made n before F
 * received it. The patience is a lease on the slowest clock, measured by the fastest: at t A's
 * clock is at n + lease or later. An echo that F made before t names n or less: the lease that it
 * gives has ended. A later one carries F's new `received`, because a statement is one whole. A
 * takes statements in the order in which F made them, and lowers its balance before it accepts the
 * echo.
 *
 * Why a promise that was taken back is not taken. A lowers `locked` when F has echoed the mark, to
 * the most that A has promised since. F uses only its newest statement, which is not older than the
 * one that it echoes. A restart of F would make it forget how new its newest was, and an old
 * statement could be news to it. So it uses only a promise of a statement that echoes F's present
 * epoch. A made that statement later than any that an earlier start of F had echoed. In the same
 * way, A accepts echoes of its own present epoch only.
 *
 * Detecting an old record. Each record has a count, and a statement has that of the newest durable
 * one. A record lists the starts before it: the random word of each, and the count at which the
 * next start began. A neighbour echoes the newest start and count that it has received. If our
 * record does not lead through these, it is old, or another process continues from it. A start that
 * is not in the list was dropped from it, if its epoch is lower than all of the list. Two such
 * statements lose the record, because a single one can be damaged.
 *
 * A neighbour replaces the start that it echoes only after the next start has received that echo
 * and accepted it. Otherwise the first statement of an old record would erase the proof. Until then
 * it takes no grant from the next start either: an old record still has the grants that a recovery
 * took back because they had never arrived.
 *
 * A recovery leaves an epoch at each neighbour, below which statements are void. If that epoch is
 * later than our record and earlier than our start, the record does not have the recovery.
 */
#include <stddef.h>

#include "ledger/ledger_private.h"

#define DENIALS 2

bool statement_plausible(const struct ledger_statement *s)
{
	return s->epoch <= LEDGER_MOST && s->echo_epoch <= LEDGER_MOST &&
	       s->least_epoch <= LEDGER_MOST && s->granted <= s->promised &&
	       s->promised <= LEDGER_MOST && s->received <= LEDGER_MOST &&
	       s->count <= LEDGER_MOST &&
	       (s->known_count <= LEDGER_MOST || s->known_count == LEDGER_TWICE) &&
	       (s->epoch > 0 || (s->stamp > 0 && s->stamp <= LEDGER_MOST));
}

/* Stamps of an edge grow, even where the clock stands still; a lease does not gain by that. */
static uint64_t next_stamp(struct ledger *l, struct ledger_edge *e, uint64_t now_ns)
{
	uint64_t stamp = now_ns > e->sent_stamp ? now_ns : e->sent_stamp + 1;

	l->ahead_ns = max_u64(l->ahead_ns, stamp - now_ns);
	e->sent_stamp = stamp;
	return stamp;
}

/* Updates `mark`, `high` and `locked` for a statement with this stamp. */
static void promise_sent(struct ledger_edge *e, uint64_t stamp)
{
	if (e->mark == 0) {
		e->mark = stamp;
		e->high = 0;
	}
	e->high = max_u64(e->high, e->committed.promised);
	e->locked = max_u64(e->locked, e->committed.promised);
}

/* Until a closing is durable, nothing is echoed: an echo would confirm a record from before it. */
static bool edge_is_closing(const struct ledger_edge *e)
{
	return e->now.least_epoch != e->committed.least_epoch;
}

struct ledger_statement ledger_settled(const struct ledger *l, uint32_t edge)
{
	const struct ledger_edge *e = &l->edges[edge];

	return (struct ledger_statement){
		.epoch = l->recovering ? 0 : l->epoch,
		.granted = e->committed.granted,
		.promised = e->committed.promised,
		.received = e->received,
		.echo_epoch = edge_is_closing(e) ? 0 : e->reported.epoch,
		.least_epoch = e->committed.least_epoch,
		.count = l->count,
		.word = l->word,
		.known_count = e->life.count,
		.known_word = e->life.word,
	};
}

void ledger_state(struct ledger *l, uint32_t edge, uint64_t now_ns, struct ledger_statement *s)
{
	struct ledger_edge *e = &l->edges[edge];

	*s = ledger_settled(l, edge);
	s->stamp = l->recovering ? l->epoch : next_stamp(l, e, now_ns);
	s->echo_stamp = edge_is_closing(e) ? 0 : e->reported.stamp;
	if (edge_is_closing(e))
		e->asked = e->sent_stamp; /* to accept this statement proves nothing */
	if (!l->recovering)
		promise_sent(e, s->stamp);
}

uint64_t ledger_next_stamp(const struct ledger *l, uint32_t edge, uint64_t now_ns)
{
	return max_u64(now_ns, l->edges[edge].sent_stamp + 1);
}

uint64_t ledger_received_stamp(const struct ledger *l, uint32_t edge)
{
	const struct ledger_edge *e = &l->edges[edge];

	return l->recovering || !e->reported.known || e->reported.epoch == 0 || edge_is_closing(e)
		       ? 0
		       : e->reported.stamp;
}

void ledger_state_again(struct ledger *l, uint32_t edge, uint64_t now_ns, uint64_t stamp)
{
	struct ledger_edge *e = &l->edges[edge];

	l->ahead_ns = max_u64(l->ahead_ns, stamp > now_ns ? stamp - now_ns : 0);
	e->sent_stamp = stamp;
	promise_sent(e, stamp);
}

static bool statement_is_old(const struct ledger_edge *e, const struct ledger_statement *s)
{
	if (s->epoch != e->reported.epoch)
		return s->epoch < e->reported.epoch || s->epoch < e->now.least_epoch;
	return s->stamp <= e->reported.stamp || s->epoch < e->now.least_epoch ||
	       (s->word == e->life.word && s->count < e->life.count);
}

/* Returns true if the newest statement is of the life that we echo, and that life is proven. */
static bool edge_is_proven(const struct ledger_edge *e)
{
	return e->reported.word == e->life.word && !e->life.unproven;
}

/* Returns true if the statement contains only possible amounts. */
static bool statement_is_valid(
	const struct ledger *l, const struct ledger_edge *e, const struct ledger_statement *s)
{
	uint64_t taken = s->received > e->now.granted ? s->received - e->now.granted : 0;

	if (s->received > edge_lock(e))
		return false;
	/* A start without proof can be old: it sets no bound for the next one. */
	if (s->granted < e->reported.granted &&
		(s->epoch == e->reported.epoch || edge_is_proven(e)))
		return false;
	return s->granted <= e->received ||
	       l->balance - (__int128)taken + (s->granted - e->received) <= l->most;
}

/* Returns true if two starts of the neighbour have one epoch: they continue from one record. */
static bool start_is_rival(const struct ledger_edge *e, const struct ledger_statement *s)
{
	return s->epoch == e->reported.epoch && e->reported.word && s->word != e->reported.word;
}

/* The second statement of a rival voids both starts: neither has the grants of the other. */
static enum ledger_verdict refuse_rival(
	struct ledger *l, struct ledger_edge *e, const struct ledger_statement *s)
{
	bool again = e->rival.word == s->word && e->rival.stamp != s->stamp;

	e->rival.word = s->word;
	e->rival.stamp = s->stamp;
	if (again && s->epoch < LEDGER_MOST && e->now.least_epoch <= s->epoch) {
		e->now.least_epoch = s->epoch + 1;
		l->dirty = true;
	}
	return LEDGER_INVALID;
}

/* Returns true if our record does not lead through the life that the neighbour echoes. */
static bool life_is_unknown(const struct ledger *l, const struct ledger_statement *s)
{
	const struct ledger_life *last = NULL;
	unsigned n = 0;

	if (s->echo_epoch == 0 || (s->known_word == l->word && s->echo_epoch != l->epoch))
		return false; /* an earlier ledger of this policy, of the same start */
	if (s->known_word == l->word)
		return s->known_count > l->count;
	for (; n < LEDGER_LIVES && l->lives[n].word; n++) {
		last = &l->lives[n];
		if (last->word == s->known_word)
			return s->known_count > last->count;
	}
	/* After many starts without an exchange, it is older than the oldest one in the record. */
	if (n == LEDGER_LIVES && s->known_count <= last->count)
		return false;
	return !last || s->echo_epoch >= last->epoch || s->echo_epoch >= l->epoch;
}

/*
 * Returns true if a recovery that the neighbour has recorded lies between two of our starts. It can
 * have the epoch of this start. But a neighbour that recovers itself also records that epoch.
 */
static bool recovery_is_unknown(
	const struct ledger *l, const struct ledger_edge *e, const struct ledger_statement *s)
{
	uint64_t later = l->first_epoch > 0 && !e->was_asked ? l->first_epoch + 1 : l->first_epoch;

	for (unsigned n = 0; n < LEDGER_LIVES && l->lives[n].word; n++) {
		if (s->least_epoch > l->lives[n].epoch)
			return s->least_epoch < later;
		later = l->lives[n].epoch;
	}
	return false;
}

/*
 * Returns true if the neighbour has received more than was ever granted or promised. Only a start
 * that is recorded here is proof. Another one can itself be from an old record.
 */
static bool receipt_is_unknown(const struct ledger_edge *e, const struct ledger_statement *s)
{
	return s->received > edge_lock(e) && (!e->life.word || s->word == e->life.word);
}

static bool life_is_denied(
	const struct ledger *l, const struct ledger_edge *e, const struct ledger_statement *s)
{
	return s->known_count == LEDGER_TWICE || recovery_is_unknown(l, e, s) ||
	       receipt_is_unknown(e, s) || max_u64(s->echo_epoch, s->least_epoch) > l->epoch ||
	       (s->echo_epoch == l->epoch && s->echo_stamp > e->sent_stamp) ||
	       life_is_unknown(l, s);
}

/* Counts a repeated statement once. */
static enum ledger_verdict note_denial(
	struct ledger *l, struct ledger_edge *e, const struct ledger_statement *s)
{
	if (e->denials == 0 || s->stamp != e->denied_stamp)
		e->denials++;
	e->denied_stamp = s->stamp;
	if (e->denials < DENIALS)
		return LEDGER_INVALID;
	l->denied_epoch = max_u64(s->echo_epoch, s->least_epoch);
	return s->known_count == LEDGER_TWICE ? LEDGER_TWIN : LEDGER_DENIED;
}

/* The neighbour has inherited the part of `received` above `granted`: it was promised. */
static void accept_received(
	struct ledger *l, struct ledger_edge *e, const struct ledger_statement *s)
{
	e->reported.received = s->received;
	if (s->received <= e->now.granted)
		return;
	l->balance -= (int64_t)(s->received - e->now.granted);
	e->now.granted = s->received;
	e->now.promised = max_u64(e->now.promised, e->now.granted);
	l->dirty = true;
}

/*
 * Returns true if the neighbour's record cannot be old. Its start is proven, has accepted our echo,
 * or is the first one, and we have no recovery of it.
 */
static bool start_is_proven(
	const struct ledger *l, const struct ledger_edge *e, const struct ledger_statement *s)
{
	if (e->life.word ? s->word == e->life.word && !e->life.unproven : e->now.least_epoch == 0)
		return true;
	return s->epoch == e->reported.epoch && s->echo_epoch == l->epoch &&
	       s->echo_stamp > e->asked;
}

/* An inherited amount is in `received` before it is granted: the larger counts, not the sum. */
static void accept_granted(
	struct ledger *l, struct ledger_edge *e, const struct ledger_statement *s)
{
	e->reported.granted = s->granted;
	e->reported.echoed = s->echo_epoch == l->epoch;
	e->reported.promised = e->reported.echoed ? s->promised : 0;
	if (s->granted <= e->received || !start_is_proven(l, e, s))
		return;
	l->balance += (int64_t)(s->granted - e->received);
	e->received = s->granted;
}

static void accept_echo(
	const struct ledger *l, struct ledger_edge *e, const struct ledger_statement *s)
{
	uint64_t end = s->echo_stamp + l->lease_ns;

	if (s->echo_epoch != l->epoch)
		return;
	if (end < s->echo_stamp)
		end = UINT64_MAX;
	end -= l->ahead_ns < end ? l->ahead_ns : end;
	e->leased_ns = max_u64(e->leased_ns, end);
	if (e->mark != 0 && s->echo_stamp >= e->mark) {
		e->locked = e->high;
		e->mark = 0;
	}
}

/*
 * Replaces the life that we echo after the new one has received that echo and accepted it. The life
 * is part of the next record.
 */
static void accept_life(struct ledger *l, struct ledger_edge *e, const struct ledger_statement *s)
{
	bool proven = start_is_proven(l, e, s);

	if (s->epoch != e->reported.epoch) {
		e->asked = e->sent_stamp;
		l->dirty = true;
	}
	e->reported.epoch = s->epoch;
	e->reported.word = s->word;
	e->reported.count = s->count;
	if (!proven && e->life.word && s->word != e->life.word)
		return;
	l->dirty |= s->word != e->life.word || e->life.unproven == proven;
	e->life.word = s->word;
	e->life.count = s->count;
	e->life.unproven = !proven;
}

static void apply_statement(
	struct ledger *l, struct ledger_edge *e, uint64_t now_ns, const struct ledger_statement *s)
{
	accept_received(l, e, s);
	accept_granted(l, e, s);
	accept_echo(l, e, s);
	accept_life(l, e, s);
	e->denials = 0;
	e->confirmed |= s->echo_epoch == l->epoch;
	e->reported.stamp = s->stamp;
	e->reported.at_ns = now_ns;
	e->reported.known = true;
}

enum ledger_verdict ledger_receive(
	struct ledger *l, uint32_t edge, uint64_t now_ns, const struct ledger_statement *s)
{
	struct ledger_edge *e = &l->edges[edge];
	int64_t balance = l->balance;
	uint64_t free, usable;

	if (!statement_plausible(s))
		return LEDGER_INVALID;
	if (l->recovering)
		return recovering_receives(l, e, now_ns, s);
	if (s->epoch == 0)
		return recovering_asks(l, e, now_ns, s);
	if (start_is_rival(e, s))
		return refuse_rival(l, e, s);
	if (statement_is_old(e, s))
		return LEDGER_OLD;
	if (life_is_denied(l, e, s))
		return note_denial(l, e, s);
	if (!statement_is_valid(l, e, s))
		return LEDGER_INVALID;
	free = ledger_free(l);
	usable = ledger_usable(l, now_ns, NULL);
	apply_statement(l, e, now_ns, s);
	return l->balance != balance || ledger_free(l) != free ||
			       ledger_usable(l, now_ns, NULL) != usable
		       ? LEDGER_NEWS
		       : LEDGER_HEARD;
}

enum ledger_verdict ledger_receive_repeat(
	struct ledger *l, uint32_t edge, uint64_t now_ns, uint64_t stamp, uint64_t echo_stamp)
{
	const struct ledger_edge *e = &l->edges[edge];
	const struct ledger_statement s = {
		.epoch = e->reported.epoch,
		.stamp = stamp,
		.granted = e->reported.granted,
		.promised = e->reported.promised,
		.received = e->reported.received,
		.echo_epoch = l->epoch,
		.echo_stamp = echo_stamp,
		.count = e->reported.count,
		.word = e->reported.word,
		.known_word = l->word, /* the repeated statement was accepted */
	};

	if (ledger_received_stamp(l, edge) == 0 || !e->reported.echoed)
		return LEDGER_OLD;
	return ledger_receive(l, edge, now_ns, &s);
}

bool ledger_was_promised(const struct ledger *l, uint32_t edge)
{
	const struct ledger_edge *e = &l->edges[edge];

	return !l->recovering && edge_is_met(l, e) && edge_is_proven(e) &&
	       e->reported.promised > e->received;
}

uint64_t ledger_inheritable(const struct ledger *l, uint32_t edge, uint64_t now_ns)
{
	const struct ledger_edge *e = &l->edges[edge];
	uint64_t amount, room;

	if (!ledger_was_promised(l, edge) || now_ns < e->reported.at_ns ||
		now_ns - e->reported.at_ns < l->patience_ns)
		return 0;
	amount = e->reported.promised - e->received;
	if (l->balance >= (int64_t)l->most)
		return 0;
	room = (uint64_t)((int64_t)l->most - l->balance);
	return amount < room ? amount : room;
}

uint64_t ledger_inherit(struct ledger *l, uint32_t edge, uint64_t now_ns)
{
	uint64_t amount = ledger_inheritable(l, edge, now_ns);
	struct ledger_edge *e = &l->edges[edge];

	l->balance += (int64_t)amount;
	e->received += amount;
	e->inherited += amount;
	return amount;
}
