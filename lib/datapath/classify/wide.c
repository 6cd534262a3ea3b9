/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Plain IPv4 with 512-bit vectors: the same results as all_plain4() and fib4_lookup().
 */
#include "classify/wide.h"

#include "classify/fib4_private.h"
#include "classify/frames.h"
#include "classify/plain.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <immintrin.h>

#include <rte_prefetch.h>

#define TARGET \
	__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512vbmi2,avx512bitalg")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* Bytes that are read of a frame: from the EtherType past the destination address. */
#define WINDOW      32
#define WINDOW_FROM (ETHER_LEN - 2)

static_assert(WINDOW_FROM + WINDOW <= ETHER_LEN + PACKET_PADDED_MOST + 1, "all frames have that");

/*
 * The windows of two frames, in the byte order of the host. Words 0 to 2 and 4 of a window are the
 * EtherType, version and TOS, total length and fragment. Words 8 and 9 are the destination address.
 */
INLINE __m512i windows_of(const uint8_t *a, const uint8_t *b)
{
	const __m128i front = _mm_setr_epi8(1, 0, 3, 2, 5, 4, -1, -1, 9, 8, -1, -1, -1, -1, -1, -1);
	const __m128i back = _mm_setr_epi8(
		5, 4, 3, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	const __m512i host = _mm512_broadcast_i64x4(_mm256_set_m128i(back, front));
	__m256i first = _mm256_loadu_si256((const __m256i *)(a + WINDOW_FROM));
	__m256i second = _mm256_loadu_si256((const __m256i *)(b + WINDOW_FROM));

	return _mm512_shuffle_epi8(
		_mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1), host);
}

/* The destination addresses of four frames, from two pairs of windows. */
INLINE __m256i destinations_of(__m512i first, __m512i second)
{
	const __m512i words = _mm512_setr_epi32(4, 12, 20, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

	return _mm512_castsi512_si256(_mm512_permutex2var_epi32(first, words, second));
}

INLINE __m512i addresses_of(const __m512i *windows)
{
	__m256i low = _mm256_inserti128_si256(destinations_of(windows[0], windows[1]),
		_mm256_castsi256_si128(destinations_of(windows[2], windows[3])), 1);
	__m256i high = _mm256_inserti128_si256(destinations_of(windows[4], windows[5]),
		_mm256_castsi256_si128(destinations_of(windows[6], windows[7])), 1);

	return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

TARGET bool wide_plain4(const uint8_t *const *data, unsigned n, uint32_t *addr)
{
	/* Words of plain IPv4, and the bits that are compared. */
	const __m512i plain = _mm512_set4_epi64(0, 0, 0, 0x45000800);
	const __m512i compared = _mm512_set4_epi64(0, 0, V4_FRAGMENT, 0xff00ffff);
	__m512i least = _mm512_set1_epi16(-1), other = _mm512_setzero_si512();
	__mmask32 lengths = 1U << 2 | 1U << 18;

	for (unsigned i = 0; i < n; i += WIDE_STEP) {
		__m512i windows[WIDE_STEP / 2];

#pragma GCC unroll 8
		for (unsigned k = 0; k < WIDE_STEP / 2; k++) {
			windows[k] = windows_of(data[i + 2 * k], data[i + 2 * k + 1]);
			least = _mm512_min_epu16(least, windows[k]);
			other = _mm512_or_si512(other, _mm512_xor_si512(windows[k], plain));
		}
		_mm512_storeu_si512(addr + i, addresses_of(windows));
	}
	return _mm512_test_epi64_mask(other, compared) == 0 &&
	       _mm512_mask_cmplt_epu16_mask(lengths, least, _mm512_set1_epi16(IPV4_LEN)) == 0;
}

/* The entry of an address, selected by its upper half. */
INLINE int entry_of(const struct fib4 *fib, const uint32_t *addr, unsigned i)
{
	return (int)fib->entries[read_raw16((const uint8_t *)&addr[i] + 2)];
}

INLINE __m128i entries_of_four(const struct fib4 *fib, const uint32_t *addr)
{
	return _mm_setr_epi32(entry_of(fib, addr, 0), entry_of(fib, addr, 1),
		entry_of(fib, addr, 2), entry_of(fib, addr, 3));
}

INLINE __m512i entries_of(const struct fib4 *fib, const uint32_t *addr)
{
	__m512i all = _mm512_castsi128_si512(entries_of_four(fib, addr));

	all = _mm512_inserti32x4(all, entries_of_four(fib, addr + 4), 1);
	all = _mm512_inserti32x4(all, entries_of_four(fib, addr + 8), 2);
	return _mm512_inserti32x4(all, entries_of_four(fib, addr + 12), 3);
}

/* The bounds of four places. */
INLINE __m512i bounds_at(const uint32_t *entries, const uint32_t *places)
{
	__m512i all = _mm512_castsi128_si512(_mm_load_si128((const void *)&entries[places[0]]));

	all = _mm512_inserti32x4(all, _mm_load_si128((const void *)&entries[places[1]]), 1);
	all = _mm512_inserti32x4(all, _mm_load_si128((const void *)&entries[places[2]]), 2);
	return _mm512_inserti32x4(all, _mm_load_si128((const void *)&entries[places[3]]), 3);
}

/* A bit for each bound that the k-th four of sixteen addresses have passed, eight per address. */
INLINE __mmask32 passed_of(
	const uint32_t *entries, const uint32_t *places, __m512i words, unsigned k)
{
	const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	__m512i which = _mm512_add_epi32(four, _mm512_set1_epi32((int)(4 * k)));

	return _mm512_cmpgt_epi16_mask(
		_mm512_permutexvar_epi32(which, words), bounds_at(entries, places + 4 * k));
}

/* The number of bounds that each of sixteen addresses has passed. */
INLINE __m512i count_passed(const uint32_t *entries, const uint32_t *places, __m512i addr)
{
	const __m512i sign = _mm512_set1_epi32((int)0x80008000);
	__m512i words = _mm512_xor_si512(
		_mm512_mask_blend_epi16(0xaaaaaaaa, addr, _mm512_slli_epi32(addr, 16)), sign);
	__mmask64 front = _mm512_kunpackd(
		passed_of(entries, places, words, 1), passed_of(entries, places, words, 0));
	__mmask64 back = _mm512_kunpackd(
		passed_of(entries, places, words, 3), passed_of(entries, places, words, 2));

	return _mm512_cvtepu8_epi32(
		_mm_popcnt_epi8(_mm_set_epi64x((long long)back, (long long)front)));
}

/*
 * Finds the places of n answers, in words from the first entry: after the bounds or, for a block
 * with one range, its entry. Returns false if an address leads to a table.
 */
INLINE bool find_answers(
	const struct fib4 *fib, const uint32_t *addr, unsigned n, uint32_t at[FIB4_BURST_MAX])
{
	const __m512i table = _mm512_set1_epi32((int)(FIB4_TABLE & ~FIB4_FURTHER));
	__mmask16 further[FIB4_BURST_MAX / WIDE_STEP], tables = 0;
	uint32_t places[FIB4_BURST_MAX];

	for (unsigned i = 0; i < n; i += WIDE_STEP) {
		__m512i block = _mm512_srli_epi32(_mm512_loadu_si512(addr + i), FIB4_BLOCK_BITS);
		__m512i entry = entries_of(fib, addr + i);
		__mmask16 leads = _mm512_movepi32_mask(
			_mm512_add_epi32(entry, _mm512_set1_epi32((int)FIB4_FURTHER)));

		_mm512_storeu_si512(at + i, block);
		tables |= _mm512_mask_test_epi32_mask(leads, entry, table);
		entry = _mm512_and_si512(entry, _mm512_set1_epi32((int)FIB4_PLACE));
		_mm512_storeu_si512(places + i, _mm512_maskz_slli_epi32(leads, entry, 2));
		further[i / WIDE_STEP] = leads;
	}
	if (__builtin_expect(tables != 0, 0))
		return false;
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++)
		rte_prefetch0(&fib->entries[places[i]]);
	for (unsigned i = 0; i < n; i += WIDE_STEP) {
		__m512i there = _mm512_loadu_si512(places + i);
		__m512i passed = count_passed(
			fib->entries, places + i, _mm512_loadu_si512(addr + i));

		there = _mm512_add_epi32(there, _mm512_set1_epi32(FIB4_UNIT_WORDS));
		_mm512_mask_storeu_epi32(
			at + i, further[i / WIDE_STEP], _mm512_add_epi32(there, passed));
	}
	return true;
}

static_assert(FIB4_UNIT_WORDS == 4, "places are shifted by 2");
static_assert(FIB4_BLOCK_BITS == 16, "a block is the upper half of an address");

/* Prefetches the lines of sixteen answers. none: some may have no line. */
INLINE void fetch_lines(const char *lines, const uint32_t *answers, bool none)
{
	if (__builtin_expect(none, 0)) {
		for (unsigned k = 0; k < WIDE_STEP; k++)
			fib4_fetch_line(lines, answers[k]);
		return;
	}
#pragma GCC unroll 4
	for (size_t k = 0; k < WIDE_STEP; k++)
		rte_prefetch0(lines + (size_t)answers[k] * CLASSIFY_LINE);
}

TARGET bool wide_lookup4(const struct fib4 *fib, const uint32_t *addr, unsigned n,
	const void *lines, uint32_t *answers, uint32_t *all)
{
	uint32_t at[FIB4_BURST_MAX], any = 0;

	if (!find_answers(fib, addr, n, at))
		return false;
	for (unsigned i = 0; i < n; i += WIDE_STEP) {
#pragma GCC unroll 4
		for (size_t k = 0; k < WIDE_STEP; k++) {
			answers[i + k] = fib->entries[at[i + k]];
			any |= answers[i + k];
		}
		if (lines)
			fetch_lines(lines, answers + i, any >> 31);
	}
	*all = any;
	return true;
}

bool classify_has_wide(void)
{
	return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2") &&
	       __builtin_cpu_supports("avx512bitalg");
}

#else

bool wide_plain4(const uint8_t *const *data, unsigned n, uint32_t *addr)
{
	(void)data;
	(void)n;
	(void)addr;
	return false;
}

bool wide_lookup4(const struct fib4 *fib, const uint32_t *addr, unsigned n, const void *lines,
	uint32_t *answers, uint32_t *all)
{
	(void)fib;
	(void)addr;
	(void)n;
	(void)lines;
	(void)answers;
	(void)all;
	return false;
}

bool classify_has_wide(void)
{
	return false;
}

#endif
