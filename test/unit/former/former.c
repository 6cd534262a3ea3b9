/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The gossip of the release that speaks format 1 alone, all of its sources in one, as they were:
 * what a limiter of today has to get on with while a group is upgraded. Nothing here is changed any
 * more. Only what former.h names is seen from outside.
 */
#include "former.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "base/time.h"
#include "base/wire.h"
#include "group/roster.h"

/*
 * A peer counts only while both hold: we hear it, and it confirms that it hears us. So
 * a path that is cut in one direction alone makes both sides give up the other's part, and the sum
 * of what they use stays within the limit.
 *
 * A peer is known by its epoch, random at each of its starts. A new epoch is believed when a
 * datagram of it echoes our own epoch and a recent tick of ours: nobody but a holder of the key who
 * has lately heard us can make one, so datagrams recorded earlier (from an earlier start of either
 * side) never pass, and neither clocks nor disks are needed for it.
 */
#ifndef WEIR_GOSSIP_MEMBERSHIP_H
#define WEIR_GOSSIP_MEMBERSHIP_H

#define REPLAY_WINDOW 64 /* datagrams that may arrive out of order */

struct peer {
	uint32_t id; /* FNV-1a of its name */
	bool known;  /* `epoch` is believed */
	bool alive;  /* counts, as of the last membership_expire() */
	uint64_t epoch;
	uint32_t tick;         /* newest tick of that epoch that has reached us */
	uint64_t heard_ns;     /* when the tick last advanced */
	uint64_t confirmed_ns; /* when our newest tick that it confirmed was sent */
	bool confirmed;
	uint64_t counter;       /* highest counter received directly */
	uint64_t window;        /* bit i: counter - i was received */
	uint64_t retired_epoch; /* the one believed before; never believed again */
	uint64_t claimed_epoch; /* said, not yet proven; 0 none */
	uint32_t claimed_tick;
	uint64_t restarts; /* epochs believed after the first */
};

/* a is newer than b. */
static inline bool serial_newer(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Takes note of a counter of the believed epoch; false when it is a replay or too old to tell. */
bool peer_counter_fresh(struct peer *peer, uint64_t counter);

/* Begins to believe an epoch. */
void peer_believe(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/* The tick of a believed epoch has reached us, directly or through others. */
void peer_heard(struct peer *peer, uint32_t tick, uint64_t now_ns);

/* It has confirmed what we sent at that time. */
void peer_confirmed(struct peer *peer, uint64_t sent_ns);

/* Decides again whether the peer counts; true when that changed. */
bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns);

#endif

/*
 * The gossip datagram, version 1. All integers and floats (IEEE 754 binary32) are big-endian.
 *
 *   offset  bytes
 *        0      1  version, 1
 *        1      1  flags: bit 0, the body is sealed; bits 1 and 2, the estimator (0 state, 1 tree,
 *                  2 push-sum); bit 3, it is a message; the others are 0
 *        2      2  0
 *        4      4  sender: FNV-1a of its name in the roster
 *        8      8  epoch: random at every start of the sender, never 0
 *       16      8  counter: datagrams sent in this epoch, from 1
 *       24         body, sealed with XChaCha20-Poly1305: the nonce is bytes 4 to 23 and four zero
 *                  bytes, the additional data bytes 0 to 23, the 16-byte tag comes last. Without
 *                  a key (flag clear) the body is plain and there is no tag.
 *   body
 *        0      4  receiver: FNV-1a of its name; a datagram speaks to one limiter
 *        4      8  echo epoch: the receiver's epoch as the sender knows it, or 0
 *       12      4  echo tick: the newest tick of the receiver that has reached the sender, by
 *                  whatever way
 *       16      4  tick: estimate intervals of the sender since its start
 *       20      2  number of the sender's own records that follow
 *
 *   then, of state, so many records, each
 *                    0  4  policy: FNV-1a of its name
 *                    4  4  version: tick at which the record took this value
 *                    8  4  demand, bytes per second (float)
 *                   12  4  weight, the allocator's unit (float)
 *          and, until the body ends, what the sender has heard of others:
 *                    0  4  origin: FNV-1a of its name
 *                    4  8  epoch of the origin
 *                   12  4  tick of the origin
 *                   16  2  number of records, which follow as above
 *
 *   or, of a tree,
 *        0      1  what the receiver is to the sender (enum datagram_link)
 *          and the records, each the newest as of the sender's tick
 *                    0  4  policy: FNV-1a of its name
 *                    4  4  limiters that have it, among those on the sender's side of the edge
 *                    8  4  their demand, bytes per second (float)
 *                   12  4  their weight (float)
 *
 *   or, of push-sum,
 *        0      4  generation of the masses, from 0
 *        4      4  datagrams with shares that the sender has sent to this receiver in this
 *                  generation, with this one; 0: it carries none
 *          and the shares, each
 *                    0  4  policy: FNV-1a of its name
 *                    4  4  push weight (float)
 *                    8  4  demand (float), any sign
 *                   12  4  weight (float), any sign
 *
 * The body of a message is the receiver alone, and then what it carries: see gossip_message().
 *
 * Ticks, versions and generations are compared as serial numbers (the sign of the 32-bit
 * difference).
 */
#ifndef WEIR_GOSSIP_DATAGRAM_H
#define WEIR_GOSSIP_DATAGRAM_H

#define DATAGRAM_VERSION         1
#define DATAGRAM_SEALED          0x01
#define DATAGRAM_ESTIMATOR_SHIFT 1 /* of the flags */
#define DATAGRAM_MESSAGE         0x08

#define DATAGRAM_HEADER     24
#define DATAGRAM_TAG        16
#define DATAGRAM_KEY        32
#define DATAGRAM_BODY_FIXED 22
#define DATAGRAM_RECEIVER   4
#define DATAGRAM_SECTION    18
#define DATAGRAM_RECORD     16
#define DATAGRAM_MIN        (DATAGRAM_HEADER + DATAGRAM_BODY_FIXED)
#define DATAGRAM_MAX        8972 /* a 9000-byte MTU less IPv4 and UDP headers */

struct datagram_header {
	uint8_t version;
	uint8_t flags;
	uint32_t sender;
	uint64_t epoch;
	uint64_t counter;
};

struct datagram_record {
	uint32_t policy;
	uint32_t version;
	float demand;
	float weight;
};

struct datagram_body {
	uint32_t receiver;
	uint64_t echo_epoch;
	uint32_t echo_tick;
	uint32_t tick;
	uint16_t n_records;
};

struct datagram_section {
	uint32_t origin;
	uint64_t epoch;
	uint32_t tick;
	uint16_t n_records;
};

/* In a tree, what the sender takes its edge to the receiver for. */
enum datagram_link {
	DATAGRAM_APART, /* none: a probe, an answer to one, or the end of a link. No records */
	DATAGRAM_UP,    /* the receiver is its parent */
	DATAGRAM_DOWN,  /* the receiver is its child */
	DATAGRAM_LINKS
};

struct datagram_sum {
	uint32_t policy;
	uint32_t count;
	float demand;
	float weight;
};

struct datagram_round {
	uint32_t generation;
	uint32_t sequence;
};

struct datagram_share {
	uint32_t policy;
	float push;
	float demand;
	float weight;
};

/* A place in a buffer. Reads and writes past `end` do nothing but set `failed`. */
struct cursor {
	uint8_t *at;
	uint8_t *end;
	bool failed;
};

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

void datagram_write_header(struct cursor *cursor, const struct datagram_header *header);
void datagram_write_body(struct cursor *cursor, const struct datagram_body *body);
void datagram_write_receiver(struct cursor *cursor, uint32_t receiver);
void datagram_write_section(struct cursor *cursor, const struct datagram_section *section);
void datagram_write_record(struct cursor *cursor, const struct datagram_record *record);
void datagram_write_link(struct cursor *cursor, enum datagram_link link);
void datagram_write_sum(struct cursor *cursor, const struct datagram_sum *sum);
void datagram_write_round(struct cursor *cursor, const struct datagram_round *round);
void datagram_write_share(struct cursor *cursor, const struct datagram_share *share);

void datagram_read_header(struct cursor *cursor, struct datagram_header *header);
void datagram_read_body(struct cursor *cursor, struct datagram_body *body);
uint32_t datagram_read_receiver(struct cursor *cursor);
void datagram_read_section(struct cursor *cursor, struct datagram_section *section);
void datagram_read_record(struct cursor *cursor, struct datagram_record *record);
void datagram_read_sum(struct cursor *cursor, struct datagram_sum *sum);
void datagram_read_round(struct cursor *cursor, struct datagram_round *round);
void datagram_read_share(struct cursor *cursor, struct datagram_share *share);

/* Whatever byte there is: the caller checks that it is below DATAGRAM_LINKS. */
unsigned datagram_read_link(struct cursor *cursor);

/*
 * Seals buf in place: a header and a body of together len bytes become len + DATAGRAM_TAG. The
 * buffer has room for the tag.
 */
size_t datagram_seal(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

/* Opens buf in place. Returns the length without the tag, or -EBADMSG (wrong key, altered, cut). */
int datagram_open(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY]);

#endif

/*
 * How the limiters learn, for every policy, the sums of demand and weight over all of them, telling
 * a few others each tick (section 3.1 of Raghavan et al., SIGCOMM 2007). Three estimators stand
 * behind one interface; all limiters of a group use the same.
 *
 *   state     each keeps the newest record of everybody. Exact and quick; memory and datagrams grow
 *             with the group: up to about a hundred limiters.
 *   tree      sums along a tree over the roster: each edge carries the sum over what is behind it.
 *             Exact; memory and bytes do not depend on the size of the group.
 *   push-sum  the paper's: shares of a mass, handed to random peers. Noisy, and lost datagrams are
 *             lost for good unless compensated for, which is right on average only.
 *
 * With state and tree, what travels is replaceable versioned state: a datagram lost, late, repeated
 * or overtaken does no lasting harm, and a sum is over newest values, not over increments.
 *
 * Pure: time, datagrams and randomness come in as arguments, datagrams to send come out. One
 * thread.
 */
#ifndef WEIR_GOSSIP_GOSSIP_H
#define WEIR_GOSSIP_GOSSIP_H

/* The order is that of the format, see datagram.h. */
enum gossip_estimator { GOSSIP_STATE, GOSSIP_TREE, GOSSIP_PUSH_SUM, GOSSIP_ESTIMATORS };

struct gossip_params {
	const struct roster *roster; /* FNV-1a of N names, ours included; outlives the gossip */
	unsigned self;               /* our index in it */
	unsigned n_policies;
	const uint32_t *policies; /* n_policies: FNV-1a of each name; distinct */
	const uint8_t *key;       /* DATAGRAM_KEY bytes, or NULL: plain */
	uint64_t epoch;           /* random, not 0, new at every start */
	uint64_t seed;            /* for the choice of peers */
	unsigned branching;       /* peers contacted a tick; of a tree, children of a limiter */
	uint64_t tick_ns;         /* length of a tick */
	uint64_t timeout_ns;      /* see gossip_timeout() */
	unsigned datagram_max;    /* bytes of UDP payload, DATAGRAM_MIN + 64 to DATAGRAM_MAX */
	enum gossip_estimator estimator;
	bool compensate; /* push-sum: scale what arrives by the number lost before it */
};

/* Every datagram that came in is counted under exactly one of these. */
enum gossip_verdict {
	GOSSIP_ACCEPTED,
	GOSSIP_UNPROVEN,  /* a new epoch that does not yet echo ours: noted, not believed */
	GOSSIP_TRUNCATED, /* shorter than it must be, or than it says it is */
	GOSSIP_VERSION,   /* another format version, or flags unknown to this one */
	GOSSIP_SELF,      /* our own, come back */
	GOSSIP_STRANGER,  /* a sender that is not in the roster */
	GOSSIP_UNSEALED,  /* plain where a key is set, or sealed where none is */
	GOSSIP_ESTIMATOR, /* of a limiter with another estimator */
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
	uint64_t looks;          /* at single peers: what gossip costs beside its datagrams */
};

/*
 * What is known of one policy over all limiters that count. Push-sum does not know which limiters
 * have the policy: there `lost` is of silent and deaf ones alone.
 */
struct gossip_sum {
	double weight; /* of the peers that count, without our own */
	double demand; /* likewise, bytes per second */
	unsigned lost; /* peers that do not count: silent, deaf to us, or without this policy */
};

struct gossip;

/* Returns 0, -EINVAL or -ENOMEM. */
int gossip_create(const struct gossip_params *params, uint64_t now_ns, struct gossip **out);
void gossip_destroy(struct gossip *gossip);

#define GOSSIP_ADDED UINT_MAX

/*
 * Other policies from now on: n ids, distinct, and of each its index so far, or GOSSIP_ADDED. What
 * is known of those that stay is kept, ours and the peers'. Of those that go the peers are told
 * that we have no demand: we are not lost to them. Returns 0; -EINVAL (an index is not that of the
 * id, or two ids are the same) or -ENOMEM, and nothing has changed.
 */
int gossip_update(struct gossip *gossip, const uint32_t *policies, unsigned n, const unsigned *from,
	uint64_t tick_ns, uint64_t now_ns);

/* Sets our own record of a policy; peers hear of it from the next tick on. */
void gossip_set(struct gossip *gossip, unsigned policy, double demand, double weight);

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
 * meaning to it. That the sender wrote it to us is all that is known of one: it may come twice, out
 * of order, or be of an earlier start of either side.
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

/* The message in buf, for which gossip_receive() has just answered GOSSIP_MESSAGE. */
struct gossip_message gossip_message(const struct gossip *gossip, const uint8_t *buf, size_t len);

/* The sum over the peers that count. */
struct gossip_sum gossip_sum(const struct gossip *gossip, unsigned policy);

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
 *   state, push-sum  the configured timeout times the ticks that a round of all peers takes,
 *                    ceil((N - 1) / branching).
 *   tree             the configured timeout, after which its neighbours have noticed, and a tick
 *                    for each of the at most 2 × depth edges that the news crosses; depth is
 *                    log(N) / log(branching). A datagram lost on the way costs a heartbeat more.
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

const struct gossip_counters *gossip_counters(const struct gossip *gossip);
const char *gossip_verdict_name(enum gossip_verdict verdict);

#endif

/*
 * What the files of this library share and nobody else sees: one limiter's gossip, and the table of
 * functions by which an estimator (a way to learn the global sums) takes part in it. gossip.c does
 * what is the same for all: headers, seals, epochs, verdicts, counters.
 */
#ifndef WEIR_GOSSIP_ESTIMATOR_H
#define WEIR_GOSSIP_ESTIMATOR_H

struct gossip {
	const struct estimator *estimator;
	void *own;                   /* the estimator's */
	const struct roster *roster; /* borrowed */
	struct roster *policies;     /* ours, then those that were withdrawn */
	unsigned n_policies;         /* ours */
	uint64_t *withdrawn_ns;      /* of each of the others, when */
	unsigned self, branching, datagram_max;
	uint64_t tick_ns, timeout_ns, epoch, counter;
	uint32_t tick;
	uint8_t flags; /* of every datagram, see datagram.h */
	bool compensate;
	bool echo_claim; /* alternates between a peer's believed and claimed epoch */
	uint8_t key[DATAGRAM_KEY];
	struct prng prng;
	struct gossip_counters counters;
	uint64_t *looks; /* one of the counters, for those who only ask: see estimator_looks() */
	uint64_t *news;  /* a bit for each policy, see gossip_next_news() */
	bool all_news;
	uint64_t changes; /* see gossip_changes() */
};

/* Where the policies of an update have been before it: an index, or GOSSIP_ADDED. */
struct remap {
	unsigned n;
	const unsigned *from; /* n */
};

/* A copy of an array of a row each policy, as the map has them, or NULL. Those added are zero. */
void *remap_rows(const struct remap *map, const void *rows, size_t size);

/* Limiters are named by their index in the roster; roster->n stands for none. */
struct estimator {
	/* Sets g->own. Returns 0 or -ENOMEM; destroy is called in either case. */
	int (*create)(struct gossip *g, uint64_t now_ns);
	void (*destroy)(struct gossip *g);

	void (*set)(struct gossip *g, unsigned policy, float demand, float weight);

	/* Decides who counts and whom to tell; g->tick is the new one. */
	void (*tick)(struct gossip *g, uint64_t now_ns);

	/* The next to tell in this tick, or none. */
	unsigned (*next)(struct gossip *g);

	/* Writes what follows the fixed part of a body; returns the number of own records. */
	uint16_t (*write)(struct gossip *g, struct cursor *cursor, unsigned to);

	/* What is known of a limiter, or NULL. */
	struct peer *(*find)(const struct gossip *g, unsigned index);

	/* The peer, but NULL for one that it would not matter to lose: see gossip_peer(). */
	struct peer *(*watched)(const struct gossip *g, unsigned index);

	/* The peer of one that has sent an authentic datagram: NULL when there is no room. */
	struct peer *(*admit)(struct gossip *g, unsigned index, uint64_t now_ns);

	/* It has restarted, or is believed for the first time: what it said before is void. */
	void (*forget)(struct gossip *g, unsigned index);

	/* Whether what follows the fixed part of a body makes sense. Changes nothing. */
	bool (*check)(
		const struct gossip *g, struct cursor cursor, const struct datagram_body *body);

	/* Takes in what has passed check, from a peer whose epoch is believed. */
	void (*take)(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
		unsigned from, uint64_t now_ns);

	struct gossip_sum (*sum)(const struct gossip *g, unsigned policy);
	unsigned (*alive)(const struct gossip *g);
	unsigned (*silent)(const struct gossip *g); /* as of the last tick */

	/* How long a peer that is watched may be silent, or not confirm us; nanoseconds. */
	uint64_t (*silence)(const struct gossip *g);

	/* Nanoseconds, without delays of the network, until all know what one has noticed. */
	uint64_t (*spread)(const struct gossip *g);

	/* Whether we have ever said something of the policy. */
	bool (*said)(const struct gossip *g, unsigned policy);

	/* Moves what is kept of the policies; g->policies is still the old one. 0 or -ENOMEM. */
	int (*update)(struct gossip *g, const struct remap *map);

	bool tells_news; /* calls estimator_news(), or sets g->all_news */
};

extern const struct estimator estimator_state, estimator_tree, estimator_push_sum;

/* Begins to believe an epoch of a peer. */
void estimator_believe(
	struct gossip *g, unsigned index, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/* The sum of a policy has changed. */
static inline void estimator_news(struct gossip *g, unsigned policy)
{
	g->news[policy / 64] |= UINT64_C(1) << policy % 64;
}

/*
 * So many peers are looked at, see struct gossip_counters. Who only asks changes nothing by it but
 * this count.
 */
static inline void estimator_looks(const struct gossip *g, unsigned n)
{
	*g->looks += n;
}

/* Finite and not negative, as every rate and weight is. */
bool estimator_rate_valid(float value);

#endif

/*
 * Everybody talks to everybody in turn: each tick to `branching` peers drawn at random, but to each
 * once a round, so that the longest silence is bounded. Memory grows with the roster. One thread.
 */
#ifndef WEIR_GOSSIP_MESH_H
#define WEIR_GOSSIP_MESH_H

struct mesh {
	struct peer *peers; /* n; our own is not used */
	unsigned *order;    /* n - 1 peers, shuffled for each round */
	unsigned at;        /* the next of them */
	unsigned to_send;   /* of this tick, still */
	unsigned alive;     /* peers that count, as of the last tick */
};

/* Returns 0 or -ENOMEM; mesh_destroy() in either case. */
int mesh_create(struct mesh *mesh, const struct gossip *g, uint64_t now_ns);
void mesh_destroy(struct mesh *mesh);

/* Decides again which peers count, and chooses those of this tick. True: others than before. */
bool mesh_tick(struct mesh *mesh, struct gossip *g, uint64_t now_ns);

/* Index of the next peer of this tick, or n. */
unsigned mesh_next(struct mesh *mesh, const struct gossip *g);

/* Peers that do not count, of all that there are. */
unsigned mesh_silent(const struct mesh *mesh, const struct gossip *g);

/* The configured timeout for each tick of a round, nanoseconds. */
uint64_t mesh_silence(const struct gossip *g);

#endif

/*
 * What a peer's echoes say of the news that it was sent: whether it can have heard any of it.
 *
 * News goes out twice, in two ticks on end. Of a peer that hears of us from nobody else, each tick
 * that it hears is echoed, unless its answer is lost, or late behind the next. So news is followed
 * until an echo of its time or later arrives. If the echoes before leave out two ticks on end, both
 * tellings may be lost, and it is told again: in vain if it was the answers that were lost, which
 * costs some records, where to keep silent would cost the peer seconds. Two losses are
 * not seen: that of a single datagram of a tick's many, and that of a second telling that had to
 * wait behind more than a turn holds. Such news waits for its refresh.
 *
 * What is followed is in two parts: one that waits for its echo, and one that gathers what is sent
 * meanwhile, and waits next. So memory does not depend on the way's length. One thread.
 */
#ifndef WEIR_GOSSIP_ECHO_H
#define WEIR_GOSSIP_ECHO_H

#define ECHO_TELLINGS 2

/* Ticks are ours. */
struct echo {
	uint32_t newest; /* that was echoed */
	uint32_t left;   /* the last of those left out, ECHO_TELLINGS or more on end */
	uint32_t gathered_from, waits_from, waits_to;
	bool any, any_left;     /* whether newest and left are anything */
	bool gathered, waiting; /* whether there is news in these parts */
};

/* What is to become of the part that waits. */
enum echo_verdict { ECHO_WAIT, ECHO_HEARD, ECHO_UNHEARD };

/* News is sent in this tick: it is gathered. */
static inline void echo_gather(struct echo *echo, uint32_t tick)
{
	if (!echo->gathered)
		echo->gathered_from = tick;
	echo->gathered = true;
}

/* An echo arrives. With ECHO_HEARD and ECHO_UNHEARD nothing waits any more. */
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
	return echo->any_left && !serial_newer(echo->waits_from, echo->left) ? ECHO_UNHEARD
									     : ECHO_HEARD;
}

/* Whether what was gathered, up to this tick, is to wait now; it does then. */
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

#endif

/*
 * The shape of the tree. Limiters stand in the order of their ids; the children of position k are
 * k × B + 1 to k × B + B. A parent always has a lower position than its child, whatever happens, so
 * that no loop can ever form. Pure; any thread.
 */
#ifndef WEIR_GOSSIP_TREE_SHAPE_H
#define WEIR_GOSSIP_TREE_SHAPE_H

/*
 * Beside its ancestors the first limiters are candidates for everybody's parent, so that a group
 * falls apart only if they are all gone at once.
 */
#define TREE_HUBS 16

/* Ancestors (at most 31 above a 32-bit position, B being 2 or more) and hubs. */
#define TREE_CANDIDATES (31 + TREE_HUBS)

/* Edges between the root and the deepest of n positions. */
unsigned tree_depth(unsigned n, unsigned b);

/*
 * Positions that may be the parent of this one, best first: its ancestors, nearest first, then 1 to
 * TREE_HUBS. Writes at most TREE_CANDIDATES and returns how many.
 */
unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates);

#endif

/*
 * The neighbours of one limiter in the tree: a table of bounded size, whatever the group's. Only
 * those that have sent an authentic datagram are in it. One thread.
 */
#ifndef WEIR_GOSSIP_TREE_TABLE_H
#define WEIR_GOSSIP_TREE_TABLE_H

/* Room for a parent and B children, and for so many more that look for a parent, or are ours. */
#define TREE_EXTRA 64

/* What is said over one edge of one policy: the sum over one side of it. */
struct part {
	float demand, weight;
	uint32_t count; /* limiters in it */
	uint8_t fresh;  /* of what we say: datagrams that are still to carry it */
};

struct neighbour {
	struct peer peer;
	unsigned position;
	uint64_t spoke_ns;       /* when an authentic datagram of it came last */
	uint32_t sent_tick;      /* ours, when we last spoke to it */
	enum datagram_link link; /* of this edge, as it last said */
	bool watched;            /* was linked, and has not taken its leave */
	bool answer;             /* is to hear from us at the next tick */
	bool due;                /* is to hear from us in this tick */
	unsigned at;             /* policy with which the next datagram begins */
	struct part *heard;      /* n_policies, or NULL: nothing that holds */
	struct part *said;       /* n_policies, or NULL: the edge is no link to us */
};

struct tree_table {
	struct neighbour **at; /* n of room for max */
	unsigned n, max;
};

/* Returns 0 or -ENOMEM; table_destroy() in either case. */
int table_create(struct tree_table *table, unsigned max);
void table_destroy(struct tree_table *table);

struct neighbour *table_find(const struct tree_table *table, unsigned position);

/*
 * Adds one. In a full table it displaces one without a link that has been silent since before
 * stale_ns, or else the highest position, if that is above its own: those further down have more
 * candidates to turn to. NULL when there is no room.
 */
struct neighbour *table_add(
	struct tree_table *table, unsigned position, uint32_t id, uint64_t stale_ns);

/* Drops the k-th; the last takes its place. */
void table_drop(struct tree_table *table, unsigned k);

/* What is heard, or said, is void from now on. */
void neighbour_forget(struct neighbour *neighbour);
void neighbour_unlink(struct neighbour *neighbour);

#endif

bool peer_counter_fresh(struct peer *peer, uint64_t counter)
{
	uint64_t behind;

	if (counter == 0)
		return false;
	if (counter > peer->counter) {
		uint64_t ahead = counter - peer->counter;

		peer->window = ahead < REPLAY_WINDOW ? peer->window << ahead : 0;
		peer->window |= 1;
		peer->counter = counter;
		return true;
	}
	behind = peer->counter - counter;
	if (behind >= REPLAY_WINDOW || peer->window >> behind & 1)
		return false;
	peer->window |= UINT64_C(1) << behind;
	return true;
}

void peer_believe(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns)
{
	if (peer->known) {
		peer->restarts++;
		peer->retired_epoch = peer->epoch;
	}
	peer->known = true;
	peer->epoch = epoch;
	peer->tick = tick;
	peer->heard_ns = now_ns;
	peer->counter = 0;
	peer->window = 0;
	peer->confirmed = false;
	peer->claimed_epoch = 0;
}

void peer_heard(struct peer *peer, uint32_t tick, uint64_t now_ns)
{
	if (!serial_newer(tick, peer->tick))
		return;
	peer->tick = tick;
	peer->heard_ns = now_ns;
}

void peer_confirmed(struct peer *peer, uint64_t sent_ns)
{
	if (peer->confirmed && (int64_t)(sent_ns - peer->confirmed_ns) <= 0)
		return;
	peer->confirmed = true;
	peer->confirmed_ns = sent_ns;
}

/*
 * Signed, so that a time a little ahead of now (another thread's reading) is recent, not ancient.
 */
static bool heard_within(uint64_t then_ns, uint64_t now_ns, uint64_t timeout_ns)
{
	return (int64_t)(now_ns - then_ns) < (int64_t)timeout_ns;
}

bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns)
{
	bool was = peer->alive;

	peer->alive = peer->known && peer->confirmed &&
		      heard_within(peer->heard_ns, now_ns, timeout_ns) &&
		      heard_within(peer->confirmed_ns, now_ns, timeout_ns);
	return peer->alive != was;
}

#define NONCE_FROM 4 /* sender, epoch and counter: never the same twice under one key */
#define NONCE_LEN  20

static void cursor_put(struct cursor *cursor, uint64_t value, size_t bytes)
{
	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return;
	}
	for (size_t i = bytes; i-- > 0; value >>= 8)
		cursor->at[i] = (uint8_t)value;
	cursor->at += bytes;
}

static uint64_t cursor_get(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if (cursor->failed || cursor_left(cursor) < bytes) {
		cursor->failed = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | cursor->at[i];
	cursor->at += bytes;
	return value;
}

/* Four bytes: most of a datagram is made of them. */
static void cursor_put_u32(struct cursor *cursor, uint32_t value)
{
	if (cursor->failed || cursor_left(cursor) < 4) {
		cursor->failed = true;
		return;
	}
	cursor->at = wire_put32(cursor->at, value);
}

static uint32_t cursor_get_u32(struct cursor *cursor)
{
	uint32_t value;

	if (cursor->failed || cursor_left(cursor) < 4) {
		cursor->failed = true;
		return 0;
	}
	value = read_be32(cursor->at);
	cursor->at += 4;
	return value;
}

static void put_float(struct cursor *cursor, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	cursor_put_u32(cursor, bits);
}

static float get_float(struct cursor *cursor)
{
	uint32_t bits = cursor_get_u32(cursor);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void datagram_write_header(struct cursor *cursor, const struct datagram_header *header)
{
	cursor_put(cursor, header->version, 1);
	cursor_put(cursor, header->flags, 1);
	cursor_put(cursor, 0, 2);
	cursor_put_u32(cursor, header->sender);
	cursor_put(cursor, header->epoch, 8);
	cursor_put(cursor, header->counter, 8);
}

void datagram_read_header(struct cursor *cursor, struct datagram_header *header)
{
	header->version = (uint8_t)cursor_get(cursor, 1);
	header->flags = (uint8_t)cursor_get(cursor, 1);
	cursor_get(cursor, 2);
	header->sender = cursor_get_u32(cursor);
	header->epoch = cursor_get(cursor, 8);
	header->counter = cursor_get(cursor, 8);
}

void datagram_write_body(struct cursor *cursor, const struct datagram_body *body)
{
	cursor_put_u32(cursor, body->receiver);
	cursor_put(cursor, body->echo_epoch, 8);
	cursor_put_u32(cursor, body->echo_tick);
	cursor_put_u32(cursor, body->tick);
	cursor_put(cursor, body->n_records, 2);
}

void datagram_read_body(struct cursor *cursor, struct datagram_body *body)
{
	body->receiver = cursor_get_u32(cursor);
	body->echo_epoch = cursor_get(cursor, 8);
	body->echo_tick = cursor_get_u32(cursor);
	body->tick = cursor_get_u32(cursor);
	body->n_records = (uint16_t)cursor_get(cursor, 2);
}

void datagram_write_receiver(struct cursor *cursor, uint32_t receiver)
{
	cursor_put_u32(cursor, receiver);
}

uint32_t datagram_read_receiver(struct cursor *cursor)
{
	return cursor_get_u32(cursor);
}

void datagram_write_section(struct cursor *cursor, const struct datagram_section *section)
{
	cursor_put_u32(cursor, section->origin);
	cursor_put(cursor, section->epoch, 8);
	cursor_put_u32(cursor, section->tick);
	cursor_put(cursor, section->n_records, 2);
}

void datagram_read_section(struct cursor *cursor, struct datagram_section *section)
{
	section->origin = cursor_get_u32(cursor);
	section->epoch = cursor_get(cursor, 8);
	section->tick = cursor_get_u32(cursor);
	section->n_records = (uint16_t)cursor_get(cursor, 2);
}

void datagram_write_record(struct cursor *cursor, const struct datagram_record *record)
{
	cursor_put_u32(cursor, record->policy);
	cursor_put_u32(cursor, record->version);
	put_float(cursor, record->demand);
	put_float(cursor, record->weight);
}

void datagram_read_record(struct cursor *cursor, struct datagram_record *record)
{
	record->policy = cursor_get_u32(cursor);
	record->version = cursor_get_u32(cursor);
	record->demand = get_float(cursor);
	record->weight = get_float(cursor);
}

void datagram_write_link(struct cursor *cursor, enum datagram_link link)
{
	cursor_put(cursor, link, 1);
}

unsigned datagram_read_link(struct cursor *cursor)
{
	return (unsigned)cursor_get(cursor, 1);
}

void datagram_write_sum(struct cursor *cursor, const struct datagram_sum *sum)
{
	cursor_put_u32(cursor, sum->policy);
	cursor_put_u32(cursor, sum->count);
	put_float(cursor, sum->demand);
	put_float(cursor, sum->weight);
}

void datagram_read_sum(struct cursor *cursor, struct datagram_sum *sum)
{
	sum->policy = cursor_get_u32(cursor);
	sum->count = cursor_get_u32(cursor);
	sum->demand = get_float(cursor);
	sum->weight = get_float(cursor);
}

void datagram_write_round(struct cursor *cursor, const struct datagram_round *round)
{
	cursor_put_u32(cursor, round->generation);
	cursor_put_u32(cursor, round->sequence);
}

void datagram_read_round(struct cursor *cursor, struct datagram_round *round)
{
	round->generation = cursor_get_u32(cursor);
	round->sequence = cursor_get_u32(cursor);
}

void datagram_write_share(struct cursor *cursor, const struct datagram_share *share)
{
	cursor_put_u32(cursor, share->policy);
	put_float(cursor, share->push);
	put_float(cursor, share->demand);
	put_float(cursor, share->weight);
}

void datagram_read_share(struct cursor *cursor, struct datagram_share *share)
{
	share->policy = cursor_get_u32(cursor);
	share->push = get_float(cursor);
	share->demand = get_float(cursor);
	share->weight = get_float(cursor);
}

static void nonce_of(
	const uint8_t *buf, uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES])
{
	memset(nonce, 0, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
	memcpy(nonce, buf + NONCE_FROM, NONCE_LEN);
}

size_t datagram_seal(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY])
{
	uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
	unsigned long long sealed = 0;
	uint8_t *body = buf + DATAGRAM_HEADER;

	nonce_of(buf, nonce);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		body, &sealed, body, len - DATAGRAM_HEADER, buf, DATAGRAM_HEADER, NULL, nonce, key);
	return DATAGRAM_HEADER + (size_t)sealed;
}

int datagram_open(uint8_t *buf, size_t len, const uint8_t key[DATAGRAM_KEY])
{
	uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
	unsigned long long opened = 0;
	uint8_t *body = buf + DATAGRAM_HEADER;

	if (len < DATAGRAM_HEADER + DATAGRAM_TAG)
		return -EBADMSG;
	nonce_of(buf, nonce);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(body, &opened, NULL, body,
		    len - DATAGRAM_HEADER, buf, DATAGRAM_HEADER, nonce, key) != 0)
		return -EBADMSG;
	return DATAGRAM_HEADER + (int)opened;
}

static_assert(DATAGRAM_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
static_assert(DATAGRAM_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
static_assert(NONCE_LEN <= crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "nonce");

void estimator_believe(
	struct gossip *g, unsigned index, uint64_t epoch, uint32_t tick, uint64_t now_ns)
{
	g->estimator->forget(g, index);
	peer_believe(g->estimator->find(g, index), epoch, tick, now_ns);
}

bool estimator_rate_valid(float value)
{
	return isfinite(value) && value >= 0;
}

int mesh_create(struct mesh *mesh, const struct gossip *g, uint64_t now_ns)
{
	unsigned n = g->roster->n, k = 0;

	mesh->peers = calloc(n, sizeof(*mesh->peers));
	mesh->order = calloc(n, sizeof(*mesh->order));
	if (!mesh->peers || !mesh->order)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		mesh->peers[i].id = g->roster->ids[i];
		mesh->peers[i].heard_ns = now_ns;
		if (i != g->self)
			mesh->order[k++] = i;
	}
	mesh->at = n - 1; /* the first tick shuffles */
	return 0;
}

void mesh_destroy(struct mesh *mesh)
{
	free(mesh->peers);
	free(mesh->order);
}

static void shuffle_peer_order(struct mesh *mesh, struct gossip *g)
{
	for (unsigned i = g->roster->n - 1; i > 1; i--) {
		unsigned j = prng_below(&g->prng, i), t = mesh->order[j];

		mesh->order[j] = mesh->order[i - 1];
		mesh->order[i - 1] = t;
	}
	mesh->at = 0;
}

static bool expire_mesh_peers(struct mesh *mesh, struct gossip *g, uint64_t now_ns)
{
	uint64_t silence = mesh_silence(g);
	bool changed = false;

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		struct peer *peer = &mesh->peers[i];

		if (i == g->self || !peer_expire(peer, now_ns, silence))
			continue;
		mesh->alive += peer->alive ? 1U : -1U;
		g->changes++;
		changed = true;
	}
	return changed;
}

bool mesh_tick(struct mesh *mesh, struct gossip *g, uint64_t now_ns)
{
	unsigned peers = g->roster->n - 1, left;
	bool changed = expire_mesh_peers(mesh, g, now_ns);

	if (mesh->at >= peers)
		shuffle_peer_order(mesh, g);
	left = peers - mesh->at;
	mesh->to_send = left < g->branching ? left : g->branching;
	return changed;
}

unsigned mesh_next(struct mesh *mesh, const struct gossip *g)
{
	if (mesh->to_send == 0)
		return g->roster->n;
	mesh->to_send--;
	return mesh->order[mesh->at++];
}

unsigned mesh_silent(const struct mesh *mesh, const struct gossip *g)
{
	return g->roster->n - 1 - mesh->alive;
}

uint64_t mesh_silence(const struct gossip *g)
{
	unsigned peers = g->roster->n - 1;

	return g->timeout_ns * (peers == 0 ? 1 : (peers + g->branching - 1) / g->branching);
}

/*
 * The estimator of the paper (Raghavan et al., SIGCOMM 2007, after Kempe et al., FOCS 2003). For
 * each policy a limiter holds a mass: demand, weight and a push weight that begins as 1. Changes of
 * its own are added to it; each tick it hands an equal share to each of `branching` peers and keeps
 * one. No exchange changes the total over all, and everybody's ratio tends to the average, so the
 * sum is the number of limiters times demand by push weight.
 *
 * What a lost datagram carried is gone, and the total with it. Section 4.2 compensates: datagrams
 * are numbered for each receiver, and the newest is scaled by the number lost before it, which is
 * right on average. One that comes late after all has been made up for, and must not count twice.
 *
 * Where the paper says nothing: a limiter that crashes leaves part of its mass with the others for
 * ever, and takes part of theirs. So masses belong to a generation. Who notices that a holder of a
 * mass is gone begins the next: (own demand, own weight, 1). Who hears of a newer generation does
 * the same; shares of an older one are void. The same cures a mass that losses have worn away, or
 * compensation has blown up. Limiters that do not count get no shares, as these would be lost.
 */

/*
 * Bounds of a push weight. Chance alone does not lead there (twenty ticks without a share from
 * anybody); beyond, a change of our own would be magnified by a million.
 */
#define PUSH_MAX 1048576.0
#define PUSH_MIN (1 / PUSH_MAX)

/* More lost in a row than this is an outage, of which the newest share says little. */
#define COMPENSATED_MAX 16

struct mass {
	double push, demand, weight;
};

struct sequence {
	uint32_t sent, heard; /* datagrams with shares, in this generation */
	bool counted;         /* as of the last tick */
};

struct push_sum {
	struct mesh mesh;
	struct mass *own;           /* n_policies: as set; push is not used */
	struct mass *held;          /* n_policies */
	struct mass *share;         /* n_policies: what each peer of this tick gets */
	struct sequence *sequences; /* n */
	uint32_t generation;
	unsigned at; /* policy with which the next datagram begins */
};

static void begin_generation(struct gossip *g, uint32_t generation)
{
	struct push_sum *s = g->own;

	s->generation = generation;
	for (unsigned i = 0; i < g->policies->n; i++) {
		s->held[i] = (struct mass){1, s->own[i].demand, s->own[i].weight};
		s->share[i] = (struct mass){0};
	}
	for (unsigned i = 0; i < g->roster->n; i++)
		s->sequences[i].sent = s->sequences[i].heard = 0;
}

static int push_sum_create(struct gossip *g, uint64_t now_ns)
{
	size_t m = (size_t)g->policies->n + 1;
	struct push_sum *s = calloc(1, sizeof(*s));

	g->own = s;
	if (!s)
		return -ENOMEM;
	s->own = calloc(m, sizeof(*s->own));
	s->held = calloc(m, sizeof(*s->held));
	s->share = calloc(m, sizeof(*s->share));
	s->sequences = calloc(g->roster->n, sizeof(*s->sequences));
	if (!s->own || !s->held || !s->share || !s->sequences)
		return -ENOMEM;
	begin_generation(g, 0);
	return mesh_create(&s->mesh, g, now_ns);
}

static void push_sum_destroy(struct gossip *g)
{
	struct push_sum *s = g->own;

	if (!s)
		return;
	mesh_destroy(&s->mesh);
	free(s->own);
	free(s->held);
	free(s->share);
	free(s->sequences);
	free(s);
}

static void push_sum_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct push_sum *s = g->own;
	struct mass *own = &s->own[policy], *held = &s->held[policy];

	held->demand += demand - own->demand;
	held->weight += weight - own->weight;
	own->demand = demand;
	own->weight = weight;
}

/* One is gone: all begin again, if it has part of our mass, or we of its. */
static void replace_mass_of(struct gossip *g, unsigned index)
{
	struct push_sum *s = g->own;

	if (s->sequences[index].sent > 0 || s->sequences[index].heard > 0)
		begin_generation(g, s->generation + 1);
}

static void note_losses(struct gossip *g)
{
	struct push_sum *s = g->own;

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		bool counts = s->mesh.peers[i].alive;

		if (s->sequences[i].counted && !counts)
			replace_mass_of(g, i);
		s->sequences[i].counted = counts;
	}
}

static bool mass_sane(const struct mass *mass)
{
	return mass->push >= PUSH_MIN && mass->push <= PUSH_MAX && fabs(mass->demand) <= FLT_MAX &&
	       fabs(mass->weight) <= FLT_MAX;
}

static void push_sum_tick(struct gossip *g, uint64_t now_ns)
{
	struct push_sum *s = g->own;
	double part;

	if (mesh_tick(&s->mesh, g, now_ns))
		note_losses(g);
	for (unsigned i = 0; i < g->policies->n; i++)
		if (!mass_sane(&s->held[i]))
			begin_generation(g, s->generation + 1);
	part = 1.0 / (s->mesh.to_send + 1);
	for (unsigned i = 0; i < g->policies->n; i++) {
		const struct mass *held = &s->held[i];

		s->share[i] = (struct mass){
			held->push * part, held->demand * part, held->weight * part};
	}
}

static unsigned push_sum_next(struct gossip *g)
{
	struct push_sum *s = g->own;

	return mesh_next(&s->mesh, g);
}

/* What is written is taken from what is held, to the last bit. */
static void hand_over(struct gossip *g, struct cursor *cursor, unsigned policy)
{
	struct push_sum *s = g->own;
	struct mass *held = &s->held[policy];
	const struct mass *part = &s->share[policy];
	struct datagram_share share = {g->policies->ids[policy], (float)part->push,
		(float)part->demand, (float)part->weight};

	datagram_write_share(cursor, &share);
	held->push -= share.push;
	held->demand -= share.demand;
	held->weight -= share.weight;
}

static uint16_t push_sum_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct push_sum *s = g->own;
	struct datagram_round round = {.generation = s->generation};
	unsigned n = 0, m = g->policies->n;

	if (!s->mesh.peers[to].alive) {
		datagram_write_round(cursor, &round);
		return 0;
	}
	round.sequence = ++s->sequences[to].sent;
	datagram_write_round(cursor, &round);
	for (; n < m && cursor_left(cursor) >= DATAGRAM_RECORD; n++)
		hand_over(g, cursor, (s->at + n) % m);
	if (m)
		s->at = (s->at + n) % m;
	return (uint16_t)n;
}

static struct peer *push_sum_find(const struct gossip *g, unsigned index)
{
	struct push_sum *s = g->own;

	return &s->mesh.peers[index];
}

static struct peer *push_sum_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	(void)now_ns;
	return push_sum_find(g, index);
}

static void push_sum_forget(struct gossip *g, unsigned index)
{
	replace_mass_of(g, index);
}

static bool push_sum_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	struct datagram_round round;

	(void)g;
	datagram_read_round(&cursor, &round);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_share share;

		datagram_read_share(&cursor, &share);
		if (cursor.failed || !estimator_rate_valid(share.push) || !isfinite(share.demand) ||
			!isfinite(share.weight))
			return false;
	}
	return !cursor.failed && cursor_left(&cursor) == 0;
}

/* By how much a datagram counts: 0 when its shares are void or have been made up for. */
static double factor_of(struct gossip *g, const struct datagram_round *round, unsigned from)
{
	struct push_sum *s = g->own;
	struct sequence *sequence = &s->sequences[from];
	uint32_t missed;

	if (serial_newer(round->generation, s->generation))
		begin_generation(g, round->generation);
	if (round->generation != s->generation || round->sequence == 0)
		return 0;
	if (!serial_newer(round->sequence, sequence->heard))
		return g->compensate ? 0 : 1;
	missed = round->sequence - sequence->heard - 1;
	sequence->heard = round->sequence;
	if (!g->compensate)
		return 1;
	return 1 + (missed < COMPENSATED_MAX ? missed : COMPENSATED_MAX);
}

static void push_sum_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct push_sum *s = g->own;
	struct datagram_round round;
	double factor;

	(void)now_ns;
	datagram_read_round(&cursor, &round);
	factor = factor_of(g, &round, from);
	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_share share;
		unsigned policy;

		datagram_read_share(&cursor, &share);
		policy = roster_find(g->policies, share.policy);
		if (policy == g->policies->n) {
			g->counters.unknown_policy++;
			continue;
		}
		s->held[policy].push += factor * share.push;
		s->held[policy].demand += factor * share.demand;
		s->held[policy].weight += factor * share.weight;
	}
}

static unsigned push_sum_alive(const struct gossip *g)
{
	const struct push_sum *s = g->own;

	return s->mesh.alive;
}

static unsigned push_sum_silent(const struct gossip *g)
{
	const struct push_sum *s = g->own;

	return mesh_silent(&s->mesh, g);
}

static struct gossip_sum push_sum_sum(const struct gossip *g, unsigned policy)
{
	const struct push_sum *s = g->own;
	const struct mass *held = &s->held[policy], *own = &s->own[policy];
	unsigned alive = push_sum_alive(g);
	double scale = (1 + alive) / held->push;

	return (struct gossip_sum){
		.weight = fmax(0, scale * held->weight - own->weight),
		.demand = fmax(0, scale * held->demand - own->demand),
		.lost = g->roster->n - 1 - alive,
	};
}

static uint64_t push_sum_spread(const struct gossip *g)
{
	(void)g;
	return 0;
}

/* A mass that has been handed on counts everywhere, whether it was of anything or not. */
static bool push_sum_said(const struct gossip *g, unsigned policy)
{
	(void)g;
	(void)policy;
	return true;
}

static int push_sum_update(struct gossip *g, const struct remap *map)
{
	struct push_sum *s = g->own;
	struct mass *own = remap_rows(map, s->own, sizeof(*own));
	struct mass *held = remap_rows(map, s->held, sizeof(*held));
	struct mass *share = remap_rows(map, s->share, sizeof(*share));

	if (!own || !held || !share) {
		free(own);
		free(held);
		free(share);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < map->n; i++)
		if (map->from[i] == GOSSIP_ADDED)
			held[i].push = 1;
	free(s->own);
	free(s->held);
	free(s->share);
	s->own = own;
	s->held = held;
	s->share = share;
	s->at = 0;
	return 0;
}

const struct estimator estimator_push_sum = {
	.create = push_sum_create,
	.destroy = push_sum_destroy,
	.set = push_sum_set,
	.tick = push_sum_tick,
	.next = push_sum_next,
	.write = push_sum_write,
	.find = push_sum_find,
	.watched = push_sum_find,
	.admit = push_sum_admit,
	.forget = push_sum_forget,
	.check = push_sum_check,
	.take = push_sum_take,
	.sum = push_sum_sum,
	.alive = push_sum_alive,
	.silent = push_sum_silent,
	.silence = mesh_silence,
	.spread = push_sum_spread,
	.said = push_sum_said,
	.update = push_sum_update,
};

/*
 * The estimator of groups up to about a hundred: for every policy and every limiter the newest
 * record. What travels is replaceable versioned state, so a datagram lost, late, repeated or
 * overtaken does no lasting harm, and a sum is over newest values, not over increments.
 */

/*
 * Own records that a peer's turn carries although nothing changed: all of them come round now and
 * then, in REFRESH_TURNS at the most.
 */
#define REFRESH       8
#define REFRESH_TURNS 256

/* Records that are looked at for each that is refreshed, when many are not present. */
#define REFRESH_LOOKS 4

/*
 * Others of whom a datagram carries nothing but their tick. That is how a limiter hears of one
 * whose own datagrams do not reach it, for which a few seconds are soon enough.
 */
#define TICKS_ALONE 2

/* A change of this share of a value is sent at once; a smaller one waits for its refresh. */
#define CHANGED_ENOUGH (1.0f / 64)

/* Nor is a demand sent at once that changes by less than this, in bytes per second: it fades. */
#define CHANGED_LEAST 1.0f

/*
 * Datagrams to one peer a tick, where one does not hold all that is new to it. As many as a socket
 * takes in from a few peers at once without any setting; what is left waits for the peer's next
 * turn, and goes on where this one ended.
 */
#define TURN_DATAGRAMS 32

#define WORD_BITS 64

struct state_entry {
	uint32_t version;
	float demand, weight;
	bool present;
	uint8_t fresh; /* datagrams that are still to carry it */
};

/* What we have said in a record of ours. */
struct announced {
	float demand, weight; /* as last marked to be sent */
	uint32_t turn;        /* in which it was last sent */
};

/*
 * What each peer has still to be told of us, a bit a policy: in `once` what it has never been sent,
 * in `again` what it has been sent once, since datagrams are lost. The others are what it has been
 * sent and may not have heard, see echo.h. Of 64 policies the words of all peers lie side by side,
 * as a change is news to all.
 */
struct pending {
	uint64_t once, again;
	uint64_t gathered, waiting;
};

/* The datagrams to one peer in this tick. */
struct tell_turn {
	unsigned to, datagrams; /* how many there may still be */
	uint32_t number;
	unsigned words;     /* of pending, still to be gone through */
	uint64_t bits;      /* of the word that is being gone through */
	unsigned refresh;   /* records still to be refreshed */
	unsigned looks;     /* at records, for that */
	bool begun, unsaid; /* unsaid: there was no room for all */
};

struct state {
	struct mesh mesh;
	struct state_entry *entries; /* n_policies rows of n */
	struct announced *announced; /* n_policies */
	struct pending *pending;     /* n_words rows of n */
	unsigned n_words;
	unsigned *word_at, *refresh_at; /* n: where a peer's next turn goes on */
	uint64_t *relayed;              /* n rows of n_words: a bit for each fresh entry */
	bool *alive;                    /* n: as of the last tick */
	struct echo *echoes;            /* n */
	struct tell_turn turn;
	unsigned relay_at; /* where the next datagram goes on */
};

static struct state_entry *entry_of(const struct gossip *g, unsigned policy, unsigned origin)
{
	const struct state *s = g->own;

	return &s->entries[(size_t)policy * g->roster->n + origin];
}

static struct pending *pending_of(const struct gossip *g, unsigned word, unsigned peer)
{
	const struct state *s = g->own;

	return &s->pending[(size_t)word * g->roster->n + peer];
}

static uint64_t *relayed_of(const struct gossip *g, unsigned origin)
{
	const struct state *s = g->own;

	return &s->relayed[(size_t)origin * s->n_words];
}

static int state_create(struct gossip *g, uint64_t now_ns)
{
	size_t m = (size_t)g->policies->n + 1, n = g->roster->n;
	struct state *s = calloc(1, sizeof(*s));

	g->own = s;
	if (!s)
		return -ENOMEM;
	s->n_words = (unsigned)((m + WORD_BITS - 1) / WORD_BITS);
	s->entries = calloc(m * n, sizeof(*s->entries));
	s->announced = calloc(m, sizeof(*s->announced));
	s->pending = calloc(s->n_words * n, sizeof(*s->pending));
	s->relayed = calloc(s->n_words * n, sizeof(*s->relayed));
	s->word_at = calloc(n, sizeof(*s->word_at));
	s->refresh_at = calloc(n, sizeof(*s->refresh_at));
	s->alive = calloc(n, sizeof(*s->alive));
	s->echoes = calloc(n, sizeof(*s->echoes));
	if (!s->entries || !s->announced || !s->pending || !s->relayed || !s->word_at ||
		!s->refresh_at || !s->alive || !s->echoes)
		return -ENOMEM;
	return mesh_create(&s->mesh, g, now_ns);
}

static void free_rows(struct state *s)
{
	free(s->entries);
	free(s->announced);
	free(s->pending);
	free(s->relayed);
}

static void state_destroy(struct gossip *g)
{
	struct state *s = g->own;

	if (!s)
		return;
	mesh_destroy(&s->mesh);
	free_rows(s);
	free(s->word_at);
	free(s->refresh_at);
	free(s->alive);
	free(s->echoes);
	free(s);
}

/*
 * Whether everybody tells everybody in each tick. If not, others relay what is news, which makes up
 * for what is lost; and then an echo does not say whom our tick was heard from.
 */
static bool tells_all(const struct gossip *g)
{
	return g->roster->n - 1 <= g->branching;
}

/* A rumour spreads to N in about log2(N) rounds. */
static uint8_t relay_fresh(const struct gossip *g)
{
	unsigned rounds = 1;

	for (unsigned n = g->roster->n; n > 1; n >>= 1)
		rounds++;
	rounds *= g->branching;
	return (uint8_t)(rounds < UINT8_MAX ? rounds : UINT8_MAX);
}

static bool state_changed_enough(float from, float to)
{
	return fabsf(to - from) > CHANGED_ENOUGH * fmaxf(from, to);
}

/* It is news to everybody. */
static void mark_policy(struct gossip *g, unsigned policy)
{
	struct pending *row = pending_of(g, policy / WORD_BITS, 0);
	uint64_t bit = UINT64_C(1) << policy % WORD_BITS;

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		row[i].once |= bit;
		row[i].again &= ~bit;
	}
}

/*
 * A peer that says something of a policy for the first time may just have been given it, and have
 * let go what we said of it.
 */
static void mark_one(struct gossip *g, unsigned policy, unsigned peer)
{
	pending_of(g, policy / WORD_BITS, peer)->once |= UINT64_C(1) << policy % WORD_BITS;
}

/* A peer that knows nothing of us, or has not heard us for long, is told everything. */
static void mark_peer(struct gossip *g, unsigned peer)
{
	struct state *s = g->own;

	for (unsigned w = 0; w < s->n_words; w++)
		*pending_of(g, w, peer) = (struct pending){.once = UINT64_MAX};
	s->echoes[peer] = (struct echo){0};
}

static void state_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct state *s = g->own;
	struct state_entry *own = entry_of(g, policy, g->self);
	struct announced *told = &s->announced[policy];

	if (own->present && own->demand == demand && own->weight == weight)
		return;
	if (!own->present || state_changed_enough(told->weight, weight) ||
		(state_changed_enough(told->demand, demand) &&
			fabsf(told->demand - demand) >= CHANGED_LEAST)) {
		mark_policy(g, policy);
		told->demand = demand;
		told->weight = weight;
	}
	own->present = true;
	own->version = g->tick + 1; /* it goes out with the next tick */
	own->demand = demand;
	own->weight = weight;
}

static struct datagram_record record_of(
	const struct gossip *g, unsigned policy, const struct state_entry *entry)
{
	return (struct datagram_record){
		.policy = g->policies->ids[policy],
		.version = entry->version,
		.demand = entry->demand,
		.weight = entry->weight,
	};
}

static void write_own_record(struct gossip *g, struct cursor *cursor, unsigned policy)
{
	struct state *s = g->own;
	struct datagram_record record = record_of(g, policy, entry_of(g, policy, g->self));

	datagram_write_record(cursor, &record);
	s->announced[policy].turn = s->turn.number;
}

/* Writes one word's records; true when all of it has been said. */
static bool write_word(struct gossip *g, struct cursor *cursor, unsigned word, uint16_t *n)
{
	struct state *s = g->own;
	struct pending *pending = pending_of(g, word, s->turn.to);

	if (s->turn.bits)
		echo_gather(&s->echoes[s->turn.to], g->tick);
	for (; s->turn.bits; s->turn.bits &= s->turn.bits - 1) {
		unsigned policy = word * WORD_BITS + (unsigned)__builtin_ctzll(s->turn.bits);
		uint64_t bit = s->turn.bits & -s->turn.bits;

		if (policy < g->policies->n && entry_of(g, policy, g->self)->present) {
			if (cursor_left(cursor) < DATAGRAM_RECORD)
				return false;
			write_own_record(g, cursor, policy);
			(*n)++;
		}
		pending->again = (pending->again & ~bit) | (pending->once & bit);
		pending->once &= ~bit;
		pending->gathered |= bit;
	}
	return true;
}

/* What is news to the peer; true when all of it has been said. */
static bool write_state_news(struct gossip *g, struct cursor *cursor, uint16_t *n)
{
	struct state *s = g->own;
	struct tell_turn *turn = &s->turn;
	unsigned *at = &s->word_at[turn->to];

	while (turn->words > 0) {
		if (!write_word(g, cursor, *at, n))
			return false;
		*at = *at + 1 < s->n_words ? *at + 1 : 0;
		if (--turn->words > 0) {
			const struct pending *pending = pending_of(g, *at, turn->to);

			turn->bits = pending->once | pending->again;
		}
	}
	return true;
}

/* A few that are no news; true when those of this turn have been said. */
static bool write_refresh(struct gossip *g, struct cursor *cursor, uint16_t *n)
{
	struct state *s = g->own;
	struct tell_turn *turn = &s->turn;
	unsigned *at = &s->refresh_at[turn->to];

	for (; turn->refresh > 0 && turn->looks > 0; turn->looks--) {
		unsigned policy = *at;

		if (entry_of(g, policy, g->self)->present &&
			s->announced[policy].turn != turn->number) {
			if (cursor_left(cursor) < DATAGRAM_RECORD)
				return false;
			write_own_record(g, cursor, policy);
			turn->refresh--;
			(*n)++;
		}
		*at = policy + 1 < g->policies->n ? policy + 1 : 0;
	}
	return true;
}

static void begin_turn(struct gossip *g, unsigned to)
{
	struct state *s = g->own;
	unsigned n = g->policies->n, refresh = (n + REFRESH_TURNS - 1) / REFRESH_TURNS;
	const struct pending *pending = pending_of(g, s->word_at[to], to);

	refresh = refresh > REFRESH ? refresh : REFRESH;
	s->turn = (struct tell_turn){
		.to = to,
		.datagrams = TURN_DATAGRAMS,
		.number = s->turn.number + 1,
		.words = s->n_words,
		.bits = pending->once | pending->again,
		.refresh = refresh,
		.looks = n < REFRESH_LOOKS * refresh ? n : REFRESH_LOOKS * refresh,
		.begun = true,
	};
}

static uint16_t write_own(struct gossip *g, struct cursor *cursor)
{
	struct state *s = g->own;
	uint16_t n = 0;

	s->turn.unsaid = !write_state_news(g, cursor, &n) || !write_refresh(g, cursor, &n);
	return n;
}

static uint16_t write_relayed(struct gossip *g, struct cursor *cursor, unsigned origin)
{
	struct state *s = g->own;
	uint64_t *relayed = relayed_of(g, origin);
	uint16_t n = 0;

	for (unsigned w = 0; w < s->n_words && cursor_left(cursor) >= DATAGRAM_RECORD; w++) {
		for (uint64_t bits = relayed[w]; bits && cursor_left(cursor) >= DATAGRAM_RECORD;
			bits &= bits - 1) {
			unsigned policy = w * WORD_BITS + (unsigned)__builtin_ctzll(bits);
			struct state_entry *entry = entry_of(g, policy, origin);
			struct datagram_record record = record_of(g, policy, entry);

			if (--entry->fresh == 0)
				relayed[w] &= ~(bits & -bits);
			datagram_write_record(cursor, &record);
			n++;
		}
	}
	return n;
}

/* One section; false when there is nothing in it but a tick, and that is not wanted. */
static bool write_section(struct gossip *g, struct cursor *cursor, unsigned origin, bool alone)
{
	const struct state *s = g->own;
	const struct peer *peer = &s->mesh.peers[origin];
	struct datagram_section section = {peer->id, peer->epoch, peer->tick, 0};
	struct cursor begin = *cursor;

	datagram_write_section(cursor, &section);
	section.n_records = write_relayed(g, cursor, origin);
	if (section.n_records == 0 && !alone) {
		*cursor = begin;
		return false;
	}
	datagram_write_section(&begin, &section);
	return true;
}

/* What we have heard of others, as far as the room goes; each gets its turn. */
static void write_sections(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct state *s = g->own;
	unsigned n = g->roster->n, alone = TICKS_ALONE, origin = s->relay_at;

	for (unsigned i = 0; i < n; i++, origin = (origin + 1) % n) {
		uint8_t *at = cursor->at;

		estimator_looks(g, 1);
		if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
			break;
		if (origin == g->self || origin == to || !s->mesh.peers[origin].alive ||
			!write_section(g, cursor, origin, alone > 0))
			continue;
		if (alone > 0 && cursor->at == at + DATAGRAM_SECTION) {
			alone--;
			s->relay_at = (origin + 1) % n;
		}
	}
	if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
		s->relay_at = origin;
}

static void state_forget(struct gossip *g, unsigned origin)
{
	struct state *s = g->own;

	for (unsigned i = 0; i < g->policies->n; i++)
		*entry_of(g, i, origin) = (struct state_entry){0};
	memset(relayed_of(g, origin), 0, s->n_words * sizeof(*s->relayed));
	mark_peer(g, origin);
	g->all_news = true;
}

static void take_record(struct gossip *g, unsigned origin, const struct datagram_record *record)
{
	unsigned policy = roster_find(g->policies, record->policy);
	struct state_entry *entry;

	if (policy == g->policies->n) {
		g->counters.unknown_policy++;
		return;
	}
	entry = entry_of(g, policy, origin);
	if (entry->present && !serial_newer(record->version, entry->version))
		return;
	if (!entry->present || entry->demand != record->demand || entry->weight != record->weight)
		estimator_news(g, policy);
	if (!entry->present)
		mark_one(g, policy, origin);
	relayed_of(g, origin)[policy / WORD_BITS] |= UINT64_C(1) << policy % WORD_BITS;
	*entry = (struct state_entry){
		.version = record->version,
		.demand = record->demand,
		.weight = record->weight,
		.present = true,
		.fresh = relay_fresh(g),
	};
}

static void take_records(struct gossip *g, struct cursor *cursor, unsigned n, unsigned origin)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (origin < g->roster->n)
			take_record(g, origin, &record);
	}
}

/* The origin whose records are to be taken, or none when they are not. */
static unsigned take_section(
	struct gossip *g, const struct datagram_section *section, uint64_t now_ns)
{
	unsigned n = g->roster->n, origin = roster_find(g->roster, section->origin);
	struct state *s = g->own;
	struct peer *peer;

	if (origin == n || origin == g->self || section->epoch == 0)
		return n;
	peer = &s->mesh.peers[origin];
	/* Hearsay may introduce a peer; only the peer itself can say that it has restarted. */
	if (!peer->known)
		estimator_believe(g, origin, section->epoch, section->tick, now_ns);
	if (peer->epoch != section->epoch)
		return n;
	peer_heard(peer, section->tick, now_ns);
	return origin;
}

/* What waited for an echo has been heard or is news again; what was sent meanwhile waits next. */
static void follow_news(struct gossip *g, unsigned peer, bool unheard, bool advance)
{
	struct state *s = g->own;

	for (unsigned w = 0; w < s->n_words; w++) {
		struct pending *pending = pending_of(g, w, peer);

		if (unheard)
			pending->once |= pending->waiting;
		pending->waiting = advance ? pending->gathered : 0;
		if (advance)
			pending->gathered = 0;
	}
}

static void take_echo(struct gossip *g, const struct datagram_body *body, unsigned from)
{
	struct state *s = g->own;
	struct echo *echo = &s->echoes[from];
	enum echo_verdict verdict;
	bool advance;

	if (!tells_all(g) || body->echo_epoch != g->epoch || serial_newer(body->echo_tick, g->tick))
		return;
	verdict = echo_take(echo, body->echo_tick);
	advance = echo_advance(echo, g->tick);
	if (verdict != ECHO_WAIT || advance)
		follow_news(g, from, verdict == ECHO_UNHEARD, advance);
}

static void state_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	take_echo(g, body, from);
	take_records(g, &cursor, body->n_records, from);
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;

		datagram_read_section(&cursor, &section);
		take_records(g, &cursor, section.n_records, take_section(g, &section, now_ns));
	}
}

static bool records_valid(struct cursor *cursor, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (cursor->failed || !estimator_rate_valid(record.demand) ||
			!estimator_rate_valid(record.weight))
			return false;
	}
	return true;
}

static bool state_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	(void)g;
	if (!records_valid(&cursor, body->n_records))
		return false;
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;

		datagram_read_section(&cursor, &section);
		if (cursor.failed || !records_valid(&cursor, section.n_records))
			return false;
	}
	return true;
}

static struct gossip_sum state_sum(const struct gossip *g, unsigned policy)
{
	const struct state *s = g->own;
	struct gossip_sum sum = {0};

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		const struct state_entry *entry = entry_of(g, policy, i);

		if (i == g->self)
			continue;
		if (!s->mesh.peers[i].alive || !entry->present) {
			sum.lost++;
			continue;
		}
		sum.weight += entry->weight;
		sum.demand += entry->demand;
	}
	return sum;
}

static void state_tick(struct gossip *g, uint64_t now_ns)
{
	struct state *s = g->own;

	bool changed = mesh_tick(&s->mesh, g, now_ns);

	s->turn.begun = false;
	if (!changed)
		return;
	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		bool alive = s->mesh.peers[i].alive;

		if (alive == s->alive[i])
			continue;
		s->alive[i] = alive;
		g->all_news = true;
		if (alive)
			mark_peer(g, i);
	}
}

static unsigned state_next(struct gossip *g)
{
	struct state *s = g->own;
	unsigned to;

	if (s->turn.begun && s->turn.unsaid && s->turn.datagrams > 0)
		return s->turn.to;
	to = mesh_next(&s->mesh, g);
	if (to < g->roster->n)
		begin_turn(g, to);
	return to;
}

static uint16_t state_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct state *s = g->own;
	uint16_t n = write_own(g, cursor);

	s->turn.datagrams--;
	if (!tells_all(g) && !s->turn.unsaid)
		write_sections(g, cursor, to);
	return n;
}

static struct peer *state_find(const struct gossip *g, unsigned index)
{
	struct state *s = g->own;

	return &s->mesh.peers[index];
}

static struct peer *state_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	(void)now_ns;
	return state_find(g, index);
}

static unsigned state_alive(const struct gossip *g)
{
	const struct state *s = g->own;

	return s->mesh.alive;
}

static unsigned state_silent(const struct gossip *g)
{
	const struct state *s = g->own;

	return mesh_silent(&s->mesh, g);
}

/* Each relays what it hears, but what counts is who hears whom, and that each finds by itself. */
static uint64_t state_spread(const struct gossip *g)
{
	(void)g;
	return 0;
}

static bool state_said(const struct gossip *g, unsigned policy)
{
	return entry_of(g, policy, g->self)->present;
}

/* What a peer is still to be told, and what it is to be told of others. */
static void remap_bits(
	const struct gossip *g, const struct remap *map, const struct state *from, struct state *to)
{
	unsigned n = g->roster->n;

	for (unsigned i = 0; i < map->n; i++) {
		unsigned old = map->from[i];

		for (unsigned p = 0; old != GOSSIP_ADDED && p < n; p++) {
			const struct pending *had =
				&from->pending[(size_t)(old / WORD_BITS) * n + p];
			struct pending *has = &to->pending[(size_t)(i / WORD_BITS) * n + p];
			const uint64_t *relayed = &from->relayed[(size_t)p * from->n_words];
			unsigned shift = i % WORD_BITS;

			has->once |= (had->once >> old % WORD_BITS & 1) << shift;
			has->again |= (had->again >> old % WORD_BITS & 1) << shift;
			has->gathered |= (had->gathered >> old % WORD_BITS & 1) << shift;
			has->waiting |= (had->waiting >> old % WORD_BITS & 1) << shift;
			to->relayed[(size_t)p * to->n_words + i / WORD_BITS] |=
				(relayed[old / WORD_BITS] >> old % WORD_BITS & 1) << shift;
		}
	}
}

static int state_update(struct gossip *g, const struct remap *map)
{
	unsigned n = g->roster->n;
	struct state *s = g->own, moved = *s;

	moved.n_words = map->n / WORD_BITS + 1;
	moved.entries = remap_rows(map, s->entries, n * sizeof(*s->entries));
	moved.announced = remap_rows(map, s->announced, sizeof(*s->announced));
	moved.pending = calloc((size_t)moved.n_words * n, sizeof(*s->pending));
	moved.relayed = calloc((size_t)moved.n_words * n, sizeof(*s->relayed));
	if (!moved.entries || !moved.announced || !moved.pending || !moved.relayed) {
		free_rows(&moved);
		return -ENOMEM;
	}
	remap_bits(g, map, s, &moved);
	moved.turn.begun = false;
	free_rows(s);
	*s = moved;
	memset(s->word_at, 0, n * sizeof(*s->word_at));
	memset(s->refresh_at, 0, n * sizeof(*s->refresh_at));
	return 0;
}

const struct estimator estimator_state = {
	.create = state_create,
	.destroy = state_destroy,
	.set = state_set,
	.tick = state_tick,
	.next = state_next,
	.write = state_write,
	.find = state_find,
	.watched = state_find,
	.admit = state_admit,
	.forget = state_forget,
	.check = state_check,
	.take = state_take,
	.sum = state_sum,
	.alive = state_alive,
	.silent = state_silent,
	.silence = mesh_silence,
	.spread = state_spread,
	.said = state_said,
	.update = state_update,
	.tells_news = true,
};

/*
 * The estimator of large groups: sums along a tree over the roster. What a limiter says over an
 * edge is the sum of its own record and of what it has newest from its other neighbours, as
 * replaceable state. Upwards that is the sum of its children's, downwards that of its parent's and
 * of its other children's; as parents have lower positions than children, no value can come back to
 * where it has come from.
 *
 * An edge counts only while it is confirmed in both directions (membership.h), and both ends take
 * it for a link. A limiter is in search of the best candidate (tree_shape.h) that is alive:
 *
 *   - it probes the candidates better than its parent, one at a time; who is probed answers;
 *   - to one that is alive it says UP, and takes it for its parent when that says DOWN and counts
 *     no fewer limiters than the old parent does, but at the latest after a timeout: who has just
 *     restarted may have to find its own parent yet;
 *   - only then it says APART to the old parent, which drops its sums at once. For that short time
 *     the subtree counts twice: its weights make limits smaller, but its count may hide a loss. The
 *     other order would take a part of the limit from everybody at each move.
 *
 * Who is told DOWN by a limiter that is not its parent answers APART, so a lost leave heals too.
 * Those for whom there is no room are not answered: they find the next candidate.
 */

/* A change of this share of the total is said in the next tick; a smaller one by the heartbeat. */
#undef CHANGED_ENOUGH
#define CHANGED_ENOUGH (1.0 / 200)

/* Datagrams that carry a changed record, if they need not carry all records anyway. */
#define FRESH 3

/* Records that a datagram carries although nothing changed: all of them come round. */
#define REFRESH 8

/* Heartbeats in a timeout, so that a few may be lost; and most ticks between two. */
#define HEARTBEATS    10
#define HEARTBEAT_MAX 4

/* Heartbeats between probes of better candidates, while there is a parent. */
#define PATIENCE 4

/*
 * A peer that has no link and is silent for this part of the timeout makes room, if room is short.
 */
#define IDLE_SHARE 4

struct sum {
	double demand, weight;
	unsigned count;
};

struct tree {
	struct tree_table table;
	struct part *own; /* n_policies; a count of 1 when we have the policy */
	unsigned position, b, depth;
	unsigned n_candidates;
	unsigned candidates[TREE_CANDIDATES];
	unsigned parent, target; /* positions, or n; the target is to become the parent */
	uint32_t target_tick;    /* since when it is the target */
	unsigned probe;          /* position to probe in this tick, or n */
	unsigned probe_at;       /* candidate whose turn it is */
	uint32_t probe_tick;     /* of the last probe */
	unsigned send_at;        /* neighbour with which gossip_send() goes on */
};

static unsigned no_position(const struct gossip *g)
{
	return g->roster->n;
}

static int tree_create(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = calloc(1, sizeof(*t));

	(void)now_ns;
	g->own = t;
	if (!t)
		return -ENOMEM;
	t->b = g->branching < 2 ? 2 : g->branching;
	t->depth = tree_depth(g->roster->n, t->b);
	t->position = roster_position(g->roster, g->roster->ids[g->self]);
	t->n_candidates = tree_candidates(t->position, t->b, t->candidates);
	t->parent = t->target = t->probe = no_position(g);
	t->own = calloc((size_t)g->policies->n + 1, sizeof(*t->own));
	return t->own ? table_create(&t->table, 1 + t->b + TREE_EXTRA) : -ENOMEM;
}

static void tree_destroy(struct gossip *g)
{
	struct tree *t = g->own;

	if (!t)
		return;
	table_destroy(&t->table);
	free(t->own);
	free(t);
}

static void tree_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct tree *t = g->own;

	t->own[policy] = (struct part){.demand = demand, .weight = weight, .count = 1};
}

static bool is_child(const struct tree *t, const struct neighbour *e)
{
	return e->position > t->position;
}

/* What it says is part of our sums. */
static bool link_is_counted(const struct tree *t, const struct neighbour *e)
{
	return e->peer.alive && e->heard && (is_child(t, e) || e->position == t->parent);
}

static void sum_add(struct sum *sum, const struct part *part)
{
	sum->demand += part->demand;
	sum->weight += part->weight;
	sum->count += part->count;
}

/* Our own, and what is behind our links: all but `except`, and but the parent's for upwards. */
static struct sum tree_partial_sum(
	const struct gossip *g, unsigned policy, const struct neighbour *except, bool upwards)
{
	const struct tree *t = g->own;
	struct sum sum = {0};

	estimator_looks(g, t->table.n);
	sum_add(&sum, &t->own[policy]);
	for (unsigned i = 0; i < t->table.n; i++) {
		const struct neighbour *e = t->table.at[i];

		if (e != except && link_is_counted(t, e) && (is_child(t, e) || !upwards))
			sum_add(&sum, &e->heard[policy]);
	}
	return sum;
}

/* What is to be said to a neighbour; never more than there can be. */
static struct part part_for(const struct gossip *g, unsigned policy, const struct neighbour *e)
{
	const struct tree *t = g->own;
	struct sum sum = tree_partial_sum(g, policy, e, !is_child(t, e));

	return (struct part){
		.demand = (float)fmin(sum.demand, FLT_MAX),
		.weight = (float)fmin(sum.weight, FLT_MAX),
		.count = sum.count < g->roster->n ? sum.count : g->roster->n - 1,
	};
}

static bool sum_changed_enough(
	const struct part *from, const struct part *to, const struct sum *total)
{
	return from->count != to->count ||
	       fabs((double)to->demand - from->demand) > CHANGED_ENOUGH * total->demand ||
	       fabs((double)to->weight - from->weight) > CHANGED_ENOUGH * total->weight;
}

/* Marks what a neighbour should hear of at once; whether there is anything. */
static bool mark_changes(struct gossip *g, struct neighbour *e)
{
	bool changed = false;

	for (unsigned i = 0; i < g->policies->n; i++) {
		struct part part = part_for(g, i, e);
		struct sum total = tree_partial_sum(g, i, NULL, false);

		if (!sum_changed_enough(&e->said[i], &part, &total))
			continue;
		e->said[i].fresh = FRESH;
		changed = true;
	}
	return changed;
}

static uint64_t tree_silence(const struct gossip *g)
{
	return g->timeout_ns;
}

static uint64_t tree_spread(const struct gossip *g)
{
	const struct tree *t = g->own;

	return 2 * t->depth * g->tick_ns;
}

/* Ticks between two heartbeats. */
static uint32_t heartbeat_ticks(const struct gossip *g)
{
	uint64_t ticks = g->timeout_ns / (HEARTBEATS * g->tick_ns);

	return ticks < 1 ? 1 : ticks > HEARTBEAT_MAX ? HEARTBEAT_MAX : (uint32_t)ticks;
}

/* Whether it would matter to lose it. */
static void set_link_watched(struct gossip *g, struct neighbour *e, bool watched)
{
	g->changes += e->watched != watched;
	e->watched = watched;
}

/* Links of neighbours that do not count any more are void; who is long silent is forgotten. */
static void expire_tree_links(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = g->own;
	uint64_t silence = tree_silence(g);

	estimator_looks(g, t->table.n);
	for (unsigned i = t->table.n; i-- > 0;) {
		struct neighbour *e = t->table.at[i];

		g->changes += peer_expire(&e->peer, now_ns, silence);
		if (!e->peer.alive) {
			neighbour_forget(e);
			neighbour_unlink(e);
		}
		/* Not earlier, or an echo in a recorded datagram might still be recent. */
		if ((int64_t)(now_ns - e->spoke_ns) > 2 * (int64_t)silence) {
			set_link_watched(g, e, false);
			table_drop(&t->table, i);
		}
	}
}

static struct neighbour *find_neighbour(const struct gossip *g, unsigned position)
{
	const struct tree *t = g->own;

	estimator_looks(g, t->table.n);
	return table_find(&t->table, position);
}

static bool is_alive(const struct gossip *g, unsigned position)
{
	const struct neighbour *e = find_neighbour(g, position);

	return e && e->peer.alive;
}

/* Candidates that are better than the parent: the first so many. */
static unsigned count_better_parents(const struct tree *t)
{
	unsigned n = 0;

	while (n < t->n_candidates && t->candidates[n] != t->parent)
		n++;
	return n;
}

/* From now on it counts, and the old parent hears that we leave. */
static void adopt_new_parent(struct gossip *g)
{
	struct tree *t = g->own;
	struct neighbour *old = find_neighbour(g, t->parent);

	if (old) {
		neighbour_forget(old);
		set_link_watched(g, old, false);
		old->answer = true;
	}
	t->parent = t->target;
	t->target = no_position(g);
}

/* Whether the target has all that the parent has to say, or has had the time for it. */
static bool is_ready(const struct gossip *g, const struct neighbour *target)
{
	const struct tree *t = g->own;
	const struct neighbour *parent = find_neighbour(g, t->parent);

	if (target->link != DATAGRAM_DOWN)
		return false;
	if (!parent || !parent->heard || (g->tick - t->target_tick) * g->tick_ns >= tree_silence(g))
		return true;
	for (unsigned i = 0; i < g->policies->n; i++)
		if (target->heard[i].count < parent->heard[i].count)
			return false;
	return true;
}

/* The best that is alive is the target, unless the parent is better. */
static void choose_target(struct gossip *g)
{
	struct tree *t = g->own;
	unsigned n = count_better_parents(t), target = no_position(g);

	for (unsigned i = 0; i < n && target == no_position(g); i++)
		if (is_alive(g, t->candidates[i]))
			target = t->candidates[i];
	if (t->target != target)
		t->target_tick = g->tick;
	t->target = target;
}

static void choose_parent(struct gossip *g)
{
	struct tree *t = g->own;

	if (t->parent != no_position(g) && !is_alive(g, t->parent)) {
		t->parent = no_position(g);
		t->probe_at = 0;
		t->probe_tick = g->tick - heartbeat_ticks(g);
	}
	choose_target(g);
	if (t->target != no_position(g) && is_ready(g, find_neighbour(g, t->target)))
		adopt_new_parent(g);
}

static void choose_probe(struct gossip *g)
{
	struct tree *t = g->own;
	uint32_t pause = heartbeat_ticks(g) * (t->parent == no_position(g) ? 1 : PATIENCE);
	unsigned n = count_better_parents(t);
	struct neighbour *e;

	t->probe = no_position(g);
	if (n == 0 || g->tick - t->probe_tick < pause)
		return;
	t->probe_tick = g->tick;
	t->probe = t->candidates[t->probe_at++ % n];
	e = find_neighbour(g, t->probe);
	if (!e)
		return;
	e->answer = true;
	t->probe = no_position(g);
}

/* Whether the edge is a link to us. */
static bool edge_is_link(const struct tree *t, const struct neighbour *e)
{
	if (is_child(t, e))
		return e->peer.alive && e->link == DATAGRAM_UP;
	return e->position == t->parent || e->position == t->target;
}

static void choose_due(struct gossip *g, struct neighbour *e)
{
	if (!edge_is_link(g->own, e))
		neighbour_unlink(e);
	else if (!e->said)
		e->said = calloc((size_t)g->policies->n + 1, sizeof(*e->said));
	e->due = e->answer;
	e->answer = false;
	if (!e->said)
		return;
	set_link_watched(g, e, true);
	e->due |= mark_changes(g, e) || g->tick - e->sent_tick >= heartbeat_ticks(g);
}

static void tree_tick(struct gossip *g, uint64_t now_ns)
{
	struct tree *t = g->own;

	expire_tree_links(g, now_ns);
	choose_parent(g);
	choose_probe(g);
	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		choose_due(g, t->table.at[i]);
	t->send_at = 0;
}

static unsigned index_at(const struct gossip *g, unsigned position)
{
	return g->roster->sorted[position].index;
}

static unsigned tree_next(struct gossip *g)
{
	struct tree *t = g->own;

	if (t->probe != no_position(g)) {
		unsigned probe = t->probe;

		t->probe = no_position(g);
		return index_at(g, probe);
	}
	for (; t->send_at < t->table.n; t->send_at++)
		if (t->table.at[t->send_at]->due) {
			t->table.at[t->send_at]->due = false;
			return index_at(g, t->table.at[t->send_at]->position);
		}
	return no_position(g);
}

static struct neighbour *neighbour_of(const struct gossip *g, unsigned index)
{
	return find_neighbour(g, roster_position(g->roster, g->roster->ids[index]));
}

/* Those that changed, and a few that did not; goes on next time where the room ended. */
static uint16_t write_sums(struct gossip *g, struct cursor *cursor, struct neighbour *e)
{
	unsigned refresh = REFRESH, i = 0, m = g->policies->n;
	uint16_t n = 0;

	for (; i < m && cursor_left(cursor) >= DATAGRAM_RECORD; i++) {
		unsigned policy = (e->at + i) % m;
		uint8_t fresh = e->said[policy].fresh;
		struct part part;

		if (fresh == 0 && refresh == 0)
			continue;
		part = part_for(g, policy, e);
		part.fresh = fresh ? fresh - 1 : 0;
		refresh -= fresh == 0;
		e->said[policy] = part;
		datagram_write_sum(cursor, &(struct datagram_sum){g->policies->ids[policy],
						   part.count, part.demand, part.weight});
		n++;
	}
	if (m)
		e->at = (e->at + (i < m ? i : REFRESH)) % m;
	return n;
}

static uint16_t tree_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct neighbour *e = neighbour_of(g, to);

	if (e)
		e->sent_tick = g->tick;
	if (!e || !e->said) {
		datagram_write_link(cursor, DATAGRAM_APART);
		return 0;
	}
	datagram_write_link(cursor, is_child(g->own, e) ? DATAGRAM_DOWN : DATAGRAM_UP);
	return write_sums(g, cursor, e);
}

static struct peer *tree_find(const struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	return e ? &e->peer : NULL;
}

static struct peer *tree_watched(const struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	return e && e->watched ? &e->peer : NULL;
}

static bool is_candidate(const struct tree *t, unsigned position)
{
	for (unsigned i = 0; i < t->n_candidates; i++)
		if (t->candidates[i] == position)
			return true;
	return false;
}

static struct peer *tree_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	struct tree *t = g->own;
	struct neighbour *e = neighbour_of(g, index);

	if (!e) {
		uint32_t id = g->roster->ids[index];
		unsigned position = roster_position(g->roster, id);

		if (position > t->position || is_candidate(t, position))
			e = table_add(
				&t->table, position, id, now_ns - tree_silence(g) / IDLE_SHARE);
		if (!e)
			return NULL;
		e->sent_tick = g->tick - HEARTBEAT_MAX;
		g->changes++; /* one that is watched may have made room */
	}
	e->spoke_ns = now_ns;
	/*
	 * A peer that probes us is answered, and one that does not know us yet hears of us without
	 * delay.
	 */
	if ((is_child(t, e) && !e->said) || !e->peer.known)
		e->answer = true;
	return &e->peer;
}

static void tree_forget(struct gossip *g, unsigned index)
{
	struct neighbour *e = neighbour_of(g, index);

	/* Nor does it know what we have said. */
	neighbour_forget(e);
	neighbour_unlink(e);
}

static bool tree_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	unsigned link = datagram_read_link(&cursor);

	for (unsigned i = 0; i < body->n_records; i++) {
		struct datagram_sum sum;

		datagram_read_sum(&cursor, &sum);
		if (cursor.failed || sum.count >= g->roster->n ||
			!estimator_rate_valid(sum.demand) || !estimator_rate_valid(sum.weight))
			return false;
	}
	return !cursor.failed && cursor_left(&cursor) == 0 && link < DATAGRAM_LINKS &&
	       (link != DATAGRAM_APART || body->n_records == 0);
}

static void take_sums(struct gossip *g, struct cursor cursor, unsigned n, struct neighbour *e)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_sum sum;
		unsigned policy;

		datagram_read_sum(&cursor, &sum);
		policy = roster_find(g->policies, sum.policy);
		if (policy == g->policies->n)
			g->counters.unknown_policy++;
		else
			e->heard[policy] = (struct part){
				.demand = sum.demand, .weight = sum.weight, .count = sum.count};
	}
}

/* What a neighbour takes the edge for, if we may take it for that too. */
static enum datagram_link link_agreed(
	const struct tree *t, const struct neighbour *e, enum datagram_link said)
{
	if (is_child(t, e))
		return said == DATAGRAM_UP ? DATAGRAM_UP : DATAGRAM_APART;
	if (e->position != t->parent && e->position != t->target)
		return DATAGRAM_APART;
	return said == DATAGRAM_DOWN ? DATAGRAM_DOWN : DATAGRAM_APART;
}

static void tree_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct neighbour *e = neighbour_of(g, from);
	enum datagram_link said = (enum datagram_link)datagram_read_link(&cursor), link;

	(void)now_ns;
	/* One datagram a tick: another has overtaken this one. */
	if (body->tick != e->peer.tick)
		return;
	link = link_agreed(g->own, e, said);
	if (link == DATAGRAM_APART) {
		/* It believes in a link that is none, or has given one up, or knows of none. */
		e->answer |= said != DATAGRAM_APART || e->link != DATAGRAM_APART;
		set_link_watched(g, e, false);
		neighbour_forget(e);
		neighbour_unlink(e);
		return;
	}
	if (!e->heard)
		e->heard = calloc((size_t)g->policies->n + 1, sizeof(*e->heard));
	if (!e->heard)
		return;
	e->answer |= e->link != link;
	e->link = link;
	take_sums(g, cursor, body->n_records, e);
}

static struct gossip_sum tree_sum(const struct gossip *g, unsigned policy)
{
	const struct tree *t = g->own;
	unsigned peers = g->roster->n - 1;
	struct sum sum = {0};

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		if (link_is_counted(t, t->table.at[i]))
			sum_add(&sum, &t->table.at[i]->heard[policy]);
	return (struct gossip_sum){
		.weight = sum.weight,
		.demand = sum.demand,
		.lost = sum.count < peers ? peers - sum.count : 0,
	};
}

static unsigned tree_alive(const struct gossip *g)
{
	const struct tree *t = g->own;
	unsigned alive = 0;

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		alive += link_is_counted(t, t->table.at[i]);
	return alive;
}

static unsigned tree_silent(const struct gossip *g)
{
	const struct tree *t = g->own;
	unsigned silent = 0;

	estimator_looks(g, t->table.n);
	for (unsigned i = 0; i < t->table.n; i++)
		silent += t->table.at[i]->watched && !t->table.at[i]->peer.alive;
	return silent;
}

static bool tree_said(const struct gossip *g, unsigned policy)
{
	const struct tree *t = g->own;

	return t->own[policy].count > 0;
}

/* The arrays of a neighbour, moved; false when there is no memory for them. */
static bool remap_neighbour(
	const struct remap *map, const struct neighbour *e, struct part **heard, struct part **said)
{
	*heard = e->heard ? remap_rows(map, e->heard, sizeof(**heard)) : NULL;
	*said = e->said ? remap_rows(map, e->said, sizeof(**said)) : NULL;
	return (*heard || !e->heard) && (*said || !e->said);
}

static int tree_update(struct gossip *g, const struct remap *map)
{
	struct tree *t = g->own;
	struct part **moved = calloc(2 * (size_t)t->table.n + 1, sizeof(struct part *));
	struct part *own = remap_rows(map, t->own, sizeof(*own));
	bool complete = moved && own;

	for (unsigned i = 0; complete && i < t->table.n; i++)
		complete = remap_neighbour(map, t->table.at[i], &moved[2 * i], &moved[2 * i + 1]);
	for (unsigned i = 0; complete && i < t->table.n; i++) {
		struct neighbour *e = t->table.at[i];
		struct part *heard = e->heard, *said = e->said;

		e->heard = moved[2 * i];
		e->said = moved[2 * i + 1];
		moved[2 * i] = heard;
		moved[2 * i + 1] = said;
		e->at = 0;
	}
	if (complete) {
		struct part *old = t->own;

		t->own = own;
		own = old;
	}
	for (unsigned i = 0; moved && i < 2 * t->table.n; i++)
		free(moved[i]);
	free(moved);
	free(own);
	return complete ? 0 : -ENOMEM;
}

const struct estimator estimator_tree = {
	.create = tree_create,
	.destroy = tree_destroy,
	.set = tree_set,
	.tick = tree_tick,
	.next = tree_next,
	.write = tree_write,
	.find = tree_find,
	.watched = tree_watched,
	.admit = tree_admit,
	.forget = tree_forget,
	.check = tree_check,
	.take = tree_take,
	.sum = tree_sum,
	.alive = tree_alive,
	.silent = tree_silent,
	.silence = tree_silence,
	.spread = tree_spread,
	.said = tree_said,
	.update = tree_update,
};

static unsigned tree_parent_position(unsigned position, unsigned b)
{
	return (position - 1) / b;
}

unsigned tree_depth(unsigned n, unsigned b)
{
	unsigned depth = 0;

	for (unsigned at = n - 1; at > 0; at = tree_parent_position(at, b))
		depth++;
	return depth;
}

static bool candidates_contain(const unsigned *candidates, unsigned n, unsigned position)
{
	for (unsigned i = 0; i < n; i++)
		if (candidates[i] == position)
			return true;
	return false;
}

unsigned tree_candidates(unsigned position, unsigned b, unsigned *candidates)
{
	unsigned n = 0, ancestors;

	for (unsigned at = position; at > 0; at = tree_parent_position(at, b))
		candidates[n++] = tree_parent_position(at, b);
	ancestors = n;
	for (unsigned hub = 1; hub <= TREE_HUBS && hub < position; hub++)
		if (!candidates_contain(candidates, ancestors, hub))
			candidates[n++] = hub;
	return n;
}

int table_create(struct tree_table *table, unsigned max)
{
	table->max = max;
	table->at = calloc(max, sizeof(*table->at));
	return table->at ? 0 : -ENOMEM;
}

void table_destroy(struct tree_table *table)
{
	while (table->n > 0)
		table_drop(table, table->n - 1);
	free(table->at);
}

struct neighbour *table_find(const struct tree_table *table, unsigned position)
{
	for (unsigned i = 0; i < table->n; i++)
		if (table->at[i]->position == position)
			return table->at[i];
	return NULL;
}

static unsigned highest_position(const struct tree_table *table)
{
	unsigned k = 0;

	for (unsigned i = 1; i < table->n; i++)
		if (table->at[i]->position > table->at[k]->position)
			k = i;
	return k;
}

static bool neighbour_is_idle(const struct neighbour *neighbour, uint64_t stale_ns)
{
	return !neighbour->said && !neighbour->heard &&
	       (int64_t)(neighbour->spoke_ns - stale_ns) < 0;
}

/* Makes room for one more; false when there is none for this position. */
static bool displace_neighbour(struct tree_table *table, unsigned position, uint64_t stale_ns)
{
	unsigned k = 0;

	while (k < table->n && !neighbour_is_idle(table->at[k], stale_ns))
		k++;
	if (k == table->n)
		k = highest_position(table);
	if (!neighbour_is_idle(table->at[k], stale_ns) && table->at[k]->position < position)
		return false;
	table_drop(table, k);
	return true;
}

struct neighbour *table_add(
	struct tree_table *table, unsigned position, uint32_t id, uint64_t stale_ns)
{
	struct neighbour *neighbour;

	if (table->n == table->max && !displace_neighbour(table, position, stale_ns))
		return NULL;
	neighbour = calloc(1, sizeof(*neighbour));
	if (!neighbour)
		return NULL;
	neighbour->position = position;
	neighbour->peer.id = id;
	table->at[table->n++] = neighbour;
	return neighbour;
}

void table_drop(struct tree_table *table, unsigned k)
{
	struct neighbour *neighbour = table->at[k];

	table->at[k] = table->at[--table->n];
	neighbour_forget(neighbour);
	neighbour_unlink(neighbour);
	free(neighbour);
}

void neighbour_forget(struct neighbour *neighbour)
{
	neighbour->link = DATAGRAM_APART;
	free(neighbour->heard);
	neighbour->heard = NULL;
}

void neighbour_unlink(struct neighbour *neighbour)
{
	free(neighbour->said);
	neighbour->said = NULL;
}

/*
 * Other policies at run time. What is known of those that stay is kept. What we have said of those
 * that go, peers go on counting with, as a record is valid until a newer one comes: so we go on
 * saying that we have nothing of it. A policy that is withdrawn has an index behind those in use,
 * and goes for good with a change that comes much later.
 */

/*
 * A peer that we do not reach for longer keeps our last word on what was withdrawn meanwhile, until
 * one of us is started anew.
 */
#define WITHDRAWN_NS (3600 * SECOND_NS)

void *remap_rows(const struct remap *map, const void *rows, size_t size)
{
	char *moved = calloc((size_t)map->n + 1, size);

	for (unsigned i = 0; moved && i < map->n; i++)
		if (map->from[i] != GOSSIP_ADDED)
			memcpy(moved + i * size, (const char *)rows + map->from[i] * size, size);
	return moved;
}

/* What is made aside, and takes effect when nothing can fail any more. */
struct update {
	struct remap map;
	unsigned *from;
	uint32_t *ids;
	uint64_t *withdrawn_ns, *news;
	struct roster *policies;
};

static void gossip_update_free(struct update *u)
{
	free(u->from);
	free(u->ids);
	free(u->withdrawn_ns);
	free(u->news);
	roster_destroy(u->policies);
}

static int gossip_update_alloc(struct update *u, const struct gossip *g, unsigned n)
{
	size_t most = (size_t)n + g->policies->n + 1;

	u->from = malloc(most * sizeof(*u->from));
	u->ids = malloc(most * sizeof(*u->ids));
	u->withdrawn_ns = malloc(most * sizeof(*u->withdrawn_ns));
	u->news = calloc(most / 64 + 1, sizeof(*u->news));
	return u->from && u->ids && u->withdrawn_ns && u->news ? 0 : -ENOMEM;
}

/* Those given; a name that was withdrawn is taken up again. False when an index makes no sense. */
static bool take_new(struct update *u, const struct gossip *g, const uint32_t *ids, unsigned n,
	const unsigned *from)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned old = roster_find(g->policies, ids[i]);

		if (from[i] != GOSSIP_ADDED && from[i] != old)
			return false;
		u->ids[i] = ids[i];
		u->from[i] = old < g->policies->n ? old : GOSSIP_ADDED;
	}
	u->map.n = n;
	return true;
}

static bool policy_record_stays(const struct gossip *g, unsigned old, uint64_t now_ns)
{
	if (old < g->n_policies)
		return g->estimator->said(g, old);
	return now_ns - g->withdrawn_ns[old - g->n_policies] < WITHDRAWN_NS;
}

static int take_withdrawn(struct update *u, const struct gossip *g, uint64_t now_ns)
{
	unsigned n = u->map.n;
	bool *kept = calloc((size_t)g->policies->n + 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		if (u->from[i] != GOSSIP_ADDED)
			kept[u->from[i]] = true;
	for (unsigned old = 0; old < g->policies->n; old++) {
		if (kept[old] || !policy_record_stays(g, old, now_ns))
			continue;
		u->withdrawn_ns[u->map.n - n] = old < g->n_policies
							? now_ns
							: g->withdrawn_ns[old - g->n_policies];
		u->ids[u->map.n] = g->policies->ids[old];
		u->from[u->map.n++] = old;
	}
	free(kept);
	return 0;
}

static int gossip_update_prepare(struct update *u, const struct gossip *g, const uint32_t *ids,
	unsigned n, const unsigned *from, uint64_t now_ns)
{
	int ret = gossip_update_alloc(u, g, n);

	if (ret)
		return ret;
	if (!take_new(u, g, ids, n, from))
		return -EINVAL;
	ret = take_withdrawn(u, g, now_ns);
	u->map.from = u->from;
	return ret ? ret : roster_create(u->ids, u->map.n, &u->policies);
}

/* What has not been told of those that stay; of one that is added there is nothing to tell. */
static void remap_news(const struct update *u, const struct gossip *g, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned old = u->from[i];

		if (old < g->n_policies && g->news[old / 64] >> old % 64 & 1)
			u->news[i / 64] |= UINT64_C(1) << i % 64;
	}
}

static void gossip_update_commit(struct update *u, struct gossip *g, unsigned n)
{
	struct update old = {
		.withdrawn_ns = g->withdrawn_ns, .news = g->news, .policies = g->policies};

	remap_news(u, g, n);
	g->policies = u->policies;
	g->withdrawn_ns = u->withdrawn_ns;
	g->news = u->news;
	g->n_policies = n;
	for (unsigned i = n; i < g->policies->n; i++)
		g->estimator->set(g, i, 0, 0);
	free(u->from);
	free(u->ids);
	gossip_update_free(&old);
}

static bool same_policy_ids(const struct gossip *g, const uint32_t *ids, unsigned n)
{
	return n == g->n_policies && memcmp(ids, g->policies->ids, n * sizeof(*ids)) == 0;
}

int gossip_update(struct gossip *g, const uint32_t *ids, unsigned n, const unsigned *from,
	uint64_t tick_ns, uint64_t now_ns)
{
	struct update u = {0};
	int ret = 0;

	if (!same_policy_ids(g, ids, n)) {
		ret = gossip_update_prepare(&u, g, ids, n, from, now_ns);
		if (ret == 0)
			ret = g->estimator->update(g, &u.map);
		if (ret) {
			gossip_update_free(&u);
			return ret;
		}
		gossip_update_commit(&u, g, n);
	}
	g->tick_ns = tick_ns;
	return 0;
}

/*
 * What is the same whatever the estimator: headers, seals, epochs, verdicts, counters.
 */

static const struct estimator *const estimators[GOSSIP_ESTIMATORS] = {
	[GOSSIP_STATE] = &estimator_state,
	[GOSSIP_TREE] = &estimator_tree,
	[GOSSIP_PUSH_SUM] = &estimator_push_sum,
};

static bool gossip_params_valid(const struct gossip_params *p)
{
	return p->roster && p->roster->n >= 1 && p->self < p->roster->n && p->epoch != 0 &&
	       p->branching >= 1 && p->tick_ns > 0 && p->datagram_max >= DATAGRAM_MIN + 64 &&
	       p->datagram_max <= DATAGRAM_MAX && p->estimator < GOSSIP_ESTIMATORS;
}

int gossip_create(const struct gossip_params *p, uint64_t now_ns, struct gossip **out)
{
	struct gossip *g;
	int ret;

	if (!gossip_params_valid(p))
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->looks = &g->counters.looks;
	g->estimator = estimators[p->estimator];
	g->n_policies = p->n_policies;
	g->roster = p->roster;
	g->self = p->self;
	g->branching = p->branching;
	g->datagram_max = p->datagram_max;
	g->tick_ns = p->tick_ns;
	g->timeout_ns = p->timeout_ns;
	g->epoch = p->epoch;
	g->compensate = p->compensate;
	g->flags = (uint8_t)(p->estimator << DATAGRAM_ESTIMATOR_SHIFT);
	prng_seed(&g->prng, p->seed);
	if (p->key) {
		g->flags |= DATAGRAM_SEALED;
		memcpy(g->key, p->key, DATAGRAM_KEY);
	}
	ret = roster_create(p->policies, p->n_policies, &g->policies);
	g->news = calloc(p->n_policies / 64 + 1, sizeof(*g->news));
	g->all_news = true;
	if (ret == 0 && !g->news)
		ret = -ENOMEM;
	if (ret == 0)
		ret = g->estimator->create(g, now_ns);
	if (ret) {
		gossip_destroy(g);
		return ret;
	}
	*out = g;
	return 0;
}

void gossip_destroy(struct gossip *g)
{
	if (!g)
		return;
	g->estimator->destroy(g);
	roster_destroy(g->policies);
	free(g->news);
	free(g->withdrawn_ns);
	explicit_bzero(g->key, sizeof(g->key));
	free(g);
}

void gossip_set(struct gossip *g, unsigned policy, double demand, double weight)
{
	g->estimator->set(g, policy, (float)demand, (float)weight);
}

void gossip_tick(struct gossip *g, uint64_t now_ns)
{
	g->tick++;
	g->estimator->tick(g, now_ns);
}

static struct datagram_body body_for(struct gossip *g, unsigned to)
{
	const struct peer *peer = g->estimator->find(g, to);
	struct datagram_body body = {.receiver = g->roster->ids[to], .tick = g->tick};
	bool claim;

	if (!peer)
		return body;
	claim = peer->claimed_epoch != 0 && (!peer->known || g->echo_claim);
	g->echo_claim = !g->echo_claim;
	if (claim || peer->known) {
		body.echo_epoch = claim ? peer->claimed_epoch : peer->epoch;
		body.echo_tick = claim ? peer->claimed_tick : peer->tick;
	}
	return body;
}

size_t gossip_send(struct gossip *g, uint8_t *buf, unsigned *peer)
{
	bool sealed = g->flags & DATAGRAM_SEALED;
	size_t room = g->datagram_max - (sealed ? DATAGRAM_TAG : 0), len;
	struct cursor cursor = {.at = buf, .end = buf + room}, again;
	struct datagram_header header = {
		DATAGRAM_VERSION, g->flags, g->roster->ids[g->self], g->epoch, 0};
	struct datagram_body body;

	*peer = g->estimator->next(g);
	if (*peer == g->roster->n)
		return 0;
	header.counter = ++g->counter;
	body = body_for(g, *peer);
	datagram_write_header(&cursor, &header);
	again = cursor;
	datagram_write_body(&cursor, &body);
	body.n_records = g->estimator->write(g, &cursor, *peer);
	datagram_write_body(&again, &body);
	len = (size_t)(cursor.at - buf);
	if (sealed)
		len = datagram_seal(buf, len, g->key);
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

/* Ticks since we sent what the body echoes, or UINT32_MAX when it echoes nothing of ours. */
static uint32_t echo_age(const struct gossip *g, const struct datagram_body *body)
{
	if (body->echo_epoch != g->epoch || serial_newer(body->echo_tick, g->tick))
		return UINT32_MAX;
	return g->tick - body->echo_tick;
}

/* Whether the datagram's epoch is, or has just been proven to be, the sender's present one. */
static enum gossip_verdict check_epoch(struct gossip *g, unsigned sender,
	const struct datagram_header *header, const struct datagram_body *body, uint64_t now_ns)
{
	struct peer *peer = g->estimator->admit(g, sender, now_ns);
	uint32_t age = echo_age(g, body);

	if (!peer)
		return GOSSIP_NO_ROOM;
	if (!peer->known || header->epoch != peer->epoch) {
		if (header->epoch == 0 || header->epoch == peer->retired_epoch)
			return GOSSIP_REPLAY;
		if (age == UINT32_MAX || age * g->tick_ns >= g->estimator->silence(g)) {
			peer->claimed_epoch = header->epoch;
			peer->claimed_tick = body->tick;
			return GOSSIP_UNPROVEN;
		}
		estimator_believe(g, sender, header->epoch, body->tick, now_ns);
	}
	if (!peer_counter_fresh(peer, header->counter))
		return GOSSIP_REPLAY;
	peer_heard(peer, body->tick, now_ns);
	if (age != UINT32_MAX)
		peer_confirmed(peer, now_ns - age * g->tick_ns);
	return GOSSIP_ACCEPTED;
}

static bool is_message(const struct datagram_header *header)
{
	return (header->flags & ~DATAGRAM_SEALED) == DATAGRAM_MESSAGE;
}

/* What can be said before the key is used. */
static enum gossip_verdict check_header(
	const struct gossip *g, const struct datagram_header *header, size_t len)
{
	bool sealed = header->flags & DATAGRAM_SEALED, message = is_message(header);
	unsigned estimator = header->flags >> DATAGRAM_ESTIMATOR_SHIFT;
	size_t least = message ? DATAGRAM_HEADER + DATAGRAM_RECEIVER : DATAGRAM_MIN;

	if (header->version != DATAGRAM_VERSION || (!message && estimator >= GOSSIP_ESTIMATORS))
		return GOSSIP_VERSION;
	if ((header->flags ^ g->flags) & DATAGRAM_SEALED)
		return GOSSIP_UNSEALED;
	if (!message && header->flags != g->flags)
		return GOSSIP_ESTIMATOR;
	if (len < least + (sealed ? DATAGRAM_TAG : 0))
		return GOSSIP_TRUNCATED;
	if (header->sender == g->roster->ids[g->self])
		return GOSSIP_SELF;
	if (roster_find(g->roster, header->sender) == g->roster->n)
		return GOSSIP_STRANGER;
	return GOSSIP_ACCEPTED;
}

static enum gossip_verdict take_datagram(
	struct gossip *g, uint64_t now_ns, uint8_t *buf, size_t len)
{
	struct cursor cursor = {.at = buf, .end = buf + len};
	struct datagram_header header;
	struct datagram_body body;
	enum gossip_verdict verdict;
	unsigned sender;

	datagram_read_header(&cursor, &header);
	if (cursor.failed)
		return GOSSIP_TRUNCATED;
	verdict = check_header(g, &header, len);
	if (verdict != GOSSIP_ACCEPTED)
		return verdict;
	if (g->flags & DATAGRAM_SEALED) {
		int opened = datagram_open(buf, len, g->key);

		if (opened < 0)
			return GOSSIP_FORGED;
		cursor.end = buf + opened;
	}
	if (is_message(&header))
		return datagram_read_receiver(&cursor) == g->roster->ids[g->self] ? GOSSIP_MESSAGE
										  : GOSSIP_MISSENT;
	datagram_read_body(&cursor, &body);
	if (cursor.failed)
		return GOSSIP_TRUNCATED;
	if (body.receiver != g->roster->ids[g->self])
		return GOSSIP_MISSENT;
	/* Whole or not at all: a body that ends badly changes nothing. */
	if (!g->estimator->check(g, cursor, &body))
		return GOSSIP_MALFORMED;
	sender = roster_find(g->roster, header.sender);
	verdict = check_epoch(g, sender, &header, &body, now_ns);
	if (verdict == GOSSIP_ACCEPTED)
		g->estimator->take(g, cursor, &body, sender, now_ns);
	return verdict;
}

enum gossip_verdict gossip_receive(struct gossip *g, uint64_t now_ns, uint8_t *buf, size_t len)
{
	enum gossip_verdict verdict = take_datagram(g, now_ns, buf, len);

	g->counters.received_bytes += len;
	g->counters.verdict[verdict]++;
	return verdict;
}

static size_t tag_of(const struct gossip *g)
{
	return g->flags & DATAGRAM_SEALED ? DATAGRAM_TAG : 0;
}

size_t gossip_message_room(const struct gossip *g)
{
	return g->datagram_max - DATAGRAM_HEADER - DATAGRAM_RECEIVER - tag_of(g);
}

uint8_t *gossip_message_at(uint8_t *buf)
{
	return buf + DATAGRAM_HEADER + DATAGRAM_RECEIVER;
}

size_t gossip_seal_message(struct gossip *g, uint8_t *buf, size_t len, unsigned to)
{
	struct cursor cursor = {.at = buf, .end = buf + g->datagram_max};
	struct datagram_header header = {DATAGRAM_VERSION,
		(g->flags & DATAGRAM_SEALED) | DATAGRAM_MESSAGE, g->roster->ids[g->self], g->epoch,
		++g->counter};

	datagram_write_header(&cursor, &header);
	datagram_write_receiver(&cursor, g->roster->ids[to]);
	len += DATAGRAM_HEADER + DATAGRAM_RECEIVER;
	if (g->flags & DATAGRAM_SEALED)
		len = datagram_seal(buf, len, g->key);
	g->counters.sent++;
	g->counters.sent_bytes += len;
	return len;
}

struct gossip_message gossip_message(const struct gossip *g, const uint8_t *buf, size_t len)
{
	struct cursor cursor = {.at = (uint8_t *)(uintptr_t)buf, .end = NULL};
	struct datagram_header header;

	cursor.end = cursor.at + len;
	datagram_read_header(&cursor, &header);
	return (struct gossip_message){
		.from = roster_find(g->roster, header.sender),
		.at = buf + DATAGRAM_HEADER + DATAGRAM_RECEIVER,
		.len = len - DATAGRAM_HEADER - DATAGRAM_RECEIVER - tag_of(g),
	};
}

struct gossip_sum gossip_sum(const struct gossip *g, unsigned policy)
{
	return g->estimator->sum(g, policy);
}

bool gossip_tells_news(const struct gossip *g)
{
	return g->estimator->tells_news;
}

static void spread_news(struct gossip *g)
{
	unsigned n = g->n_policies;

	memset(g->news, 0xff, n / 64 * sizeof(*g->news));
	g->news[n / 64] = (UINT64_C(1) << n % 64) - 1;
	g->all_news = false;
}

unsigned gossip_next_news(struct gossip *g, unsigned from)
{
	unsigned n = g->n_policies;

	if (g->all_news)
		spread_news(g);
	for (unsigned w = from / 64; w <= n / 64; w++) {
		uint64_t bits = g->news[w] &
				(w == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);

		if (!bits)
			continue;
		g->news[w] &= ~(bits & -bits);
		from = w * 64 + (unsigned)__builtin_ctzll(bits);
		return from < n ? from : n; /* behind n are those that were withdrawn */
	}
	return n;
}

uint64_t gossip_timeout(const struct gossip *g)
{
	return g->estimator->silence(g) + g->estimator->spread(g);
}

unsigned gossip_alive(const struct gossip *g)
{
	return g->estimator->alive(g);
}

unsigned gossip_silent(const struct gossip *g)
{
	return g->estimator->silent(g);
}

uint64_t gossip_changes(const struct gossip *g)
{
	return g->changes;
}

const struct peer *gossip_peer(const struct gossip *g, unsigned i)
{
	estimator_looks(g, 1);
	return g->estimator->watched(g, i);
}

const struct gossip_counters *gossip_counters(const struct gossip *g)
{
	return &g->counters;
}

const char *gossip_verdict_name(enum gossip_verdict verdict)
{
	static const char *const names[GOSSIP_VERDICTS] = {
		[GOSSIP_ACCEPTED] = "accepted",
		[GOSSIP_UNPROVEN] = "unproven",
		[GOSSIP_TRUNCATED] = "truncated",
		[GOSSIP_VERSION] = "version",
		[GOSSIP_SELF] = "self",
		[GOSSIP_STRANGER] = "stranger",
		[GOSSIP_UNSEALED] = "unsealed",
		[GOSSIP_ESTIMATOR] = "estimator",
		[GOSSIP_FORGED] = "forged",
		[GOSSIP_MISSENT] = "missent",
		[GOSSIP_REPLAY] = "replay",
		[GOSSIP_MALFORMED] = "malformed",
		[GOSSIP_NO_ROOM] = "no_room",
		[GOSSIP_MESSAGE] = "message",
	};

	return names[verdict];
}

struct former {
	struct gossip *gossip;
};

struct former *former_create(const struct former_params *p, uint64_t now_ns)
{
	struct former *former = calloc(1, sizeof(*former));
	struct gossip_params params = {.roster = p->roster,
		.self = p->self,
		.n_policies = p->n_policies,
		.policies = p->policies,
		.key = p->key,
		.epoch = p->epoch,
		.seed = p->seed,
		.branching = p->branching,
		.tick_ns = p->tick_ns,
		.timeout_ns = p->timeout_ns,
		.datagram_max = p->datagram_max,
		.estimator = (enum gossip_estimator)p->estimator};

	if (!former || gossip_create(&params, now_ns, &former->gossip))
		abort();
	return former;
}

void former_destroy(struct former *former)
{
	gossip_destroy(former->gossip);
	free(former);
}

void former_set(struct former *former, unsigned policy, double demand, double weight)
{
	gossip_set(former->gossip, policy, demand, weight);
}

void former_tick(struct former *former, uint64_t now_ns)
{
	gossip_tick(former->gossip, now_ns);
}

size_t former_send(struct former *former, uint8_t *buf, unsigned *peer)
{
	return gossip_send(former->gossip, buf, peer);
}

const char *former_receive(struct former *former, uint64_t now_ns, uint8_t *buf, size_t len)
{
	return gossip_verdict_name(gossip_receive(former->gossip, now_ns, buf, len));
}

size_t former_message(struct former *former, uint8_t *buf, size_t len, unsigned to)
{
	return gossip_seal_message(former->gossip, buf, len, to);
}

unsigned former_alive(const struct former *former)
{
	return gossip_alive(former->gossip);
}

double former_weight(const struct former *former, unsigned policy, unsigned *lost)
{
	struct gossip_sum sum = gossip_sum(former->gossip, policy);

	*lost = sum.lost;
	return sum.weight;
}
