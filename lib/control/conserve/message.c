/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages to neighbours. One is a head (book/head.c), and entries of CONSERVE_ENTRY bytes,
 * big-endian:
 *
 *        0      4  policy
 *        4      1  flags: 1, an answer is asked for; 2, q is what you are asked for, see
 *                  rate_asks(); 4, it is for a debt; times 8, the hops of what is asked
 *        5     64  the ledger's statement
 *       69      8  q, and
 *       77      8  gain, as in struct gdrl_statement: IEEE 754 doubles
 *       85      8  terms, see struct rate_terms; 0: the policy is gone here
 *       93      4  unit
 *       97      8  limit,
 *      105      8  burst, and
 *      113      4  number of limiters
 *
 * One without entries is of a limiter that has no policies, or does not know its ledger. A policy
 * is told when there is news of it, to whoever asks, and, in what room is left, to who has not
 * confirmed it, and before a lease is in danger.
 */
#include <errno.h>
#include <math.h>

#include "base/wire.h"
#include "conserve/conserve_private.h"
#include "ledger/statement.h"

#define ANSWER 1
#define ASKS   2
#define DEBT   4

#define HOPS_SHIFT 3

/* To one neighbour in one tick; the others wait, and are first in the next. */
#define MESSAGES 8

/* Something that the neighbour should have confirmed. */
static bool is_unconfirmed(const struct rate_account *a, unsigned edge)
{
	struct ledger_view view = ledger_view(a->ledger, edge);

	return ledger_recovering(a->ledger) || view.in_flight > 0 ||
	       (a->restored && !a->edges[edge].spoke) ||
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

#define AT_HINTS (5 + LEDGER_STATEMENT_BYTES)
#define AT_TERMS (AT_HINTS + 16)

_Static_assert(AT_TERMS + 32 == CONSERVE_ENTRY, "an entry ends with its terms");

static void write_terms(const struct rate_terms *terms, uint8_t *at)
{
	at = wire_put32(wire_put64(at, terms->terms), terms->unit);
	wire_put32(wire_put64(wire_put64(at, terms->limit), terms->burst), terms->n);
}

static struct rate_terms read_terms(const uint8_t *at)
{
	struct rate_terms terms;

	at = wire_get32(wire_get64(at, &terms.terms), &terms.unit);
	wire_get32(wire_get64(wire_get64(at, &terms.limit), &terms.burst), &terms.n);
	return terms;
}

static void write_entry(
	struct conserve *c, struct rate_account *a, unsigned edge, uint64_t now_ns, uint8_t *at)
{
	struct rate_edge *e = &a->edges[edge];
	struct rate_terms terms = rate_own_terms(c, a);
	struct gdrl_statement state = rate_state(c, a);
	struct rate_ask asks = rate_asks(c, a, edge);
	struct ledger_statement statement;

	e->sent_ns = now_ns;
	e->sent_q = state.q;
	if (asks.amount > 0)
		state.q = (double)asks.amount;
	wire_put32(at, a->policy.id);
	at[4] = (is_unconfirmed(a, edge) ? ANSWER : 0) | (asks.amount > 0 ? ASKS : 0) |
		(ledger_balance(a->ledger) < 0 ? DEBT : 0) | asks.hops << HOPS_SHIFT;
	ledger_state(a->ledger, edge, now_ns, &statement);
	ledger_statement_write(&statement, at + 5);
	wire_put_double(wire_put_double(at + AT_HINTS, state.q), state.gain);
	write_terms(&terms, at + AT_TERMS);
	c->counters.statements_sent++;
}

/* First those of which there is news. */
static size_t write_account_news(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_queue *due = &c->links[edge].due;
	size_t len = BOOK_HEAD;

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

/* How long there may be nothing to say: who has lost its memory waits for others to hear of it. */
static uint64_t silence_of(const struct conserve *c)
{
	return book_identity_known(c->book.identity) ? c->params.lease_ns / RENEWALS
						     : c->params.repeat_ns;
}

/* Length of the next message to a neighbour, or 0. */
static size_t conserve_write_message(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_link *link = &c->links[edge];
	size_t len = BOOK_HEAD;

	if (link->messages >= MESSAGES)
		return 0;
	if (book_identity_known(c->book.identity)) {
		len = write_account_news(c, edge, now_ns, buf, room);
		if (c->looks)
			len = write_due(c, edge, now_ns, buf, room, len);
	}
	if (len == BOOK_HEAD && now_ns - c->book.links[edge].sent_ns < silence_of(c))
		return 0;
	book_write_head(&c->book, CONSERVE_MESSAGE, buf);
	link->messages++;
	c->book.links[edge].sent_ns = now_ns;
	c->counters.messages_sent++;
	return len;
}

size_t conserve_send(struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	size_t len;

	c->per_message = (unsigned)((room - BOOK_HEAD) / CONSERVE_ENTRY);
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
	wire_get_double(wire_get_double(at + AT_HINTS, &state.q), &state.gain);
	if (gdrl_hear(&e->neighbour, &state)) {
		e->asked = at[4] & ASKS ? state.q : 0;
		e->asked_hops = at[4] >> HOPS_SHIFT;
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

/* Whether a statement is newer than the one whose terms are known; of a recovering one any is. */
static bool is_newest(const struct rate_edge *e, const struct ledger_statement *statement)
{
	if (statement->epoch == 0 || statement->epoch != e->said_epoch)
		return statement->epoch == 0 || statement->epoch > e->said_epoch;
	return statement->stamp > e->said_stamp;
}

/* True where we go by less now, or by more again. */
static bool take_terms(struct conserve *c, struct rate_account *a, unsigned edge,
	const struct rate_terms *terms, const struct ledger_statement *statement)
{
	struct rate_edge *e = &a->edges[edge];

	if (!is_newest(e, statement))
		return false;
	e->said = *terms;
	e->spoke = true;
	if (statement->epoch > 0) {
		e->said_epoch = statement->epoch;
		e->said_stamp = statement->stamp;
	}
	if (!rate_go_by_least(c, a))
		return false;
	rate_due_to_all(c, a);
	return true;
}

/* Made by other terms: to be seen, and to go by its limit, if that is less, but not to believe. */
static bool refuse_entry(struct conserve *c, struct rate_account *a, unsigned edge,
	const struct rate_terms *terms, const struct ledger_statement *statement)
{
	bool news = take_terms(c, a, edge, terms, statement);

	c->counters.differing++;
	a->edges[edge].neighbour.fresh = false;
	a->edges[edge].asked = 0;
	book_changed(&c->book, &a->book);
	if (news)
		note_news(c, a);
	return news;
}

static bool terms_apart(
	const struct conserve *c, const struct rate_account *a, const struct rate_terms *terms)
{
	struct rate_terms own = rate_own_terms(c, a);

	return own.terms && terms->terms && (own.terms != terms->terms || own.unit != terms->unit);
}

static bool hear_entry(struct conserve *c, unsigned edge, uint64_t now_ns, const uint8_t *at)
{
	struct ledger_statement statement;
	enum ledger_verdict verdict = LEDGER_INVALID;
	struct rate_account *a;
	struct rate_terms terms = read_terms(at + AT_TERMS);
	uint32_t id;
	bool recovering, valid, news = false;

	wire_get32(at, &id);
	a = (struct rate_account *)book_find(&c->book, id);
	if (!a) {
		c->counters.unknown++;
		return false;
	}
	valid = ledger_statement_read(&statement, at + 5, LEDGER_STATEMENT_BYTES) == 0;
	if (valid && terms_apart(c, a, &terms))
		return refuse_entry(c, a, edge, &terms, &statement);
	recovering = ledger_recovering(a->ledger);
	if (valid)
		verdict = ledger_hear(a->ledger, edge, now_ns, &statement);
	/* What was said to an earlier start of ours may be older than what that has heard. */
	if ((verdict == LEDGER_NEWS || verdict == LEDGER_HEARD) &&
		(!a->restored || ledger_is_echoed(a->ledger, &statement)))
		news = take_terms(c, a, edge, &terms, &statement);
	news |= verdict == LEDGER_NEWS;
	book_changed(&c->book, &a->book);
	c->counters.verdicts[verdict]++;
	if (verdict == LEDGER_INVALID)
		book_invalid(&c->book, edge);
	if (verdict == LEDGER_NEWS || verdict == LEDGER_HEARD)
		book_heard(&c->book, edge, now_ns);
	believe_hints(c, a, edge, at, verdict);
	if (verdict == LEDGER_NEWS && recovering)
		rate_due_to_all(c, a); /* it has something else to say to everybody */
	if (news)
		note_news(c, a);
	return news;
}

int conserve_hear(
	struct conserve *c, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	unsigned edge = book_edge(&c->book, from);
	int news = 0, ret;

	if (edge == c->book.n_edges)
		return -ENOENT;
	ret = book_read_head(&c->book, edge, CONSERVE_MESSAGE, buf, len);
	if (ret == 0 && (len - BOOK_HEAD) % CONSERVE_ENTRY != 0)
		ret = -EBADMSG;
	c->counters.malformed += ret == -EBADMSG;
	if (ret)
		return ret;
	c->counters.messages_heard++;
	for (const uint8_t *at = buf + BOOK_HEAD; at < buf + len; at += CONSERVE_ENTRY)
		news += hear_entry(c, edge, now_ns, at);
	return news;
}
