/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages to neighbours, big-endian. All begin with a head (book/book.c), and one about the tree:
 *
 *       17      1  flags, of enum tree_flag
 *       18      2  rank: edges to the root
 *       20      4  the root's id
 *       24      8  epoch of the root's start, and
 *       32      4  the number that it raises
 *       36      8  epoch of the sender's start, and
 *       44      8  its clock
 *       52      8  epoch and
 *       60      8  clock of the newest message of the addressee's, and
 *       68      8  nanoseconds since it was received
 *       76      8  the time, in nanoseconds since 1970, and
 *       84      1  its grade, of enum time_grade
 *
 * Then there are parts about policies (struct quota_message), each
 *
 *        0      8  id of the policy
 *        8      8  check of its name
 *       16      1  parts, of enum quota_part; 32, it is partial; 64, `held` is no guess
 *       17      8  period
 *       25      4  round
 *       29      4  answer
 *       33     40  `need`, `urgent`, `asking`, `held`, `pace`: 8 each
 *       73      4  number of limiters in `held`
 *       77     88  the ledger's statement
 *      165      8  terms, see struct unit_terms; 0: the policy is gone here
 *      173      8  total,
 *      181      4  unit, and
 *      185      4  number of limiters in the roster
 *
 * Parts to one neighbour at one time share a message, as far as there is room.
 */
#include <errno.h>

#include "base/wire.h"
#include "budget/budget_private.h"
#include "ledger/ledger.h"

#define HEAD     BUDGET_HEAD
#define AT_TERMS (BUDGET_AT_STATEMENT + LEDGER_STATEMENT_BYTES)
#define PART     BUDGET_PART

#define PARTIAL 32
#define KNOWN   64

_Static_assert(AT_TERMS + 24 == PART, "a part ends with its terms");
_Static_assert(HEAD + PART <= BUDGET_MESSAGE_MIN, "a message has room for a part");

static void write_header(const struct budget *b, const struct tree_header *header, uint8_t *at)
{
	at = book_write_head(&b->book, BUDGET_MESSAGE, at);
	*at++ = header->flags;
	at = wire_put16(at, header->route.rank);
	at = wire_put32(at, b->book.overlay->ids[header->route.root]);
	at = wire_put64(at, header->route.epoch);
	at = wire_put32(at, header->route.seq);
	at = wire_put64(at, header->epoch);
	at = wire_put64(at, header->stamp);
	at = wire_put64(at, header->echo_epoch);
	at = wire_put64(at, header->echo_stamp);
	at = wire_put64(at, header->echo_ns);
	at = wire_put64(at, header->time.time_ns);
	*at = (uint8_t)header->time.grade;
}

/* Returns false if no limiter of this roster can have sent it. */
static bool read_header(const struct budget *b, const uint8_t *at, struct tree_header *header)
{
	uint32_t root;

	at += BOOK_HEAD;
	header->flags = *at++;
	at = wire_get16(at, &header->route.rank);
	at = wire_get32(at, &root);
	at = wire_get64(at, &header->route.epoch);
	at = wire_get32(at, &header->route.seq);
	at = wire_get64(at, &header->epoch);
	at = wire_get64(at, &header->stamp);
	at = wire_get64(at, &header->echo_epoch);
	at = wire_get64(at, &header->echo_stamp);
	at = wire_get64(at, &header->echo_ns);
	at = wire_get64(at, &header->time.time_ns);
	header->time.grade = (enum time_grade) * at;
	header->route.root = overlay_position(b->book.overlay, root);
	return header->route.root < b->params.n && (header->flags & ~TREE_FLAGS) == 0 &&
	       header->time.grade < TIME_GRADES && header->epoch > 0 &&
	       header->epoch <= LEDGER_MOST && header->route.epoch > 0 &&
	       header->route.epoch <= LEDGER_MOST && header->echo_epoch <= LEDGER_MOST;
}

static void write_unit_terms(const struct unit_terms *terms, uint8_t *at)
{
	at = wire_put64(wire_put64(at, terms->terms), terms->total);
	wire_put32(wire_put32(at, terms->unit), terms->n);
}

static struct unit_terms read_unit_terms(const uint8_t *at)
{
	struct unit_terms terms;

	at = wire_get64(wire_get64(at, &terms.terms), &terms.total);
	wire_get32(wire_get32(at, &terms.unit), &terms.n);
	return terms;
}

static void write_part(const struct budget *b, const struct unit_account *a,
	const struct quota_message *m, uint8_t *at)
{
	struct unit_terms terms = unit_own_terms(b, a);

	write_unit_terms(&terms, at + AT_TERMS);
	at = wire_put64(wire_put64(at, a->book.id), a->book.check);
	*at++ = (uint8_t)(m->parts | (m->partial ? PARTIAL : 0) | (m->known ? KNOWN : 0));
	at = wire_put64(at, m->period);
	at = wire_put32(at, m->round);
	at = wire_put32(at, m->answer);
	at = wire_put64(at, m->need);
	at = wire_put64(at, m->urgent);
	at = wire_put64(at, m->asking);
	at = wire_put64(at, m->held);
	at = wire_put64(at, m->pace);
	at = wire_put32(at, m->limiters);
	ledger_statement_write(&m->statement, at);
}

/* Returns false if its statement is invalid; quota_receive() checks the rest. */
static bool read_part(const uint8_t *at, uint64_t *id, uint64_t *check, struct quota_message *m)
{
	uint8_t parts;

	at = wire_get64(wire_get64(at, id), check);
	parts = *at++;
	m->parts = parts & ~(PARTIAL | KNOWN);
	m->partial = parts & PARTIAL;
	m->known = parts & KNOWN;
	at = wire_get64(at, &m->period);
	at = wire_get32(at, &m->round);
	at = wire_get32(at, &m->answer);
	at = wire_get64(at, &m->need);
	at = wire_get64(at, &m->urgent);
	at = wire_get64(at, &m->asking);
	at = wire_get64(at, &m->held);
	at = wire_get64(at, &m->pace);
	at = wire_get32(at, &m->limiters);
	return ledger_statement_read(&m->statement, at, LEDGER_STATEMENT_BYTES) == 0;
}

/* Writes the next message to a neighbour. Returns its length, or 0. */
static size_t budget_write_message(
	struct budget *b, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct quota_message message;
	struct tree_header header;
	struct unit_account *a;
	size_t len = HEAD;

	if (!book_identity_known(b->book.identity)) {
		/* Without an identity of its ledger it sends only a head, at the usual pace. */
		if (!tree_is_due(b, edge, now_ns))
			return 0;
		(void)tree_send(b, edge, now_ns);
		book_write_head(&b->book, BUDGET_MESSAGE, buf);
		b->counters.messages_sent++;
		return BOOK_HEAD;
	}
	TAILQ_FOREACH(a, &b->ready, next_ready)
	{
		if (len + PART > room)
			break;
		if (!quota_next_to(a->quota, now_ns, edge, &message))
			continue;
		if (b->book.links[edge].doubt == BOOK_TWICE)
			message.statement.known_count = LEDGER_TWICE;
		write_part(b, a, &message, buf + len);
		len += PART;
		b->counters.parts_sent++;
	}
	if (len == HEAD && !tree_is_due(b, edge, now_ns))
		return 0;
	header = tree_send(b, edge, now_ns);
	write_header(b, &header, buf);
	b->counters.messages_sent++;
	return len;
}

size_t budget_send(struct budget *b, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	struct unit_account *a;

	if (b->book.held)
		return 0;
	for (; b->sending < b->book.n_edges; b->sending++) {
		size_t len = budget_write_message(b, b->sending, now_ns, buf, room);

		if (len == 0)
			continue;
		*peer = b->book.links[b->sending].peer;
		return len;
	}
	b->sending = 0;
	TAILQ_FOREACH(a, &b->ready, next_ready)
	a->ready = false;
	TAILQ_INIT(&b->ready);
	return 0;
}

static void take_unit_terms(struct budget *b, struct unit_account *a, unsigned edge,
	const struct tree_header *header, const uint8_t *at, uint64_t now_ns)
{
	struct unit_terms terms = read_unit_terms(at + AT_TERMS), before = a->edges[edge].reported;

	if (unit_receive_terms(&a->edges[edge], &terms, header) &&
		(terms.terms != before.terms || terms.unit != before.unit ||
			terms.total != before.total || terms.n != before.n))
		unit_reconsider_terms(b, a, now_ns);
}

/* Returns false if the message can be from another limiter with the neighbour's name. */
static bool sender_is_certain(struct budget *b, struct unit_account *a, unsigned edge,
	const struct quota_message *message)
{
	enum book_doubt doubt = b->book.links[edge].doubt;

	if (doubt >= BOOK_RIVAL) /* see sender_is_certain() in conserve/message.c */
		quota_wake_edge(a->quota, edge, false);
	return doubt == BOOK_SURE || (doubt == BOOK_YOUNG && message->statement.epoch > 0);
}

static void receive_part(struct budget *b, unsigned edge, const struct tree_header *header,
	uint64_t now_ns, const uint8_t *at)
{
	struct quota_message message;
	enum ledger_verdict verdict;
	struct unit_account *a;
	uint64_t period, id, check;

	b->counters.parts_received++;
	if (!read_part(at, &id, &check, &message)) {
		b->counters.malformed++;
		book_invalid(&b->book, edge);
		return;
	}
	a = (struct unit_account *)book_find_named(&b->book, edge, id, check);
	if (!a || a->unknown) {
		b->counters.unknown++;
		return;
	}
	if (!sender_is_certain(b, a, edge, &message)) {
		unit_wake(b, a);
		return;
	}
	take_unit_terms(b, a, edge, header, at, now_ns);
	if (a->edges[edge].apart) {
		/* Answers if the part requests a confirmation. */
		b->counters.differing++;
		if (message.parts & QUOTA_CONFIRM)
			quota_wake_edge(a->quota, edge, false);
		unit_wake(b, a);
		return;
	}
	period = quota_view(a->quota, now_ns).period;
	/* A policy that is gone has no other source of its period. */
	if (a->book.gone && message.period > period)
		(void)unit_period(b, a, message.period, now_ns);
	else if (message.period != period)
		b->counters.unknown++;
	if (!quota_receive(a->quota, edge, &message, now_ns))
		book_invalid(&b->book, edge);
	verdict = quota_denied(a->quota);
	if (verdict == LEDGER_DENIED && a->book.born)
		unit_lose(b, a, now_ns);
	else if (verdict != LEDGER_HEARD)
		budget_lose(b, verdict == LEDGER_TWIN ? BOOK_NAME_TWICE : BOOK_OLDER_STORE, now_ns);
	unit_tick(b, a, now_ns);
}

/* See book_read_head(). Wakes all accounts once the identity of the ledger has arrived. */
static int read_head(struct budget *b, unsigned edge, const uint8_t *buf, size_t len)
{
	bool known = book_identity_known(b->book.identity);
	int ret = book_read_head(&b->book, edge, BUDGET_MESSAGE, buf, len);

	for (unsigned i = 0; !known && book_identity_known(b->book.identity) && i < b->book.n; i++)
		unit_wake(b, unit_at(b, i));
	return ret;
}

int budget_receive(struct budget *b, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	unsigned edge = book_edge(&b->book, from);
	struct tree_header header;
	int ret;

	if (edge == b->book.n_edges)
		return -ENOENT;
	if (b->book.held)
		return 0;
	ret = read_head(b, edge, buf, len);
	if (ret == 0 && (len < HEAD || (len - HEAD) % PART != 0 || !read_header(b, buf, &header)))
		ret = -EBADMSG;
	b->counters.malformed += ret == -EBADMSG;
	if (ret)
		return ret;
	b->counters.messages_received++;
	tree_receive(b, edge, &header, now_ns);
	for (const uint8_t *at = buf + HEAD; at < buf + len; at += PART)
		receive_part(b, edge, &header, now_ns, at);
	return 0;
}
