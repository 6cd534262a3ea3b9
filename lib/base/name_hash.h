/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The 32-bit identity of a name on the wire. Gossip sends this instead of the name; the
 * configuration refuses two names of one kind that share it. Pure; any thread.
 */
#ifndef WEIR_BASE_NAME_HASH_H
#define WEIR_BASE_NAME_HASH_H

#include <stdint.h>

#define NAME_HASH_BASIS 2166136261U /* FNV-1a, 32 bits */
#define NAME_HASH_PRIME 16777619U

static inline uint32_t name_hash(const char *name)
{
	uint32_t hash = NAME_HASH_BASIS;

	for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++)
		hash = (hash ^ *at) * NAME_HASH_PRIME;
	return hash;
}

#endif
