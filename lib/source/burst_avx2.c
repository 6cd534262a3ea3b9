/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Bursts for CPUs with AVX2: a line is searched by one comparison, and four meters advance at a
 * time. Chosen at run time; what it says is what burst_at_home() says.
 */
#include "source/visit.h"

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi")))

#define CHUNK 8 /* packets: so far a core looks ahead while a line is on its way */
#define LANES 4
#define AGAIN 16 /* packets ahead, for lines that have been asked for in vain */

/* A point of virtual time and what a state is compared with, in each lane. */
struct lanes {
	__m256i at, full, top, limit;
};

static inline TARGET __m256i lanes_of(uint64_t word)
{
	return _mm256_set1_epi64x((long long)word);
}

/* AVX2 compares signed words only: what is to be compared unsigned has its sign turned. */
static TARGET struct lanes lanes_begin(const struct gcra_now *now)
{
	return (struct lanes){
		.at = lanes_of(now->at),
		.full = lanes_of(now->at - now->burst),
		.top = lanes_of((now->at + now->second) ^ BIT(63)),
		.limit = lanes_of((now->burst + now->second) ^ BIT(63)),
	};
}

/* gcra_conforms_now() of four different states; a bit for each that is refused. */
static inline TARGET unsigned refuse_four(
	struct gcra *const *state, const uint32_t *cost, const struct lanes *now)
{
	const __m256i one = _mm256_set1_epi64x(1);
	__m256i was = _mm256_set_epi64x((long long)state[3]->allow_at,
		(long long)state[2]->allow_at, (long long)state[1]->allow_at,
		(long long)state[0]->allow_at);
	__m256i need = _mm256_slli_epi64(
		_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)cost)), GCRA_SHIFT);
	__m256i keep = _mm256_cmpgt_epi64(now->limit, _mm256_sub_epi64(now->top, was));
	__m256i allow_at = _mm256_blendv_epi8(now->full, was, keep);
	__m256i next = _mm256_add_epi64(allow_at, need);
	__m256d left = _mm256_castsi256_pd(_mm256_sub_epi64(now->at, next));
	__m256i is = _mm256_castpd_si256(
		_mm256_blendv_pd(_mm256_castsi256_pd(next), _mm256_castsi256_pd(allow_at), left));
	/* No sign in `left`, or none in need - 1: what costs nothing conforms. */
	__m256d refused = _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_sub_epi64(need, one)), left);

	state[0]->allow_at = (uint64_t)_mm256_extract_epi64(is, 0);
	state[1]->allow_at = (uint64_t)_mm256_extract_epi64(is, 1);
	state[2]->allow_at = (uint64_t)_mm256_extract_epi64(is, 2);
	state[3]->allow_at = (uint64_t)_mm256_extract_epi64(is, 3);
	return (unsigned)_mm256_movemask_pd(refused);
}

/* Whether any two of four are one. */
static inline TARGET bool any_twice(struct gcra *const *state)
{
	__m256i four = _mm256_loadu_si256((const __m256i *)state);
	__m256i neighbours = _mm256_cmpeq_epi64(four, _mm256_permute4x64_epi64(four, 0x39));
	__m256i opposites = _mm256_cmpeq_epi64(four, _mm256_permute4x64_epi64(four, 0x4e));
	__m256i same = _mm256_or_si256(neighbours, opposites);

	return !_mm256_testz_si256(same, same);
}

/* Those of a chunk in their order: a packet of the same source sees what this one has left. */
static inline TARGET uint64_t refuse(struct gcra *const *state, const uint32_t *cost, unsigned n,
	const struct lanes *lanes, const struct gcra_now *now)
{
	uint64_t refused = 0;
	unsigned i = 0;

	while (i < n) {
		if (n - i >= LANES && __builtin_expect(!any_twice(state + i), 1)) {
			refused |= (uint64_t)refuse_four(state + i, cost + i, lanes) << i;
			i += LANES;
		} else {
			refused |= (uint64_t)!gcra_conforms_now(state[i], now, cost[i]) << i;
			i++;
		}
	}
	return refused;
}

/* Bits 1 to 5: the word of the line that is this tag. Word 0 is the head, 6 and 7 are a meter. */
static inline TARGET unsigned find_word(const union source_line *line, uint32_t tag)
{
	__m256i same = _mm256_cmpeq_epi32(
		_mm256_set1_epi32((int)tag), _mm256_load_si256((const __m256i *)line));

	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 0x3e;
}

static_assert(offsetof(union source_line, gcra.tag) == 4, "as find_word() has it");

TARGET void burst_at_home_avx2(const struct visit *visit, const struct source_burst *burst,
	struct burst_verdicts *verdicts)
{
	const struct gcra_now now = visit->gcra;
	const struct lanes lanes = lanes_begin(&now);
	struct gcra nobody[LANES] = {0}, *state[CHUNK];
	uint64_t refused = 0, missed = 0;

	for (unsigned done = 0, n; done < burst->n; done += n) {
		n = burst->n - done < CHUNK ? burst->n - done : CHUNK;
		for (unsigned i = done + AGAIN; i < done + AGAIN + CHUNK && i < burst->n; i++)
			__builtin_prefetch(burst->home[i], 1);
		for (unsigned i = 0; i < n; i++) {
			union source_line *line = burst->home[done + i];
			unsigned found = find_word(line, burst->tag[done + i]);
			struct gcra *at = line->gcra.state + __builtin_ctz(found | 0x20) - 1;

			state[i] = found ? at : &nobody[i % LANES];
			missed |= (uint64_t)!found << (done + i);
		}
		refused |= refuse(state, burst->cost + done, n, &lanes, &now) << done;
	}
	*verdicts = (struct burst_verdicts){refused & ~missed, missed};
}

bool burst_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

#else

void burst_at_home_avx2(const struct visit *visit, const struct source_burst *burst,
	struct burst_verdicts *verdicts)
{
	burst_at_home(visit, burst, verdicts);
}

bool burst_has_avx2(void)
{
	return false;
}

#endif
