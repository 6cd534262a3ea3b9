/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides if a datagram of any kind comes from its sender's present start (see membership.h). The
 * estimators and gossip.c keep separate state of a peer: each needs its own proof of an epoch.
 */
#ifndef WEIR_GOSSIP_PROOF_H
#define WEIR_GOSSIP_PROOF_H

#include "gossip/estimator.h"

/* --- seal ------------------------------------------------------------------------------------- */

/* Format and key of a datagram to a limiter, or from one. Private to lib/control/gossip. */

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

/*
 * Returns the fixed part of a body to a peer with this state (or NULL). It echoes the accepted
 * epoch, in turns with the claimed ones. Sets *`speaks` to the abilities that the peer has reported
 * in that epoch.
 */
struct datagram_body proof_body(
	const struct gossip *g, unsigned to, struct peer *peer, struct peer_speaks *speaks);

/* Like proof_body(), but echoes claimed epochs only while none is accepted. */
struct datagram_body proof_body_accepted(
	const struct gossip *g, unsigned to, struct peer *peer, struct peer_speaks *speaks);

/* Returns the ticks to wait for a claim, or for an echo. */
uint32_t proof_ticks(const struct gossip *g);

/* Returns the ticks since we sent the echoed one, or UINT32_MAX if the body echoes none of ours. */
uint32_t proof_age(const struct gossip *g, const struct datagram_body *body);

/*
 * Returns GOSSIP_ACCEPTED if the datagram's epoch is, or has just been proven to be, its sender's
 * present one: the caller then accepts a new epoch. Otherwise returns GOSSIP_REPLAY, or
 * GOSSIP_UNPROVEN and notes the epoch as claimed. Reports by others about an epoch are no proof
 * that the datagram is for our present start.
 */
enum gossip_verdict proof_of_epoch(struct gossip *g, struct peer *peer,
	const struct datagram_header *header, const struct datagram_body *body);

/*
 * Notes an echo in a fresh datagram of a proven start. If a peer echoes ever later ticks of another
 * start of this limiter, and none of ours, another limiter uses our name.
 */
void proof_note_echo(struct gossip *g, struct peer *peer, const struct datagram_body *body);

/* Returns true if this is the peer's accepted epoch, proven by a datagram of its own. */
static inline bool proof_is_accepted(const struct peer *peer, uint64_t epoch)
{
	return peer->known && peer->proven && peer->epoch == epoch;
}

#endif
