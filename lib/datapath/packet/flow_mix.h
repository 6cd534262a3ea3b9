/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The steps of a flow's hash: hash_step() for each word of the key, starting at 0, then hash_end().
 * Workers and the kernel program compile this file. Pure; any thread.
 */
#ifndef WEIR_PACKET_FLOW_MIX_H
#define WEIR_PACKET_FLOW_MIX_H

#include <stdint.h>

#include "base/bpf.h"
#include "base/hash.h"

/*
 * Each step is a bijection of h ^ word, so two keys that differ in one word only never collide in
 * the 64 bits. The odd multiplier (2^64 / golden ratio) carries differences upwards, the shift
 * brings them back down.
 */
INLINE_ON_BPF uint64_t hash_step(uint64_t h, uint64_t word)
{
	h = (h ^ word) * HASH_GOLDEN;
	return h ^ (h >> 32);
}

/* One more round, because only the upper half depends on every bit of the last word. */
INLINE_ON_BPF uint32_t hash_end(uint64_t h)
{
	return h * UINT64_C(0xd6e8feb86659fd93) >> 32;
}

#endif
