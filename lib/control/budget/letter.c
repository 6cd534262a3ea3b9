/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Letters to neighbours, big-endian. What all begin with is about the tree (struct tree_word):
 *
 *        0      1  BUDGET_LETTER
 *        1      1  flags, of enum tree_flag
 *        2      2  rank: edges to the root
 *        4      4  the root's id
 *        8      8  epoch of the root's start, and
 *       16      4  the number that it raises
 *       20      8  epoch of the sender's start, and
 *       28      8  its clock
 *       36      8  epoch and
 *       44      8  clock of the newest letter of the addressee's, and
 *       52      8  nanoseconds since that was heard
 *
 * Then there are messages about policies (struct quota_message), each
 *
 *        0      4  policy
 *        4      1  parts, of enum quota_part; 32, it is partial; 64, what is held is known
 *        5      8  period
 *       13      4  round
 *       17      4  answer
 *       21     40  need, urgent, asking, held, pace: 8 each
 *       61     64  the ledger's statement
 *
 * All to one neighbour at one time ride together, as far as there is room.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "budget/private.h"
#include "ledger/statement.h"

#define HEAD    60
#define MESSAGE (61 + LEDGER_STATEMENT_BYTES)

#define PARTIAL 32
#define KNOWN   64

_Static_assert(HEAD + MESSAGE <= BUDGET_LETTER_MIN, "a letter has room for a message");

static uint8_t *put16(uint8_t *at, uint16_t number)
{
	number = htobe16(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static uint8_t *put32(uint8_t *at, uint32_t number)
{
	number = htobe32(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static uint8_t *put64(uint8_t *at, uint64_t number)
{
	number = htobe64(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static const uint8_t *get16(const uint8_t *at, uint16_t *number)
{
	memcpy(number, at, sizeof(*number));
	*number = be16toh(*number);
	return at + sizeof(*number);
}

static const uint8_t *get32(const uint8_t *at, uint32_t *number)
{
	memcpy(number, at, sizeof(*number));
	*number = be32toh(*number);
	return at + sizeof(*number);
}

static const uint8_t *get64(const uint8_t *at, uint64_t *number)
{
	memcpy(number, at, sizeof(*number));
	*number = be64toh(*number);
	return at + sizeof(*number);
}

static void write_head(const struct budget *b, const struct tree_word *word, uint8_t *at)
{
	*at++ = BUDGET_LETTER;
	*at++ = word->flags;
	at = put16(at, word->route.rank);
	at = put32(at, b->overlay->ids[word->route.root]);
	at = put64(at, word->route.epoch);
	at = put32(at, word->route.seq);
	at = put64(at, word->epoch);
	at = put64(at, word->stamp);
	at = put64(at, word->echo_epoch);
	at = put64(at, word->echo_stamp);
	put64(at, word->echo_ns);
}

/* False where no limiter of this roster says such a thing. */
static bool read_head(const struct budget *b, const uint8_t *at, struct tree_word *word)
{
	uint32_t root;

	at++;
	word->flags = *at++;
	at = get16(at, &word->route.rank);
	at = get32(at, &root);
	at = get64(at, &word->route.epoch);
	at = get32(at, &word->route.seq);
	at = get64(at, &word->epoch);
	at = get64(at, &word->stamp);
	at = get64(at, &word->echo_epoch);
	at = get64(at, &word->echo_stamp);
	get64(at, &word->echo_ns);
	word->route.root = overlay_position(b->overlay, root);
	return word->route.root < b->params.n && (word->flags & ~TREE_FLAGS) == 0 &&
	       word->epoch > 0 && word->epoch <= LEDGER_MOST && word->route.epoch > 0 &&
	       word->route.epoch <= LEDGER_MOST && word->echo_epoch <= LEDGER_MOST;
}

static void write_message(uint32_t id, const struct quota_message *m, uint8_t *at)
{
	at = put32(at, id);
	*at++ = (uint8_t)(m->parts | (m->partial ? PARTIAL : 0) | (m->known ? KNOWN : 0));
	at = put64(at, m->period);
	at = put32(at, m->round);
	at = put32(at, m->answer);
	at = put64(at, m->need);
	at = put64(at, m->urgent);
	at = put64(at, m->asking);
	at = put64(at, m->held);
	at = put64(at, m->pace);
	ledger_statement_write(&m->statement, at);
}

/* False where its statement is none; the rest is quota_hear()'s to judge. */
static bool read_message(const uint8_t *at, uint32_t *id, struct quota_message *m)
{
	uint8_t parts;

	at = get32(at, id);
	parts = *at++;
	m->parts = parts & ~(PARTIAL | KNOWN);
	m->partial = parts & PARTIAL;
	m->known = parts & KNOWN;
	at = get64(at, &m->period);
	at = get32(at, &m->round);
	at = get32(at, &m->answer);
	at = get64(at, &m->need);
	at = get64(at, &m->urgent);
	at = get64(at, &m->asking);
	at = get64(at, &m->held);
	at = get64(at, &m->pace);
	return ledger_statement_read(&m->statement, at, LEDGER_STATEMENT_BYTES) == 0;
}

/* Length of the next letter to a neighbour, or 0. */
static size_t write_letter(
	struct budget *b, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	struct quota_message message;
	struct tree_word word;
	size_t len = HEAD;

	for (unsigned i = 0; i < b->n_stirred && len + MESSAGE <= room; i++) {
		struct pot *pot = b->stirred[i];

		if (!quota_next_to(pot->quota, now_ns, edge, &message))
			continue;
		write_message(pot->policy.id, &message, buf + len);
		len += MESSAGE;
		b->counters.messages_sent++;
	}
	if (len == HEAD && !tree_speaks(b, edge, now_ns))
		return 0;
	word = tree_say(b, edge, now_ns);
	write_head(b, &word, buf);
	b->counters.letters_sent++;
	return len;
}

size_t budget_send(struct budget *b, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	for (; b->sending < b->n_edges; b->sending++) {
		size_t len = write_letter(b, b->sending, now_ns, buf, room);

		if (len == 0)
			continue;
		*peer = b->links[b->sending].peer;
		return len;
	}
	b->sending = 0;
	for (unsigned i = 0; i < b->n_stirred; i++)
		b->stirred[i]->stirred = false;
	b->n_stirred = 0;
	return 0;
}

static void hear_message(struct budget *b, unsigned edge, uint64_t now_ns, const uint8_t *at)
{
	struct quota_message message;
	struct pot *pot;
	uint64_t period;
	uint32_t id;

	b->counters.messages_heard++;
	if (!read_message(at, &id, &message)) {
		b->counters.malformed++;
		return;
	}
	pot = pot_find(b, id);
	if (!pot || pot->unknown) {
		b->counters.unknown++;
		return;
	}
	period = quota_view(pot->quota, now_ns).period;
	/* Nobody else tells one that is gone what time it is. */
	if (pot->gone && message.period > period)
		(void)pot_period(b, pot, message.period, now_ns);
	else if (message.period != period)
		b->counters.unknown++;
	quota_hear(pot->quota, edge, &message, now_ns);
	pot_stir(b, pot, now_ns);
}

int budget_hear(struct budget *b, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len)
{
	unsigned edge = from < b->params.n ? b->edge_of[from] : b->n_edges;
	struct tree_word word;

	if (edge == b->n_edges)
		return -ENOENT;
	if (len < HEAD || buf[0] != BUDGET_LETTER || (len - HEAD) % MESSAGE != 0 ||
		!read_head(b, buf, &word)) {
		b->counters.malformed++;
		return -EBADMSG;
	}
	b->counters.letters_heard++;
	tree_hear(b, edge, &word, now_ns);
	for (const uint8_t *at = buf + HEAD; at < buf + len; at += MESSAGE)
		hear_message(b, edge, now_ns, at);
	return 0;
}
