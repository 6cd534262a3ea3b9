/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by the files of lib/control/agree. agree.c has the policies of this limiter and the
 * differences of peers; message.c writes and reads messages.
 *
 * A message, big-endian: its kind, a part (enum agree_part), the epoch of the sender's start (8)
 * and the number of changes since then (4). Then
 *
 *   summary   digest of the names of a policy's things (8), root (8), number of things (1), and for
 *             each thing of the group that is not 0 the hash of its name (4) and its value (8);
 *             that of the clock is the time of day in nanoseconds
 *   branches  the first (1), number (1), digests (8 each)
 *   leaves    branch (1), the first (1), number (1), digests (8 each)
 *   policies  until the end: leaf (2), number (2), the least and the largest id (8 each) of a range
 *             in which the sender has only these policies, and for each, in ascending order of ids,
 *             the id (8), digest (8), and a check of each thing (2 each)
 */
#ifndef WEIR_AGREE_PRIVATE_H
#define WEIR_AGREE_PRIVATE_H

#include "agree/agree.h"

#define BRANCHES   64
#define LEAVES     (64 * BRANCHES)
#define HEAD       14
#define SUMMARY    (HEAD + 17) /* plus GROUP_ITEM for each thing */
#define GROUP_ITEM 12
#define SECTION    20

enum agree_part { AGREE_SUMMARY, AGREE_BRANCHES, AGREE_LEAVES, AGREE_POLICIES, AGREE_PARTS };

/* One policy of this limiter. */
struct agree_row {
	uint64_t id, digest;
	uint32_t policy;
	uint16_t checks[AGREE_POLICY_MOST];
};

/* All policies, by id, and so by leaf, and digests over them: sums, independent of the order. */
struct agree_rows {
	struct agree_row *rows;
	unsigned n;
	unsigned first[LEAVES + 1]; /* row of each leaf */
	uint64_t leaves[LEAVES], branches[BRANCHES], root;
};

/* Digests and policies left to send to one peer while the roots differ. */
struct agree_walk {
	unsigned branch;           /* whose digest is next; BRANCHES: none */
	uint64_t branches;         /* bits: branches whose leaves are to be sent */
	unsigned of_branch, leaf;  /* the branch in progress, and its next leaf */
	uint64_t leaves[BRANCHES]; /* bits: leaves whose policies are to be sent */
	unsigned of_leaf, row;     /* the leaf in progress, and its next row */
	bool turn;                 /* policies had the last turn */
	unsigned times;            /* starts since either root changed */
	uint64_t again_ns;         /* when it begins again */
};

struct agree_found {
	uint64_t id; /* ascending */
	uint32_t things;
	uint64_t since_ns;
};

struct agree_peer {
	unsigned index; /* in the roster */
	bool watched, has_reported, summary_due;
	bool same_things; /* the peer compares the same things of a policy */
	uint64_t epoch;
	uint32_t changes;
	uint64_t received_ns, sent_ns;
	uint64_t root;
	unsigned sent;                 /* messages within the present PACE_NS */
	uint64_t *reported, *since_ns; /* n_group: its values, and since when each differs */
	uint64_t clock_since_ns;       /* since when summaries have another time of day; 0: none */
	bool clock_differs;            /* they have had it for CLOCK_SURE_NS */
	uint64_t things_since_ns;      /* since when it compares other things; 0: the same ones */
	struct agree_walk *walk;       /* NULL: the roots have never differed */
	struct agree_found *found;
	unsigned n_found, room;
	uint64_t roots_since_ns; /* since when the roots differ; 0: they do not */
	bool overflow;           /* there was no place for a difference */
};

struct agree {
	unsigned n, self;
	unsigned n_group, n_policy, clock;
	uint64_t ahead_ns; /* see agree_clock() */
	uint64_t epoch, pace_ns;
	uint32_t changes; /* number of our changes */
	uint64_t views;   /* number of changes of the views */
	uint64_t things;  /* digest of the names of a policy's things */
	uint32_t tags[AGREE_GROUP_MOST];
	uint64_t group[AGREE_GROUP_MOST];
	struct agree_rows *rows;
	struct agree_peer *peers; /* peers that get messages or have sent one, by their index */
	unsigned n_peers, peers_room;
	unsigned next; /* peer that gets the next message */
	unsigned sent; /* messages since the last tick */
};

#define LEAF_SHIFT 52

_Static_assert(LEAVES == 1 << (64 - LEAF_SHIFT), "a leaf has the ids with its upper bits");

static inline unsigned leaf_of(uint64_t id)
{
	return (unsigned)(id >> LEAF_SHIFT);
}

/* Return the least and the largest id of a leaf. */
static inline uint64_t leaf_first(unsigned leaf)
{
	return (uint64_t)leaf << LEAF_SHIFT;
}

static inline uint64_t leaf_last(unsigned leaf)
{
	return leaf_first(leaf) | UINT64_MAX >> (64 - LEAF_SHIFT);
}

/* Returns the bytes of a policy in a message. */
static inline size_t policy_bytes(const struct agree *a)
{
	return 16 + 2 * (size_t)a->n_policy;
}

/* Returns the value of one of the group's things to send to a peer. */
static inline uint64_t group_value(const struct agree *a, unsigned thing, uint64_t now_ns)
{
	return thing == a->clock && a->group[thing] ? now_ns + a->ahead_ns : a->group[thing];
}

/* Returns NULL if out of memory. */
struct agree_rows *rows_create(const struct agree_policy *policies, unsigned n, unsigned n_things);

/* Returns the row of an id, or NULL. */
const struct agree_row *rows_find(const struct agree_rows *rows, uint64_t id);

/* Sets the differing things of one policy; 0 removes it. */
void found_set(
	struct agree *a, struct agree_peer *p, uint64_t id, uint32_t things, uint64_t now_ns);

/* Removes the differences of the ids from `first` to `last`. */
void found_clear(struct agree *a, struct agree_peer *p, uint64_t first, uint64_t last);

/* Returns the index of the first difference at an id or after it. */
unsigned found_at(const struct agree_peer *p, uint64_t id);

/* Compare a peer's values of the group, and its root, with ours. */
void compare_group(struct agree *a, struct agree_peer *p, uint64_t now_ns);
void compare_root(struct agree *a, struct agree_peer *p, uint64_t now_ns);

/* Returns the state of a peer, added if there is none; NULL: out of memory. Others can move. */
struct agree_peer *peer_get(struct agree *a, unsigned index);

/* Notes that the peer sent a message, with memory for its values. Returns 0 or -ENOMEM. */
int peer_begin(struct agree *a, struct agree_peer *p);

#endif
