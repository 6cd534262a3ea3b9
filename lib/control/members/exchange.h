/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Makes the sets of members of all limiters equal, by messages over gossip. A limiter sends to each
 * watched peer whose digest is missing or differs from its own, and requests an answer. An answer
 * has the digest too, so both find out when their sets are equal. Then nothing more is sent.
 *
 * A message has entries only if the peer has reported another digest: the last changed ones first,
 * the next ones in the next message. It leaves out entries that the peer has sent with the same
 * content. After the last one the next round begins, because messages can be lost. The pause before
 * it doubles with each round in which neither set has changed, to EXCHANGE_REST_NS. The messages of
 * a round are a 16th of the pause apart, and at least `every_ns`. So two versions that never agree
 * cost little.
 *
 * All content is state that only grows: a lost, repeated or overtaken message does no harm. If the
 * watched pairs connect all limiters, the sets become equal. After the last loss and change this
 * takes at most EXCHANGE_REST_NS. Each message of a round and each hop of the longest path adds a
 * 16th of it. Without loss a change is sent within `every_ns`.
 *
 * A pure state machine: time and messages come in as arguments. One thread.
 */
#ifndef WEIR_MEMBERS_EXCHANGE_H
#define WEIR_MEMBERS_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "members/members.h"

/* First byte of a message, like CONSERVE_MESSAGE. Older versions ignore unknown kinds. */
#define EXCHANGE_MESSAGE 17

/* Bytes of a message without entries; the least room in which each entry fits. */
#define EXCHANGE_HEAD        10
#define EXCHANGE_MESSAGE_MIN (EXCHANGE_HEAD + MEMBER_BYTES_MOST)

#define EXCHANGE_EVERY_NS UINT64_C(100000000)  /* default of params.every_ns */
#define EXCHANGE_REST_NS  UINT64_C(5000000000) /* longest pause between two rounds */

/* Messages between two calls of exchange_tick(). */
#define EXCHANGE_TICK_MOST 64

struct exchange_params {
	unsigned n, self;        /* limiters in the roster, and ours in it */
	struct members *members; /* borrowed; others can change it between calls */
	uint64_t every_ns;       /* least time between messages to one peer; 0: the default */
};

struct exchange_counters {
	uint64_t sent;     /* messages */
	uint64_t received; /* accepted messages */
	uint64_t rejected; /* messages with -EBADMSG */
	uint64_t merged;   /* received entries that changed the set */
	uint64_t refused;  /* received entries for which there was no room or memory */
};

struct exchange;

/* Returns 0, -EINVAL or -ENOMEM. No peer is watched. */
int exchange_create(const struct exchange_params *params, struct exchange **out);
void exchange_destroy(struct exchange *e);

/* Sets if a peer gets messages other than answers: if it is alive. */
void exchange_watch(struct exchange *e, unsigned peer, bool watched);

/*
 * Takes another roster of n limiters: self is our index in it, to[i] that of limiter i of the
 * present one, or n if it is not there any more. The state of those is dropped.
 */
void exchange_regroup(struct exchange *e, unsigned n, unsigned self, const unsigned *to);

/* Forgets all about a peer's set. To be called before the first message of its new epoch. */
void exchange_restarted(struct exchange *e, unsigned peer);

/* Begins a tick: renews the number of messages allowed. */
void exchange_tick(struct exchange *e);

/* Returns when exchange_tick() is to be called next; UINT64_MAX: after a message or a change. */
uint64_t exchange_next(struct exchange *e, uint64_t now_ns);

/*
 * Writes the next message, of at most room bytes, and its receiver's index in the roster. Returns
 * its length, or 0 if there is none. After exchange_tick(), call it until it returns 0.
 */
size_t exchange_send(
	struct exchange *e, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/*
 * Takes an authentic message from a peer. Returns 0, -EBADMSG (nothing of it is accepted) or
 * -ENOMEM.
 */
int exchange_receive(struct exchange *e, unsigned from, const uint8_t *buf, size_t len);

/* Returns true if the peer has reported a set that equals ours. */
bool exchange_confirmed(const struct exchange *e, unsigned peer);

/* Returns true if the peer has sent a message in its present epoch. */
bool exchange_speaks(const struct exchange *e, unsigned peer);

struct exchange_counters exchange_counters(const struct exchange *e);

#endif
