/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Estimates, for every policy, the sums of demand and weight over all limiters. Each tick a limiter
 * sends to a few others (section 3.1 of Raghavan et al., SIGCOMM 2007). Two estimators have one
 * interface; all limiters of a group use the same.
 *
 *   state  each keeps the newest record of every limiter. Exact and quick; memory and datagrams
 *          grow with the group: up to about a hundred limiters.
 *   tree   sums along a tree over the roster: each edge carries the sum over the limiters beyond
 *          it. Exact; memory and bytes do not depend on the size of the group.
 *
 * Datagrams carry replaceable versioned state, and a sum is over newest values, not over
 * increments. So a datagram that is lost, late, repeated or overtaken does no lasting harm. weirsim
 * adds estimators of papers, for which that is not true: see sums/sums.h.
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

/* The tick of a tree, so that news waits only shortly at each limiter on its way. */
#define GOSSIP_TREE_TICK_NS 10000000

struct gossip_params {
	/* FNV-1a of N names, ours included; outlives the gossip, or see gossip_regroup() */
	const struct roster *roster;
	unsigned self; /* our index in it */
	unsigned n_policies;
	const uint64_t *policies; /* n_policies ids, distinct */
	struct keyring *keyring;  /* outlives the gossip, or see gossip_rekey(); NULL: plain */
	uint64_t epoch;           /* random, not 0, new at every start */
	uint64_t seed;            /* for the choice of peers */
	/* Bits that no copy of this machine also draws, see datagram.h. NULL: by the seed. */
	uint32_t (*random_bits)(void);
	unsigned branching;    /* peers contacted a tick; in a tree, children of a limiter */
	uint64_t tick_ns;      /* see gossip_clock() */
	uint64_t timeout_ns;   /* see gossip_timeout() */
	unsigned datagram_max; /* bytes of UDP payload, DATAGRAM_MIN + 64 to DATAGRAM_MAX */
	enum gossip_estimator estimator;
	const struct estimator *study; /* weirsim, with GOSSIP_STUDY alone: see sums/sums.h */
	/*
	 * Largest demand (its unit a second) and weight (flows, or bytes that wait) that one
	 * limiter can have of a policy; 0: no bound. Larger values are rejected.
	 */
	double demand_max;
};

/* Every datagram that came in is counted under exactly one of these. */
enum gossip_verdict {
	GOSSIP_ACCEPTED,
	GOSSIP_UNPROVEN,  /* a new epoch that does not yet echo ours: noted, not accepted */
	GOSSIP_TRUNCATED, /* shorter than the fixed parts of a datagram */
	GOSSIP_VERSION,   /* a format that we do not read, or flags unknown to it */
	GOSSIP_SELF,      /* our own, returned to us */
	GOSSIP_STRANGER,  /* a sender that is not in the roster */
	GOSSIP_UNSEALED,  /* plain although a key is set, or sealed although none is */
	GOSSIP_ESTIMATOR, /* from a limiter with another estimator */
	GOSSIP_NO_KEY,    /* sealed with a key whose name we do not have */
	GOSSIP_FORGED,    /* wrong key, or altered on the way */
	GOSSIP_MISSENT,   /* meant for another limiter */
	GOSSIP_REPLAY,    /* received before, or too old to check */
	GOSSIP_MALFORMED, /* opens, but its content is invalid */
	GOSSIP_NO_ROOM,   /* from a limiter that we have no room to watch (tree) */
	GOSSIP_MESSAGE,   /* not gossip's own: see gossip_message() */
	GOSSIP_VERDICTS
};

struct gossip_counters {
	uint64_t sent, sent_bytes; /* UDP payload */
	uint64_t received_bytes;
	uint64_t verdict[GOSSIP_VERDICTS];
	uint64_t unknown_policy; /* records of policies that we do not have */
	uint64_t implausible;    /* impossible records, and reports about others: rejected */
	uint64_t looks;          /* at single peers: the cost of gossip except its datagrams */
};

/* The sums of one policy over all active peers. */
struct gossip_sum {
	double weight; /* sum over the active peers, without our own */
	double demand; /* the same, bytes per second */
	unsigned lost; /* lost peers: silent, not confirming us, or without this policy */
};

struct gossip;

/* Returns 0, -EINVAL or -ENOMEM. */
int gossip_create(const struct gossip_params *params, uint64_t now_ns, struct gossip **out);
void gossip_destroy(struct gossip *gossip);

/*
 * Sets other keys, made for the same roster. The new and the previous keys must not be NULL.
 * Returns the previous keys, which belong to the caller again.
 */
struct keyring *gossip_rekey(struct gossip *gossip, struct keyring *keyring);
const struct keyring *gossip_keyring(const struct gossip *gossip);

#define GOSSIP_ADDED UINT_MAX

/*
 * Sets other policies: n distinct ids, and for each its previous index, or GOSSIP_ADDED. Policies
 * that stay keep their records, ours and the peers'. For removed ones we send a demand and weight
 * of 0 to the peers, so they do not count us as lost. Returns 0; -EINVAL (an index is not that of
 * the id, or two ids are the same) or -ENOMEM, and nothing has changed.
 */
int gossip_update(struct gossip *gossip, const uint64_t *policies, unsigned n, const unsigned *from,
	uint64_t tick_ns, uint64_t now_ns);

/*
 * Continues with another roster, which has our id at index `self`, and with keys made for it. NULL:
 * plain, as before. The epoch, ticks and records stay, and all state of limiters that are in both
 * rosters: peers that stay notice nothing. Limiters that are not in the new roster count no longer,
 * not even as lost; new ones are lost until they prove themselves. A limiter that is removed and
 * added again within a timeout must have restarted, because its replay window was dropped.
 *
 * The group's limiters can do this at different times. Until all have done so, a tree can count
 * a removed limiter. Its sums include the part of that limiter, so that they never are too small.
 *
 * Returns 0: the previous roster and keys are not used any more, the caller frees them. Otherwise
 * nothing has changed: -EINVAL (our id is not at `self`, or keys where there were none, or none
 * where there were keys), -ENOTSUP (an estimator of papers) or -ENOMEM. Allowed at any time between
 * other calls; the present tick sends to no new limiter.
 */
int gossip_regroup(struct gossip *gossip, const struct roster *roster, unsigned self,
	struct keyring *keyring, uint64_t now_ns);

/*
 * Returns the length of a tick of gossip, in ns, for the shortest estimate interval of the
 * policies: with a tree at most GOSSIP_TREE_TICK_NS.
 */
uint64_t gossip_clock(enum gossip_estimator estimator, uint64_t interval_ns);

/*
 * Sets the limit of a policy, bytes per second, so that a tree can ignore changes of demand that
 * are small for it. It never needs to be exact.
 */
void gossip_set_limit(struct gossip *gossip, unsigned policy, double rate);

/* Sets our own record of a policy; datagrams carry it from the next tick on. */
void gossip_set(struct gossip *gossip, unsigned policy, double demand, double weight);

/* Sets the local limit of a policy, bytes per second, in a tick before its gossip_tick(). */
void gossip_enforce(struct gossip *gossip, unsigned policy, double rate);

/* Ends a tick: decides which peers are active, and chooses the next peers to send to. */
void gossip_tick(struct gossip *gossip, uint64_t now_ns);

/*
 * Writes the next datagram of this tick into buf (datagram_max bytes) and its receiver's index into
 * peer. Returns its length, or 0 if there is none left.
 */
size_t gossip_send(struct gossip *gossip, uint8_t *buf, unsigned *peer);

/* Processes a datagram; opens buf in place. Accepts no content before it is authenticated. */
enum gossip_verdict gossip_receive(
	struct gossip *gossip, uint64_t now_ns, uint8_t *buf, size_t len);

/*
 * Messages: bytes from one limiter to another, carried and sealed like gossip, which does not
 * interpret them. A delivered message was written by the present start of its sender, for our
 * present start. It is delivered once, and can be late, out of order, or lost. After a start of
 * either side the first messages are GOSSIP_UNPROVEN, until each side has received the other's
 * epoch, by gossip or by an answer. Recorded ones stay GOSSIP_UNPROVEN, or are GOSSIP_REPLAY.
 */
struct gossip_message {
	unsigned from; /* index in the roster */
	const uint8_t *at;
	size_t len;
};

/* Return the length of the longest message, and the place of its bytes in a datagram's buffer. */
size_t gossip_message_room(const struct gossip *gossip);
uint8_t *gossip_message_at(uint8_t *buf);

/* Makes a datagram of the message of len bytes in buf (datagram_max bytes); returns its length. */
size_t gossip_seal_message(struct gossip *gossip, uint8_t *buf, size_t len, unsigned to);

/*
 * Writes the next answer to a message that proved nothing, like gossip_send(): at most one a tick
 * to each peer, however many such messages there are. It carries no bytes.
 */
size_t gossip_answer(struct gossip *gossip, uint8_t *buf, unsigned *peer);

/* Returns the message in buf, for which gossip_receive() has just returned GOSSIP_MESSAGE. */
struct gossip_message gossip_message(const struct gossip *gossip, const uint8_t *buf, size_t len);

/* Returns the roster index of the sender of the datagram that gossip_receive() just accepted. */
unsigned gossip_from(const struct gossip *gossip);

/* Returns the sum over the active peers. */
struct gossip_sum gossip_sum(const struct gossip *gossip, unsigned policy);

/*
 * Writes an active peer's values of a policy into *values, where `lost` stays 0. Returns false if
 * the peer is lost or has sent no values, or if the estimator keeps only sums (tree).
 */
bool gossip_reported_sum(
	const struct gossip *gossip, unsigned policy, unsigned peer, struct gossip_sum *values);

/* Sums of local limits, bytes per second, over this limiter and the peers with reports. */
struct gossip_enforced {
	uint64_t at_ns;      /* newest moment that all active peers have reports of; 0: none */
	double most;         /* the sum at that moment was not larger */
	double now;          /* sum of the newest reports: an estimate */
	unsigned unreported; /* peers without a report of that moment: they are in neither sum */
};

/* Returns the sums at the last tick. `tree` and `push-sum` have none. */
struct gossip_enforced gossip_enforced(const struct gossip *gossip, unsigned policy);

/*
 * Returns true if gossip_next_news() reports each change. Estimators of papers do not: with them
 * any sum can change at any time.
 */
bool gossip_reports_news(const struct gossip *gossip);

/*
 * Returns the next policy from `from` on whose sum can have changed since this function returned
 * it, or n_policies. Returns each once; after a change of the active peers it returns all.
 */
unsigned gossip_next_news(struct gossip *gossip, unsigned from);

/*
 * Returns the nanoseconds for which a limiter can be silent, or not confirm us, before all others
 * count it as lost, without the delays of the network:
 *
 *   state  the configured timeout times the ticks that a round of all peers takes,
 *          ceil((N - 1) / branching).
 *   tree   one and a half times the configured timeout, after which its neighbours no longer hold
 *          its sums (tree_sums.c), and the longest wait of news at a limiter (tree_send.c) for each
 *          of the at most 2 × depth edges that the news crosses; depth is log(N) / log(branching).
 *          A datagram lost on the way costs a heartbeat more.
 */
uint64_t gossip_timeout(const struct gossip *gossip);

/* Returns the number of active peers, without ourselves; in a tree, of active neighbours. */
unsigned gossip_alive(const struct gossip *gossip);

/*
 * Returns the number of watched peers that were lost at the last tick: all that this limiter
 * misses. It examines only the neighbours (tree) or no peer.
 */
unsigned gossip_silent(const struct gossip *gossip);

/*
 * Returns the state kept for limiter i of the roster, or NULL if this one does not watch it (tree).
 * The cost for all limiters grows with the roster: not at every tick, see gossip_changes().
 */
const struct peer *gossip_peer(const struct gossip *gossip, unsigned i);

/*
 * Grows when gossip_peer() can return other peers, or when one of them becomes active or lost.
 * While it stays the same, callers need not query any peer.
 */
uint64_t gossip_changes(const struct gossip *gossip);

/* Doubts that only one limiter uses a name of the roster, each within the last timeout. */
enum gossip_doubt {
	GOSSIP_SURE,
	GOSSIP_YOUNG, /* a start has replaced another */
	GOSSIP_RIVAL, /* datagrams of the earlier start arrived; they can be late */
	GOSSIP_TWICE, /* the earlier start is alive: it echoed a tick after it had been replaced */
};

enum gossip_doubt gossip_doubt(const struct gossip *gossip, unsigned i);

/* Returns true if a peer has echoed another, living start of this limiter within the timeout. */
bool gossip_usurped(const struct gossip *gossip);

const struct gossip_counters *gossip_counters(const struct gossip *gossip);
const char *gossip_verdict_name(enum gossip_verdict verdict);

#endif
