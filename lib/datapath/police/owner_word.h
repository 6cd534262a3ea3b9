/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The word in the line of a policy that describes it: its kind and flags, which packets are
 * sampled, and how they are accounted. Workers and the program of the kernel compile this file.
 * Pure; any thread.
 */
#ifndef WEIR_POLICE_OWNER_WORD_H
#define WEIR_POLICE_OWNER_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bpf.h"

/* The way in which packets are decided: the lowest flags. It is fixed for the policy's life. */
enum police_kind {
	POLICE_OTHER,   /* all others */
	POLICE_SIMPLE,  /* by its line alone */
	POLICE_TOTAL,   /* by its bytes */
	POLICE_PHANTOM, /* by its bytes and flow */
	POLICE_SHAPED,  /* packets wait if they do not conform */
	POLICE_SOURCED, /* each source has a meter of its own */
	POLICE_KINDS
};

#define POLICE_KIND_BITS 3
#define POLICE_TCP_ONLY  (1U << POLICE_KIND_BITS)       /* only TCP flows are sampled */
#define POLICE_BELOW     (1U << (POLICE_KIND_BITS + 1)) /* others charge for it: lineage.h */

/* The line of the limit on trial (policy/trial.h), or 0. */
#define POLICE_TRIAL_SHIFT (POLICE_KIND_BITS + 2)
#define POLICE_TRIAL_BITS  2

#define POLICE_FLAG_BITS (POLICE_TRIAL_SHIFT + POLICE_TRIAL_BITS)

_Static_assert(POLICE_KINDS <= 1 << POLICE_KIND_BITS, "a kind is one of its flags");
_Static_assert(POLICE_FLAG_BITS <= 7, "as police_owner() has room for");

#define POLICE_SHIFT_MAX 15
#define POLICE_UNSAMPLED (POLICE_SHIFT_MAX + 1)

#define POLICE_ACCOUNTING_SHIFT 28

/*
 * The word, from its lowest bit:
 *
 *     16  packets in 2^15 for which police_owner_asides() is true
 *      5  shift: one packet in 2^shift is sampled, or POLICE_UNSAMPLED
 *      7  flags, with the line of a trial
 *      4  enum accounting
 */
INLINE_ON_BPF uint32_t police_owner(unsigned flags, unsigned shift, unsigned accounting)
{
	bool plain = (flags & ~(POLICE_TCP_ONLY | POLICE_BELOW)) == POLICE_SIMPLE;
	uint32_t aside = plain ? UINT32_C(0x8000) >> shift : UINT16_MAX;

	return accounting << POLICE_ACCOUNTING_SHIFT | flags << 21 | shift << 16 | aside;
}

INLINE_ON_BPF unsigned police_owner_flags(uint32_t owner)
{
	return owner >> 21 & ((1U << POLICE_FLAG_BITS) - 1);
}

INLINE_ON_BPF unsigned police_owner_shift(uint32_t owner)
{
	return owner >> 16 & 31;
}

/* An enum accounting. */
INLINE_ON_BPF unsigned police_owner_accounting(uint32_t owner)
{
	return owner >> POLICE_ACCOUNTING_SHIFT;
}

#define POLICE_WEYL UINT32_C(0x9e3779b1) /* 2^32 over the golden ratio, to a prime */

/* The upper 15 bits of the place of a packet in the sequence, by the count of packets before. */
INLINE_ON_BPF uint32_t police_word_of(uint32_t packets)
{
	return packets * POLICE_WEYL >> 17;
}

/* True if the next packet is sampled, or the policy is not plain. */
INLINE_ON_BPF bool police_owner_asides(uint32_t owner, uint32_t packets)
{
	return police_word_of(packets) < (uint16_t)owner;
}

#endif
