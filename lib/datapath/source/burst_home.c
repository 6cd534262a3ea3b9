/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Meters packets of a burst whose sources are in their home line, in two ways with equal results.
 * With AVX2, which is detected at run time, one comparison searches a line, and four meters advance
 * at a time.
 */
#include "source/visit.h"

void burst_at_home(const struct visit *visit, const struct source_burst *burst, unsigned from,
	unsigned to, struct burst_verdicts *verdicts)
{
	const struct gcra_now now = visit->gcra;
	uint64_t refused = 0, missed = 0;

	for (unsigned i = from; i < to; i++) {
		union source_line *line = burst->home[i];
		unsigned found = source_find(line, burst->tag[i]);
		struct gcra *state = &line->gcra.state[__builtin_ctz(found | 16)];
		/*
		 * A missing source costs nothing. A mask, because a branch would wait for the line.
		 */
		uint32_t cost = burst->cost[i] & -(uint32_t)(found != 0);

		refused |= (uint64_t)!gcra_conforms_now(state, &now, cost) << i;
		missed |= (uint64_t)(found == 0) << i;
	}
	verdicts->refused |= refused;
	verdicts->missed |= missed;
}

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi")))

#define LANES 4
#define AGAIN 16 /* packets ahead, for prefetches that the CPU had dropped */

/* The current virtual time, and the values to compare a state with, in each lane. */
struct gcra_lanes {
	__m256i at, full, top, limit;
};

static inline TARGET __m256i lanes_of(uint64_t word)
{
	return _mm256_set1_epi64x((long long)word);
}

/* A bit for each lane whose sign is set. */
static inline TARGET unsigned lanes_mask(__m256i signs)
{
	return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(signs));
}

/* AVX2 compares signed words only, so the sign bit of unsigned operands is flipped. */
static TARGET struct gcra_lanes lanes_begin(const struct gcra_now *now)
{
	return (struct gcra_lanes){
		.at = lanes_of(now->at),
		.full = lanes_of(now->at - now->burst),
		.top = lanes_of((now->at + now->second) ^ BIT(63)),
		.limit = lanes_of((now->burst + now->second) ^ BIT(63)),
	};
}

/*
 * Bits 1 to 5: the words of the line that equal this tag. Word 0 is the head; 6 and 7 are a meter.
 */
static inline TARGET unsigned find_word(const union source_line *line, uint32_t tag)
{
	__m256i same = _mm256_cmpeq_epi32(
		_mm256_set1_epi32((int)tag), _mm256_load_si256((const __m256i *)line));

	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 0x3e;
}

static_assert(offsetof(union source_line, gcra.tag) == 4, "as find_word() has it");

/* Returns whether any two of four lines are equal. The operands were written long before. */
static inline TARGET bool any_twice(union source_line *const *home)
{
	__m256i four = _mm256_loadu_si256((const __m256i *)home);
	__m256i neighbours = _mm256_cmpeq_epi64(four, _mm256_permute4x64_epi64(four, 0x39));
	__m256i opposites = _mm256_cmpeq_epi64(four, _mm256_permute4x64_epi64(four, 0x4e));
	__m256i same = _mm256_or_si256(neighbours, opposites);

	return !_mm256_testz_si256(same, same);
}

/* Four packets: their states and, in each lane, whether the source is not in its home line. */
struct four {
	struct gcra *state[LANES]; /* kept in registers, not in memory */
	__m256i nobody;
};

/*
 * Finds the states of four packets. If a source is not in its home line, it points to the state in
 * the last way, which is charged 0 and so does not change. That needs no branch. Each mispredicted
 * branch would wait for the line, while no other line is being fetched.
 */
static inline TARGET struct four find_four(union source_line *const *home, const uint32_t *tag)
{
	uint32_t found = 0;
	struct four four;

#pragma GCC unroll 4
	for (unsigned i = 0; i < LANES; i++) {
		unsigned word = find_word(home[i], tag[i]);

		four.state[i] = home[i]->gcra.state + __builtin_ctz(word | 0x20) - 1;
		found |= word << 8 * i;
	}
	four.nobody = _mm256_cmpeq_epi64(
		_mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)found)), _mm256_setzero_si256());
	return four;
}

/* gcra_conforms_now() for four different states. Returns a bit for each that is refused. */
static inline TARGET unsigned refuse_four(
	const struct four *four, const uint32_t *cost, const struct gcra_lanes *now)
{
	struct gcra *const *state = four->state;
	const __m256i one = _mm256_set1_epi64x(1);
	__m256i was = _mm256_set_epi64x((long long)state[3]->allow_at,
		(long long)state[2]->allow_at, (long long)state[1]->allow_at,
		(long long)state[0]->allow_at);
	__m256i units = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)cost));
	__m256i need = _mm256_slli_epi64(_mm256_andnot_si256(four->nobody, units), GCRA_SHIFT);
	__m256i keep = _mm256_cmpgt_epi64(now->limit, _mm256_sub_epi64(now->top, was));
	__m256i allow_at = _mm256_blendv_epi8(now->full, was, keep);
	__m256i next = _mm256_add_epi64(allow_at, need);
	__m256d left = _mm256_castsi256_pd(_mm256_sub_epi64(now->at, next));
	__m256i is = _mm256_castpd_si256(
		_mm256_blendv_pd(_mm256_castsi256_pd(next), _mm256_castsi256_pd(allow_at), left));
	/* Conforms if the sign of `left` is clear, or that of need - 1 is set: it costs nothing. */
	__m256d refused = _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_sub_epi64(need, one)), left);

	state[0]->allow_at = (uint64_t)_mm256_extract_epi64(is, 0);
	state[1]->allow_at = (uint64_t)_mm256_extract_epi64(is, 1);
	state[2]->allow_at = (uint64_t)_mm256_extract_epi64(is, 2);
	state[3]->allow_at = (uint64_t)_mm256_extract_epi64(is, 3);
	return (unsigned)_mm256_movemask_pd(refused);
}

TARGET void burst_at_home_avx2(const struct visit *visit, const struct source_burst *burst,
	struct burst_verdicts *verdicts)
{
	const struct gcra_lanes lanes = lanes_begin(&visit->gcra);
	struct burst_verdicts others = {0};
	uint64_t refused = 0, missed = 0;
	unsigned i = 0;

	for (; i + LANES <= burst->n; i += LANES) {
		struct four four;

		for (unsigned k = i + AGAIN; k < i + AGAIN + LANES && k < burst->n; k++)
			__builtin_prefetch(burst->home[k], 1);
		if (__builtin_expect(any_twice(burst->home + i), 0)) {
			burst_at_home(visit, burst, i, i + LANES, &others);
			continue;
		}
		four = find_four(burst->home + i, burst->tag + i);
		refused |= (uint64_t)refuse_four(&four, burst->cost + i, &lanes) << i;
		missed |= (uint64_t)lanes_mask(four.nobody) << i;
	}
	burst_at_home(visit, burst, i, burst->n, &others);
	*verdicts = (struct burst_verdicts){refused | others.refused, missed | others.missed};
}

bool burst_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

#else

void burst_at_home_avx2(const struct visit *visit, const struct source_burst *burst,
	struct burst_verdicts *verdicts)
{
	*verdicts = (struct burst_verdicts){0};
	burst_at_home(visit, burst, 0, burst->n, verdicts);
}

bool burst_has_avx2(void)
{
	return false;
}

#endif
