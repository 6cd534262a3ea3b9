/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A constant-size sample of an aggregate's flows with a byte counter each. FPS needs it to find the
 * rate of an unbottlenecked flow without per-flow state (section 3.2.2 of Raghavan et al., "Cloud
 * Control with Distributed Rate Limiting", SIGCOMM 2007).
 *
 * Each flow can hold one slot, which its hash selects. Sampled packets keep voting. A packet of the
 * holder raises the slot's score, and one of another flow lowers it. At zero the slot changes hands
 * (Boyer and Moore's majority vote). So the sample is renewed all the time, a small or ended flow
 * loses its slot, and a large one keeps it. A flow left out by a collision adds no bias: weights
 * are ratios of rates, not counts of slots.
 *
 * There is one writer (the worker), which calls flow_sample_add(). Any reader (control) reads slots
 * with flow_slot_read(). A slot is one 64-bit word, so tag and count always belong together. Counts
 * only grow while a flow holds its slot; the reader keeps the last reading and subtracts. A slot
 * that another flow held between two readings shows the same tag and a lower count.
 */
#ifndef WEIR_FLOW_FLOW_SAMPLE_H
#define WEIR_FLOW_FLOW_SAMPLE_H

#include <stdint.h>

#include "base/bpf.h"

#define FLOW_SLOTS      32 /* slots of an aggregate on one worker; a power of two */
#define FLOW_SCORE_MAX  31 /* most votes that a holder has: votes needed to displace it */
#define FLOW_COUNT_BITS 40 /* a slot's count wraps at 1 TB, which the reader handles */
#define FLOW_COUNT_MASK ((UINT64_C(1) << FLOW_COUNT_BITS) - 1)

struct flow_sample {
	uint64_t slot[FLOW_SLOTS]; /* tag in the upper 24 bits, bytes in the lower 40; 0: free */
	uint8_t score[FLOW_SLOTS]; /* only the writer uses it */
};

INLINE_ON_BPF uint32_t flow_slot_tag(uint64_t slot)
{
	return (uint32_t)(slot >> FLOW_COUNT_BITS);
}

static inline uint64_t flow_slot_count(uint64_t slot)
{
	return slot & FLOW_COUNT_MASK;
}

static inline uint64_t flow_slot_read(const struct flow_sample *sample, unsigned i)
{
	return __atomic_load_n(&sample->slot[i], __ATOMIC_RELAXED);
}

/*
 * Returns the bits of a flow's hash that are not its slot number. Never 0, which marks a free slot.
 */
INLINE_ON_BPF uint32_t flow_tag(uint32_t hash)
{
	uint32_t tag = hash >> 8;

	return tag ? tag : 1;
}

/*
 * Counts bytes of a flow. With packets sampled one in k, the caller passes k times the bytes. The
 * kernel program calls it, too.
 */
INLINE_ON_BPF void flow_sample_add(struct flow_sample *sample, uint32_t hash, uint64_t bytes)
{
	unsigned i = hash & (FLOW_SLOTS - 1);
	uint64_t slot = sample->slot[i], tag = flow_tag(hash);

	if (flow_slot_tag(slot) == tag) {
		slot = tag << FLOW_COUNT_BITS | ((slot + bytes) & FLOW_COUNT_MASK);
		sample->score[i] += sample->score[i] < FLOW_SCORE_MAX;
	} else if (sample->score[i] == 0) {
		slot = tag << FLOW_COUNT_BITS | (bytes & FLOW_COUNT_MASK);
		sample->score[i] = 1;
	} else {
		sample->score[i]--;
		return;
	}
	store_whole(&sample->slot[i], slot);
}

/* Prefetches the memory that flow_sample_add() will change. */
static inline void flow_sample_prefetch(const struct flow_sample *sample, uint32_t hash)
{
	unsigned i = hash & (FLOW_SLOTS - 1);

	__builtin_prefetch(&sample->slot[i], 1);
	__builtin_prefetch(&sample->score[i], 1);
}

_Static_assert((FLOW_SLOTS & (FLOW_SLOTS - 1)) == 0, "the slot number is a mask of the hash");
_Static_assert(FLOW_SLOTS <= 256, "slot number and tag must cover the hash between them");

#endif
