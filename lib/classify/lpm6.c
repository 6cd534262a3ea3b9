/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify/lpm6.h"

#include <errno.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#define LENGTHS 129

/* Two slots of three in use on average: few buckets overflow. */
#define BUCKETS(entries) ((entries) / 2 + 1)

/* Which bucket. The addresses in the table are the operator's, so nobody can aim at one bucket. */
static inline uint32_t bucket_of(const struct lpm6 *lpm, struct lpm6_addr key, uint64_t length)
{
	uint64_t h = (key.word[0] ^ length) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32 ^ key.word[1]) * UINT64_C(0xd6e8feb86659fd93);
	return (h >> 32) * lpm->n_buckets >> 32;
}

static inline struct lpm6_addr masked(struct lpm6_addr addr, struct lpm6_addr mask)
{
	return (struct lpm6_addr){{addr.word[0] & mask.word[0], addr.word[1] & mask.word[1]}};
}

static inline bool slot_is(
	const struct lpm6_bucket *bucket, unsigned slot, struct lpm6_addr key, uint64_t length)
{
	return ((bucket->addr[slot].word[0] ^ key.word[0]) |
		       (bucket->addr[slot].word[1] ^ key.word[1]) |
		       (bucket->length[slot] ^ length)) == 0;
}

/* Takes the answer of the slot that has the key, if one has; whether one has. */
static inline bool look(
	const struct lpm6_bucket *bucket, struct lpm6_addr key, uint64_t length, uint32_t *answer)
{
	bool found = false;

	for (unsigned slot = 0; slot < LPM6_SLOTS; slot++) {
		const bool here = slot_is(bucket, slot, key, length);

		*answer = here ? bucket->answer[slot] : *answer;
		found |= here;
	}
	return found;
}

static __attribute__((noinline)) bool look_further(const struct lpm6 *lpm, uint32_t at,
	struct lpm6_addr key, uint64_t length, uint32_t *answer)
{
	while (lpm->buckets[at].overflowed) {
		at = at + 1 < lpm->n_buckets ? at + 1 : 0;
		if (look(&lpm->buckets[at], key, length, answer))
			return true;
	}
	return false;
}

void lpm6_lookup(
	const struct lpm6 *lpm, const struct lpm6_addr *addr, unsigned n, uint32_t *answers)
{
	uint32_t at[LPM6_BURST_MAX];
	uint8_t node[LPM6_BURST_MAX];

	for (unsigned i = 0; i < n; i++) {
		node[i] = 1;
		answers[i] = lpm->otherwise;
	}
	for (unsigned step = 0; step < lpm->n_steps; step++) {
		for (unsigned i = 0; i < n; i++) {
			const struct lpm6_node *here = &lpm->nodes[node[i]];

			at[i] = bucket_of(lpm, masked(addr[i], here->mask), here->length);
			rte_prefetch0(&lpm->buckets[at[i]]);
		}
		for (unsigned i = 0; i < n; i++) {
			const struct lpm6_node *here = &lpm->nodes[node[i]];
			const struct lpm6_bucket *bucket = &lpm->buckets[at[i]];
			const struct lpm6_addr key = masked(addr[i], here->mask);
			bool found = look(bucket, key, here->length, &answers[i]);

			if (unlikely(bucket->overflowed && !found))
				found = look_further(lpm, at[i], key, here->length, &answers[i]);
			node[i] = node[i] * 2 + found;
		}
	}
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

static struct lpm6_addr address(const struct lpm_prefix *prefix)
{
	struct lpm6_addr addr;

	memcpy(&addr, prefix->addr, sizeof(addr));
	return addr;
}

static bool same(struct lpm6_addr a, struct lpm6_addr b)
{
	return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1])) == 0;
}

/* The tree over lengths[from] to lengths[to - 1]; returns its height. */
static unsigned plant(
	struct lpm6_node *nodes, unsigned node, const uint8_t *lengths, unsigned from, unsigned to)
{
	const unsigned middle = (from + to) / 2;
	unsigned left, right;

	if (from == to)
		return 0;
	nodes[node].length = lengths[middle];
	nodes[node].mask = mask_of(lengths[middle]);
	left = plant(nodes, node * 2, lengths, from, middle);
	right = plant(nodes, node * 2 + 1, lengths, middle + 1, to);
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
	for (unsigned node = 0; node < 1u << LPM6_STEPS_MAX; node++)
		nodes[node] = (struct lpm6_node){.length = LPM6_NO_LENGTH};
	return plant(nodes, 1, lengths, 0, n_lengths);
}

/* Goes through all prefixes and leaves their entries, each once, or only counts them. */
struct sower {
	const struct lpm6_node *nodes;
	struct lpm6 *lpm; /* NULL: count */
	uint32_t n_entries;
	uint32_t otherwise;
	struct lpm6_addr last[LENGTHS];          /* the last entry of each length */
	bool any[LENGTHS];                       /* whether there is one */
	const struct lpm_prefix *above[LENGTHS]; /* the prefixes around this one, and itself */
	unsigned n_above;
};

static void insert(struct lpm6 *lpm, struct lpm6_addr key, uint8_t length, uint32_t answer)
{
	uint32_t at = bucket_of(lpm, key, length);
	struct lpm6_bucket *bucket = &lpm->buckets[at];

	while (bucket->length[LPM6_SLOTS - 1] != 0) {
		bucket->overflowed = 1;
		at = at + 1 < lpm->n_buckets ? at + 1 : 0;
		bucket = &lpm->buckets[at];
	}
	for (unsigned slot = 0; slot < LPM6_SLOTS; slot++) {
		if (bucket->length[slot] != 0)
			continue;
		bucket->addr[slot] = key;
		bucket->length[slot] = length;
		bucket->answer[slot] = answer;
		return;
	}
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
	const struct lpm6_addr key = masked(address(prefix), node->mask);
	const uint8_t length = (uint8_t)node->length;

	if (sower->any[length] && same(sower->last[length], key))
		return;
	sower->any[length] = true;
	sower->last[length] = key;
	sower->n_entries++;
	if (sower->lpm != NULL)
		insert(sower->lpm, key, length, best_of(sower, length));
}

static bool encloses(const struct lpm_prefix *outer, const struct lpm_prefix *inner)
{
	return outer->length <= inner->length &&
	       same(address(outer), masked(address(inner), mask_of(outer->length)));
}

static void sow_prefix(struct sower *sower, const struct lpm_prefix *prefix)
{
	unsigned node = 1;

	while (sower->n_above > 0 && !encloses(sower->above[sower->n_above - 1], prefix))
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

static uint32_t sow(const struct lpm6_node *nodes, struct lpm6 *lpm,
	const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise)
{
	struct sower sower = {.nodes = nodes, .lpm = lpm, .otherwise = otherwise};

	for (uint32_t i = 0; i < n; i++)
		sow_prefix(&sower, &prefixes[i]);
	return sower.n_entries;
}

int lpm6_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct lpm6 **out)
{
	struct lpm6_node nodes[1 << LPM6_STEPS_MAX];
	const unsigned n_steps = plant_lengths(nodes, prefixes, n);
	const uint32_t n_buckets = BUCKETS(sow(nodes, NULL, prefixes, n, otherwise));
	struct lpm6 *lpm = rte_zmalloc_socket(
		"weir_lpm6", sizeof(*lpm) + n_buckets * sizeof(lpm->buckets[0]), 64, socket);

	if (lpm == NULL)
		return -ENOMEM;
	memcpy(lpm->nodes, nodes, sizeof(nodes));
	lpm->n_steps = n_steps;
	lpm->n_buckets = n_buckets;
	lpm->otherwise = otherwise;
	sow(nodes, lpm, prefixes, n, otherwise);
	*out = lpm;
	return 0;
}

void lpm6_destroy(struct lpm6 *lpm)
{
	rte_free(lpm);
}
