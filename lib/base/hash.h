/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Hashes of bytes and words, for input that an attacker cannot choose. Pure; any thread.
 */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <stdint.h>

/* 2^64 divided by the golden ratio, odd: consecutive multiples differ in many upper bits. */
#define HASH_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

#define HASH64_BASIS UINT64_C(0xcbf29ce484222325) /* FNV-1a, 64 bits */

/* Adds a byte or a word to a hash that began with HASH64_BASIS. */
static inline uint64_t hash64_step(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * UINT64_C(0x100000001b3);
}

/* SplitMix64 without its last step: only the upper half of the result is good. */
static inline uint64_t splitmix64_short(uint64_t *state)
{
	uint64_t z = *state += HASH_GOLDEN;

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
}

/* SplitMix64 (Steele, Lea and Flood 2014). Returns the next number of the sequence. */
static inline uint64_t splitmix64_next(uint64_t *state)
{
	uint64_t z = splitmix64_short(state);

	return z ^ (z >> 31);
}

#define NAME_HASH_BASIS 2166136261U /* FNV-1a, 32 bits */
#define NAME_HASH_PRIME 16777619U

/*
 * Returns the 32-bit ID of a name on the wire. Gossip sends the ID instead of the name. The
 * configuration rejects two names of one kind with the same ID.
 */
static inline uint32_t name_hash(const char *name)
{
	uint32_t hash = NAME_HASH_BASIS;

	for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++)
		hash = (hash ^ *at) * NAME_HASH_PRIME;
	return hash;
}

#endif
