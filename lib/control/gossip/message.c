/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every message echoes the start that it was written for. A message that does not echo our present
 * start is not delivered, but answered, once a tick, with an empty one. The answer gives its sender
 * our epoch. So the next message is proof, if its sender is alive and not a recording. If gossip
 * has already brought each side the other's epoch, no such exchange is needed.
 */
#include "gossip/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gossip/proof.h"
#include "gossip/seal.h"

void messages_destroy(struct gossip *g)
{
	for (unsigned i = 0; g->correspondents && i < g->roster->n; i++)
		free(g->correspondents[i]);
	free(g->correspondents);
}

int messages_regroup(const struct gossip *g, const struct regroup *map, struct correspondent ***out)
{
	*out = NULL;
	if (g->correspondents)
		*out = regroup_rows(g, map, g->correspondents, 1, sizeof(**out));
	return g->correspondents && !*out ? -ENOMEM : 0;
}

void messages_commit(struct gossip *g, const struct regroup *map, struct correspondent **moved)
{
	for (unsigned i = 0; moved && i < map->roster->n; i++)
		if (moved[i])
			g->correspondents[map->from[i]] = NULL;
	for (unsigned i = 0; moved && i < g->roster->n; i++)
		g->n_answers -= g->correspondents[i] && g->correspondents[i]->answer;
	messages_destroy(g);
	g->correspondents = moved;
}

/* Created when the first authentic message arrives; NULL: out of memory. */
static struct correspondent *correspondent_of(struct gossip *g, unsigned from)
{
	if (!g->correspondents)
		g->correspondents = calloc(g->roster->n, sizeof(struct correspondent *));
	if (!g->correspondents)
		return NULL;
	if (!g->correspondents[from])
		g->correspondents[from] = calloc(1, sizeof(**g->correspondents));
	return g->correspondents[from];
}

static void answer_is_due(struct gossip *g, struct correspondent *c, bool due)
{
	g->n_answers += (unsigned)due - (unsigned)c->answer;
	c->answer = due;
}

/* Checks that this message was written for our present start, by a present one. */
static enum gossip_verdict check_epochs(struct gossip *g, struct peer *peer,
	const struct datagram_header *header, const struct datagram_body *body)
{
	enum gossip_verdict verdict = proof_of_epoch(g, peer, header, body);

	return verdict == GOSSIP_ACCEPTED && body->echo_epoch != g->epoch ? GOSSIP_UNPROVEN
									  : verdict;
}

enum gossip_verdict message_take(struct gossip *g, unsigned from,
	const struct datagram_header *header, const struct datagram_body *body, uint64_t now_ns)
{
	struct correspondent *c = correspondent_of(g, from);
	enum gossip_verdict verdict;

	if (!c)
		return GOSSIP_NO_ROOM;
	verdict = check_epochs(g, &c->peer, header, body);
	if (verdict == GOSSIP_UNPROVEN)
		answer_is_due(g, c, true);
	if (verdict != GOSSIP_ACCEPTED)
		return verdict;
	if (!proof_is_accepted(&c->peer, header->epoch)) {
		peer_accept(&c->peer, header->epoch, body->tick, now_ns);
		c->peer.replaced_tick = g->tick;
		peer_proven(&c->peer, header->counter);
		answer_is_due(g, c, true); /* the peer might not accept us yet */
	}
	if (!peer_counter_fresh(&c->peer, header->counter))
		return GOSSIP_REPLAY;
	c->peer.speaks = seal_spoken(header);
	if (proof_age(g, body) != UINT32_MAX)
		peer_echoed(&c->peer, body->echo_tick);
	if (header->counter == c->peer.counter)
		peer_spoke(&c->peer, body->tick, g->tick, now_ns);
	return GOSSIP_MESSAGE;
}

size_t gossip_message_room(const struct gossip *g)
{
	return g->datagram_max - DATAGRAM_MIN - seal_tag(g);
}

uint8_t *gossip_message_at(uint8_t *buf)
{
	return buf + DATAGRAM_MIN;
}

/*
 * Returns the body of a message, with its echo. Answers also echo claimed epochs. Other messages
 * echo the accepted epoch if there is one, so that a recording cannot make them fail.
 */
static struct datagram_body echo_to(
	const struct gossip *g, unsigned to, bool answer, struct peer_speaks *speaks)
{
	struct correspondent *c = g->correspondents ? g->correspondents[to] : NULL;
	struct peer *gossiped = g->estimator->find(g, to);

	if (!c || (!answer && !c->peer.known && gossiped))
		return proof_body(g, to, gossiped, speaks);
	if (answer)
		return proof_body(g, to, &c->peer, speaks);
	return proof_body_accepted(g, to, &c->peer, speaks);
}

static size_t seal_message(struct gossip *g, uint8_t *buf, size_t len, unsigned to, bool answer)
{
	struct cursor cursor = {.at = buf, .end = buf + g->datagram_max};
	struct peer_speaks speaks;
	struct datagram_body body = echo_to(g, to, answer, &speaks);
	struct datagram_header header = seal_header(
		g, speaks, (g->flags & DATAGRAM_SEALED) | DATAGRAM_MESSAGE);

	datagram_write_header(&cursor, &header);
	datagram_write_body(&cursor, &body);
	return seal_datagram(g, buf, DATAGRAM_MIN + len, &header, to);
}

size_t gossip_seal_message(struct gossip *g, uint8_t *buf, size_t len, unsigned to)
{
	return seal_message(g, buf, len, to, false);
}

size_t gossip_answer(struct gossip *g, uint8_t *buf, unsigned *to)
{
	for (unsigned i = 0; g->n_answers > 0 && i < g->roster->n; i++) {
		struct correspondent *c = g->correspondents[i];

		if (!c || !c->answer || c->answered == g->tick)
			continue;
		answer_is_due(g, c, false);
		c->answered = g->tick;
		*to = i;
		return seal_message(g, buf, 0, i, true);
	}
	return 0;
}

struct gossip_message gossip_message(const struct gossip *g, const uint8_t *buf, size_t len)
{
	struct cursor cursor = {.at = (uint8_t *)(uintptr_t)buf, .end = NULL};
	struct datagram_header header;

	cursor.end = cursor.at + len;
	datagram_read_header(&cursor, &header);
	return (struct gossip_message){
		.from = roster_find(g->roster, header.sender),
		.at = buf + DATAGRAM_MIN,
		.len = len - DATAGRAM_MIN - seal_tag(g),
	};
}
