/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Format and key of a datagram to a limiter, or from one. Private to lib/control/gossip.
 */
#ifndef WEIR_GOSSIP_SEAL_H
#define WEIR_GOSSIP_SEAL_H

#include "gossip/estimator.h"

/* Returns the abilities to read that the sender of an authentic datagram reports. */
struct peer_speaks seal_spoken(const struct datagram_header *header);

/* Returns the header of the next datagram to a peer with these abilities; see seal_datagram(). */
struct datagram_header seal_header(struct gossip *g, struct peer_speaks speaks, uint8_t flags);

/* Seals a datagram of len bytes with that header, and counts it as sent. Returns its length. */
size_t seal_datagram(struct gossip *g, uint8_t *buf, size_t len,
	const struct datagram_header *header, unsigned to);

/* Opens buf in place, whose header has been checked; *len is then without the tag. */
enum gossip_verdict seal_open(
	const struct gossip *g, const struct datagram_header *header, uint8_t *buf, size_t *len);

/* Bytes of the tag. */
static inline size_t seal_tag(const struct gossip *g)
{
	return g->keyring ? DATAGRAM_TAG : 0;
}

#endif
