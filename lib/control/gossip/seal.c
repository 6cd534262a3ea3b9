/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gossip/seal.h"

uint8_t seal_oldest(const struct gossip *g)
{
	return keyring_requires_identities(g->keyring) ? DATAGRAM_VERSION : DATAGRAM_OLDEST;
}

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
 * How to speak to one that has said nothing yet: each way at times, as it may read but one and wait
 * for our word (a tree's parent does).
 */
static struct peer_speaks first_words(struct gossip *g)
{
	uint32_t bits = draw_bits(g);
	bool old = seal_oldest(g) < DATAGRAM_VERSION && bits & 1;

	return (struct peer_speaks){
		.version = old ? DATAGRAM_OLDEST : DATAGRAM_VERSION, .identity = bits & 2};
}

/*
 * The gaps between counters of format 1 are what the random bits of format 2 are: no two copies of
 * a machine go on with the same ones. A message is of format 2 in any case: one that does not read
 * it is told nothing.
 */
struct datagram_header seal_header(struct gossip *g, struct peer_speaks speaks, uint8_t flags)
{
	struct peer_speaks how = speaks.version ? speaks : first_words(g);
	struct datagram_header header = {
		.version = flags & DATAGRAM_MESSAGE ? DATAGRAM_VERSION : how.version,
		.flags = flags,
		.newest = DATAGRAM_VERSION,
		.oldest = seal_oldest(g),
		.sender = g->roster->ids[g->self],
		.epoch = g->epoch};
	uint32_t bits = draw_bits(g);

	g->counter++;
	if (header.version == 1)
		g->counter += bits;
	else
		header.random = bits;
	header.counter = g->counter;
	if (g->keyring && header.version != 1) {
		header.key = keyring_name(g->keyring, how.identity);
		if (keyring_has_identities(g->keyring))
			header.flags |= DATAGRAM_IDENTITY;
	}
	return header;
}

size_t seal_datagram(struct gossip *g, uint8_t *buf, size_t len,
	const struct datagram_header *header, unsigned to)
{
	if (g->keyring)
		len = datagram_seal(buf, len,
			header->version == 1 ? keyring_group(g->keyring, 0)
					     : keyring_find(g->keyring, to, header->key));
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

/* The key that the datagram says it is sealed with; of format 1 the one that fits, or any. */
static const uint8_t *opening_key(const struct gossip *g, const struct datagram_header *header,
	const uint8_t *buf, size_t len)
{
	const uint8_t *first, *second;

	if (header->version != 1)
		return keyring_find(
			g->keyring, roster_find(g->roster, header->sender), header->key);
	first = keyring_group(g->keyring, 0);
	second = keyring_group(g->keyring, 1);
	return second && !datagram_fits(buf, len, first) ? second : first;
}

enum gossip_verdict seal_open(
	const struct gossip *g, const struct datagram_header *header, uint8_t *buf, size_t *len)
{
	const uint8_t *key;
	int opened;

	if (!g->keyring)
		return GOSSIP_ACCEPTED;
	key = opening_key(g, header, buf, *len);
	if (!key)
		return GOSSIP_NO_KEY;
	opened = datagram_open(buf, *len, key);
	if (opened < 0)
		return GOSSIP_FORGED;
	*len = (size_t)opened;
	return GOSSIP_ACCEPTED;
}
