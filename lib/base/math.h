/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The smaller and the larger of two numbers. Functions, because a macro would evaluate its
 * arguments twice. Pure; any thread.
 */
#ifndef WEIR_BASE_MATH_H
#define WEIR_BASE_MATH_H

#include <stdint.h>

#include "base/bpf.h"

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline double min_double(double a, double b)
{
	return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
	return a > b ? a : b;
}

/*
 * Products of 128 bits. BPF can add and shift such numbers, but cannot multiply or divide them.
 * Pure; any thread.
 */

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
