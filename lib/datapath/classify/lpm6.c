/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify/lpm6.h"

#include <errno.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "base/hash.h"

#define LENGTHS 129

/* Half of the slots in use, on average: few buckets overflow. */
#define BUCKETS(entries) ((entries)*2 / LPM6_SLOTS + 1)

/* Which bucket. The addresses in the table are the operator's, so nobody can aim at one bucket. */
static inline uint32_t bucket_of(const struct lpm6_node *node, struct lpm6_addr key)
{
	uint64_t h = key.word[0] * HASH_GOLDEN;

	h = (h ^ h >> 32 ^ key.word[1]) * UINT64_C(0xd6e8feb86659fd93);
	return node->first + (uint32_t)((h >> 32) * node->n_buckets >> 32);
}

static uint32_t bucket_after(const struct lpm6_node *node, uint32_t at)
{
	return at + 1 < node->first + node->n_buckets ? at + 1 : node->first;
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
 * Takes the answer of the slot that has the key, if one has; whether one has. With masks, as which
 * slot it is nobody can predict.
 */
static inline bool lookup_bucket(
	const struct lpm6_bucket *bucket, struct lpm6_addr key, uint32_t *answer)
{
	const bool second = same_addr6(bucket->addr[1], key),
		   third = same_addr6(bucket->addr[2], key);
	const bool found = same_addr6(bucket->addr[0], key) | second | third;
	/* Slots that repeat another, and only they, are found at once with it. */
	const uint32_t there = bucket->answer[third ? 2 : second];

	*answer ^= (*answer ^ there) & -(uint32_t)found;
	return found;
}

static __attribute__((noinline)) bool look_further(const struct lpm6 *lpm,
	const struct lpm6_node *node, uint32_t at, struct lpm6_addr key, uint32_t *answer)
{
	while (lpm->buckets[at].overflowed) {
		at = bucket_after(node, at);
		if (lookup_bucket(&lpm->buckets[at], key, answer))
			return true;
	}
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

			if (unlikely(bucket->overflowed && !found))
				found = look_further(lpm, here, at[i], key, &answers[i]);
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

/* The tree over lengths[from] to lengths[to - 1]; returns its height. */
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

/* Returns how many steps a search takes. */
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

/* Goes through all prefixes and leaves their entries, each once, or only counts them. */
struct sower {
	const struct lpm6_node *nodes;
	struct lpm6 *lpm; /* NULL: count */
	uint32_t n_entries[LENGTHS];
	uint32_t otherwise;
	struct lpm6_addr last[LENGTHS];          /* the last entry of each length */
	bool any[LENGTHS];                       /* whether there is one */
	const struct lpm_prefix *above[LENGTHS]; /* the prefixes around this one, and itself */
	unsigned n_above;
};

static void insert_key6(
	struct lpm6 *lpm, const struct lpm6_node *node, struct lpm6_addr key, uint32_t answer)
{
	uint32_t at = bucket_of(node, key);
	struct lpm6_bucket *bucket = &lpm->buckets[at];

	while (bucket->n_used == LPM6_SLOTS) {
		bucket->overflowed = 1;
		at = bucket_after(node, at);
		bucket = &lpm->buckets[at];
	}
	bucket->addr[bucket->n_used] = key;
	bucket->answer[bucket->n_used++] = answer;
}

/* The answer of the longest prefix around this one, or itself, of at most so many bits. */
static uint32_t best_of(const struct sower *sower, unsigned length)
{
	for (unsigned i = sower->n_above; i > 0; i--)
		if (sower->above[i - 1]->length <= length)
			return sower->above[i - 1]->answer;
	return sower->otherwise;
}

/* Sorted, so that all that share their first bits, and so an entry, stand together. */
static void sow_entry(
	struct sower *sower, const struct lpm_prefix *prefix, const struct lpm6_node *node)
{
	const struct lpm6_addr key = mask_addr6(prefix_address6(prefix), node->mask);
	const uint8_t length = (uint8_t)node->length;

	if (sower->any[length] && same_addr6(sower->last[length], key))
		return;
	sower->any[length] = true;
	sower->last[length] = key;
	sower->n_entries[length]++;
	if (sower->lpm != NULL)
		insert_key6(sower->lpm, node, key, best_of(sower, length));
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

/* Each length its buckets, behind the one of all nodes without a length. Returns how many. */
static uint32_t share_buckets(
	struct lpm6_node *nodes, const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise)
{
	struct sower sower = {.nodes = nodes, .otherwise = otherwise};
	uint32_t n_buckets = 1;

	sow_prefixes(&sower, prefixes, n);
	for (unsigned node = 0; node < 1u << LPM6_STEPS_MAX; node++) {
		if (nodes[node].length == 0)
			continue;
		nodes[node].first = n_buckets;
		nodes[node].n_buckets = BUCKETS(sower.n_entries[nodes[node].length]);
		n_buckets += nodes[node].n_buckets;
	}
	return n_buckets;
}

/* An empty bucket gets a key that is looked for, and found, in another. */
static void fill_empty_slots(struct lpm6_bucket *bucket, struct lpm6_addr elsewhere)
{
	if (bucket->n_used == 0)
		bucket->addr[0] = elsewhere;
	for (unsigned slot = bucket->n_used > 0 ? bucket->n_used : 1; slot < LPM6_SLOTS; slot++) {
		bucket->addr[slot] = bucket->addr[0];
		bucket->answer[slot] = bucket->answer[0];
	}
}

static void fill_buckets(struct lpm6 *lpm, const struct sower *sower)
{
	/* Nodes without a length look for zeroes, and this is none. */
	fill_empty_slots(&lpm->buckets[0], (struct lpm6_addr){{UINT64_MAX, UINT64_MAX}});
	for (unsigned i = 0; i < 1u << LPM6_STEPS_MAX; i++) {
		const struct lpm6_node *node = &lpm->nodes[i];

		for (uint32_t at = 0; at < node->n_buckets; at++)
			fill_empty_slots(
				&lpm->buckets[node->first + at], sower->last[node->length]);
	}
}

int lpm6_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm6 **out)
{
	struct lpm6_node nodes[1 << LPM6_STEPS_MAX];
	const unsigned n_steps = plant_lengths(nodes, prefixes, n);
	const uint32_t n_buckets = share_buckets(nodes, prefixes, n, otherwise);
	struct lpm6 *lpm = rte_zmalloc_socket(
		"weir_lpm6", sizeof(*lpm) + n_buckets * sizeof(lpm->buckets[0]), 64, socket);
	struct sower sower = {.nodes = nodes, .lpm = lpm, .otherwise = otherwise};

	if (lpm == NULL)
		return -ENOMEM;
	memcpy(lpm->nodes, nodes, sizeof(nodes));
	lpm->n_steps = n_steps;
	lpm->otherwise = otherwise;
	sow_prefixes(&sower, prefixes, n);
	fill_buckets(lpm, &sower);
	*out = lpm;
	return 0;
}

void lpm6_destroy(struct lpm6 *lpm)
{
	rte_free(lpm);
}
