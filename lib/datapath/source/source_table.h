/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A meter a source, in a table of fixed size: what a policy "per" source consists of on one worker.
 *
 * A meter that is idle (bucket full, window expired) holds no information: a fresh one decides the
 * same. So an idle entry may give way to a newcomer and nobody can tell; while there is room, a
 * busy one never does. A flood of new sources then changes no verdict, and nothing has to be timed
 * out.
 *
 * How large: with GCRA a source is busy for as long as what it sent takes at its rate. So on
 * average no more than line rate / source rate are busy, however many exist: 100,000 at 100 Gbit/s
 * and 1 Mbit/s each. With windows it is the number of sources seen in one.
 *
 * Layout. A source lives in one of two cache lines: its home, which its hash says, or another that
 * follows from home and tag; so either leads to the other, and nothing is divided or chained. It
 * goes to its home if anything there is free or idle. A line knows how many of its own are away, so
 * that a packet reads a second line only if there are any. When both are full of busy sources one
 * of them makes room in its own other line. A table of five ways a line, filled with busy sources
 * only, so has a place for each until 88 % of all ways are taken (with one line for each until 6 %,
 * with two and nobody moving until 15 %); 80 % are what it offers as capacity.
 *
 * The identity of a source is its line and a tag of 32 bits, not 64. That leaves a line room for
 * five GCRA meters, so that a source costs 16 bytes with all slack. A newcomer is taken for another
 * source with a chance of 1e-9; then both share one limit until idle.
 *
 * When there is no place, a packet is charged to a shared meter: the one of many that its source's
 * hash chooses. The sources of a shared meter together pass no more than one source.
 *
 * Forged addresses that send one packet each could fill a table whose meters stay busy for long:
 * with windows, and with a GCRA at a slow rate. So once there is no place, a newcomer gets one with
 * its second packet or a later one, because the shared meter remembers one of its last sources. A
 * sweep ends this if an eighth of the capacity and seven of the shared meters are not in use. Until
 * then it keeps the places of idle sources. If no place is free then, the newcomer gets the
 * one of the source in both lines which has used least, at most half of its burst or quota.
 *
 * No source gains by a change of its meter. Every meter that takes over from another one, a place
 * from a shared meter or a shared meter from a place, starts with the stricter state of both
 * (PREFIX_join()). The window of a shared meter lasts from its last packet on (PREFIX_prolong()).
 * So a source never passes more than with a meter of its own, whatever others send. Others can make
 * its meter stricter: a source that gets a place can start without the part of the burst that
 * others have used.
 *
 * A flood so shuts newcomers out of their burst when it spends all that the shared meters grant:
 * rate times the number of shared meters. Sources with a place are not affected, and a newcomer has
 * its own rate from its second packet on.
 *
 * All this holds while the profile does. When a burst or a quota is raised, the forgotten have it
 * at once, and those who are remembered when they have earned it.
 *
 * One writer, the worker; statistics are read by any thread. No clock, lock or allocation: memory
 * is the caller's.
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

/* What each line begins with, whatever its meters are. */
struct source_head {
	uint16_t away;  /* sources at home here that live in their other line; 65535: or more */
	uint8_t guests; /* bit a way: lives here, is at home in its other line */
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
	uint64_t capacity;    /* that can be busy at once */
	uint64_t overflows;   /* packets metered by a shared meter */
	uint64_t displaced;   /* places that newcomers took from sources with little used */
	uint64_t full;        /* 1: newcomers get a place with their second packet only */
	uint64_t new_sources; /* given a place, those that had been forgotten included */
};

struct source_table {
	/* Read a packet. */
	struct source_key key;
	union source_line *lines;
	uint32_t n_lines;
	uint8_t kind; /* enum meter_kind */
	uint8_t ways;
	uint8_t all_ways; /* a bit each */
	bool avx2;        /* bursts are decided with it */
	bool crowded;     /* so many live away that both lines are worth a prefetch */
	void *shared;     /* meters of sources without a place */
	uint16_t *seen;   /* part of the tag of one of their last sources; 0: not in use */
	uint64_t n_shared;

	/* Written for newcomers and by the sweep. */
	struct source_table_stats stats __attribute__((aligned(SOURCE_LINE)));
	uint64_t guests;      /* sources that live in their other line */
	uint32_t search_gap;  /* newcomers that may pass between two searches for room */
	uint32_t search_in;   /* newcomers until the next search */
	uint64_t swept_busy;  /* seen by the sweep so far */
	uint32_t swept;       /* line that the sweep looks at next */
	uint64_t shared_used; /* shared meters in use */
};

/*
 * Bytes of a table in which so many sources can be busy at once, with its shared meters: 26 each
 * with GCRA, 50 with a fixed window, 68 with a hybrid. 0 if there is none: no sources, or a kind
 * that is not METER_PER_SOURCE (a token bucket is kept as a GCRA, its equivalent in 8 bytes; random
 * drop has nothing to keep). Any thread.
 */
size_t source_table_bytes(enum meter_kind kind, unsigned sources);

/*
 * Makes an empty table in source_table_bytes() of memory, of any alignment, that stay the caller's.
 * NULL if source_table_bytes() is 0. Tables with different secrets place sources differently. A
 * worker's profiles may change at will, their kind must not. Set-up.
 */
struct source_table *source_table_init(
	void *memory, enum meter_kind kind, unsigned sources, uint64_t secret);

/*
 * Sweeps the next so many lines: counts the busy and forgets the idle; guests go home to the room
 * that makes. Verdicts do not need it, but for the range of a GCRA's clock: all lines should be
 * seen before that wraps, which gcra.h says is days at least. Returns whether a sweep was
 * completed. The table's worker.
 */
bool source_table_age(struct source_table *table, const union meter_profile *profile, uint64_t now,
	unsigned lines);

/* Any thread. */
void source_table_read_stats(const struct source_table *table, struct source_table_stats *stats);

/*
 * The meter of a source, in a table of METER_GCRA: its own, or one of those that newcomers share.
 * For who has to ask others before it is charged; until the table's next call. The table's worker.
 */
struct gcra *source_table_meter(struct source_table *table, const union meter_profile *profile,
	uint64_t hash, uint64_t now);

/* source_table_conforms() for a source that is not at home. Not for others. */
bool source_table_conforms_away(struct source_table *table, const union meter_profile *profile,
	union source_line *home, uint32_t tag, uint64_t now, uint32_t cost);

/* See source_key_hash(). */
static inline uint64_t source_hash(const struct source_table *table, const uint8_t *addr,
	unsigned family, unsigned prefix_bits)
{
	return source_key_hash(&table->key, addr, family, prefix_bits);
}

/* A word of 32 bits scaled to a line's number: no division, and any number of lines. */
static inline union source_line *source_scale(const struct source_table *table, uint64_t word)
{
	return &table->lines[word * table->n_lines >> 32];
}

static inline union source_line *source_home(const struct source_table *table, uint64_t hash)
{
	return source_scale(table, hash >> 32);
}

/* Never 0, which says that a way is free. */
static inline uint32_t source_tag(uint64_t hash)
{
	return (uint32_t)hash + ((uint32_t)hash == 0);
}

/*
 * The ways of a line that have this tag, a bit each. No branches: any way is equally likely. Looks
 * at five words whatever the kind; what is no tag is for the caller to mask out.
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

/* The usual kind costs one branch that is well predicted. */
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
		return NULL; /* of none there is a table */
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
 * The other line that a source with this tag may live in. Its own inverse, since both lines'
 * numbers add up to one that the tag says; now and then it is the same line.
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
 * To be called for a whole burst before source_table_conforms() is for its first packet. Inline
 * whatever the compiler thinks of it: gcc takes a function that does nothing but prefetch for one
 * without effect, and leaves out the calls.
 */
static inline __attribute__((always_inline)) void source_table_prefetch(
	const struct source_table *table, uint64_t hash)
{
	const union source_line *home = source_home(table, hash);

	__builtin_prefetch(home, 1);
	if (__builtin_expect(table->crowded, 0))
		__builtin_prefetch(source_other(table, home, source_tag(hash)), 1);
}

/* source_table_conforms() for a source whose home and tag are known. Not for others. */
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
 * Whether a packet that costs so many units conforms to its source's own limit; takes them if so.
 * The hash is source_hash()'s. The profile is of the table's kind; now, in its ticks, is not
 * earlier than at the last call. The table's worker. For whole bursts see source_burst.h.
 */
static inline bool source_table_conforms(struct source_table *table,
	const union meter_profile *profile, uint64_t hash, uint64_t now, uint32_t cost)
{
	return source_table_conforms_at(
		table, profile, source_home(table, hash), source_tag(hash), now, cost);
}

#endif
