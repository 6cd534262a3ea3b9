/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counters of one writer that other threads read: whole words, ordered with nothing else. To count
 * is a load, an addition and a store; no atomic read-modify-write.
 */
#ifndef WEIR_BASE_COUNTER_H
#define WEIR_BASE_COUNTER_H

#include <stdint.h>

/* The one writer. */
static inline void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Anybody. */
static inline uint64_t counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
