/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides if a datagram of any kind comes from its sender's present start (see membership.h).
 */
#include "gossip/proof.h"

struct peer_speaks seal_spoken(const struct datagram_header *header)
{
	uint8_t newest = header->newest > header->version ? header->newest : header->version;

	return (struct peer_speaks){
		.version = newest < DATAGRAM_VERSION ? newest : DATAGRAM_VERSION,
		.identity = header->flags & DATAGRAM_IDENTITY};
}

static uint32_t draw_bits(struct gossip *g)
{
	return g->random_bits ? g->random_bits() : (uint32_t)prng_next(&g->bits);
}

/*
 * A peer without a report yet gets datagrams of the oldest format, sealed with identities and
 * without them by turns. It might open only one kind, and wait for a datagram first (a tree's
 * parent does).
 */
struct datagram_header seal_header(struct gossip *g, struct peer_speaks speaks, uint8_t flags)
{
	bool identity = speaks.version ? speaks.identity : draw_bits(g) & 2;
	struct datagram_header header = {
		.version = speaks.version ? speaks.version : DATAGRAM_OLDEST,
		.flags = flags,
		.newest = DATAGRAM_VERSION,
		.oldest = DATAGRAM_OLDEST,
		.sender = g->roster->ids[g->self],
		.epoch = g->epoch,
		.counter = ++g->counter,
		.random = draw_bits(g)};

	if (g->keyring) {
		header.key = keyring_name(g->keyring, identity);
		if (keyring_has_identities(g->keyring))
			header.flags |= DATAGRAM_IDENTITY;
	}
	return header;
}

size_t seal_datagram(struct gossip *g, uint8_t *buf, size_t len,
	const struct datagram_header *header, unsigned to)
{
	if (g->keyring)
		len = datagram_seal(buf, len, keyring_find(g->keyring, to, header->key));
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

enum gossip_verdict seal_open(
	const struct gossip *g, const struct datagram_header *header, uint8_t *buf, size_t *len)
{
	const uint8_t *key;
	int opened;

	if (!g->keyring)
		return GOSSIP_ACCEPTED;
	key = keyring_find(g->keyring, roster_find(g->roster, header->sender), header->key);
	if (!key)
		return GOSSIP_NO_KEY;
	opened = datagram_open(buf, *len, key);
	if (opened < 0)
		return GOSSIP_FORGED;
	*len = (size_t)opened;
	return GOSSIP_ACCEPTED;
}

/* More echoes than can overtake the first datagrams of a start. */
#define ECHOES_OF_OTHERS 3

uint32_t proof_ticks(const struct gossip *g)
{
	uint64_t ticks = g->estimator->silence(g) / g->tick_ns + 2; /* also if that is 0 ticks */

	return ticks < INT32_MAX ? (uint32_t)ticks : INT32_MAX;
}

static struct datagram_body echo_of(const struct gossip *g, unsigned to, struct peer *peer,
	bool claims, struct peer_speaks *speaks)
{
	struct datagram_body body = {.receiver = g->roster->ids[to], .tick = g->tick};
	const struct peer_claim *claim = NULL;

	*speaks = (struct peer_speaks){0};
	if (!peer)
		return body;
	if (claims || !peer->known)
		claim = peer_next_claim(peer, g->tick, proof_ticks(g));
	if (claim || peer->known) {
		body.echo_epoch = claim ? claim->epoch : peer->epoch;
		body.echo_tick = claim ? claim->tick
				       : peer_echo_tick(peer, g->tick, proof_ticks(g) / 2);
		*speaks = claim ? claim->speaks : peer->speaks;
	}
	return body;
}

struct datagram_body proof_body(
	const struct gossip *g, unsigned to, struct peer *peer, struct peer_speaks *speaks)
{
	bool claims = peer && peer->echo_claim;

	if (peer)
		peer->echo_claim = !peer->echo_claim;
	return echo_of(g, to, peer, claims, speaks);
}

struct datagram_body proof_body_accepted(
	const struct gossip *g, unsigned to, struct peer *peer, struct peer_speaks *speaks)
{
	return echo_of(g, to, peer, false, speaks);
}

uint32_t proof_age(const struct gossip *g, const struct datagram_body *body)
{
	if (body->echo_epoch != g->epoch || serial_newer(body->echo_tick, g->tick))
		return UINT32_MAX;
	return g->tick - body->echo_tick;
}

/* Returns true if the echo is recent, and newer than all echoes of any start of this peer. */
static bool echo_is_new(const struct gossip *g, const struct peer *peer, uint32_t age)
{
	if (age == UINT32_MAX || age * g->tick_ns >= g->estimator->silence(g))
		return false;
	return !peer->has_echoed || age < g->tick - peer->echoed;
}

/*
 * A datagram of a retired start with a higher counter than before was on its way, or that start is
 * alive. It is alive if it echoes a tick of ours that is later than its retirement.
 */
static void note_rival(const struct gossip *g, struct peer *peer, struct peer_retired *retired,
	const struct datagram_header *header, const struct datagram_body *body)
{
	if (!peer->replaced || header->counter <= retired->counter)
		return;
	retired->counter = header->counter;
	peer->rival = true;
	peer->rival_tick = g->tick;
	if (proof_age(g, body) == UINT32_MAX || !serial_newer(body->echo_tick, peer->replaced_tick))
		return;
	peer->twice = true;
	peer->twice_tick = g->tick;
}

void proof_note_echo(struct gossip *g, struct peer *peer, const struct datagram_body *body)
{
	if (body->echo_epoch == 0)
		return;
	if (body->echo_epoch == g->epoch || body->echo_epoch != peer->other_epoch)
		peer->others = 0;
	else if (serial_newer(body->echo_tick, peer->other_tick))
		peer->others++;
	if (body->echo_epoch != g->epoch) {
		peer->other_epoch = body->echo_epoch;
		peer->other_tick = body->echo_tick;
	}
	if (peer->others < ECHOES_OF_OTHERS)
		return;
	g->usurped = true;
	g->usurped_tick = g->tick;
}

enum gossip_verdict proof_of_epoch(struct gossip *g, struct peer *peer,
	const struct datagram_header *header, const struct datagram_body *body)
{
	struct peer_claim claim = {
		.epoch = header->epoch, .tick = body->tick, .speaks = seal_spoken(header)};
	struct peer_retired *retired;

	if (proof_is_accepted(peer, header->epoch))
		return GOSSIP_ACCEPTED;
	if (header->epoch == 0 || header->counter == 0)
		return GOSSIP_REPLAY;
	retired = peer_find_retired(peer, header->epoch);
	if (retired) {
		note_rival(g, peer, retired, header, body);
		return GOSSIP_REPLAY;
	}
	if (echo_is_new(g, peer, proof_age(g, body)))
		return GOSSIP_ACCEPTED;
	if (!peer->known || peer->epoch != header->epoch)
		peer_claim(peer, &claim, g->tick, proof_ticks(g), &g->prng);
	return GOSSIP_UNPROVEN;
}
