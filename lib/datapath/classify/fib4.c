/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Longest prefix match of IPv4 for a set of prefixes that never changes.
 */
#include "classify/fib4_private.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#if defined(__SSSE3__) && !defined(FIB4_PORTABLE)
#include <tmmintrin.h>
#define FIB4_VECTOR 1
#endif

#define TABLE_BITS 8
#define TABLE_SIZE (UINT32_C(1) << TABLE_BITS)

#define LINE_UNITS 4
#define BOUNDS     8

/*
 * With so few ranges, all are compared in turn, each with LANES addresses in three operations,
 * without waiting for memory.
 */
#define LANES 4
#define GROUP 4 /* lanes processed together */

typedef int32_t lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Units of so many ranges: one for the bounds, then the answers. */
#define RANGES_UNITS(n) (1 + ((n) + FIB4_UNIT_WORDS - 1) / FIB4_UNIT_WORDS)

/*
 * Up to BOUNDS + 1 ranges of a block, at most a cache line. before[] has the last address before
 * each range except the first: the lower 16 bits, less 2^15. Vectors compare signed words only.
 * Unused bounds are INT16_MAX, which no address exceeds.
 */
struct fib_ranges {
	int16_t before[BOUNDS];
	uint32_t answer[];
};
static_assert(sizeof(struct fib_ranges) == FIB4_UNIT_WORDS * sizeof(uint32_t), "bounds are a unit");

/*
 * Returns 1 for a link, 0 for an answer. Adding bit 30 sets bit 31 only if the upper bits are 01.
 */
static inline uint32_t leads_further(uint32_t entry)
{
	return (entry + FIB4_FURTHER) >> 31;
}

static inline bool leads_to_table(uint32_t entry)
{
	return entry - FIB4_TABLE <= FIB4_PLACE;
}

/* Converts an address to the form of its block's bounds. */
static inline int16_t within_block(uint32_t addr)
{
	return (int16_t)(addr ^ 0x8000);
}

static inline uint32_t range_of(const struct fib_ranges *ranges, uint32_t addr)
{
	unsigned behind = 0;

	for (unsigned i = 0; i < BOUNDS; i++)
		behind += within_block(addr) > ranges->before[i];
	return ranges->answer[behind];
}

/* Bitwise OR of all lanes. */
static inline __attribute__((always_inline)) uint32_t any_of(lanes lane)
{
	return (uint32_t)(lane[0] | lane[1] | lane[2] | lane[3]);
}

/*
 * Replaces n times LANES addresses by their answers: the XOR of the changes at all bounds that an
 * address has passed.
 */
static inline __attribute__((always_inline)) void search_lanes(
	const struct fib4 *fib, lanes *lane, unsigned n)
{
	lanes at[GROUP];

	for (unsigned g = 0; g < n; g++) {
		at[g] = lane[g] ^ INT32_MIN;
		lane[g] = (lanes){0} + (int32_t)fib->few[0].change;
	}
	for (unsigned i = 1; i < fib->n_few; i++)
		for (unsigned g = 0; g < n; g++)
			lane[g] ^= (at[g] > fib->few[i].before) & (int32_t)fib->few[i].change;
}

/* Returns the bitwise OR of the answers, per lane. */
static inline __attribute__((always_inline)) lanes search_group(
	const struct fib4 *fib, const uint32_t *addr, unsigned n, uint32_t *answers)
{
	lanes lane[GROUP], all = {0};

	memcpy(lane, addr, n * sizeof(lane[0]));
	search_lanes(fib, lane, n);
	memcpy(answers, lane, n * sizeof(lane[0]));
	for (unsigned g = 0; g < n; g++)
		all |= lane[g];
	return all;
}

static uint32_t search_few(
	const struct fib4 *fib, const uint32_t *addr, unsigned n, uint32_t *answers)
{
	lanes all = {0};
	size_t i = 0;

	for (; i + LANES * GROUP <= n; i += LANES * GROUP)
		all |= search_group(fib, &addr[i], GROUP, &answers[i]);
	for (; i + LANES <= n; i += LANES)
		all |= search_group(fib, &addr[i], 1, &answers[i]);
	for (; i < n; i++) {
		lanes lane = (lanes){0} + (int32_t)addr[i];

		search_lanes(fib, &lane, 1);
		answers[i] = (uint32_t)lane[0];
		all |= lane;
	}
	return any_of(all);
}

/* Entries of n addresses, and the places to which they lead: in words from the first entry. */
struct fib_step {
	uint32_t entries[FIB4_BURST_MAX];
	uint32_t places[FIB4_BURST_MAX];
};

/* Properties of all entries together. Entries that are answers have place 0. */
struct fib_turn {
	bool further, tables, all_tables, ends;
	uint32_t all; /* bitwise OR */
};

static inline __attribute__((always_inline)) struct fib_turn find_places(
	struct fib_step *step, unsigned n)
{
	const int32_t table = (int32_t)(FIB4_TABLE & ~FIB4_FURTHER);
	lanes all = {0}, some = {0}, other = {0}, off = {0};

	for (unsigned i = 0; i < n; i += LANES) {
		lanes entry, place, on;

		memcpy(&entry, &step->entries[i], sizeof(entry));
		all |= entry;
		on = entry + (int32_t)FIB4_FURTHER < 0;
		entry &= on;
		some |= entry;
		other |= ~entry;
		off |= ~on;
		place = (entry & (int32_t)FIB4_PLACE) * FIB4_UNIT_WORDS;
		memcpy(&step->places[i], &place, sizeof(place));
	}
	return (struct fib_turn){
		.all = any_of(all),
		.further = any_of(some) != 0,
		.tables = any_of(some & table) != 0,
		.all_tables = any_of(other & table) == 0,
		.ends = any_of(off) != 0,
	};
}

static inline const struct fib_ranges *ranges_at(const struct fib4 *fib, uint32_t place)
{
	return (const struct fib_ranges *)(const void *)&fib->entries[place];
}

/* LANES addresses in the form of bounds, and range_of() for one of them. */
#ifdef FIB4_VECTOR
typedef __m128i fib_words;

static inline __attribute__((always_inline)) fib_words words_of(const uint32_t *addr)
{
	return _mm_xor_si128(_mm_loadu_si128((const __m128i *)addr), _mm_set1_epi32(0x8000));
}

static inline __attribute__((always_inline)) uint32_t range_of_word(
	const struct fib_ranges *ranges, fib_words words, size_t k)
{
	const __m128i eight = _mm_set1_epi16((int16_t)(0x0100 + 0x0404 * k)); /* k-th, 8 times */
	const __m128i before = _mm_load_si128((const __m128i *)ranges->before);
	const __m128i behind = _mm_cmpgt_epi16(_mm_shuffle_epi8(words, eight), before);
	/* Two bits for each bound that is passed: half the bytes of an answer. */
	const size_t bits = (size_t)__builtin_popcount((unsigned)_mm_movemask_epi8(behind));
	uint32_t answer;

	memcpy(&answer, (const char *)ranges->answer + bits * sizeof(answer) / 2, sizeof(answer));
	return answer;
}
#else
typedef const uint32_t *fib_words;

static inline fib_words words_of(const uint32_t *addr)
{
	return addr;
}

static inline uint32_t range_of_word(const struct fib_ranges *ranges, fib_words words, size_t k)
{
	return range_of(ranges, words[k]);
}
#endif

/*
 * Sets the answers of LANES addresses from their ranges. ends: some entries are answers already.
 * Returns the bitwise OR of the answers.
 */
static inline __attribute__((always_inline)) uint32_t search_places(const struct fib4 *fib,
	const struct fib_step *step, const uint32_t *addr, size_t at, bool ends, const char *lines,
	uint32_t *answers)
{
	const fib_words words = words_of(&addr[at]);
	uint32_t all = 0;

#pragma GCC unroll 4
	for (size_t k = 0; k < LANES; k++) {
		const uint32_t entry = step->entries[at + k];
		uint32_t answer = range_of_word(ranges_at(fib, step->places[at + k]), words, k);

		if (ends)
			answer = leads_further(entry) ? answer : entry;
		answers[at + k] = answer;
		if (lines)
			fib4_fetch_line(lines, answer);
		all |= answer;
	}
	return all;
}

static inline __attribute__((always_inline)) uint32_t search_all_places(const struct fib4 *fib,
	const struct fib_step *step, const uint32_t *addr, unsigned n, bool ends, const char *lines,
	uint32_t *answers)
{
	uint32_t all = 0;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		all |= search_places(fib, step, addr, i, ends, lines, answers);
	for (; i < n; i++) {
		answers[i] = leads_further(step->entries[i])
				     ? range_of(ranges_at(fib, step->places[i]), addr[i])
				     : step->entries[i];
		all |= answers[i];
	}
	return all;
}

static uint32_t search_tables(const struct fib4 *fib, const struct fib_step *step,
	const uint32_t *addr, unsigned n, unsigned bits, uint32_t *answers);

/* Fills the last lanes, which can have no address. */
static inline __attribute__((always_inline)) void fill_lanes(struct fib_step *step, unsigned n)
{
	for (unsigned i = n; i % LANES; i++)
		step->entries[i] = step->entries[0];
}

/*
 * Sets the answers of n addresses that have come to these entries, which stand for 2^bits addresses
 * each. Returns the bitwise OR of the answers.
 */
static inline __attribute__((always_inline)) uint32_t search_entries(const struct fib4 *fib,
	struct fib_step *step, const uint32_t *addr, unsigned n, unsigned bits, const char *lines,
	uint32_t *answers)
{
	struct fib_turn turn;
	uint32_t all = 0;

	fill_lanes(step, n);
	turn = find_places(step, n);
	if (!turn.further) {
		memcpy(answers, step->entries, n * sizeof(*answers));
		return turn.all;
	}
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++)
		rte_prefetch0(&fib->entries[step->places[i]]);
	if (turn.ends)
		all = search_all_places(fib, step, addr, n, true, NULL, answers);
	else if (lines && !turn.tables)
		all = search_all_places(fib, step, addr, n, false, lines, answers);
	else if (!turn.all_tables)
		all = search_all_places(fib, step, addr, n, false, NULL, answers);
	return turn.tables ? search_tables(fib, step, addr, n, bits, answers) : all;
}

/* Continues the search by the next bits for addresses that have come to tables. */
static __attribute__((noinline)) uint32_t search_tables(const struct fib4 *fib,
	const struct fib_step *step, const uint32_t *addr, unsigned n, unsigned bits,
	uint32_t *answers)
{
	uint32_t there[FIB4_BURST_MAX], found[FIB4_BURST_MAX], all = 0;
	uint8_t who[FIB4_BURST_MAX];
	struct fib_step next;
	unsigned n_there = 0;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t low = (addr[i] >> (bits - TABLE_BITS)) % TABLE_SIZE;

		who[n_there] = (uint8_t)i;
		there[n_there] = addr[i];
		next.places[n_there] = step->places[i] + low;
		n_there += leads_to_table(step->entries[i]);
	}
	for (unsigned k = 0; k < n_there; k++)
		rte_prefetch0(&fib->entries[next.places[k]]);
	for (unsigned k = 0; k < n_there; k++)
		next.entries[k] = fib->entries[next.places[k]];
	search_entries(fib, &next, there, n_there, bits - TABLE_BITS, NULL, found);
	for (unsigned k = 0; k < n_there; k++)
		answers[who[k]] = found[k];
	for (unsigned i = 0; i < n; i++)
		all |= answers[i];
	return all;
}

static uint32_t search_blocks(const struct fib4 *fib, const uint32_t *addr, unsigned n,
	const char *lines, uint32_t *answers)
{
	struct fib_step step;

#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++)
		rte_prefetch0(&fib->entries[addr[i] >> FIB4_BLOCK_BITS]);
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++)
		step.entries[i] = fib->entries[addr[i] >> FIB4_BLOCK_BITS];
	return search_entries(fib, &step, addr, n, FIB4_BLOCK_BITS, lines, answers);
}

uint32_t fib4_lookup(const struct fib4 *fib, const uint32_t *addr, unsigned n, const void *lines,
	uint32_t *answers)
{
	if (fib->n_few > 0)
		return search_few(fib, addr, n, answers);
	return search_blocks(fib, addr, n, lines, answers);
}

/* Ranges in order of address. Each ends where the next one begins. */
struct fib_range {
	uint64_t first;
	uint32_t answer;
};

/*
 * Prefixes that enclose the current one, innermost last. The first one is the whole address space.
 */
struct sweep {
	struct fib_range *ranges;
	size_t n;
	struct {
		uint64_t end;
		uint32_t answer;
	} above[34];
	unsigned n_above;
};

static uint32_t prefix_address4(const struct lpm_prefix *prefix)
{
	uint32_t addr;

	memcpy(&addr, prefix->addr, sizeof(addr));
	return be32toh(addr);
}

/*
 * Begins a range at `first`. Removes ranges that become empty or have the answer of the one before.
 */
static void turn_to(struct sweep *sweep, uint64_t first, uint32_t answer)
{
	if (sweep->n > 0 && sweep->ranges[sweep->n - 1].first == first)
		sweep->n--;
	if (sweep->n > 0 && sweep->ranges[sweep->n - 1].answer == answer)
		return;
	sweep->ranges[sweep->n++] = (struct fib_range){first, answer};
}

/* Leaves all prefixes that end at or before an address. */
static void leave_prefixes(struct sweep *sweep, uint64_t at)
{
	while (sweep->n_above > 1 && sweep->above[sweep->n_above - 1].end <= at) {
		const uint64_t end = sweep->above[--sweep->n_above].end;

		turn_to(sweep, end, sweep->above[sweep->n_above - 1].answer);
	}
}

/* Fills in at most 2n + 1 ranges and an end marker. Returns the number of ranges. */
static size_t divide_into_ranges(
	const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, struct fib_range *ranges)
{
	const uint64_t end = UINT64_C(1) << 32;
	struct sweep sweep = {.ranges = ranges, .above = {{end, otherwise}}, .n_above = 1};

	turn_to(&sweep, 0, otherwise);
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t first = prefix_address4(&prefixes[i]);

		leave_prefixes(&sweep, first);
		sweep.above[sweep.n_above].end = first + (end >> prefixes[i].length);
		sweep.above[sweep.n_above++].answer = prefixes[i].answer;
		turn_to(&sweep, first, prefixes[i].answer);
	}
	leave_prefixes(&sweep, end);
	if (sweep.ranges[sweep.n - 1].first == end)
		sweep.n--;
	ranges[sweep.n].first = end;
	return sweep.n;
}

/* Goes through all ranges in order, and builds units or only counts them. */
struct builder {
	struct fib4 *fib;              /* NULL: count */
	const struct fib_range *range; /* contains the next address */
	size_t n_units;
};

/* Allocates n units, in one cache line if they fit into one. Returns the index of the first. */
static size_t take_units(struct builder *builder, size_t n)
{
	if (builder->n_units % LINE_UNITS + n > LINE_UNITS)
		builder->n_units = (builder->n_units + LINE_UNITS - 1) / LINE_UNITS * LINE_UNITS;
	builder->n_units += n;
	return builder->n_units - n;
}

static uint32_t build_ranges(struct builder *builder, size_t n)
{
	const size_t at = take_units(builder, RANGES_UNITS(n));
	struct fib_ranges *ranges;

	if (builder->fib == NULL)
		return FIB4_FURTHER;
	ranges = (struct fib_ranges *)(void *)&builder->fib->entries[at * FIB4_UNIT_WORDS];
	for (unsigned i = 0; i < BOUNDS; i++)
		ranges->before[i] = INT16_MAX;
	for (size_t i = 0; i < n; i++)
		ranges->answer[i] = builder->range[i].answer;
	for (size_t i = 1; i < n; i++)
		ranges->before[i - 1] = (int16_t)((builder->range[i].first - 1) ^ 0x8000);
	return FIB4_FURTHER | (uint32_t)at;
}

static uint32_t build_entry(struct builder *builder, uint64_t first, unsigned bits);

static uint32_t build_table(struct builder *builder, uint64_t first, unsigned bits)
{
	const size_t at = take_units(builder, TABLE_SIZE / FIB4_UNIT_WORDS);

	for (uint64_t i = 0; i < TABLE_SIZE; i++) {
		const uint32_t entry = build_entry(
			builder, first + (i << (bits - TABLE_BITS)), bits - TABLE_BITS);

		if (builder->fib != NULL)
			builder->fib->entries[at * FIB4_UNIT_WORDS + i] = entry;
	}
	return FIB4_TABLE | (uint32_t)at;
}

/* Builds the entry of the 2^bits addresses from `first` on. `first` is in the current range. */
static uint32_t build_entry(struct builder *builder, uint64_t first, unsigned bits)
{
	const uint64_t end = first + (UINT64_C(1) << bits);
	uint32_t entry;
	size_t n = 1;

	while (n <= BOUNDS + 1 && builder->range[n].first < end)
		n++;
	if (n > BOUNDS + 1)
		return build_table(builder, first, bits);
	entry = n == 1 ? builder->range->answer : build_ranges(builder, n);
	builder->range += n - 1;
	if (builder->range[1].first == end)
		builder->range++;
	return entry;
}

/* Returns the number of units. */
static size_t fib4_build_units(struct fib4 *fib, const struct fib_range *ranges)
{
	struct builder builder = {
		.fib = fib, .range = ranges, .n_units = FIB4_BLOCKS / FIB4_UNIT_WORDS};

	for (uint64_t block = 0; block < FIB4_BLOCKS; block++) {
		const uint32_t entry = build_entry(
			&builder, block << FIB4_BLOCK_BITS, FIB4_BLOCK_BITS);

		if (fib != NULL)
			fib->entries[block] = entry;
	}
	return builder.n_units;
}

static struct fib4 *fib4_alloc(size_t n_units, int socket)
{
	const struct fib4 *fib = NULL;

	return rte_zmalloc_socket("weir_fib4",
		sizeof(*fib) + n_units * FIB4_UNIT_WORDS * sizeof(fib->entries[0]), 64, socket);
}

static struct fib4 *create_few(const struct fib_range *ranges, size_t n, int socket)
{
	struct fib4 *fib = fib4_alloc(0, socket);

	if (fib == NULL)
		return NULL;
	fib->n_few = (unsigned)n;
	fib->few[0].change = ranges[0].answer;
	for (size_t i = 1; i < n; i++) {
		fib->few[i].before = (int32_t)((ranges[i].first - 1) ^ UINT32_C(1) << 31);
		fib->few[i].change = ranges[i].answer ^ ranges[i - 1].answer;
	}
	return fib;
}

static struct fib4 *create_blocks(const struct fib_range *ranges, int socket)
{
	const size_t n_units = fib4_build_units(NULL, ranges);
	struct fib4 *fib = n_units <= FIB4_PLACE ? fib4_alloc(n_units, socket) : NULL;

	if (fib == NULL)
		return NULL;
	fib->n_units = n_units;
	fib4_build_units(fib, ranges);
	return fib;
}

int fib4_create(const struct lpm_prefix *prefixes, uint32_t n, uint32_t otherwise, int socket,
	struct fib4 **out)
{
	struct fib_range *ranges = calloc(2 * (size_t)n + 2, sizeof(*ranges));
	size_t n_ranges;

	if (ranges == NULL)
		return -ENOMEM;
	n_ranges = divide_into_ranges(prefixes, n, otherwise, ranges);
	*out = n_ranges <= FIB4_FEW ? create_few(ranges, n_ranges, socket)
				    : create_blocks(ranges, socket);
	free(ranges);
	return *out != NULL ? 0 : -ENOMEM;
}

void fib4_destroy(struct fib4 *fib)
{
	rte_free(fib);
}
