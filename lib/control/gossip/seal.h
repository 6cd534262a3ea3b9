/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * In which format, and under which key, a datagram goes to a limiter or has come from one. Private
 * to lib/control/gossip.
 */
#ifndef WEIR_GOSSIP_SEAL_H
#define WEIR_GOSSIP_SEAL_H

#include "gossip/estimator.h"

/* What the sender of an authentic datagram says that it reads. */
struct peer_speaks seal_spoken(const struct datagram_header *header);

/* The header of the next datagram to one that speaks so; see seal_datagram(). */
struct datagram_header seal_header(struct gossip *g, struct peer_speaks speaks, uint8_t flags);

/* Seals what was written under that header, and counts it as sent. Returns its length. */
size_t seal_datagram(struct gossip *g, uint8_t *buf, size_t len,
	const struct datagram_header *header, unsigned to);

/* Opens buf in place, whose header has been checked; its length is then without the tag. */
enum gossip_verdict seal_open(
	const struct gossip *g, const struct datagram_header *header, uint8_t *buf, size_t *len);

/* Bytes of the tag. */
static inline size_t seal_tag(const struct gossip *g)
{
	return g->keyring ? DATAGRAM_TAG : 0;
}

#endif
