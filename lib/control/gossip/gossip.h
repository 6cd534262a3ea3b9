/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How the limiters learn, for every policy, the sums of demand and weight over all of them, telling
 * a few others each tick (section 3.1 of Raghavan et al., SIGCOMM 2007). Two estimators stand
 * behind one interface; all limiters of a group use the same.
 *
 *   state  each keeps the newest record of everybody. Exact and quick; memory and datagrams grow
 *          with the group: up to about a hundred limiters.
 *   tree   sums along a tree over the roster: each edge carries the sum over what is behind it.
 *          Exact; memory and bytes do not depend on the size of the group.
 *
 * What travels is replaceable versioned state: a datagram lost, late, repeated or overtaken does no
 * lasting harm, and a sum is over newest values, not over increments. weirsim adds estimators of
 * papers, of which that is not true: see sums/sums.h.
 *
 * Pure: time, datagrams and randomness come in as arguments, datagrams to send come out. One
 * thread.
 */
#ifndef WEIR_GOSSIP_GOSSIP_H
#define WEIR_GOSSIP_GOSSIP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gossip/datagram.h"
#include "gossip/keyring.h"
#include "group/id_table.h"
#include "group/membership.h"
#include "group/roster.h"

/* The order is that of the format, see datagram.h. GOSSIP_STUDY: see gossip_params.study. */
enum gossip_estimator { GOSSIP_STATE, GOSSIP_TREE, GOSSIP_ESTIMATORS, GOSSIP_STUDY = 2 };

struct estimator;

struct gossip_params {
	const struct roster *roster; /* FNV-1a of N names, ours included; outlives the gossip */
	unsigned self;               /* our index in it */
	unsigned n_policies;
	const uint64_t *policies; /* n_policies ids, distinct */
	struct keyring *keyring;  /* outlives the gossip, or see gossip_rekey(); NULL: plain */
	uint64_t epoch;           /* random, not 0, new at every start */
	uint64_t seed;            /* for the choice of peers */
	/* Bits that no copy of this machine draws as well, see datagram.h. NULL: by the seed. */
	uint32_t (*random_bits)(void);
	unsigned branching;    /* peers contacted a tick; of a tree, children of a limiter */
	uint64_t tick_ns;      /* length of a tick */
	uint64_t timeout_ns;   /* see gossip_timeout() */
	unsigned datagram_max; /* bytes of UDP payload, DATAGRAM_MIN + 64 to DATAGRAM_MAX */
	enum gossip_estimator estimator;
	const struct estimator *study; /* weirsim, with GOSSIP_STUDY alone: see sums/sums.h */
	/*
	 * What one limiter can have of a policy at the most, of demand (its unit a second) and of
	 * weight (flows, or bytes that wait); 0: no bound. What is above is not believed.
	 */
	double demand_max;
};

/* Every datagram that came in is counted under exactly one of these. */
enum gossip_verdict {
	GOSSIP_ACCEPTED,
	GOSSIP_UNPROVEN,  /* a new epoch that does not yet echo ours: noted, not believed */
	GOSSIP_TRUNCATED, /* shorter than it must be, or than it says it is */
	GOSSIP_VERSION,   /* a format that we do not read, or flags unknown to it */
	GOSSIP_SELF,      /* our own, come back */
	GOSSIP_STRANGER,  /* a sender that is not in the roster */
	GOSSIP_UNSEALED,  /* plain where a key is set, or sealed where none is */
	GOSSIP_ESTIMATOR, /* of a limiter with another estimator */
	GOSSIP_NO_KEY,    /* sealed with a key of a name that we do not have */
	GOSSIP_FORGED,    /* wrong key, or altered on the way */
	GOSSIP_MISSENT,   /* meant for another limiter */
	GOSSIP_REPLAY,    /* seen before, or too old to tell */
	GOSSIP_MALFORMED, /* opens, but what is inside makes no sense */
	GOSSIP_NO_ROOM,   /* of a limiter that we have no room to watch (tree) */
	GOSSIP_MESSAGE,   /* not gossip's own: see gossip_message() */
	GOSSIP_VERDICTS
};

struct gossip_counters {
	uint64_t sent, sent_bytes; /* UDP payload */
	uint64_t received_bytes;
	uint64_t verdict[GOSSIP_VERDICTS];
	uint64_t unknown_policy; /* records of policies that we do not have */
	uint64_t implausible;    /* records, and words on others, that cannot be: not taken */
	uint64_t looks;          /* at single peers: what gossip costs beside its datagrams */
};

/* The sums of one policy over all limiters that count. */
struct gossip_sum {
	double weight; /* of the peers that count, without our own */
	double demand; /* likewise, bytes per second */
	unsigned lost; /* peers that do not count: silent, deaf to us, or without this policy */
};

struct gossip;

/* Returns 0, -EINVAL or -ENOMEM. */
int gossip_create(const struct gossip_params *params, uint64_t now_ns, struct gossip **out);
void gossip_destroy(struct gossip *gossip);

/*
 * Other keys from now on, made for the same roster; neither they nor those so far are NULL. Returns
 * those so far, which are the caller's again.
 */
struct keyring *gossip_rekey(struct gossip *gossip, struct keyring *keyring);
const struct keyring *gossip_keyring(const struct gossip *gossip);

#define GOSSIP_ADDED UINT_MAX

/*
 * Other policies from now on: n ids, distinct, and of each its index so far, or GOSSIP_ADDED. What
 * is known of those that stay is kept, ours and the peers'. Of those that go the peers are told
 * that we have no demand: we are not lost to them. Returns 0; -EINVAL (an index is not that of the
 * id, or two ids are the same) or -ENOMEM, and nothing has changed.
 */
int gossip_update(struct gossip *gossip, const uint64_t *policies, unsigned n, const unsigned *from,
	uint64_t tick_ns, uint64_t now_ns);

/* Sets our own record of a policy; peers hear of it from the next tick on. */
void gossip_set(struct gossip *gossip, unsigned policy, double demand, double weight);

/* Sets the local limit of a policy, bytes per second, in a tick before its gossip_tick(). */
void gossip_enforce(struct gossip *gossip, unsigned policy, double rate);

/* Ends a tick: decides who counts, and chooses the next peers to talk to. */
void gossip_tick(struct gossip *gossip, uint64_t now_ns);

/*
 * Writes the next datagram of this tick into buf (datagram_max bytes) and its addressee's index
 * into peer. Returns its length, or 0 when there is none left.
 */
size_t gossip_send(struct gossip *gossip, uint8_t *buf, unsigned *peer);

/* Takes a datagram in; buf is opened in place. Believes nothing before it is authenticated. */
enum gossip_verdict gossip_receive(
	struct gossip *gossip, uint64_t now_ns, uint8_t *buf, size_t len);

/*
 * Messages: bytes that one limiter has for one other, carried and sealed as gossip is, but of no
 * meaning to it. One that is delivered was written to us by the present start of its sender, for
 * our present start, and is delivered once; it may come late, out of order, or not at all. After a
 * start of either side the first ones are GOSSIP_UNPROVEN, until each has heard of the other, by
 * gossip or by an answer. What is recorded stays that, or is GOSSIP_REPLAY.
 */
struct gossip_message {
	unsigned from; /* index in the roster */
	const uint8_t *at;
	size_t len;
};

/* The longest message, and where in the buffer of a datagram its bytes go. */
size_t gossip_message_room(const struct gossip *gossip);
uint8_t *gossip_message_at(uint8_t *buf);

/* Makes a datagram of the message of len bytes in buf (datagram_max bytes); returns its length. */
size_t gossip_seal_message(struct gossip *gossip, uint8_t *buf, size_t len, unsigned to);

/*
 * The next answer to a message that proved nothing, as gossip_send() writes a datagram: at most one
 * a tick to each peer, however many such messages there are. It carries no bytes.
 */
size_t gossip_answer(struct gossip *gossip, uint8_t *buf, unsigned *peer);

/* The message in buf, for which gossip_receive() has just answered GOSSIP_MESSAGE. */
struct gossip_message gossip_message(const struct gossip *gossip, const uint8_t *buf, size_t len);

/* The sender of the datagram that gossip_receive() has just accepted: its index in the roster. */
unsigned gossip_from(const struct gossip *gossip);

/* The sum over the peers that count. */
struct gossip_sum gossip_sum(const struct gossip *gossip, unsigned policy);

/*
 * What a peer that counts has told of a policy, into *told, where `lost` stays 0. False: it does
 * not count, has told nothing, or the estimator keeps sums alone (tree).
 */
bool gossip_told(
	const struct gossip *gossip, unsigned policy, unsigned peer, struct gossip_sum *told);

/* Sums of local limits, bytes per second, over this limiter and the peers with reports. */
struct gossip_enforced {
	uint64_t at_ns;   /* newest moment that all active peers have reports of; 0: none */
	double most;      /* the sum at that moment was not larger */
	double now;       /* sum of the newest reports: an estimate */
	unsigned unheard; /* peers without a report of that moment: they are in neither sum */
};

/* Returns the sums at the last tick. `tree` and `push-sum` have none. */
struct gossip_enforced gossip_enforced(const struct gossip *gossip, unsigned policy);

/*
 * Whether gossip_next_news() tells what changes. True of `state` alone: with the others any sum may
 * change at any time.
 */
bool gossip_tells_news(const struct gossip *gossip);

/*
 * The next policy from `from` on whose sum may have changed since it was told here, or n_policies.
 * Each is told once. After a change of who counts all are told.
 */
unsigned gossip_next_news(struct gossip *gossip, unsigned from);

/*
 * How long a limiter may be silent, or not confirm us, before all others count it as lost,
 * nanoseconds, less the delays of the network:
 *
 *   state  the configured timeout times the ticks that a round of all peers takes,
 *          ceil((N - 1) / branching).
 *   tree   the configured timeout, after which its neighbours have noticed, and a tick for each of
 *          the at most 2 × depth edges that the news crosses; depth is log(N) / log(branching). A
 *          datagram lost on the way costs a heartbeat more.
 */
uint64_t gossip_timeout(const struct gossip *gossip);

/* Peers that count, without ourselves; of a tree, neighbours that count. */
unsigned gossip_alive(const struct gossip *gossip);

/*
 * Peers that are watched and do not count, as of the last tick: all that a limiter misses, for the
 * price of its neighbours (tree) or none.
 */
unsigned gossip_silent(const struct gossip *gossip);

/*
 * What is known of limiter i of the roster, or NULL when this one does not watch it (tree). To ask
 * after the whole roster costs the more, the larger it is: not at every tick, see gossip_changes().
 */
const struct peer *gossip_peer(const struct gossip *gossip, unsigned i);

/*
 * Grows when gossip_peer() may have other peers to tell of, or one of them counts that did not, or
 * the other way round. While it stays there is no need to ask after any.
 */
uint64_t gossip_changes(const struct gossip *gossip);

/* Doubts if one limiter alone uses a name of the roster, each within the last timeout. */
enum gossip_doubt {
	GOSSIP_SURE,
	GOSSIP_YOUNG, /* a start has taken the place of another */
	GOSSIP_RIVAL, /* datagrams of the earlier start arrived; they can be late */
	GOSSIP_TWICE, /* the earlier start is alive: it echoed a tick after it had been replaced */
};

enum gossip_doubt gossip_doubt(const struct gossip *gossip, unsigned i);

/* Returns true if a peer has echoed another, living start of this limiter within the timeout. */
bool gossip_usurped(const struct gossip *gossip);

const struct gossip_counters *gossip_counters(const struct gossip *gossip);
const char *gossip_verdict_name(enum gossip_verdict verdict);

#endif
