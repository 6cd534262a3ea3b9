/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages to neighbours. One is its kind, and entries of CONSERVE_ENTRY bytes, big-endian:
 *
 *        0      4  policy
 *        4      1  flags: 1, an answer is asked for; 2, q is what you are asked for, see
 *                  rate_asks(); 4, it is for a debt
 *        5     64  the ledger's statement
 *       69      8  q, and
 *       77      8  gain, as in struct gdrl_statement: IEEE 754 doubles
 *
 * One without entries says that we are there. A policy is told when there is news of it, to whoever
 * asks, and, in what room is left, to who has not confirmed it, and before a lease is in danger.
 */
#include <errno.h>
#include <math.h>

#include "base/wire.h"
#include "conserve/conserve_private.h"
#include "ledger/statement.h"

#define ANSWER 1
#define ASKS   2
#define DEBT   4

/* To one neighbour in one tick; the others wait, and are first in the next. */
#define MESSAGES 8

/* Something that the neighbour should have confirmed. */
static bool is_unconfirmed(const struct rate_account *a, unsigned edge)
{
	struct ledger_view view = ledger_view(a->ledger, edge);

	return ledger_recovering(a->ledger) || view.in_flight > 0 ||
	       (view.locked > view.granted && view.locked != view.promised);
}

/* Time has made it so. */
static bool is_account_due(
	const struct conserve *c, const struct rate_account *a, unsigned edge, uint64_t now_ns)
{
	const struct rate_edge *e = &a->edges[edge];
	uint64_t since = now_ns > e->sent_ns ? now_ns - e->sent_ns : 0;

	if (e->due) /* in its turn */
		return false;
	if (since < c->params.repeat_ns)
		return false;
	if (is_unconfirmed(a, edge) || since >= c->params.lease_ns / RENEWALS)
		return true;
	if (!c->links[edge].in_use)
		return false;
	return !(fabs(rate_state(c, a).q - e->sent_q) <=
		 (a->policy.indicator ? fabs(e->sent_q) / GRAIN_PART : (double)a->grain));
}

/* Half of the time is for what is lost, and for news. */
bool conserve_leases_last(const struct conserve *c)
{
	uint64_t messages = c->params.lease_ns / 2 / (c->params.repeat_ns + 1) * MESSAGES;

	return c->book.n <= messages * c->per_message;
}

static void write_entry(
	struct conserve *c, struct rate_account *a, unsigned edge, uint64_t now_ns, uint8_t *at)
{
	struct rate_edge *e = &a->edges[edge];
	struct gdrl_statement state = rate_state(c, a);
	uint64_t asks = rate_asks(c, a);
	struct ledger_statement statement;

	e->sent_ns = now_ns;
	e->sent_q = state.q;
	if (asks > 0)
		state.q = (double)asks;
	wire_put32(at, a->policy.id);
	at[4] = (is_unconfirmed(a, edge) ? ANSWER : 0) | (asks > 0 ? ASKS : 0) |
		(ledger_balance(a->ledger) < 0 ? DEBT : 0);
	ledger_state(a->ledger, edge, now_ns, &statement);
	ledger_statement_write(&statement, at + 5);
	wire_put_double(wire_put_double(at + 5 + LEDGER_STATEMENT_BYTES, state.q), state.gain);
	c->counters.statements_sent++;
}

/* First those of which there is news. */
static size_t write_account_news(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_queue *due = &c->links[edge].due;
	size_t len = 1;

	while (!TAILQ_EMPTY(due) && len + CONSERVE_ENTRY <= room) {
		struct rate_account *a = TAILQ_FIRST(due);

		TAILQ_REMOVE(due, a, edges[edge].next_due);
		a->edges[edge].due = false;
		write_entry(c, a, edge, now_ns, buf + len);
		len += CONSERVE_ENTRY;
	}
	return len;
}

/* Then those whose time has come; the length of the message up to there, and with them. */
static size_t write_due(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room, size_t len)
{
	struct rate_link *link = &c->links[edge];
	unsigned first = c->book.n ? link->cursor % c->book.n : 0;

	for (unsigned k = 0; k < c->book.n && len + CONSERVE_ENTRY <= room; k++) {
		struct rate_account *a = rate_at(c, (first + k) % c->book.n);

		link->cursor = first + k + 1; /* beyond the last: the first */
		if (!is_account_due(c, a, edge, now_ns))
			continue;
		write_entry(c, a, edge, now_ns, buf + len);
		len += CONSERVE_ENTRY;
	}
	return len;
}

/* Length of the next message to a neighbour, or 0. */
static size_t conserve_write_message(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_link *link = &c->links[edge];
	size_t len;

	if (link->messages >= MESSAGES)
		return 0;
	len = write_account_news(c, edge, now_ns, buf, room);
	if (c->looks)
		len = write_due(c, edge, now_ns, buf, room, len);
	if (len == 1 && now_ns - c->book.links[edge].sent_ns < c->params.lease_ns / RENEWALS)
		return 0;
	buf[0] = CONSERVE_MESSAGE;
	link->messages++;
	c->book.links[edge].sent_ns = now_ns;
	c->counters.messages_sent++;
	return len;
}

size_t conserve_send(struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	size_t len;

	c->per_message = (unsigned)((room - 1) / CONSERVE_ENTRY);
	for (; c->sending < c->book.n_edges; c->sending++) {
		len = conserve_write_message(c, c->sending, now_ns, buf, room);
		if (len == 0)
			continue;
		*peer = c->book.links[c->sending].peer;
		return len;
	}
	c->sending = 0;
	c->looks = false;
	return 0;
}

static void believe_hints(struct conserve *c, struct rate_account *a, unsigned edge,
	const uint8_t *at, enum ledger_verdict verdict)
{
	struct rate_edge *e = &a->edges[edge];
	struct gdrl_statement state;

	if (verdict != LEDGER_NEWS && verdict != LEDGER_HEARD)
		return;
	wire_get_double(wire_get_double(at + 5 + LEDGER_STATEMENT_BYTES, &state.q), &state.gain);
	if (gdrl_hear(&e->neighbour, &state)) {
		e->asked = at[4] & ASKS ? state.q : 0;
		e->in_debt = at[4] & DEBT;
		if (at[4] & ASKS)
			e->neighbour.heard.q = 0; /* it is paid otherwise; see pay() */
	}
	if (verdict == LEDGER_NEWS || at[4] & ANSWER)
		rate_due(c, a, edge);
}

static void note_news(struct conserve *c, struct rate_account *a)
{
	if (a->news)
		return;
	a->news = true;
	TAILQ_INSERT_TAIL(&c->news, a, next_news);
}

unsigned conserve_next_news(struct conserve *c)
{
	while (!TAILQ_EMPTY(&c->news)) {
		struct rate_account *a = TAILQ_FIRST(&c->news);

		TAILQ_REMOVE(&c->news, a, next_news);
		a->news = false;
		if (!a->book.gone)
			return a->book.index;
	}
	return c->book.n_policies;
}

static bool hear_entry(struct conserve *c, unsigned edge, uint64_t now_ns, const uint8_t *at)
{
	struct ledger_statement statement;
	enum ledger_verdict verdict = LEDGER_INVALID;
	struct rate_account *a;
	uint32_t id;
	bool recovering;

	wire_get32(at, &id);
	a = (struct rate_account *)book_find(&c->book, id);
	if (!a) {
		c->counters.unknown++;
		return false;
	}
	recovering = ledger_recovering(a->ledger);
	if (ledger_statement_read(&statement, at + 5, LEDGER_STATEMENT_BYTES) == 0)
		verdict = ledger_hear(a->ledger, edge, now_ns, &statement);
	book_changed(&c->book, &a->book);
	c->counters.verdicts[verdict]++;
	believe_hints(c, a, edge, at, verdict);
	if (verdict == LEDGER_NEWS && recovering)
		rate_due_to_all(c, a); /* it has something else to say to everybody */
	if (verdict == LEDGER_NEWS)
		note_news(c, a);
	return verdict == LEDGER_NEWS;
}

int conserve_hear(
	struct conserve *c, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	unsigned edge = book_edge(&c->book, from);
	int news = 0;

	if (edge == c->book.n_edges)
		return -ENOENT;
	if (len < 1 || buf[0] != CONSERVE_MESSAGE || (len - 1) % CONSERVE_ENTRY != 0) {
		c->counters.malformed++;
		return -EBADMSG;
	}
	book_heard(&c->book, edge, now_ns);
	c->counters.messages_heard++;
	for (const uint8_t *at = buf + 1; at < buf + len; at += CONSERVE_ENTRY)
		news += hear_entry(c, edge, now_ns, at);
	return news;
}
