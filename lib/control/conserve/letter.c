/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Letters to neighbours. One is its kind, and entries of CONSERVE_ENTRY bytes, big-endian:
 *
 *        0      4  policy
 *        4      1  flags: 1, an answer is asked for; 2, q is what you are asked for, see
 *                  account_asks(); 4, it is for a debt
 *        5     64  the ledger's statement
 *       69      8  q, and
 *       77      8  gain, as in struct gdrl_statement: IEEE 754 doubles
 *
 * One without entries says that we are there. A policy is told when there is news of it, to whoever
 * asks, and, in what room is left, to who has not confirmed it, and before a lease is in danger.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "conserve/private.h"
#include "ledger/statement.h"

#define ANSWER 1
#define ASKS   2
#define DEBT   4

/* To one neighbour in one tick; the others wait, and are first in the next. */
#define LETTERS 8

static uint8_t *put(uint8_t *at, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	bits = htobe64(bits);
	memcpy(at, &bits, sizeof(bits));
	return at + sizeof(bits);
}

static double get(const uint8_t *at)
{
	uint64_t bits;
	double number;

	memcpy(&bits, at, sizeof(bits));
	bits = be64toh(bits);
	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* Something that the neighbour should have confirmed. */
static bool unconfirmed(const struct account *a, unsigned edge)
{
	struct ledger_view view = ledger_view(a->ledger, edge);

	return ledger_blank(a->ledger) || view.in_flight > 0 ||
	       (view.locked > view.granted && view.locked != view.promised);
}

/* Time has made it so. */
static bool is_due(
	const struct conserve *c, const struct account *a, unsigned edge, uint64_t now_ns)
{
	const struct account_edge *e = &a->edges[edge];
	uint64_t since = now_ns > e->sent_ns ? now_ns - e->sent_ns : 0;

	if (e->due) /* in its turn */
		return false;
	if (since < c->params.repeat_ns)
		return false;
	if (unconfirmed(a, edge) || since >= c->params.lease_ns / RENEWALS)
		return true;
	if (!c->links[edge].in_use)
		return false;
	return !(fabs(account_state(c, a).q - e->sent_q) <=
		 (a->policy.indicator ? fabs(e->sent_q) / GRAIN_PART : (double)a->grain));
}

void account_due(struct conserve *c, struct account *a, unsigned edge)
{
	if (a->edges[edge].due)
		return;
	a->edges[edge].due = true;
	queue_push(&c->links[edge].due, a);
}

/* Half of the time is for what is lost, and for news. */
bool conserve_leases_last(const struct conserve *c)
{
	uint64_t letters = c->params.lease_ns / 2 / (c->params.repeat_ns + 1) * LETTERS;

	return c->n <= letters * c->per_letter;
}

static void write_entry(
	struct conserve *c, struct account *a, unsigned edge, uint64_t now_ns, uint8_t *at)
{
	struct account_edge *e = &a->edges[edge];
	struct gdrl_statement state = account_state(c, a);
	uint64_t asks = account_asks(c, a);
	uint32_t id = htobe32(a->policy.id);
	struct ledger_statement statement;

	e->sent_ns = now_ns;
	e->sent_q = state.q;
	if (asks > 0)
		state.q = (double)asks;
	memcpy(at, &id, sizeof(id));
	at[4] = (unconfirmed(a, edge) ? ANSWER : 0) | (asks > 0 ? ASKS : 0) |
		(ledger_balance(a->ledger) < 0 ? DEBT : 0);
	ledger_state(a->ledger, edge, now_ns, &statement);
	ledger_statement_write(&statement, at + 5);
	put(put(at + 5 + LEDGER_STATEMENT_BYTES, state.q), state.gain);
	c->counters.statements_sent++;
}

/* First those of which there is news. */
static size_t write_news(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct queue *due = &c->links[edge].due;
	size_t len = 1;

	while (due->n > 0 && len + CONSERVE_ENTRY <= room) {
		struct account *a = queue_pop(due);

		a->edges[edge].due = false;
		write_entry(c, a, edge, now_ns, buf + len);
		len += CONSERVE_ENTRY;
	}
	return len;
}

/* Then those whose time has come; the length of the letter up to there, and with them. */
static size_t write_due(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room, size_t len)
{
	struct link *link = &c->links[edge];
	unsigned first = c->n ? link->cursor % c->n : 0;

	for (unsigned k = 0; k < c->n && len + CONSERVE_ENTRY <= room; k++) {
		struct account *a = c->accounts[(first + k) % c->n];

		link->cursor = first + k + 1; /* beyond the last: the first */
		if (!is_due(c, a, edge, now_ns))
			continue;
		write_entry(c, a, edge, now_ns, buf + len);
		len += CONSERVE_ENTRY;
	}
	return len;
}

/* Length of the next letter to a neighbour, or 0. */
static size_t write_letter(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct link *link = &c->links[edge];
	size_t len;

	if (link->letters >= LETTERS)
		return 0;
	len = write_news(c, edge, now_ns, buf, room);
	if (c->looks)
		len = write_due(c, edge, now_ns, buf, room, len);
	if (len == 1 && now_ns - link->sent_ns < c->params.lease_ns / RENEWALS)
		return 0;
	buf[0] = CONSERVE_LETTER;
	link->letters++;
	link->sent_ns = now_ns;
	c->counters.letters_sent++;
	return len;
}

size_t conserve_send(struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	size_t len;

	c->per_letter = (unsigned)((room - 1) / CONSERVE_ENTRY);
	for (; c->sending < c->n_edges; c->sending++) {
		len = write_letter(c, c->sending, now_ns, buf, room);
		if (len == 0)
			continue;
		*peer = c->links[c->sending].peer;
		return len;
	}
	c->sending = 0;
	c->looks = false;
	return 0;
}

/* One that is blank, or was asked by one, has something else to say to everybody. */
static void tell_all(struct conserve *c, struct account *a)
{
	for (unsigned e = 0; e < c->n_edges; e++)
		account_due(c, a, e);
}

static void believe(struct conserve *c, struct account *a, unsigned edge, const uint8_t *at,
	enum ledger_verdict verdict)
{
	struct account_edge *e = &a->edges[edge];
	struct gdrl_statement state = {.q = get(at + 5 + LEDGER_STATEMENT_BYTES),
		.gain = get(at + 13 + LEDGER_STATEMENT_BYTES)};

	if (verdict != LEDGER_NEWS && verdict != LEDGER_HEARD)
		return;
	if (gdrl_hear(&e->neighbour, &state)) {
		e->asked = at[4] & ASKS ? state.q : 0;
		e->in_debt = at[4] & DEBT;
		if (at[4] & ASKS)
			e->neighbour.heard.q = 0; /* it is paid otherwise; see pay() */
	}
	if (verdict == LEDGER_NEWS || at[4] & ANSWER)
		account_due(c, a, edge);
}

static void note_news(struct conserve *c, struct account *a)
{
	if (a->heard)
		return;
	a->heard = true;
	queue_push(&c->news, a);
}

unsigned conserve_next_news(struct conserve *c)
{
	while (c->news.n > 0) {
		struct account *a = queue_pop(&c->news);

		a->heard = false;
		if (a->index < c->n_policies)
			return a->index;
	}
	return c->n_policies;
}

static bool hear_entry(struct conserve *c, unsigned edge, uint64_t now_ns, const uint8_t *at)
{
	struct ledger_statement statement;
	enum ledger_verdict verdict = LEDGER_INVALID;
	struct account *a;
	uint32_t id;
	bool blank;

	memcpy(&id, at, sizeof(id));
	a = account_find(c, be32toh(id));
	if (!a) {
		c->counters.unknown++;
		return false;
	}
	blank = ledger_blank(a->ledger);
	if (ledger_statement_read(&statement, at + 5, LEDGER_STATEMENT_BYTES) == 0)
		verdict = ledger_hear(a->ledger, edge, now_ns, &statement);
	account_changed(c, a);
	c->counters.verdicts[verdict]++;
	believe(c, a, edge, at, verdict);
	if (verdict == LEDGER_NEWS && blank)
		tell_all(c, a);
	if (verdict == LEDGER_NEWS)
		note_news(c, a);
	return verdict == LEDGER_NEWS;
}

int conserve_hear(
	struct conserve *c, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	unsigned edge = c->edge_of[from];
	int news = 0;

	if (edge == c->n_edges)
		return -ENOENT;
	if (len < 1 || buf[0] != CONSERVE_LETTER || (len - 1) % CONSERVE_ENTRY != 0) {
		c->counters.malformed++;
		return -EBADMSG;
	}
	c->links[edge].heard_ns = now_ns;
	c->links[edge].alive = true;
	c->counters.letters_heard++;
	for (const uint8_t *at = buf + 1; at < buf + len; at += CONSERVE_ENTRY)
		news += hear_entry(c, edge, now_ns, at);
	return news;
}
