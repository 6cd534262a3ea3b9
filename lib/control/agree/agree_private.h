/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of lib/control/agree share. rows.c has what holds here; found.c what differs;
 * tell.c writes messages, hear.c reads them.
 *
 * A message, big-endian: its kind, a part (enum agree_part), the epoch of the sender's start (8)
 * and the number of changes since then (4). Then
 *
 *   summary   digest of what is compared of a policy (8), root (8), number of things (1), and of
 *             each thing of the group the hash of its name (4) and its value (8), which of the
 *             clock is the time of day in nanoseconds
 *   branches  the first (1), number (1), digests (8 each)
 *   leaves    branch (1), the first (1), number (1), digests (8 each)
 *   policies  until the end: leaf (2), number (2), the least and the largest id (8 each) of a range
 *             of which these are all that the sender has, and of each, by its id, ascending, the
 *             id (8), digest (8), and a check of each thing (2 each)
 */
#ifndef WEIR_AGREE_PRIVATE_H
#define WEIR_AGREE_PRIVATE_H

#include "agree/agree.h"

#define BRANCHES   64
#define LEAVES     (64 * BRANCHES)
#define HEAD       14
#define SUMMARY    (HEAD + 17) /* and GROUP_ENTRY for each thing */
#define GROUP_ITEM 12
#define SECTION    20

enum agree_part { AGREE_SUMMARY, AGREE_BRANCHES, AGREE_LEAVES, AGREE_POLICIES, AGREE_PARTS };

/* One policy, as it is here. */
struct agree_row {
	uint64_t id, digest;
	uint32_t policy;
	uint16_t checks[AGREE_POLICY_MOST];
};

/* All of them, by id, and so by leaf, and digests over them: sums, as their order is no matter. */
struct agree_rows {
	struct agree_row *rows;
	unsigned n;
	unsigned first[LEAVES + 1]; /* row of each leaf */
	uint64_t leaves[LEAVES], branches[BRANCHES], root;
};

/* What one peer is yet to be told of, where the roots differ. */
struct agree_walk {
	unsigned branch;           /* whose digest is next; BRANCHES: none */
	uint64_t branches;         /* of which the leaves are to be told */
	unsigned of_branch, leaf;  /* the one that is being told, and its next leaf */
	uint64_t leaves[BRANCHES]; /* of which the policies are to be told */
	unsigned of_leaf, row;     /* the one that is being told, and its next row */
	bool turn;                 /* that of policies has been */
	unsigned times;            /* that it has begun since either root changed */
	uint64_t again_ns;         /* when it is to begin again */
};

struct agree_found {
	uint64_t id; /* ascending */
	uint32_t things;
	uint64_t since_ns;
};

struct agree_peer {
	unsigned index; /* in the roster */
	bool watched, heard, summary_due;
	bool same_things; /* it compares what we compare of a policy */
	uint64_t epoch;
	uint32_t changes;
	uint64_t heard_ns, told_ns;
	uint64_t root;
	unsigned sent;             /* messages in this tick's time */
	uint64_t *said, *since_ns; /* n_group: its values, and when each was first seen to differ */
	unsigned clocks_apart;     /* summaries in a row whose time of day was another */
	uint64_t things_since_ns;  /* when it was seen to compare other things; 0: no */
	struct agree_walk *walk;   /* NULL: the roots have never differed */
	struct agree_found *found;
	unsigned n_found, room;
	uint64_t roots_since_ns; /* when the roots were seen to differ; 0: they do not */
	bool overflow;           /* something was found that there was no place for */
};

struct agree {
	unsigned n, self;
	unsigned n_group, n_policy, clock;
	uint64_t ahead_ns; /* of the time of day */
	uint64_t epoch, pace_ns;
	uint32_t changes; /* of ours */
	uint64_t views;   /* changes of what is shown */
	uint64_t things;  /* digest of what is compared of a policy */
	uint32_t tags[AGREE_GROUP_MOST];
	uint64_t group[AGREE_GROUP_MOST];
	struct agree_rows *rows;
	struct agree_peer *peers; /* those that are told or have spoken, by their index */
	unsigned n_peers, peers_room;
	unsigned next; /* peer that is told next */
	unsigned sent; /* messages since the last tick */
};

#define LEAF_SHIFT 52

_Static_assert(LEAVES == 1 << (64 - LEAF_SHIFT), "a leaf has the ids with its upper bits");

static inline unsigned leaf_of(uint64_t id)
{
	return (unsigned)(id >> LEAF_SHIFT);
}

/* The least and the largest id of a leaf. */
static inline uint64_t leaf_first(unsigned leaf)
{
	return (uint64_t)leaf << LEAF_SHIFT;
}

static inline uint64_t leaf_last(unsigned leaf)
{
	return leaf_first(leaf) | UINT64_MAX >> (64 - LEAF_SHIFT);
}

/* Bytes that a policy takes in a message. */
static inline size_t policy_bytes(const struct agree *a)
{
	return 16 + 2 * (size_t)a->n_policy;
}

/* What a peer is told of one of the group's things. */
static inline uint64_t group_value(const struct agree *a, unsigned thing, uint64_t now_ns)
{
	return thing == a->clock && a->group[thing] ? now_ns + a->ahead_ns : a->group[thing];
}

/* NULL: out of memory. */
struct agree_rows *rows_create(const struct agree_policy *policies, unsigned n, unsigned n_things);
void rows_destroy(struct agree_rows *rows);

/* The row of an id, or NULL. */
const struct agree_row *rows_find(const struct agree_rows *rows, uint64_t id);

/* What differs in one policy: 0 takes it out. */
void found_set(
	struct agree *a, struct agree_peer *p, uint64_t id, uint32_t things, uint64_t now_ns);

/* Nothing differs from one id to the last. */
void found_clear(struct agree *a, struct agree_peer *p, uint64_t first, uint64_t last);

/* The first at an id or behind it. */
unsigned found_at(const struct agree_peer *p, uint64_t id);

/* Compares what a peer has said of the group, and its root, with what holds here. */
void compare_group(struct agree *a, struct agree_peer *p, uint64_t now_ns);
void compare_root(struct agree *a, struct agree_peer *p, uint64_t now_ns);

/* The first peer at an index or behind it. */
unsigned peer_at(const struct agree *a, unsigned index);

/* What is known of a peer, or NULL. */
const struct agree_peer *peer_find(const struct agree *a, unsigned index);

/* The peer has a place from now on; NULL: out of memory. Others may move in memory. */
struct agree_peer *peer_get(struct agree *a, unsigned index);

/* It has spoken, if nobody has before there is memory for what it says; -ENOMEM. */
int peer_begin(struct agree *a, struct agree_peer *p);

#endif
