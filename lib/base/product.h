/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Products of 128 bits. BPF can add and shift such numbers, but cannot multiply or divide them.
 * Pure; any thread.
 */
#ifndef WEIR_BASE_PRODUCT_H
#define WEIR_BASE_PRODUCT_H

#include <stdint.h>

#include "base/bpf.h"

typedef unsigned __int128 wide_t;

/* Multiplies two words by halves. */
INLINE_ON_BPF wide_t wide_by_halves(uint64_t a, uint64_t b)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32);
	uint64_t other = a_low * b_high + (uint32_t)middle;

	return (wide_t)(a_high * b_high + (middle >> 32) + (other >> 32)) << 64 |
	       (other << 32 | (uint32_t)low);
}

/* Multiplies two words. */
INLINE_ON_BPF wide_t wide_multiply(uint64_t a, uint64_t b)
{
#ifdef __bpf__
	return wide_by_halves(a, b);
#else
	return (wide_t)a * b;
#endif
}

#endif
