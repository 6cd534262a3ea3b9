/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What bytes and words are hashed by where nobody chooses them to collide. Pure; any thread.
 */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <stdint.h>

/* 2^64 over the golden ratio, odd: multiples that follow each other differ in many upper bits. */
#define HASH_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

#define HASH64_BASIS UINT64_C(0xcbf29ce484222325) /* FNV-1a, 64 bits */

/* One more byte, or word, of what began with HASH64_BASIS. */
static inline uint64_t hash64_step(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * UINT64_C(0x100000001b3);
}

/* The last but one step of SplitMix64, of which only the upper half is good. */
static inline uint64_t splitmix64_short(uint64_t *state)
{
	uint64_t z = *state += HASH_GOLDEN;

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
}

/* SplitMix64 (Steele, Lea and Flood 2014): the next of numbers that differ in every bit. */
static inline uint64_t splitmix64_next(uint64_t *state)
{
	uint64_t z = splitmix64_short(state);

	return z ^ (z >> 31);
}

#define NAME_HASH_BASIS 2166136261U /* FNV-1a, 32 bits */
#define NAME_HASH_PRIME 16777619U

/*
 * The 32-bit identity of a name on the wire. Gossip sends this instead of the name; the
 * configuration refuses two names of one kind that share it.
 */
static inline uint32_t name_hash(const char *name)
{
	uint32_t hash = NAME_HASH_BASIS;

	for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++)
		hash = (hash ^ *at) * NAME_HASH_PRIME;
	return hash;
}

#endif
