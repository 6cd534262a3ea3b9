/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip/seal.h"

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
