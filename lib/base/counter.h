/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Counters with one writer and any number of readers. Whole words, without ordering to other
 * memory. The writer loads, adds and stores; no atomic read-modify-write.
 *
 * Where memory is scarce, a counter has 32 bits. A reader that needs 64 bits keeps the total itself
 * with counter_fold(), called at least once in 2^32 counts.
 */
#ifndef WEIR_BASE_COUNTER_H
#define WEIR_BASE_COUNTER_H

#include <stdint.h>

/* ThreadSanitizer does not see assembly. */
#if defined(__SANITIZE_THREAD__)
#define COUNTER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTER_SANITIZED 1
#endif
#endif

/*
 * Adds to a counter. Called by the only writer. With atomic builtins, compilers make three
 * instructions of load, addition and store. One x86 instruction does the same, and readers still
 * get whole values.
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

/* Reads a counter. Any thread. */
static inline uint64_t counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline uint32_t counter_read32(const uint32_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/*
 * Updates a 64-bit total from its 32-bit counter, and returns it. The reader owns the total, which
 * started when the counter did.
 */
static inline uint64_t counter_fold(uint64_t *total, const uint32_t *counter)
{
	*total += (uint32_t)(counter_read32(counter) - (uint32_t)*total);
	return *total;
}

#endif
