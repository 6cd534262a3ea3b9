/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter's gossip, and the table of functions of an estimator (a way to learn the global
 * sums). It is for the files of this library, and for estimators of weirsim alone (sums/sums.h).
 * gossip.c has the part that all estimators share: headers, seals, epochs, verdicts, counters.
 */
#ifndef WEIR_GOSSIP_ESTIMATOR_H
#define WEIR_GOSSIP_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"
#include "gossip/gossip.h"
#include "group/membership.h"

struct gossip {
	const struct estimator *estimator;
	void *own;                   /* state of the estimator */
	const struct roster *roster; /* borrowed */
	struct id_table *policies;   /* current ones, then withdrawn ones */
	unsigned n_policies;         /* current ones */
	unsigned from;               /* see gossip_from() */
	uint64_t *withdrawn_ns;      /* when each of the others was withdrawn */
	unsigned self, branching, datagram_max;
	double demand_max; /* see gossip_params */
	uint64_t tick_ns, timeout_ns, epoch, counter;
	uint32_t tick;
	uint32_t usurped_tick; /* see gossip_usurped() */
	bool usurped;
	uint8_t flags;           /* for datagrams, see datagram.h */
	struct keyring *keyring; /* NULL: plain */
	uint32_t (*random_bits)(void);
	struct prng prng, bits; /* bits: see gossip_params.random_bits */
	struct gossip_counters counters;
	uint64_t *looks; /* counters.looks, also writable by queries: see estimator_looks() */
	uint64_t *news;  /* a bit for each policy, see gossip_next_news() */
	bool all_news;
	uint64_t changes;                      /* see gossip_changes() */
	struct correspondent **correspondents; /* NULL: no peer has sent messages */
	unsigned n_answers;                    /* correspondents with an answer due */
	struct limit_reports *enforced;        /* reports of limits; NULL: none */
};

/* Index of each policy of an update before it, or GOSSIP_ADDED. */
struct remap {
	unsigned n;
	const unsigned *from; /* n */
};

/* Returns a copy of an array of one row a policy, ordered by the map, or NULL. Added rows are 0. */
void *remap_rows(const struct remap *map, const void *rows, size_t size);

/* Another roster, see gossip_regroup(). */
struct regroup {
	const struct roster *roster;
	unsigned self;
	unsigned *from; /* roster->n: index of each limiter in the previous one, or GOSSIP_ADDED */
	uint64_t now_ns;
};

/*
 * Returns a copy of n rows of one element a limiter of g->roster, as rows of one a limiter of the
 * new roster, or NULL. Elements of added limiters are 0.
 */
void *regroup_rows(const struct gossip *g, const struct regroup *map, const void *rows, unsigned n,
	size_t size);

/* Limiters are named by their index in the roster; roster->n stands for none. */
struct estimator {
	/* Sets g->own. Returns 0 or -ENOMEM; destroy is called in either case. */
	int (*create)(struct gossip *g, uint64_t now_ns);
	void (*destroy)(struct gossip *g);

	void (*set)(struct gossip *g, unsigned policy, float demand, float weight);

	/* See gossip_set_limit(). NULL: not needed. */
	void (*set_limit)(struct gossip *g, unsigned policy, float rate);

	/* Decides which peers are active and which get datagrams; g->tick is the new tick. */
	void (*tick)(struct gossip *g, uint64_t now_ns);

	/* Returns the next receiver in this tick, or none. */
	unsigned (*next)(struct gossip *g);

	/* Writes a body of this format after its fixed part; returns the number of own records. */
	uint16_t (*write)(struct gossip *g, struct cursor *cursor, unsigned to, uint8_t version);

	/* Returns the state kept for a limiter, or NULL. */
	struct peer *(*find)(const struct gossip *g, unsigned index);

	/* Returns the peer, or NULL if its loss would not matter: see gossip_peer(). */
	struct peer *(*watched)(const struct gossip *g, unsigned index);

	/* Returns the peer for the sender of an authentic datagram; NULL: no room. */
	struct peer *(*admit)(struct gossip *g, unsigned index, uint64_t now_ns);

	/* Drops all values from a peer that has restarted, or has its first accepted epoch. */
	void (*forget)(struct gossip *g, unsigned index);

	/* Returns true if a body is valid after its fixed part. Changes nothing. */
	bool (*check)(
		const struct gossip *g, struct cursor cursor, const struct datagram_body *body);

	/* Applies a body that has passed check, from a peer whose epoch is accepted. */
	void (*take)(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
		unsigned from, uint64_t now_ns);

	struct gossip_sum (*sum)(const struct gossip *g, unsigned policy);

	/* Writes the values of one peer, see gossip_reported_sum(). NULL: it keeps only sums. */
	bool (*reported_sum)(
		const struct gossip *g, unsigned policy, unsigned peer, struct gossip_sum *values);
	unsigned (*alive)(const struct gossip *g);
	unsigned (*silent)(const struct gossip *g); /* at the last tick */

	/* Returns the nanoseconds for which a watched peer can be silent, or not confirm us. */
	uint64_t (*silence)(const struct gossip *g);

	/* Returns the nanoseconds, without network delays, until all limiters have one's news. */
	uint64_t (*spread)(const struct gossip *g);

	/* Returns true if this limiter has ever set its record of the policy. */
	bool (*has_record)(const struct gossip *g, unsigned policy);

	/* Moves the state of policies; g->policies is still the old one. Returns 0 or -ENOMEM. */
	int (*update)(struct gossip *g, const struct remap *map);

	/*
	 * Moves the state of limiters; g->roster is still the old one. Returns 0, or -ENOMEM and
	 * nothing has changed. NULL: not supported.
	 */
	int (*regroup)(struct gossip *g, const struct regroup *map);

	bool reports_news; /* calls estimator_news(), or sets g->all_news */
};

extern const struct estimator estimator_state, estimator_tree;

/*
 * Reports of local limits, of `state` alone; see enforced.c. create, destroy, update, regroup and
 * tick are called by the functions of an estimator of that name. A section whose origin is the
 * sender has reports: enforced_take() reads its records.
 */
int enforced_create(struct gossip *g, uint64_t now_ns);
void enforced_destroy(struct gossip *g);
int enforced_update(struct gossip *g, const struct remap *map);
int enforced_regroup(struct gossip *g, const struct regroup *map);
void enforced_tick(struct gossip *g, uint64_t now_ns);
void enforced_write(struct gossip *g, struct cursor *cursor, unsigned to);
void enforced_take(struct gossip *g, struct cursor *cursor, const struct datagram_section *section,
	const struct datagram_body *body, unsigned from, uint64_t now_ns);

/* Accepts an epoch of a peer, and drops its earlier values. */
void estimator_accept(
	struct gossip *g, unsigned index, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/* Marks a policy whose sum has changed. */
static inline void estimator_news(struct gossip *g, unsigned policy)
{
	g->news[policy / 64] |= UINT64_C(1) << policy % 64;
}

/*
 * Counts n peers that are examined, see struct gossip_counters. A query changes nothing except this
 * count.
 */
static inline void estimator_looks(const struct gossip *g, unsigned n)
{
	*g->looks += n;
}

/*
 * Returns true if so many limiters together can have that demand and weight, of either sign: see
 * gossip_params.
 */
bool estimator_plausible(const struct gossip *g, unsigned limiters, float demand, float weight);

/* Counts an impossible value that this limiter sent, and that is rejected. */
void estimator_implausible(struct gossip *g, unsigned sender);

/* Returns true if the value is finite and not negative, like every rate and weight. */
bool estimator_rate_valid(float value);

/*
 * Decides by a peer's echoes if news that was sent to the peer can have arrived.
 *
 * News is sent twice, in two consecutive ticks. A peer that receives our ticks from no other
 * limiter echoes each of them, unless its answer is lost or later than the next one. So news is
 * followed until an echo of its tick or a later one arrives. If the echoes omit two consecutive
 * ticks before that, both copies can be lost, and the news is sent again. If only the answers were
 * lost, this costs some unnecessary records; silence would cost the peer seconds. Two losses are
 * not detected: that of a single datagram of several in one tick, and that of a second copy that
 * had to wait because its turn was full. Such news waits for its refresh.
 *
 * The followed news has two parts: one waits for its echo, and one gathers news sent meanwhile, and
 * waits next. So memory does not depend on the delay of the path. One thread.
 */

#define ECHO_TELLINGS 2

/* Ticks are ours. */
struct echo {
	uint32_t newest; /* newest echoed tick */
	uint32_t left;   /* last tick of a gap of ECHO_TELLINGS or more ticks without an echo */
	uint32_t gathered_from, waits_from, waits_to;
	bool any, any_left;     /* newest and left are set */
	bool gathered, waiting; /* there is news in these parts */
};

/* Result for the waiting part: it still waits, it has arrived, or it can be lost. */
enum echo_verdict { ECHO_WAIT, ECHO_ARRIVED, ECHO_MISSING };

/* Gathers news that is sent in this tick. */
static inline void echo_gather(struct echo *echo, uint32_t tick)
{
	if (!echo->gathered)
		echo->gathered_from = tick;
	echo->gathered = true;
}

/* Takes the echo of a tick. After ECHO_ARRIVED and ECHO_MISSING nothing waits any more. */
static inline enum echo_verdict echo_take(struct echo *echo, uint32_t tick)
{
	if (echo->any && !serial_newer(tick, echo->newest))
		return ECHO_WAIT;
	if (echo->any && tick - echo->newest > ECHO_TELLINGS) {
		echo->left = tick - 1;
		echo->any_left = true;
	}
	echo->newest = tick;
	echo->any = true;
	if (!echo->waiting || serial_newer(echo->waits_to, tick))
		return ECHO_WAIT;
	echo->waiting = false;
	return echo->any_left && !serial_newer(echo->waits_from, echo->left) ? ECHO_MISSING
									     : ECHO_ARRIVED;
}

/* Moves news gathered up to this tick to the waiting part, if that is empty. True: moved. */
static inline bool echo_advance(struct echo *echo, uint32_t tick)
{
	if (echo->waiting || !echo->gathered)
		return false;
	echo->waits_from = echo->gathered_from;
	echo->waits_to = tick;
	echo->waiting = true;
	echo->gathered = false;
	return true;
}

/*
 * The senders of messages, with the state that detects recorded messages. The estimator need not
 * watch these limiters, so this state has its own proofs of epochs and its own counters. Private to
 * lib/control/gossip.
 */

struct correspondent {
	struct peer peer; /* its tick is the newest one of a message, alive is not used */
	bool answer;      /* an answer is due: it, or we, have not proven an epoch yet */
	uint32_t answered;
};

/* Prepares the correspondents of another roster, and puts them in force. 0 or -ENOMEM. */
int messages_regroup(
	const struct gossip *g, const struct regroup *map, struct correspondent ***out);
void messages_commit(struct gossip *g, const struct regroup *map, struct correspondent **moved);

#endif
