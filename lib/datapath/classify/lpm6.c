/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv6 for a set of prefixes that never changes: a binary search over the
 * lengths in use.
 */
#include "classify/lpm6.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "classify/lines_format.h"

#define LENGTHS 129

/* On average half of the slots are in use, so few buckets overflow. */
#define BUCKETS(entries) ((entries)*2 / LPM6_SLOTS + 1)

/* Most extra buckets of a length whose chains are too long, in quarters of BUCKETS(). */
#define GROWTH_MAX 12

/* Most entries of a bucket's chain. */
#define CHAIN_ENTRIES (LPM6_SLOTS * (1 + LPM6_FURTHER_MAX))

/*
 * Returns the bucket of a key. The table's addresses are the operator's, so an attacker cannot
 * overload one bucket.
 */
static inline uint32_t bucket_of(const struct lpm6_node *node, struct lpm6_addr key)
{
	return node->first + lines_hash6(key.word[0], key.word[1], node->n_buckets);
}

static inline struct lpm6_addr mask_addr6(struct lpm6_addr addr, struct lpm6_addr mask)
{
	return (struct lpm6_addr){{addr.word[0] & mask.word[0], addr.word[1] & mask.word[1]}};
}

static inline bool same_addr6(struct lpm6_addr a, struct lpm6_addr b)
{
	return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1])) == 0;
}

/*
 * If a slot has the key, sets *answer to its answer. Returns whether one has. Uses masks, because
 * branch prediction would fail.
 */
static inline bool lookup_bucket(
	const struct lpm6_bucket *bucket, struct lpm6_addr key, uint32_t *answer)
{
	const bool second = same_addr6(bucket->addr[1], key),
		   third = same_addr6(bucket->addr[2], key);
	const bool found = same_addr6(bucket->addr[0], key) | second | third;
	/*
	 * Slots of equal keys are copies of one slot, so more than one match gives the same answer.
	 */
	const uint32_t there = bucket->answer[third ? 2 : second];

	*answer ^= (*answer ^ there) & -(uint32_t)found;
	return found;
}

static __attribute__((noinline)) bool look_further(
	const struct lpm6 *lpm, uint32_t at, struct lpm6_addr key, uint32_t *answer)
{
	for (; at != 0; at = lpm->buckets[at].further)
		if (lookup_bucket(&lpm->buckets[at], key, answer))
			return true;
	return false;
}

uint32_t lpm6_lookup(
	const struct lpm6 *lpm, const struct lpm6_addr *addr, unsigned n, uint32_t *answers)
{
	uint32_t at[LPM6_BURST_MAX];
	uint32_t node[LPM6_BURST_MAX];
	uint32_t all = 0;

	for (unsigned i = 0; i < n; i++) {
		node[i] = 1;
		answers[i] = lpm->otherwise;
	}
	for (unsigned step = 0; step < lpm->n_steps; step++) {
		for (unsigned i = 0; i < n; i++) {
			const struct lpm6_node *here = &lpm->nodes[node[i]];

			at[i] = bucket_of(here, mask_addr6(addr[i], here->mask));
			rte_prefetch0(&lpm->buckets[at[i]]);
		}
		all = 0;
		for (unsigned i = 0; i < n; i++) {
			const struct lpm6_node *here = &lpm->nodes[node[i]];
			const struct lpm6_bucket *bucket = &lpm->buckets[at[i]];
			const struct lpm6_addr key = mask_addr6(addr[i], here->mask);
			bool found = lookup_bucket(bucket, key, &answers[i]);

			if (unlikely(bucket->further != 0 && !found))
				found = look_further(lpm, bucket->further, key, &answers[i]);
			node[i] = node[i] * 2 + found;
			all |= answers[i];
		}
	}
	return all;
}

static struct lpm6_addr mask_of(unsigned length)
{
	uint8_t bytes[16] = {0};
	struct lpm6_addr mask;

	memset(bytes, 0xff, length / 8);
	if (length % 8 != 0)
		bytes[length / 8] = (uint8_t)(0xff00 >> length % 8);
	memcpy(&mask, bytes, sizeof(mask));
	return mask;
}

static struct lpm6_addr prefix_address6(const struct lpm_prefix *prefix)
{
	struct lpm6_addr addr;

	memcpy(&addr, prefix->addr, sizeof(addr));
	return addr;
}

/* Builds the tree over lengths[from] to lengths[to - 1]. Returns its height. */
static unsigned plant_length_tree(
	struct lpm6_node *nodes, unsigned node, const uint8_t *lengths, unsigned from, unsigned to)
{
	const unsigned middle = (from + to) / 2;
	unsigned left, right;

	if (from == to)
		return 0;
	nodes[node].length = lengths[middle];
	nodes[node].mask = mask_of(lengths[middle]);
	left = plant_length_tree(nodes, node * 2, lengths, from, middle);
	right = plant_length_tree(nodes, node * 2 + 1, lengths, middle + 1, to);
	return 1 + (left > right ? left : right);
}

/* Builds the tree over all lengths in use. Returns the most steps of a search. */
static unsigned plant_lengths(
	struct lpm6_node *nodes, const struct lpm_prefix *prefixes, uint32_t n)
{
	bool used[LENGTHS] = {false};
	uint8_t lengths[LENGTHS];
	unsigned n_lengths = 0;

	for (uint32_t i = 0; i < n; i++)
		used[prefixes[i].length] = true;
	for (unsigned length = 1; length < LENGTHS; length++)
		if (used[length])
			lengths[n_lengths++] = (uint8_t)length;
	memset(nodes, 0, sizeof(*nodes) << LPM6_STEPS_MAX);
	return plant_length_tree(nodes, 1, lengths, 0, n_lengths);
}

/* State of a walk through all prefixes, which inserts or only counts their entries, each once. */
struct sower {
	const struct lpm6_node *nodes;
	struct lpm6 *lpm;      /* NULL: count */
	uint32_t *filled;      /* entries of each bucket's chain; NULL: not needed */
	uint32_t next_further; /* next free overflow bucket */
	uint32_t n_entries[LENGTHS];
	uint32_t otherwise;
	struct lpm6_addr last[LENGTHS];          /* last entry of each length */
	bool any[LENGTHS];                       /* `last` is valid */
	const struct lpm_prefix *above[LENGTHS]; /* enclosing prefixes, then the current one */
	unsigned n_above;
};

/* Returns the overflow bucket of a bucket. Allocates it if there is none. */
static uint32_t bucket_behind(struct sower *sower, uint32_t at)
{
	struct lpm6_bucket *bucket = &sower->lpm->buckets[at];

	if (bucket->further == 0)
		bucket->further = sower->next_further++;
	return bucket->further;
}

/* Inserts a key into a bucket's chain, which has `filled` entries. */
static void insert_key6(
	struct sower *sower, uint32_t at, uint32_t filled, struct lpm6_addr key, uint32_t answer)
{
	for (; filled >= LPM6_SLOTS; filled -= LPM6_SLOTS)
		at = bucket_behind(sower, at);
	sower->lpm->buckets[at].addr[filled] = key;
	sower->lpm->buckets[at].answer[filled] = answer;
}

/*
 * The answer of the longest prefix of at most `length` bits: the current one, or an enclosing one.
 */
static uint32_t best_of(const struct sower *sower, unsigned length)
{
	for (unsigned i = sower->n_above; i > 0; i--)
		if (sower->above[i - 1]->length <= length)
			return sower->above[i - 1]->answer;
	return sower->otherwise;
}

/*
 * Inserts the prefix's entry at a node, once. Prefixes are sorted, so those that share these bits
 * are adjacent.
 */
static void sow_entry(
	struct sower *sower, const struct lpm_prefix *prefix, const struct lpm6_node *node)
{
	const struct lpm6_addr key = mask_addr6(prefix_address6(prefix), node->mask);
	const uint8_t length = (uint8_t)node->length;
	uint32_t at;

	if (sower->any[length] && same_addr6(sower->last[length], key))
		return;
	sower->any[length] = true;
	sower->last[length] = key;
	sower->n_entries[length]++;
	if (sower->filled == NULL)
		return;
	at = bucket_of(node, key);
	if (sower->lpm != NULL)
		insert_key6(sower, at, sower->filled[at], key, best_of(sower, length));
	sower->filled[at]++;
}

static bool prefix6_encloses(const struct lpm_prefix *outer, const struct lpm_prefix *inner)
{
	return outer->length <= inner->length &&
	       same_addr6(prefix_address6(outer),
		       mask_addr6(prefix_address6(inner), mask_of(outer->length)));
}

static void sow_prefix(struct sower *sower, const struct lpm_prefix *prefix)
{
	unsigned node = 1;

	while (sower->n_above > 0 && !prefix6_encloses(sower->above[sower->n_above - 1], prefix))
		sower->n_above--;
	sower->above[sower->n_above++] = prefix;
	while (sower->nodes[node].length != prefix->length) {
		if (sower->nodes[node].length > prefix->length) {
			node = node * 2;
			continue;
		}
		sow_entry(sower, prefix, &sower->nodes[node]);
		node = node * 2 + 1;
	}
	sow_entry(sower, prefix, &sower->nodes[node]);
}

static void sow_prefixes(struct sower *sower, const struct lpm_prefix *prefixes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sow_prefix(sower, &prefixes[i]);
}

/* The plan of a table. */
struct lpm6_plan {
	const struct lpm_prefix *prefixes;
	uint32_t n;
	uint32_t otherwise;
	struct lpm6_node nodes[1 << LPM6_STEPS_MAX];
	uint8_t growth[1 << LPM6_STEPS_MAX]; /* quarters of a node's buckets, added */
	uint32_t n_entries[LENGTHS];
	uint32_t n_homes;   /* buckets addressed by keys, and bucket 0 */
	uint32_t n_further; /* overflow buckets */
	uint32_t *filled;   /* entries of each of these n_homes chains */
};

static void count_entries(struct lpm6_plan *plan)
{
	struct sower sower = {.nodes = plan->nodes};

	sow_prefixes(&sower, plan->prefixes, plan->n);
	memcpy(plan->n_entries, sower.n_entries, sizeof(plan->n_entries));
}

/* Assigns buckets to each length. Bucket 0 is for all nodes without a length. */
static void share_buckets(struct lpm6_plan *plan)
{
	plan->n_homes = 1;
	for (unsigned i = 0; i < 1u << LPM6_STEPS_MAX; i++) {
		struct lpm6_node *node = &plan->nodes[i];

		if (node->length == 0)
			continue;
		node->first = plan->n_homes;
		node->n_buckets = BUCKETS(plan->n_entries[node->length]);
		node->n_buckets += (uint32_t)((uint64_t)node->n_buckets * plan->growth[i] / 4);
		plan->n_homes += node->n_buckets;
	}
}

/* Counts the entries of each bucket's chain. Returns 0 or -ENOMEM. */
static int fill_homes(struct lpm6_plan *plan)
{
	struct sower sower = {.nodes = plan->nodes};

	free(plan->filled);
	plan->filled = calloc(plan->n_homes, sizeof(*plan->filled));
	if (plan->filled == NULL)
		return -ENOMEM;
	sower.filled = plan->filled;
	sow_prefixes(&sower, plan->prefixes, plan->n);
	plan->n_further = 0;
	for (uint32_t at = 0; at < plan->n_homes; at++)
		if (plan->filled[at] > 0)
			plan->n_further += (plan->filled[at] - 1) / LPM6_SLOTS;
	return 0;
}

/* Adds buckets to lengths whose chains are too long. Returns whether it added any. */
static bool grow_crowded(struct lpm6_plan *plan)
{
	bool grown = false;

	for (unsigned i = 0; i < 1u << LPM6_STEPS_MAX; i++) {
		const struct lpm6_node *node = &plan->nodes[i];
		bool crowded = false;

		for (uint32_t at = 0; at < node->n_buckets; at++)
			crowded |= plan->filled[node->first + at] > CHAIN_ENTRIES;
		if (!crowded || plan->growth[i] == GROWTH_MAX)
			continue;
		plan->growth[i]++;
		grown = true;
	}
	return grown;
}

/* Plans the buckets of all lengths. Returns 0 or -ENOMEM. */
static int plan_buckets(struct lpm6_plan *plan)
{
	int rc;

	count_entries(plan);
	do {
		share_buckets(plan);
		rc = fill_homes(plan);
	} while (rc == 0 && grow_crowded(plan));
	return rc;
}

/*
 * Fills unused slots with copies of the first one. An empty bucket gets a key of another bucket, so
 * no search finds it here.
 */
static void fill_empty_slots(
	struct lpm6_bucket *bucket, unsigned n_used, struct lpm6_addr elsewhere)
{
	if (n_used == 0)
		bucket->addr[0] = elsewhere;
	for (unsigned slot = n_used > 0 ? n_used : 1; slot < LPM6_SLOTS; slot++) {
		bucket->addr[slot] = bucket->addr[0];
		bucket->answer[slot] = bucket->answer[0];
	}
}

/* Fills the unused slots of a bucket's chain, which has `filled` entries. */
static void fill_chain(struct lpm6 *lpm, uint32_t at, uint32_t filled, struct lpm6_addr elsewhere)
{
	for (; filled > LPM6_SLOTS; filled -= LPM6_SLOTS)
		at = lpm->buckets[at].further;
	fill_empty_slots(&lpm->buckets[at], filled, elsewhere);
}

static void fill_buckets(struct lpm6 *lpm, const struct sower *sower)
{
	/* Nodes without a length search for address 0, which differs from this. */
	fill_empty_slots(&lpm->buckets[0], 0, (struct lpm6_addr){{UINT64_MAX, UINT64_MAX}});
	for (unsigned i = 0; i < 1u << LPM6_STEPS_MAX; i++) {
		const struct lpm6_node *node = &lpm->nodes[i];

		for (uint32_t at = node->first; at < node->first + node->n_buckets; at++)
			fill_chain(lpm, at, sower->filled[at], sower->last[node->length]);
	}
}

static void fill_table(struct lpm6 *lpm, struct lpm6_plan *plan)
{
	struct sower sower = {
		.nodes = plan->nodes,
		.lpm = lpm,
		.filled = plan->filled,
		.next_further = plan->n_homes,
		.otherwise = plan->otherwise,
	};

	memset(plan->filled, 0, plan->n_homes * sizeof(*plan->filled));
	memcpy(lpm->nodes, plan->nodes, sizeof(lpm->nodes));
	lpm->n_buckets = plan->n_homes + plan->n_further;
	lpm->otherwise = plan->otherwise;
	sow_prefixes(&sower, plan->prefixes, plan->n);
	fill_buckets(lpm, &sower);
}

int lpm6_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm6 **out)
{
	struct lpm6_plan plan = {.prefixes = prefixes, .n = n, .otherwise = otherwise};
	const unsigned n_steps = plant_lengths(plan.nodes, prefixes, n);
	struct lpm6 *lpm = NULL;

	if (plan_buckets(&plan) == 0)
		lpm = rte_zmalloc_socket("weir_lpm6",
			sizeof(*lpm) +
				((size_t)plan.n_homes + plan.n_further) * sizeof(lpm->buckets[0]),
			64, socket);
	if (lpm != NULL) {
		fill_table(lpm, &plan);
		lpm->n_steps = n_steps;
	}
	free(plan.filled);
	*out = lpm;
	return lpm != NULL ? 0 : -ENOMEM;
}

void lpm6_destroy(struct lpm6 *lpm)
{
	rte_free(lpm);
}
