/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Big-endian, unaligned numbers in packets, messages and records. Each function writes or reads one
 * number; the caller has checked that there is room. Pure; any thread.
 */
#ifndef WEIR_BASE_WIRE_H
#define WEIR_BASE_WIRE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Read words in host order, for comparisons and hashes only. */
static inline uint16_t read_raw16(const uint8_t *at)
{
	uint16_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint32_t read_raw32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint64_t read_raw64(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint16_t read_be16(const uint8_t *at)
{
	return be16toh(read_raw16(at));
}

static inline uint32_t read_be32(const uint8_t *at)
{
	return be32toh(read_raw32(at));
}

static inline uint64_t read_be64(const uint8_t *at)
{
	return be64toh(read_raw64(at));
}

/* Write a number, and return the address after it. */
static inline uint8_t *wire_put16(uint8_t *at, uint16_t number)
{
	number = htobe16(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static inline uint8_t *wire_put32(uint8_t *at, uint32_t number)
{
	number = htobe32(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static inline uint8_t *wire_put64(uint8_t *at, uint64_t number)
{
	number = htobe64(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

/* IEEE 754, which all supported machines use. */
static inline uint8_t *wire_put_double(uint8_t *at, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return wire_put64(at, bits);
}

static inline const uint8_t *wire_get16(const uint8_t *at, uint16_t *number)
{
	*number = read_be16(at);
	return at + sizeof(*number);
}

static inline const uint8_t *wire_get32(const uint8_t *at, uint32_t *number)
{
	*number = read_be32(at);
	return at + sizeof(*number);
}

static inline const uint8_t *wire_get64(const uint8_t *at, uint64_t *number)
{
	*number = read_be64(at);
	return at + sizeof(*number);
}

static inline const uint8_t *wire_get_double(const uint8_t *at, double *number)
{
	uint64_t bits;

	at = wire_get64(at, &bits);
	memcpy(number, &bits, sizeof(*number));
	return at;
}

#endif
