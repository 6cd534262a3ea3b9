/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Eight lines are read as sixteen halves, and transposed so that each of their words is a vector.
 * Then eight meters advance together, and the lines are transposed back. Time since the last look
 * has 32 bits here, so that the 128-bit product of token_bucket_refill() is two of 32 by 32 bits.
 *
 * A half is stored by one instruction. Its words are counters that other threads read one by one:
 * no CPU that has such vectors tears a word of an aligned one. ThreadSanitizer would report these
 * stores, so its builds leave this code out.
 */
#include "police/eights.h"

#include "police/charge.h"
#include "police/sample.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <immintrin.h>

#include <stddef.h>

#define TARGET __attribute__((target("avx512f,avx512cd,avx512dq,avx512vl,avx512bw")))
#define INLINE static inline __attribute__((always_inline)) TARGET

#define HALF (CACHE_LINE / 2)
#define ALL  ((1 << POLICE_EIGHT) - 1)

/* The words of eight lines, a vector each. */
struct eight_columns {
	__m512i tokens, fraction, last, rate;
	__m512i burst, bytes, dropped_bytes, packets;
};

static_assert(offsetof(struct policy_state, bucket.tokens) == 0, "columns of the first half");
static_assert(offsetof(struct policy_state, bucket.fraction) == 8, "likewise");
static_assert(offsetof(struct policy_state, bucket.last) == 16, "likewise");
static_assert(offsetof(struct policy_state, limit.rate) == 24, "likewise");
static_assert(offsetof(struct policy_state, limit.burst) == HALF, "and of the second");
static_assert(offsetof(struct policy_state, bytes) == HALF + 8, "likewise");
static_assert(offsetof(struct policy_state, dropped_bytes) == HALF + 16, "likewise");
static_assert(offsetof(struct policy_state, packets) == HALF + 24, "likewise");
static_assert(offsetof(struct policy_state, dropped_packets) == HALF + 28, "likewise");
static_assert(ACCOUNTING_L2 == 0 && (ACCOUNTING_L3 & ACCOUNTING_WIRE) == 0, "each has a bit");

INLINE __m512i words_of(uint64_t word)
{
	return _mm512_set1_epi64((long long)word);
}

/* Halves of two lines, `part` bytes into them. */
INLINE __m512i read_two(const struct policy_state *a, const struct policy_state *b, size_t part)
{
	__m256i first = _mm256_load_si256((const __m256i *)((const char *)a + part));
	__m256i second = _mm256_load_si256((const __m256i *)((const char *)b + part));

	return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

INLINE void write_two(struct policy_state *a, struct policy_state *b, size_t part, __m512i halves)
{
	_mm256_store_si256((__m256i *)((char *)a + part), _mm512_castsi512_si256(halves));
	_mm256_store_si256((__m256i *)((char *)b + part), _mm512_extracti64x4_epi64(halves, 1));
}

/*
 * Four words of eight lines become four vectors, in the lines' order: pairs of words first, where
 * lines two apart share a register, and then quarters of the registers.
 */
INLINE void read_columns(struct policy_state *const lines[POLICE_EIGHT], size_t part, __m512i *a,
	__m512i *b, __m512i *c, __m512i *d)
{
	__m512i lines_02 = read_two(lines[0], lines[2], part);
	__m512i lines_13 = read_two(lines[1], lines[3], part);
	__m512i lines_46 = read_two(lines[4], lines[6], part);
	__m512i lines_57 = read_two(lines[5], lines[7], part);
	__m512i low_0123 = _mm512_unpacklo_epi64(lines_02, lines_13);
	__m512i high_0123 = _mm512_unpackhi_epi64(lines_02, lines_13);
	__m512i low_4567 = _mm512_unpacklo_epi64(lines_46, lines_57);
	__m512i high_4567 = _mm512_unpackhi_epi64(lines_46, lines_57);

	*a = _mm512_shuffle_i64x2(low_0123, low_4567, 0x88);
	*b = _mm512_shuffle_i64x2(high_0123, high_4567, 0x88);
	*c = _mm512_shuffle_i64x2(low_0123, low_4567, 0xdd);
	*d = _mm512_shuffle_i64x2(high_0123, high_4567, 0xdd);
}

/* Writes the four vectors back to the lines. */
INLINE void write_columns(struct policy_state *const lines[POLICE_EIGHT], size_t part, __m512i a,
	__m512i b, __m512i c, __m512i d)
{
	const __m512i front = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
	const __m512i back = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
	__m512i ab_even = _mm512_unpacklo_epi64(a, b), ab_odd = _mm512_unpackhi_epi64(a, b);
	__m512i cd_even = _mm512_unpacklo_epi64(c, d), cd_odd = _mm512_unpackhi_epi64(c, d);

	write_two(lines[0], lines[2], part, _mm512_permutex2var_epi64(ab_even, front, cd_even));
	write_two(lines[1], lines[3], part, _mm512_permutex2var_epi64(ab_odd, front, cd_odd));
	write_two(lines[4], lines[6], part, _mm512_permutex2var_epi64(ab_even, back, cd_even));
	write_two(lines[5], lines[7], part, _mm512_permutex2var_epi64(ab_odd, back, cd_odd));
}

/* Returns the packets that follow one of the same policy in the eight. */
INLINE __mmask8 find_repeated(const uint32_t *policies)
{
	__m256i earlier = _mm256_conflict_epi32(_mm256_loadu_si256((const __m256i *)policies));

	return _mm256_test_epi32_mask(earlier, earlier);
}

/* Returns true if a policy is repeated: compares each with the four after it, in a ring. */
INLINE bool has_repeated(const uint32_t *policies)
{
	__m256i all = _mm256_loadu_si256((const __m256i *)policies);
	__m256i one = _mm256_cmpeq_epi32(all, _mm256_alignr_epi32(all, all, 1));
	__m256i two = _mm256_cmpeq_epi32(all, _mm256_alignr_epi32(all, all, 2));
	__m256i three = _mm256_cmpeq_epi32(all, _mm256_alignr_epi32(all, all, 3));
	__m256i four = _mm256_cmpeq_epi32(all, _mm256_alignr_epi32(all, all, 4));
	__m256i none = _mm256_cmpeq_epi32(all, _mm256_set1_epi32((int)POLICE_NONE));

	return !_mm256_testc_si256(none, one | two | three | four);
}

/* police_bytes() */
INLINE __m512i find_costs(
	const struct police_eights *packets, const struct eight_columns *was, unsigned from)
{
	__m512i len = _mm512_cvtepu32_epi64(
		_mm256_loadu_si256((const __m256i *)(packets->len + from)));
	__m512i uncharged = _mm512_cvtepu16_epi64(
		_mm_loadu_si128((const __m128i *)(packets->uncharged + from)));
	__mmask8 l3 = _mm512_test_epi64_mask(
		was->fraction, words_of((uint64_t)ACCOUNTING_L3 << POLICE_ACCOUNTING_SHIFT));
	__mmask8 wire = _mm512_test_epi64_mask(
		was->fraction, words_of((uint64_t)ACCOUNTING_WIRE << POLICE_ACCOUNTING_SHIFT));

	len = _mm512_mask_sub_epi64(len, l3, len, uncharged);
	return _mm512_mask_add_epi64(len, wire, len, words_of(POLICE_WIRE));
}

/* police_is_slow() */
INLINE __mmask8 find_slow(const struct eight_columns *was)
{
	__m512i product = _mm512_mul_epu32(was->packets, words_of(POLICE_WEYL));
	__m512i word = _mm512_srli_epi64(_mm512_slli_epi64(product, 32), 32 + 17);

	return _mm512_cmplt_epu64_mask(word, _mm512_and_si512(was->fraction, words_of(UINT16_MAX)));
}

/* token_bucket_refill() of lines whose last look is less than 2^32 ticks ago. */
INLINE struct eight_columns refill(const struct eight_columns *was, __m512i elapsed, uint64_t now)
{
	__m512i owner = _mm512_and_si512(was->fraction, words_of(UINT32_MAX));
	__m512i low = _mm512_mul_epu32(elapsed, was->rate);
	__m512i high = _mm512_mul_epu32(elapsed, _mm512_srli_epi64(was->rate, 32));
	__m512i sum = _mm512_add_epi64(_mm512_srli_epi64(was->fraction, TOKEN_OWNER), low);
	__m512i tokens = _mm512_add_epi64(
		_mm512_add_epi64(was->tokens, high), _mm512_srli_epi64(sum, TOKEN_FRACTION));
	__mmask8 below = _mm512_cmplt_epu64_mask(tokens, was->burst);
	struct eight_columns is = *was;

	is.tokens = _mm512_min_epu64(tokens, was->burst);
	is.fraction = _mm512_mask_or_epi64(owner, below, owner, _mm512_slli_epi64(sum, 32));
	is.last = words_of(now);
	return is;
}

/* token_bucket_over() and police_count(). */
INLINE __mmask8 charge(struct eight_columns *is, __m512i costs)
{
	__m512i need = _mm512_slli_epi64(costs, TOKEN_BYTE);
	__mmask8 over = _mm512_cmplt_epu64_mask(is->tokens, need);
	__m512i one = _mm512_mask_mov_epi64(words_of(1), over, words_of(UINT64_C(1) << 32 | 1));

	is->tokens = _mm512_mask_sub_epi64(is->tokens, (__mmask8)~over, is->tokens, need);
	is->bytes = _mm512_add_epi64(is->bytes, costs);
	is->dropped_bytes = _mm512_mask_add_epi64(
		is->dropped_bytes, over, is->dropped_bytes, costs);
	is->packets = _mm512_add_epi32(is->packets, one);
	return over;
}

/* Restores the lines of the packets in `left`. */
INLINE void keep_left(struct eight_columns *is, const struct eight_columns *was, __mmask8 left)
{
	is->tokens = _mm512_mask_mov_epi64(is->tokens, left, was->tokens);
	is->fraction = _mm512_mask_mov_epi64(is->fraction, left, was->fraction);
	is->last = _mm512_mask_mov_epi64(is->last, left, was->last);
	is->bytes = _mm512_mask_mov_epi64(is->bytes, left, was->bytes);
	is->dropped_bytes = _mm512_mask_mov_epi64(is->dropped_bytes, left, was->dropped_bytes);
	is->packets = _mm512_mask_mov_epi64(is->packets, left, was->packets);
}

/* Sets the lines of eight packets; `spare` takes the place of lines that are not `written`. */
static __attribute__((noinline)) void spare_lines(struct policy_state **lines,
	const struct police_eights *packets, unsigned from, unsigned written,
	struct policy_state *spare)
{
	*spare = (struct policy_state){0};
	for (unsigned i = 0; i < POLICE_EIGHT; i++)
		lines[i] = written >> i & 1 ? packets->lines + packets->policies[from + i] : spare;
}

/* Charges eight packets. Returns those that do not conform, and in *left those that were left. */
INLINE __mmask8 charge_eight(
	const struct police_eights *packets, unsigned from, uint64_t now, __mmask8 *left)
{
	__mmask8 over, which = (__mmask8)(packets->which >> from), repeated = 0, written;
	struct policy_state spare, *lines[POLICE_EIGHT];
	struct eight_columns was, is;
	__m512i elapsed;

	if (__builtin_expect(packets->repeated >> from / POLICE_EIGHT & 1, 0))
		repeated = find_repeated(packets->policies + from);
	written = which & (__mmask8)~repeated;
	if (__builtin_expect(written != ALL, 0))
		spare_lines(lines, packets, from, written, &spare);
	else
		for (unsigned i = 0; i < POLICE_EIGHT; i++)
			lines[i] = packets->lines + packets->policies[from + i];
	read_columns(lines, 0, &was.tokens, &was.fraction, &was.last, &was.rate);
	read_columns(lines, HALF, &was.burst, &was.bytes, &was.dropped_bytes, &was.packets);
	elapsed = _mm512_sub_epi64(words_of(now), was.last);
	*left = repeated | find_slow(&was) |
		_mm512_test_epi64_mask(elapsed, words_of(UINT64_MAX << 32));
	is = refill(&was, elapsed, now);
	over = charge(&is, find_costs(packets, &was, from));
	if (packets->lends)
		*left |= over;
	*left &= which;
	if (__builtin_expect(*left != 0, 0))
		keep_left(&is, &was, *left);
	write_columns(lines, 0, is.tokens, is.fraction, is.last, is.rate);
	write_columns(lines, HALF, is.burst, is.bytes, is.dropped_bytes, is.packets);
	return over & which & (__mmask8) ~*left;
}

TARGET unsigned police_charge_eights(const struct police_eights *packets, unsigned from, unsigned n,
	uint64_t now, uint64_t *over, uint64_t *left)
{
	__mmask8 some = 0;

	while (from + POLICE_EIGHT <= n && !some) {
		*over |= (uint64_t)charge_eight(packets, from, now, &some) << from;
		*left |= (uint64_t)some << from;
		from += POLICE_EIGHT;
	}
	return from;
}

TARGET uint32_t police_find_repeated(const uint32_t *policies, unsigned n)
{
	uint32_t found = 0;

	for (unsigned end = n & -(unsigned)POLICE_EIGHT; end; end -= POLICE_EIGHT)
		found = 2 * found + has_repeated(policies + end - POLICE_EIGHT);
	return found;
}

/*
 * CPUs without VBMI2 (before Ice Lake, Zen 4) lower their clock for a while when such vectors are
 * multiplied, which slows all other work.
 */
bool police_has_eights(void)
{
	return __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vbmi2");
}

#else

unsigned police_charge_eights(const struct police_eights *packets, unsigned from, unsigned n,
	uint64_t now, uint64_t *over, uint64_t *left)
{
	(void)packets;
	(void)n;
	(void)now;
	(void)over;
	(void)left;
	return from;
}

uint32_t police_find_repeated(const uint32_t *policies, unsigned n)
{
	(void)policies;
	(void)n;
	return 0;
}

bool police_has_eights(void)
{
	return false;
}

#endif
