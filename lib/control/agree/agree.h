/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds the settings in which the limiters of a group differ, although they must be the same. It
 * compares things: of the group (its roster, its lease, ...) and of each policy (its limit, its
 * burst, ...). A thing is a name and a number of 64 bits, which is the value or a hash of it. Only
 * the caller interprets it.
 *
 * Each limiter sends each peer the values of the group's things and one root over all policies. If
 * the roots differ, both search for the policies. The root is over 64 branches, each of these over
 * 64 leaves; the upper bits of a policy's id select its leaf. The limiters send the digests of the
 * branches, of the leaves of branches that differ, and the policies of leaves that differ. So both
 * sides find their differences with a few datagrams, for any number of policies. All content is
 * state that replaces earlier state: a lost, repeated or overtaken message does no harm.
 *
 * A pure state machine: time and messages come in as arguments. One thread.
 */
#ifndef WEIR_AGREE_AGREE_H
#define WEIR_AGREE_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First byte of a message, like CONSERVE_MESSAGE. */
#define AGREE_MESSAGE 7

/* Most things of a group, and of a policy. */
#define AGREE_GROUP_MOST  24
#define AGREE_POLICY_MOST 24

/* Period of the summary to each peer; every change also sends one immediately. */
#define AGREE_PERIOD_NS UINT64_C(2000000000)

/*
 * Times of day differ if they are further apart than this in all summaries that arrive within a
 * second. Messages that are under way for longer have the same effect.
 */
#define AGREE_CLOCK_NS UINT64_C(2000000000)

/* Most differing policies that are kept for one peer; more only set agree_peer_view.more. */
#define AGREE_KEPT 16384

struct agree_params {
	unsigned n, self; /* limiters in the roster, and ours in it */
	uint64_t epoch;   /* random for this start, not 0 */
	const char *const *group_things;
	unsigned n_group;
	unsigned clock; /* the group's thing that is the time of day, or n_group: none is */
	const char *const *policy_things;
	unsigned n_policy;
};

/* One policy; values: n_policy of them. */
struct agree_policy {
	uint64_t id; /* distinct, and as good as random in its upper 12 bits */
	const uint64_t *values;
};

/* Subjects of a difference, in addition to the caller's number of a policy. */
#define AGREE_GROUP   UINT32_MAX       /* the group: `things` are the group's */
#define AGREE_NOWHERE (UINT32_MAX - 1) /* a policy that only the peer has */

/* In `things`: one of the two does not have the policy, or (group) compares other things. */
#define AGREE_PRESENCE (1U << 31)

struct agree_difference {
	uint64_t id;     /* id of the policy */
	uint32_t policy; /* its index in agree_set(), or one of the two above */
	uint32_t things; /* bit i: thing i */
	uint64_t since_ns;
};

/* Results for one peer. */
struct agree_peer_view {
	bool has_reported;
	uint64_t received_ns; /* when its last message arrived */
	unsigned n;           /* differences, for agree_difference() */
	bool more;            /* also differs in other policies, or in some not yet received */
	uint64_t since_ns;    /* start of the oldest difference; 0 if there is none */
};

struct agree;

/* Returns 0, -EINVAL or -ENOMEM. It has nothing to compare before agree_set(). */
int agree_create(const struct agree_params *params, struct agree **out);
void agree_destroy(struct agree *a);

/*
 * Sets the values here: n_group values, of which 0 is not compared, because it is unset or unknown
 * here; and n policies. Returns 0, or -ENOMEM, and nothing has changed.
 */
int agree_set(struct agree *a, const uint64_t *group, const struct agree_policy *policies,
	unsigned n, uint64_t now_ns);

/*
 * Continues with another roster of n limiters, in which our index is self. to[i] is the new index
 * of the limiter with the previous index i. It is n if the limiter is gone.
 */
void agree_regroup(struct agree *a, unsigned n, unsigned self, const unsigned *to);

/*
 * Sets the time of day to now_ns plus ahead_ns nanoseconds; to be called as often as that can
 * change. The value in agree_set() only decides if the time is compared; 0: it is not.
 */
void agree_clock(struct agree *a, uint64_t ahead_ns);

/* Sets if a peer gets messages, initially none; a peer that has sent a message gets them anyway. */
void agree_watch(struct agree *a, unsigned peer, bool watched);

/*
 * Returns the next peer, from that index on, that was watched or has sent a message, or params.n.
 * Memory and time depend on these peers, not on the size of the roster.
 */
unsigned agree_next(const struct agree *a, unsigned from);

/* Begins a tick: makes summaries and walks due, and renews the numbers of messages allowed. */
void agree_tick(struct agree *a, uint64_t now_ns);

/*
 * Writes the next message, of at most room bytes, and its receiver's index in the roster. Returns
 * its length, or 0 if there is none. After agree_tick(), call it until it returns 0.
 */
size_t agree_send(struct agree *a, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/* Takes an authentic message from a peer. Returns 0, or -EBADMSG: nothing of it is accepted. */
int agree_receive(struct agree *a, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len);

/* Grows when a view below can have changed, except received_ns. */
uint64_t agree_changes(const struct agree *a);

/* Return views for operators; the group's differences come first. */
struct agree_peer_view agree_peer(const struct agree *a, unsigned peer);
struct agree_difference agree_difference(const struct agree *a, unsigned peer, unsigned i);

#endif
