/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Words of a packet, which lie there in network order and unaligned. Pure; any lcore.
 */
#ifndef WEIR_CLASSIFY_BYTES_H
#define WEIR_CLASSIFY_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* As they lie there: for what is only compared or hashed. */
static inline uint16_t raw16(const uint8_t *at)
{
	uint16_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint32_t raw32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint64_t raw64(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint16_t be16(const uint8_t *at)
{
	return be16toh(raw16(at));
}

static inline uint32_t be32(const uint8_t *at)
{
	return be32toh(raw32(at));
}

static inline uint64_t be64(const uint8_t *at)
{
	return be64toh(raw64(at));
}

#endif
