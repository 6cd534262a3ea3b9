/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages to neighbours. One is a head (book/book.c), and entries of CONSERVE_ENTRY bytes,
 * big-endian:
 *
 *        0      8  id of the policy
 *        8      8  check of its name
 *       16      1  flags: 1, an answer is due; 2, q is the amount requested from you, see
 *                  rate_asks(); 4, it is for a debt; times 8, the hops of the request
 *       17     88  the ledger's statement
 *      105      8  q, and
 *      113      8  gain, as in struct gdrl_statement: IEEE 754 doubles
 *      121      8  terms, see struct rate_terms; 0: the policy is gone here
 *      129      4  unit
 *      133      8  limit,
 *      141      8  burst, and
 *      149      4  number of limiters
 *
 * A limiter that has no policies, or no identity of its ledger, sends one without entries. A policy
 * is sent when there is news of it or a neighbour requests it. With the room that is left, it is
 * sent to a neighbour that has not confirmed it. A digest renews its lease in time, see digest.c.
 */
#include <errno.h>
#include <math.h>

#include "base/bitmap.h"
#include "base/math.h"
#include "base/wire.h"
#include "conserve/conserve_private.h"
#include "ledger/ledger.h"

#define ANSWER CONSERVE_ANSWER
#define ASKS   2
#define DEBT   4

#define HOPS_SHIFT 3

/* To one neighbour in one tick; the others wait, and are first in the next. */
#define MESSAGES 8

/* True if the neighbour has an old hint, or is due another request. */
static bool has_hint(
	const struct conserve *c, const struct rate_account *a, unsigned edge, uint64_t since_ns)
{
	const struct rate_edge *e = &a->edges[edge];
	uint64_t asks = rate_asks(c, a, edge).amount;

	if (asks > 0 && since_ns >= c->params.lease_ns / RENEWALS)
		return true;
	if ((asks > 0) != e->sent_asks)
		return true;
	if (!c->links[edge].in_use)
		return false;
	return !(fabs(rate_state(c, a).q - e->sent_q) <=
		 (a->policy.indicator ? fabs(e->sent_q) / GRAIN_PART : (double)a->grain));
}

bool rate_look(struct conserve *c, struct rate_account *a, uint64_t now_ns)
{
	bool waits = false;

	for (unsigned e = 0; e < c->book.n_edges; e++) {
		const struct rate_edge *edge = &a->edges[e];
		uint64_t since = now_ns > edge->sent_ns ? now_ns - edge->sent_ns : 0;
		bool due = rate_is_unconfirmed(a, e) || has_hint(c, a, e, since);

		waits |= due || edge->sent_asks;
		if (due && since >= c->params.repeat_ns)
			rate_stale(c, a, e);
	}
	return waits;
}

/* Half of the time is for lost messages, and for news. */
bool conserve_leases_last(const struct conserve *c)
{
	uint64_t messages = c->params.lease_ns / 2 / (c->params.repeat_ns + 1) * MESSAGES;

	return c->book.n <= messages * c->per_message;
}

#define AT_HINTS (CONSERVE_AT_STATEMENT + LEDGER_STATEMENT_BYTES)
#define AT_TERMS (AT_HINTS + 16)

_Static_assert(AT_TERMS + RATE_TERMS_BYTES == CONSERVE_ENTRY, "an entry ends with its terms");

static struct rate_terms read_terms(const uint8_t *at)
{
	struct rate_terms terms;

	at = wire_get32(wire_get64(at, &terms.terms), &terms.unit);
	wire_get32(wire_get64(wire_get64(at, &terms.limit), &terms.burst), &terms.n);
	return terms;
}

/* Writes the entry of an account. Returns its length, or 0 before the first record. */
static size_t write_entry(
	struct conserve *c, struct rate_account *a, unsigned edge, uint64_t now_ns, uint8_t *at)
{
	struct rate_edge *e = &a->edges[edge];
	struct rate_terms terms = rate_own_terms(c, a);
	struct gdrl_statement state = rate_state(c, a);
	struct rate_ask asks = rate_asks(c, a, edge);
	struct ledger_statement statement;

	if (ledger_is_mute(a->ledger))
		return 0;
	e->sent_ns = now_ns;
	e->hinted |= e->sent_q != state.q;
	e->sent_q = state.q;
	e->sent_asks = asks.amount > 0;
	if (asks.amount > 0)
		state.q = (double)asks.amount;
	wire_put64(wire_put64(at, a->book.id), a->book.check);
	at[CONSERVE_AT_FLAGS] = (rate_is_unconfirmed(a, edge) ? ANSWER : 0) |
				(asks.amount > 0 ? ASKS : 0) |
				(ledger_balance(a->ledger) < 0 ? DEBT : 0) |
				asks.hops << HOPS_SHIFT;
	ledger_state(a->ledger, edge, now_ns, &statement);
	/* An old record promises amounts that others hold, and lacks later inheritances. */
	if (a->waits) {
		statement.promised = statement.granted;
		if (statement.echo_epoch > 0)
			statement.echo_stamp = 0; /* renews no lease */
	}
	if (c->book.links[edge].doubt == BOOK_TWICE)
		statement.known_count = LEDGER_TWICE;
	ledger_statement_write(&statement, at + CONSERVE_AT_STATEMENT);
	wire_put_double(wire_put_double(at + AT_HINTS, state.q), state.gain);
	rate_write_terms(&terms, at + AT_TERMS);
	digest_sent(c, a, edge, digest_entry(at));
	c->counters.statements_sent++;
	return CONSERVE_ENTRY;
}

/* Writes entries, first those with news. Returns the length of the message. */
static size_t write_entries(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_link *link = &c->links[edge];
	size_t len = BOOK_HEAD;

	while (len + CONSERVE_ENTRY <= room) {
		struct rate_queue *queue = TAILQ_EMPTY(&link->due) ? &link->stale : &link->due;
		struct rate_account *a = TAILQ_FIRST(queue);

		if (!a)
			break;
		TAILQ_REMOVE(queue, a, edges[edge].next_due);
		a->edges[edge].due = a->edges[edge].stale = false;
		len += write_entry(c, a, edge, now_ns, buf + len);
	}
	return len;
}

/* Writes the body of a message: entries, the tick's digest or a request. Returns 0 for none. */
static size_t write_body(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_link *link = &c->links[edge];
	size_t len;

	if (link->messages < MESSAGES) {
		len = write_entries(c, edge, now_ns, buf, room);
		if (len > BOOK_HEAD) {
			book_write_head(&c->book, CONSERVE_MESSAGE, buf);
			return len;
		}
	}
	if (link->digest) {
		link->digest = false;
		len = digest_write(c, edge, now_ns, buf, room);
		if (len > 0)
			return len;
	}
	return digest_request(c, edge, buf, room);
}

/* Length of the next message to a neighbour, or 0. */
static size_t conserve_write_message(
	struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct rate_link *link = &c->links[edge];
	struct book_link *known = &c->book.links[edge];
	const bool identity = book_identity_known(c->book.identity);
	/*
	 * After this time without a message, an empty one is due. A limiter that has lost its
	 * memory waits for others to receive it.
	 */
	const uint64_t silence_ns = identity ? c->params.lease_ns / RENEWALS : c->params.repeat_ns;
	size_t len = 0;

	if (identity)
		len = write_body(c, edge, now_ns, buf, room);
	if (len == 0 && now_ns - known->sent_ns >= silence_ns) {
		book_write_head(&c->book, CONSERVE_MESSAGE, buf);
		len = BOOK_HEAD;
	}
	if (len == 0)
		return 0;
	link->messages++;
	known->sent_ns = now_ns;
	c->counters.messages_sent++;
	return len;
}

size_t conserve_send(struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	size_t len;

	if (c->book.held)
		return 0;
	c->per_message = (unsigned)((room - BOOK_HEAD) / CONSERVE_ENTRY);
	for (; c->sending < c->book.n_edges; c->sending++) {
		if (c->book.links[c->sending].peer == BOOK_NO_PEER)
			continue;
		len = conserve_write_message(c, c->sending, now_ns, buf, room);
		if (len == 0)
			continue;
		*peer = c->book.links[c->sending].peer;
		return len;
	}
	c->sending = 0;
	return 0;
}

static void accept_hints(struct conserve *c, struct rate_account *a, unsigned edge,
	const uint8_t *at, enum ledger_verdict verdict)
{
	struct rate_edge *e = &a->edges[edge];
	struct gdrl_statement state;

	if (verdict != LEDGER_NEWS && verdict != LEDGER_HEARD)
		return;
	wire_get_double(wire_get_double(at + AT_HINTS, &state.q), &state.gain);
	if (gdrl_receive(&e->neighbour, &state)) {
		e->asked = at[CONSERVE_AT_FLAGS] & ASKS ? state.q : 0;
		e->asked_hops = at[CONSERVE_AT_FLAGS] >> HOPS_SHIFT;
		e->in_debt = at[CONSERVE_AT_FLAGS] & DEBT;
		if (at[CONSERVE_AT_FLAGS] & ASKS)
			e->neighbour.reported.q = 0; /* paid separately; see rate_pay() */
	}
	if (verdict == LEDGER_NEWS || at[CONSERVE_AT_FLAGS] & ANSWER)
		rate_due(c, a, edge);
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

/* Returns false if the message can be from another limiter with the neighbour's name. */
static bool sender_is_certain(struct conserve *c, struct rate_account *a, unsigned edge,
	const struct ledger_statement *statement)
{
	enum book_doubt doubt = c->book.links[edge].doubt;

	/* The answer does not confirm the sender's record, so that a start waits on. */
	if (doubt >= BOOK_RIVAL)
		rate_due(c, a, edge);
	return doubt == BOOK_SURE || (doubt == BOOK_YOUNG && statement->epoch > 0);
}

/* Returns true if the limit or burst in use falls, or rises again. */
static bool take_terms(struct conserve *c, struct rate_account *a, unsigned edge,
	const struct rate_terms *terms, const struct ledger_statement *statement)
{
	struct rate_edge *e = &a->edges[edge];
	const bool recovering = statement->epoch == 0;
	const bool newest = recovering || statement->epoch > e->reported_epoch ||
			    (statement->epoch == e->reported_epoch &&
				    statement->stamp > e->reported_stamp);

	if (!newest)
		return false;
	e->reported = *terms;
	e->has_reported = true;
	if (!recovering) {
		e->reported_epoch = statement->epoch;
		e->reported_stamp = statement->stamp;
	}
	if (!rate_go_by_least(c, a))
		return false;
	rate_due_to_all(c, a);
	return true;
}

/*
 * Rejects a statement with other terms, but counts it, and uses its limit if that is less. Returns
 * true if the limit or burst in use has changed.
 */
static bool refuse_entry(struct conserve *c, struct rate_account *a, unsigned edge,
	const struct rate_terms *terms, const struct ledger_statement *statement)
{
	bool news = take_terms(c, a, edge, terms, statement);

	c->counters.differing++;
	a->edges[edge].neighbour.fresh = false;
	a->edges[edge].asked = 0;
	rate_stir(c, a);
	book_changed(&c->book, &a->book);
	if (news)
		rate_has_news(c, a);
	return news;
}

static bool terms_apart(
	const struct conserve *c, const struct rate_account *a, const struct rate_terms *terms)
{
	struct rate_terms own = rate_own_terms(c, a);

	return own.terms && terms->terms && (own.terms != terms->terms || own.unit != terms->unit);
}

/*
 * Counts a verdict on a statement, and lets its changes be committed. Returns true if it has closed
 * the account, or all.
 */
static bool count_verdict(struct conserve *c, struct rate_account *a, unsigned edge,
	uint64_t now_ns, enum ledger_verdict verdict)
{
	book_changed(&c->book, &a->book);
	c->counters.verdicts[verdict]++;
	if (verdict == LEDGER_DENIED && a->book.born) {
		rate_lose(c, a);
		return true;
	}
	if (verdict == LEDGER_DENIED || verdict == LEDGER_TWIN) {
		conserve_lose(c, verdict == LEDGER_TWIN ? BOOK_NAME_TWICE : BOOK_OLDER_STORE);
		return true;
	}
	if (verdict == LEDGER_INVALID) {
		book_invalid(&c->book, edge);
		rate_due(c, a, edge); /* the answer shows an old record to its sender */
	}
	(void)rate_waits(c, a, now_ns);
	if (verdict == LEDGER_NEWS || verdict == LEDGER_HEARD)
		book_note_received(&c->book, edge, now_ns);
	return false;
}

static bool receive_entry(struct conserve *c, unsigned edge, uint64_t now_ns, const uint8_t *at)
{
	struct ledger_statement statement;
	enum ledger_verdict verdict = LEDGER_INVALID;
	struct rate_account *a;
	struct rate_terms terms = read_terms(at + AT_TERMS);
	uint64_t id, check;
	bool recovering, valid, news = false;

	wire_get64(wire_get64(at, &id), &check);
	a = (struct rate_account *)book_find_named(&c->book, edge, id, check);
	if (!a) {
		c->counters.unknown++;
		return false;
	}
	valid = ledger_statement_read(
			&statement, at + CONSERVE_AT_STATEMENT, LEDGER_STATEMENT_BYTES) == 0;
	if (valid && !sender_is_certain(c, a, edge, &statement))
		return false;
	if (valid && terms_apart(c, a, &terms))
		return refuse_entry(c, a, edge, &terms, &statement);
	recovering = ledger_recovering(a->ledger);
	if (valid)
		verdict = ledger_receive(a->ledger, edge, now_ns, &statement);
	/* Terms sent to an earlier start of ours can be older than the ones that it received. */
	if ((verdict == LEDGER_NEWS || verdict == LEDGER_HEARD) &&
		(!a->restored || ledger_is_echoed(a->ledger, &statement)))
		news = take_terms(c, a, edge, &terms, &statement);
	news |= verdict == LEDGER_NEWS;
	rate_stir(c, a);
	if (count_verdict(c, a, edge, now_ns, verdict))
		return true;
	if (verdict == LEDGER_NEWS || verdict == LEDGER_HEARD)
		digest_received(c, a, edge, digest_entry(at));
	accept_hints(c, a, edge, at, verdict);
	/* A new store counts its starts from one again: the answer shows that. */
	if (verdict == LEDGER_OLD && at[CONSERVE_AT_FLAGS] & ANSWER)
		rate_due(c, a, edge);
	if (verdict == LEDGER_NEWS && recovering)
		rate_due_to_all(c, a); /* its statements to all have changed */
	if (news)
		rate_has_news(c, a);
	return news;
}

/* A statement that repeats the last one. */
static unsigned receive_repeat(struct conserve *c, struct rate_account *a, unsigned edge,
	uint64_t now_ns, uint64_t stamp, uint64_t echo)
{
	enum ledger_verdict verdict = ledger_receive_repeat(a->ledger, edge, now_ns, stamp, echo);

	if (verdict == LEDGER_OLD)
		return 0;
	if (count_verdict(c, a, edge, now_ns, verdict))
		return 1;
	a->edges[edge].reported_stamp = max_u64(a->edges[edge].reported_stamp, stamp);
	if (verdict != LEDGER_NEWS)
		return 0;
	rate_stir(c, a);
	rate_due(c, a, edge);
	rate_has_news(c, a);
	return 1;
}

static int receive_digest(
	struct conserve *c, unsigned edge, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	struct rate_link *link = &c->links[edge];
	unsigned bits = len > DIGEST_AT_BITS ? buf[DIGEST_AT_BITS] : DIGEST_BITS + 1;
	struct rate_account *a;
	uint64_t stamp, echo, sum;
	uint16_t bucket;
	int news = 0;

	if (len < DIGEST_AT_SUMS || (len - DIGEST_AT_SUMS) % DIGEST_SUM != 0 || bits > DIGEST_BITS)
		return -EBADMSG;
	if (c->book.links[edge].doubt == BOOK_RIVAL || c->book.links[edge].doubt == BOOK_TWICE)
		return 0;
	wire_get64(wire_get64(buf + DIGEST_AT_STAMP, &stamp), &echo);
	for (const uint8_t *at = buf + DIGEST_AT_SUMS; at < buf + len; at += DIGEST_SUM) {
		struct digest_range range;
		bool same;

		wire_get64(wire_get16(at, &bucket), &sum);
		range = digest_range(bucket & ((1U << bits) - 1), bits);
		same = digest_sum(link->received, range) == sum;
		for (unsigned b = range.first; b < range.end; b++) {
			if (!same)
				bitmap_set(link->missed, b);
			else
				TAILQ_FOREACH(a, &c->buckets[b], next_in_bucket)
				{
					/* Accounts of a bucket are far apart in memory. */
					__builtin_prefetch(TAILQ_NEXT(a, next_in_bucket));
					news += (int)receive_repeat(
						c, a, edge, now_ns, stamp, echo);
				}
		}
	}
	return news;
}

static int receive_entries(
	struct conserve *c, unsigned edge, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	int news = 0;

	if ((len - BOOK_HEAD) % CONSERVE_ENTRY != 0)
		return -EBADMSG;
	for (const uint8_t *at = buf + BOOK_HEAD; at < buf + len; at += CONSERVE_ENTRY)
		news += receive_entry(c, edge, now_ns, at);
	return news;
}

int conserve_receive(
	struct conserve *c, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	unsigned edge = book_edge(&c->book, from);
	uint8_t kind = len > 0 ? buf[0] : 0;
	int ret;

	if (edge == c->book.n_edges)
		return -ENOENT;
	if (c->book.held)
		return 0;
	ret = book_read_head(
		&c->book, edge, conserve_is_kind(kind) ? kind : CONSERVE_MESSAGE, buf, len);
	if (ret == 0) {
		c->counters.messages_received++;
		c->links[edge].received_ns = now_ns;
		if (kind == CONSERVE_DIGEST)
			ret = receive_digest(c, edge, now_ns, buf, len);
		else if (kind == CONSERVE_REQUEST)
			ret = digest_requested(c, edge, buf, len);
		else
			ret = receive_entries(c, edge, now_ns, buf, len);
	}
	c->counters.malformed += ret == -EBADMSG;
	return ret;
}
