/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans between the limiters of a group. A limiter whose bucket is low sends a request to
 * a peer that has unused limit. The peer takes bytes out of its own bucket and offers them. Loans
 * move bytes, never rate: the allocator alone sets local limits.
 *
 * Rules:
 *   - The lender takes the bytes from its bucket when it writes the offer. A lost offer loses them.
 *   - The lender keeps half of its burst, or more if it uses more in one round trip.
 *   - Requests to one peer have sequence numbers. A lender answers each number once, and a borrower
 *     accepts only the offer for its newest request.
 *   - A lender's bucket fills up again while its offer is under way. The borrower accepts the bytes
 *     by which it may have overflowed only if its own bucket had room for them all that time. So
 *     buckets and offers under way never hold more than the sum of the bursts, and over any time t
 *     the group passes at most its limit × t + its bursts. The lender declines if it expects the
 *     borrower to accept less than half.
 *   - The lender of a hard limit takes depth out of its bucket together with the bytes, until no
 *     borrower can accept the offer. So it states rate 0, and nothing overflows. See
 *     doc/design/loans.md, "Hard limits".
 *   - A limiter borrows at most limit × (t + LOAN_BORROWED_NS) bytes over any time t, also if its
 *     peers offer more. So a peer that lies cannot make it pass more than about twice the limit.
 *   - A limiter has at most one request under way, for all of its short policies, and none while no
 *     policy is short. So it sends at most one request in a round trip.
 *
 * A pure state machine: time, levels and messages come in as arguments; messages and moves of
 * tokens go out. One thread.
 */
#ifndef WEIR_LOAN_LOAN_H
#define WEIR_LOAN_LOAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First byte of a message. Older versions ignore messages with an unknown first byte. */
#define LOAN_MESSAGE 9

/* Policies in one message at most. */
#define LOAN_POLICIES 32

/* Bytes of the longest message, and of one with one policy. */
#define LOAN_MESSAGE_MAX 1044
#define LOAN_MESSAGE_MIN 52

/* Time until a request counts as lost: two round trips, within bounds; before one is measured. */
#define LOAN_WAIT_MIN_NS   UINT64_C(20000000)
#define LOAN_WAIT_FIRST_NS UINT64_C(250000000)
#define LOAN_WAIT_MAX_NS   UINT64_C(1000000000)

/* Pause after a peer has offered nothing or not answered; doubles up to one of the maxima. */
#define LOAN_PAUSE_MIN_NS  UINT64_C(10000000)
#define LOAN_PAUSE_MAX_NS  UINT64_C(320000000)   /* after an offer of nothing */
#define LOAN_SILENT_MAX_NS UINT64_C(20000000000) /* a peer without loans never answers */

/* No lender of a hard limit withholds depth for longer; with more drift it declines. */
#define LOAN_HOLD_MOST_NS (LOAN_WAIT_MAX_NS / 4 * 5)

/* A limiter borrows at most the limit of so long at a time. */
#define LOAN_BORROWED_NS UINT64_C(1000000000)

/* A lender's bucket as it was when tokens were taken. */
struct loan_taken {
	uint64_t bytes; /* taken from the bucket */
	uint64_t room;  /* bytes that were missing until it was full, before they were taken */
	uint64_t rate;  /* bytes per second at which it fills; 0 in an offer: depth is withheld */
};

/* A policy's bucket. */
struct loan_bucket {
	uint64_t level, burst; /* bytes */
	uint64_t rate;         /* bytes per second at which it fills, rounded up */
	uint64_t limit;        /* bytes per second of the whole group; unused of a lender */
};

/* A lender's policy. */
struct loan_lender {
	struct loan_bucket bucket; /* burst 0: this limiter lends nothing of the policy */
	uint64_t used;             /* bytes per second that passed recently */
	/*
	 * A hard limit: the burst above includes the withheld depth, and this limiter has it until
	 * this time. 0: a soft limit.
	 */
	uint64_t ends_ns;
};

/* Functions of the caller, by the index of a policy. */
struct loan_calls {
	void *context;
	/* Bytes per second that a peer leaves unused, from gossip; 0: none. */
	uint64_t (*spare)(void *context, unsigned policy, unsigned peer);
	struct loan_lender (*lender)(void *context, unsigned policy);
	/*
	 * Takes at most `most` bytes from a bucket and leaves at least `keep` bytes in it. The
	 * bucket of a hard limit is shallower by these bytes when this returns.
	 */
	struct loan_taken (*take)(void *context, unsigned policy, uint64_t keep, uint64_t most);
	/*
	 * Adds bytes to a bucket, up to its burst. Returns the bytes that it had room for. A hard
	 * limit gets bytes before until_ns only, by a clock that is read after the bucket's state,
	 * and none if that is UINT64_MAX: then the lender withholds no depth.
	 */
	uint64_t (*give)(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns);
};

struct loan_params {
	unsigned n;               /* limiters of the group */
	unsigned self;            /* our index */
	uint32_t session;         /* random, new at every start */
	const uint64_t *policies; /* n_policies ids, distinct */
	unsigned n_policies;
	uint32_t drift_ppm; /* most drift of a clock; for hard limits */
};

/* Bytes of one policy since it was added. */
struct loan_totals {
	uint64_t borrowed; /* added to our bucket */
	uint64_t lent;     /* taken from our bucket */
};

struct loan_counters {
	uint64_t requests, offers; /* messages sent */
	uint64_t unanswered;       /* requests that got no offer in time */
	uint64_t ignored;          /* messages with an old number or session, or malformed */
};

struct loan;
struct loan_policy;
struct loan_edge;
struct id_table;

/* Returns 0, -EINVAL (a parameter is out of range) or -ENOMEM. Control. */
int loan_create(const struct loan_params *params, struct loan **out);
void loan_destroy(struct loan *loan);

/* Policies that will replace the present ones. */
struct loan_change {
	struct id_table *ids;
	struct loan_policy *policies;
};

/*
 * Prepares other policies. from[i] is the previous index of policy i, or UINT_MAX if it is new.
 * Returns 0, -EINVAL or -ENOMEM. loan_change_commit() puts them in force. It keeps
 * totals and withheld depths of policies that stay. Offers under way are lost, and no policy is
 * short until the next loan_level(). loan_change_cancel() frees them instead; all zero is allowed.
 * Control.
 */
int loan_change_begin(const struct loan *loan, const uint64_t *policies, unsigned n,
	const unsigned *from, struct loan_change *change);
void loan_change_commit(struct loan *loan, struct loan_change *change);
void loan_change_cancel(struct loan_change *change);

/*
 * Prepares another roster of n limiters. Returns NULL without memory. A commit puts it in force,
 * free() drops it. The commit gets our new index and, as to[i], that of each previous limiter i.
 * It is n if the limiter is gone: its requests end. Control.
 */
struct loan_edge *loan_regroup_begin(unsigned n);
void loan_regroup_commit(
	struct loan *loan, unsigned n, unsigned self, const unsigned *to, struct loan_edge *edges);

/*
 * Reports a policy's bucket. The policy is short while it is less than half full; it stays short,
 * or not, until the next report. Control.
 */
void loan_level(
	struct loan *loan, unsigned policy, const struct loan_bucket *bucket, uint64_t now_ns);

/* True while any policy is short. */
bool loan_is_short(const struct loan *loan);

/*
 * Writes the next message of at most `room` bytes into buf, and the peer that it is for. Takes the
 * tokens of an offer. Returns the length, or 0 if there is nothing to send, or no room for
 * LOAN_MESSAGE_MIN bytes. Control.
 */
size_t loan_send(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns, uint8_t *buf,
	size_t room, unsigned *peer);

/*
 * Takes a message from a peer. Gives the tokens of an offer; a request is answered by the next
 * loan_send(). Returns 0, or -EINVAL if the message is malformed. Control.
 */
int loan_receive(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns, unsigned peer,
	const uint8_t *at, size_t len);

struct loan_totals loan_totals(const struct loan *loan, unsigned policy);

/* Bytes of depth that a lender of a hard limit withholds at a time. Control. */
uint64_t loan_withheld(const struct loan *loan, unsigned policy, uint64_t now_ns);
const struct loan_counters *loan_counters(const struct loan *loan);

#endif
