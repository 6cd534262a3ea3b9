/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Helpers for code that is compiled for the host and for the kernel's BPF machine. BPF cannot pass
 * a structure by value, so its functions must be inlined. It has no atomic stores, but a store of a
 * word is atomic there.
 */
#ifndef WEIR_BASE_BPF_H
#define WEIR_BASE_BPF_H

#include <stdint.h>

#ifdef __bpf__
#define INLINE_ON_BPF static inline __attribute__((always_inline))
#else
#define INLINE_ON_BPF static inline
#endif

/* Stores a whole word, relaxed: other threads read the old value or the new one. */
INLINE_ON_BPF void store_whole(uint64_t *at, uint64_t word)
{
#ifdef __bpf__
	*(volatile uint64_t *)at = word;
#else
	__atomic_store_n(at, word, __ATOMIC_RELAXED);
#endif
}

#endif
