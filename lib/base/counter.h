/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counters of one writer that other threads read: whole words, ordered with nothing else. To count
 * is a load, an addition and a store; no atomic read-modify-write.
 *
 * Where room is scarce a counter has 32 bits, and who wants the whole number keeps it himself with
 * counter_fold(), at least once in 2^32 counts.
 */
#ifndef WEIR_BASE_COUNTER_H
#define WEIR_BASE_COUNTER_H

#include <stdint.h>

/* ThreadSanitizer sees no assembly. */
#if defined(__SANITIZE_THREAD__)
#define COUNTER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTER_SANITIZED 1
#endif
#endif

/*
 * The one writer. Of a load, an addition and a store by atomic builtins compilers make three
 * instructions; x86 has one for all, which is no less whole to readers.
 */
static inline void counter_add(uint64_t *counter, uint64_t n)
{
#if defined(__x86_64__) && !defined(COUNTER_SANITIZED)
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
#else
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
#endif
}

static inline void counter_add32(uint32_t *counter, uint32_t n)
{
#if defined(__x86_64__) && !defined(COUNTER_SANITIZED)
	__asm__("addl %1, %0" : "+m"(*counter) : "ir"(n) : "cc");
#else
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
#endif
}

/* Anybody. */
static inline uint64_t counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline uint32_t counter_read32(const uint32_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/*
 * Brings a total up to what its counter of 32 bits says now. The total is the reader's own, and
 * began when the counter did; returns it.
 */
static inline uint64_t counter_fold(uint64_t *total, const uint32_t *counter)
{
	*total += (uint32_t)(counter_read32(counter) - (uint32_t)*total);
	return *total;
}

#endif
