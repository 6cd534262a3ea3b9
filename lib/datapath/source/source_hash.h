/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The 64-bit keyed hash of a source: an address or its prefix. It has two rounds of a 64×64→128
 * multiplication folded in half, over (address, family), so 10.0.0.1 and ::ffff:10.0.0.1 are
 * different inputs. Without the key, an attacker cannot choose sources that collide.
 *
 * It is not a cipher and need not be. Its value is never visible, so the key cannot be derived from
 * it. A cryptographic hash would cost more than all other work for a packet's source.
 */
#ifndef WEIR_SOURCE_SOURCE_HASH_H
#define WEIR_SOURCE_SOURCE_HASH_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

struct source_key {
	uint64_t word[4];
};

/* Sets a key from any secret, also zero. Equal secrets make equal keys. Set-up. */
static inline void source_key_init(struct source_key *key, uint64_t secret)
{
	for (unsigned i = 0; i < 4; i++)
		key->word[i] = splitmix64_next(&secret);
}

static inline uint64_t source_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A mask of the first n of 64 bits. */
static inline uint64_t source_mask(unsigned n)
{
	return n == 0 ? 0 : UINT64_MAX << (64 - n);
}

static inline uint64_t source_load(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return __builtin_bswap64(word);
}

/*
 * Hashes the first prefix_bits (at most 32 or 128) of an address in network order, of family 4 (4
 * bytes) or 6 (16 bytes). Worker, per packet; any thread.
 */
static inline uint64_t source_key_hash(
	const struct source_key *key, const uint8_t *addr, unsigned family, unsigned prefix_bits)
{
	uint64_t high, low = 0;

	if (family == 4) {
		uint32_t word;

		memcpy(&word, addr, sizeof(word));
		high = (uint64_t)__builtin_bswap32(word) << 32 & source_mask(prefix_bits);
	} else {
		high = source_load(addr) & source_mask(prefix_bits < 64 ? prefix_bits : 64);
		low = source_load(addr + 8) & source_mask(prefix_bits < 64 ? 0 : prefix_bits - 64);
	}
	high = source_fold(high ^ key->word[0], low ^ key->word[1]);
	return source_fold(high ^ key->word[2], family ^ key->word[3]);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "addresses are swapped to be masked");

#endif
