/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the files of the exchange. A message, big-endian: EXCHANGE_MESSAGE (1), flags (1; bit
 * 0: an answer is wanted, the others are 0), the digest of the sender's set (8), and entries until
 * the end, see member_entry.h.
 */
#ifndef WEIR_MEMBERS_EXCHANGE_PRIVATE_H
#define WEIR_MEMBERS_EXCHANGE_PRIVATE_H

#include "members/exchange.h"

#define EXCHANGE_WANTED 0x01

/* The entries to send to one peer; each set has bits by the number of an entry. */
struct exchange_pass {
	unsigned n, room; /* entries, and bits in each set */
	unsigned n_due;
	uint64_t *held; /* the peer has the same content */
	uint64_t *due;  /* to be sent in this round; never also held */
};

struct exchange_peer {
	unsigned index; /* in the roster */
	bool watched, speaks;
	bool answer;   /* the peer wants one */
	bool reported; /* `digest` is that of its set */
	uint64_t digest;
	uint64_t sent_ns;  /* the last message that was no answer; 0: none */
	uint64_t pause_ns; /* after the present round */
	uint64_t next_ns;
	uint64_t base;             /* the peer has all entries with `changed` up to this */
	struct exchange_pass pass; /* empty while the digests are equal, or it has not reported */
};

struct exchange {
	unsigned n, self;
	struct members *members;
	uint64_t every_ns;
	uint64_t serial;             /* all peers' passes include the changes up to this */
	struct exchange_peer *peers; /* by index; watched ones and senders of messages */
	unsigned n_peers, peers_room;
	unsigned next; /* place of the peer that gets the next message */
	unsigned sent; /* messages since the last tick */
	struct exchange_counters counters;
};

static inline bool peer_is_equal(const struct exchange *e, const struct exchange_peer *p)
{
	return p->reported && p->digest == members_digest(e->members);
}

/* Returns true if a message to the peer that is no answer is due. */
static inline bool peer_is_due(
	const struct exchange *e, const struct exchange_peer *p, uint64_t now_ns)
{
	return p->watched && p->next_ns <= now_ns && !peer_is_equal(e, p);
}

/* Returns the state of a peer, or NULL. */
struct exchange_peer *exchange_find(const struct exchange *e, unsigned index);

/* Returns the state of a peer, added if there is none; NULL: out of memory. Others can move. */
struct exchange_peer *exchange_get(struct exchange *e, unsigned index);

/* Makes the pauses of a peer short again, because its set or ours has changed. */
void peer_hurry(const struct exchange *e, struct exchange_peer *p);

/* Adds the changes of the set since the last call to all passes. */
void exchange_note_changes(struct exchange *e);

/* Frees the pass, and notes that the peer has all entries that have changed up to `base`. */
void pass_end(struct exchange_peer *p, uint64_t base);

/*
 * Begins the pass of a peer, or extends it with new entries, which are due. Returns 0 or -ENOMEM:
 * then nothing is due, and the next pass is longer than needed.
 */
int pass_extend(const struct exchange *e, struct exchange_peer *p);

/* Note that the peer has the present content of an entry, or has not. */
void pass_set_held(struct exchange_pass *pass, uint32_t number);
void pass_set_due(struct exchange_pass *pass, uint32_t number);

/* Makes all entries due that the peer does not have. */
void pass_again(struct exchange_pass *pass);

#endif
