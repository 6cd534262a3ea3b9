/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A meter per source, in a table of fixed size: the state of a "per" source policy on one worker.
 *
 * An idle meter (bucket full, window expired) has no information, because a new one decides the
 * same. So a newcomer can replace an idle entry without a visible effect. While there is room, no
 * busy entry is replaced. A flood of new sources then changes no verdict, and entries need no
 * timeout.
 *
 * Size: with GCRA a source is busy for the time that its bytes take at its rate. So on average at
 * most line rate / source rate sources are busy, however many exist: 100,000 at 100 Gbit/s and 1
 * Mbit/s each. With windows it is the number of sources seen in one window.
 *
 * Layout: a source is in one of two cache lines: its home, which its hash selects, or another that
 * follows from home and tag. So either leads to the other, without divisions or chains. It is
 * placed in its home if any way there is free or idle. A line counts its own sources that are in
 * their other line, so a packet reads a second line only if there are any. If both lines are full
 * of busy sources, one of them is moved to its own other line. With five ways per line and only
 * busy sources, every source gets a place until 88 % of all ways are taken. With one line per
 * source it is 6 %, and with two lines without moves 15 %. The table offers 80 % as capacity.
 *
 * The identity of a source is its line and a tag of 32 bits, not 64. That makes room for five GCRA
 * meters in a line, so a source takes 16 bytes including all slack. A newcomer is mistaken for
 * another source with a probability of 1e-9; both then share one limit until idle.
 *
 * If there is no place, a packet is charged to a shared meter, which its source's hash selects. The
 * sources of a shared meter together pass no more than one source.
 *
 * Forged addresses that send one packet each could fill a table whose meters stay busy for long:
 * with windows, and with a GCRA at a slow rate. So once there is no place, a newcomer gets one with
 * its second packet or a later one, because the shared meter records one of its last sources. A
 * sweep ends this if an eighth of the capacity and seven eighths of the shared meters are not in
 * use. Until then it keeps the places of idle sources. If no place is free then, the newcomer gets
 * the place of the source in both lines that has used least, at most half of its burst or quota.
 *
 * No source gains by a change of its meter. A place that takes over from a shared meter, or a
 * shared meter from a place, starts with the stricter state of both (PREFIX_join()). The window of
 * a shared meter lasts from its last packet on (PREFIX_prolong()). So a source never passes more
 * than with a meter of its own, for any traffic of others. Others can make its meter stricter: a
 * source that gets a place can start without the part of the burst that others have used.
 *
 * So a flood can deprive newcomers of their burst if it spends all that the shared meters grant:
 * rate times the number of shared meters. Sources with a place are not affected, and a newcomer has
 * its own rate from its second packet on.
 *
 * All this is true while the profile is unchanged. When a burst or quota is raised, sources without
 * an entry have it immediately, and others when they have earned it.
 *
 * One writer, the worker. Any thread reads the statistics. No clock, lock or allocation: memory is
 * the caller's.
 */
#ifndef WEIR_SOURCE_SOURCE_TABLE_H
#define WEIR_SOURCE_SOURCE_TABLE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "meter/meter.h"
#include "source/source_hash.h"

#define SOURCE_LINE 64 /* bytes of a cache line */

/* The first bytes of each line, for every kind of meter. */
struct source_head {
	uint16_t away;  /* sources of this home that are in their other line; 65535: or more */
	uint8_t guests; /* a bit per way: the source's home is its other line */
	uint8_t unused;
};

#define SOURCE_WAYS(state) \
	((SOURCE_LINE - sizeof(struct source_head)) / (sizeof(uint32_t) + sizeof(state)))

#define SOURCE_WAYS_MAX SOURCE_WAYS(struct gcra)

#define SOURCE_MEMBERS(constant, member, prefix, meter, ...)   \
	struct {                                               \
		struct source_head head;                       \
		uint32_t tag[SOURCE_WAYS(struct meter)];       \
		struct meter state[SOURCE_WAYS(struct meter)]; \
	} member;
union source_line {
	struct {
		struct source_head head;
		uint32_t tag[SOURCE_WAYS_MAX]; /* 0 is free; as many as the kind has ways */
	};
	METERS(METER_SKIP, SOURCE_MEMBERS)
} __attribute__((aligned(SOURCE_LINE)));

#undef SOURCE_MEMBERS

static_assert(sizeof(union source_line) == SOURCE_LINE, "one line touched a packet");

struct source_table_stats {
	uint64_t sources;     /* busy, as of the last full sweep */
	uint64_t capacity;    /* sources that can be busy at one time */
	uint64_t overflows;   /* packets metered by a shared meter */
	uint64_t displaced;   /* places that newcomers took from sources that used little */
	uint64_t full;        /* 1: newcomers get a place only with their second packet */
	uint64_t new_sources; /* sources given a place, including those that had been removed */
};

struct source_table {
	/* Read per packet. */
	struct source_key key;
	union source_line *lines;
	uint32_t n_lines;
	uint8_t kind; /* enum meter_kind */
	uint8_t ways;
	uint8_t all_ways; /* bitmap of all ways */
	bool avx2;        /* the CPU has AVX2: used for bursts */
	bool crowded;     /* enough sources are in their other line to prefetch both lines */
	void *shared;     /* meters of sources without a place */
	uint16_t *seen;   /* part of the tag of one of their last sources; 0: unused */
	uint64_t n_shared;

	/* Written for newcomers and by the sweep. */
	struct source_table_stats stats __attribute__((aligned(SOURCE_LINE)));
	uint64_t guests;      /* sources in their other line */
	uint32_t search_gap;  /* newcomers between two searches for room */
	uint32_t search_in;   /* newcomers until the next search */
	uint64_t swept_busy;  /* busy sources found by this sweep so far */
	uint32_t swept;       /* next line to sweep */
	uint64_t shared_used; /* shared meters in use */
};

/*
 * Returns the bytes of a table in which so many sources can be busy at one time. With its shared
 * meters, it takes 26 bytes per source with GCRA, 50 with a fixed window, 68 with a hybrid. 0 if
 * there is no table: no sources, or a kind that is not METER_PER_SOURCE. (A token bucket is kept as
 * a GCRA, which is equivalent and takes 8 bytes. Random drop has no state.) Any thread.
 */
size_t source_table_bytes(enum meter_kind kind, unsigned sources);

/*
 * Makes an empty table in source_table_bytes() of memory, of any alignment, which stays the
 * caller's. Returns NULL if source_table_bytes() is 0. Tables with different secrets place sources
 * differently. A worker's profiles may change at any time, but not their kind. Set-up.
 */
struct source_table *source_table_init(
	void *memory, enum meter_kind kind, unsigned sources, uint64_t secret);

/*
 * Sweeps the next `lines` lines: counts busy sources and removes idle ones. A guest moves home with
 * a later packet, into a way that this frees. Verdicts depend on the sweep only because a GCRA's
 * clock wraps: every line should be swept before that, which takes days at least (gcra.h). Returns
 * whether it completed a sweep. The table's worker.
 */
bool source_table_age(struct source_table *table, const union meter_profile *profile, uint64_t now,
	unsigned lines);

/* Any thread. */
void source_table_read_stats(const struct source_table *table, struct source_table_stats *stats);

/*
 * Returns the meter of a source, in a table of METER_GCRA: its own, or a shared one. For callers
 * that must check other limits before they charge it. Valid until the table's next call. The
 * table's worker.
 */
struct gcra *source_table_meter(struct source_table *table, const union meter_profile *profile,
	uint64_t hash, uint64_t now);

/* source_table_conforms() for a source that is not in its home line. Private to this folder. */
bool source_table_conforms_away(struct source_table *table, const union meter_profile *profile,
	union source_line *home, uint32_t tag, uint64_t now, uint32_t cost);

/* See source_key_hash(). */
static inline uint64_t source_hash(const struct source_table *table, const uint8_t *addr,
	unsigned family, unsigned prefix_bits)
{
	return source_key_hash(&table->key, addr, family, prefix_bits);
}

/* Scales a 32-bit word to a line's index: no division, and any number of lines. */
static inline union source_line *source_scale(const struct source_table *table, uint64_t word)
{
	return &table->lines[word * table->n_lines >> 32];
}

static inline union source_line *source_home(const struct source_table *table, uint64_t hash)
{
	return source_scale(table, hash >> 32);
}

/* Never 0, which marks a free way. */
static inline uint32_t source_tag(uint64_t hash)
{
	return (uint32_t)hash + ((uint32_t)hash == 0);
}

/*
 * Returns the ways of a line that have this tag, a bit each. No branches, because any way is
 * equally likely. Compares five words for every kind; the caller masks out words that are not tags.
 */
static inline unsigned source_find(const union source_line *line, uint32_t tag)
{
	unsigned found = (unsigned)(line->tag[4] == tag) << 4;
#ifdef __SSE2__
	__m128i four = _mm_loadu_si128((const __m128i *)line->tag);

	four = _mm_cmpeq_epi32(four, _mm_set1_epi32((int)tag));
	found |= (unsigned)_mm_movemask_ps(_mm_castsi128_ps(four));
#else
	for (unsigned way = 0; way < 4; way++)
		found |= (unsigned)(line->tag[way] == tag) << way;
#endif
	return found;
}

static_assert(SOURCE_WAYS_MAX == 5, "as source_find() has it");

/* The usual kind takes one branch that is predicted well. */
static inline void *source_state(enum meter_kind kind, union source_line *line, unsigned way)
{
#define SOURCE_CASE(constant, member, ...) \
	case METER_##constant:             \
		return &line->member.state[way];
	if (__builtin_expect(kind == METER_GCRA, 1))
		return &line->gcra.state[way];
	switch (kind) {
		METERS(METER_SKIP, SOURCE_CASE)
	default:
		return NULL; /* no table of other kinds exists */
	}
#undef SOURCE_CASE
}

static inline bool source_state_conforms(enum meter_kind kind, void *state,
	const union meter_profile *profile, uint64_t now, uint32_t cost)
{
#define SOURCE_CASE(constant, member, prefix, ...) \
	case METER_##constant:                     \
		return prefix##_conforms(state, &profile->member, now, cost);
	if (__builtin_expect(kind == METER_GCRA, 1))
		return gcra_conforms(state, &profile->gcra, now, cost);
	switch (kind) {
		METERS(METER_SKIP, SOURCE_CASE)
	default:
		return false;
	}
#undef SOURCE_CASE
}

/*
 * Returns the other line of a source with this tag. The function is its own inverse, because both
 * lines' numbers add up to a number that follows from the tag. Occasionally it is the same line.
 */
static inline union source_line *source_other(
	const struct source_table *table, const union source_line *line, uint32_t tag)
{
	uint32_t n = (uint32_t)(line - table->lines);
	uint32_t sum = (uint32_t)(source_scale(table, (uint32_t)(tag * 0x9e3779b1u)) -
				  table->lines);

	return &table->lines[sum >= n ? sum - n : sum + table->n_lines - n];
}

/*
 * Prefetches a source's meter. To be called for a whole burst before source_table_conforms() for
 * its first packet. Always inline, because gcc assumes that a function that only prefetches has no
 * effect, and removes the calls.
 */
static inline __attribute__((always_inline)) void source_table_prefetch(
	const struct source_table *table, uint64_t hash)
{
	const union source_line *home = source_home(table, hash);

	__builtin_prefetch(home, 1);
	if (__builtin_expect(table->crowded, 0))
		__builtin_prefetch(source_other(table, home, source_tag(hash)), 1);
}

/* source_table_conforms() for a source with a given home and tag. Private to this folder. */
static inline bool source_table_conforms_at(struct source_table *table,
	const union meter_profile *profile, union source_line *home, uint32_t tag, uint64_t now,
	uint32_t cost)
{
	unsigned found = source_find(home, tag) & table->all_ways;
	enum meter_kind kind = table->kind;

	if (__builtin_expect(found == 0, 0))
		return source_table_conforms_away(table, profile, home, tag, now, cost);
	return source_state_conforms(
		kind, source_state(kind, home, (unsigned)__builtin_ctz(found)), profile, now, cost);
}

/*
 * Returns whether a packet of `cost` units conforms to its source's own limit, and takes the units
 * if so. hash: from source_hash(). The profile is of the table's kind. now: in the profile's ticks,
 * not before the last call's. The table's worker. For whole bursts see source_burst.h.
 */
static inline bool source_table_conforms(struct source_table *table,
	const union meter_profile *profile, uint64_t hash, uint64_t now, uint32_t cost)
{
	return source_table_conforms_at(
		table, profile, source_home(table, hash), source_tag(hash), now, cost);
}

#endif
