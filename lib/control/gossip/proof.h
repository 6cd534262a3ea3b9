/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether a datagram is of its sender's present start (see membership.h), of whatever kind it is:
 * what the estimators know of a peer is proven and replayed apart from what message.c knows of it.
 */
#ifndef WEIR_GOSSIP_PROOF_H
#define WEIR_GOSSIP_PROOF_H

#include "gossip/estimator.h"

/*
 * The fixed part of a body to a peer, of which this is known (or NULL). It echoes the epoch that is
 * believed, or in turns with that those that are claimed; speaks is how the peer spoke in it.
 */
struct datagram_body proof_body(
	const struct gossip *g, unsigned to, struct peer *peer, struct peer_speaks *speaks);

/* Echoes what is believed, and what is claimed only while nothing is. */
struct datagram_body proof_body_believed(
	const struct gossip *g, unsigned to, struct peer *peer, struct peer_speaks *speaks);

/* The ticks for which a claim, or an echo, is waited for. */
uint32_t proof_ticks(const struct gossip *g);

/* Ticks since we sent what the body echoes, or UINT32_MAX when it echoes nothing of ours. */
uint32_t proof_age(const struct gossip *g, const struct datagram_body *body);

/*
 * Whether the datagram's epoch is, or has just been proven to be, its sender's present one.:
 * GOSSIP_ACCEPTED, and the caller begins to believe it if it is new; GOSSIP_REPLAY, or
 * GOSSIP_UNPROVEN, and it is noted as claimed. What others have told of it is no
 * proof that the datagram is for our present start.
 */
enum gossip_verdict proof_of_epoch(struct gossip *g, struct peer *peer,
	const struct datagram_header *header, const struct datagram_body *body);

/*
 * Notes an echo in a fresh datagram of a proven start. If a peer echoes ever later ticks of another
 * start of this limiter, and none of ours, another limiter uses our name.
 */
void proof_note_echo(struct gossip *g, struct peer *peer, const struct datagram_body *body);

/* Whether the peer's believed epoch is this one, by a word of its own. */
static inline bool proof_is_believed(const struct peer *peer, uint64_t epoch)
{
	return peer->known && peer->proven && peer->epoch == epoch;
}

#endif
