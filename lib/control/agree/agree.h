/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the limiters of a group must be told alike, and who is not. What is compared are things: of
 * the group (its roster, its lease, ...) and of each policy (its limit, its burst, ...). A thing is
 * a name and a number of 64 bits, which is the value or a hash of it; what they mean the caller
 * knows.
 *
 * Each limiter tells each peer the digests of the group's things and one root over all policies.
 * Where the roots differ they go down: the root is over 64 branches, each of these over 64 leaves,
 * and a policy is in the leaf that its id says. What is told is the digests of the branches, of
 * the leaves of branches that differ, and the policies of leaves that differ. So both sides know in
 * what they differ, for a few datagrams, however many policies there are. Everything told is state
 * that replaces what was told before it: what is lost, repeated or overtaken does no harm.
 *
 * A pure state machine: time and messages come in as arguments. One thread.
 */
#ifndef WEIR_AGREE_AGREE_H
#define WEIR_AGREE_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First byte of a message, as CONSERVE_MESSAGE is. */
#define AGREE_MESSAGE 7

/* Things of a group, and of a policy, at most. */
#define AGREE_GROUP_MOST  24
#define AGREE_POLICY_MOST 24

/* Each peer is told of the root so often, and after every change at once. */
#define AGREE_PERIOD_NS UINT64_C(2000000000)

/*
 * Times of day that are further apart than this, in two summaries one after the other, differ. A
 * message that is under way for longer makes them so, too.
 */
#define AGREE_CLOCK_NS UINT64_C(2000000000)

/* Policies in which one peer may differ and that are remembered by name; others are counted. */
#define AGREE_KEPT 16384

struct agree_params {
	unsigned n, self; /* limiters in the roster, and ours in it */
	uint64_t epoch;   /* of this start: random, not 0 */
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

/* What a difference is of, beside the caller's number of a policy. */
#define AGREE_GROUP   UINT32_MAX       /* the group: things are those of it */
#define AGREE_NOWHERE (UINT32_MAX - 1) /* a policy that only the peer has */

/* In `things`: one of the two does not have the policy, or (group) compares other things. */
#define AGREE_PRESENCE (1U << 31)

struct agree_difference {
	uint64_t id;     /* of the policy */
	uint32_t policy; /* the number that agree_set() had it by, or one of the two above */
	uint32_t things; /* bit i: thing i */
	uint64_t since_ns;
};

/* One peer, as far as is known. */
struct agree_peer_view {
	bool heard;
	uint64_t heard_ns; /* when it last spoke of this */
	unsigned n;        /* differences, for agree_difference() */
	bool more;         /* in other policies, too, or in some that it has yet to name */
	uint64_t since_ns; /* the oldest one; nothing where it agrees */
};

struct agree;

/* 0; -EINVAL or -ENOMEM. It has nothing to compare before agree_set(). */
int agree_create(const struct agree_params *params, struct agree **out);
void agree_destroy(struct agree *a);

/*
 * What holds here from now on: n_group values, of which 0 is not compared, since it is nothing here
 * or not known; and n policies. 0 or -ENOMEM, and nothing has changed.
 */
int agree_set(struct agree *a, const uint64_t *group, const struct agree_policy *policies,
	unsigned n, uint64_t now_ns);

/*
 * The time of day is now_ns and this much more, nanoseconds; to be called as often as that may
 * change. The value that agree_set() has for it says only whether it is compared: 0: it is not.
 */
void agree_clock(struct agree *a, uint64_t ahead_ns);

/* Whether a peer is to be told; whoever has spoken to us is in any case. At first nobody is. */
void agree_watch(struct agree *a, unsigned peer, bool watched);

/*
 * The next peer, from that index on, that has been watched or has spoken, or params.n: memory and
 * time are for these, however many there are in the roster.
 */
unsigned agree_next(const struct agree *a, unsigned from);

/* Begins a tick: what is due is told, so much of it at a time. */
void agree_tick(struct agree *a, uint64_t now_ns);

/*
 * Writes the next message, of at most room bytes, and its addressee's index in the roster. Its
 * length, or 0: none for now. To be called until then after agree_tick().
 */
size_t agree_send(struct agree *a, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer);

/* A message from a peer, authentic. 0 or -EBADMSG: nothing of it is believed. */
int agree_hear(struct agree *a, unsigned from, uint64_t now_ns, const uint8_t *buf, size_t len);

/* Grows when a view below may say something else than before, but for heard_ns. */
uint64_t agree_changes(const struct agree *a);

/* For operators; the group's differences come first. */
struct agree_peer_view agree_peer(const struct agree *a, unsigned peer);
struct agree_difference agree_difference(const struct agree *a, unsigned peer, unsigned i);

#endif
