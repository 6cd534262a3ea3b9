/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a table does for newcomers, for sources away from home, and in its sweep.
 */
#include "source/source_table.h"

/*
 * Moves that one newcomer may cause, each of another source to its other line. Two find room up to
 * 89 % of all ways, one up to 64 %; three would look at hundreds of lines before they gave up.
 */
#define MOVES 2

/* Where and when: what all of the below is about. */
struct visit {
	struct source_table *table;
	const union meter_profile *profile;
	uint64_t now;
};

/* Relaxed: the reader needs the word whole, not ordered with anything else. */
static void counter_set(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static unsigned ways_of(enum meter_kind kind)
{
	switch (kind) {
	case METER_GCRA:
		return SOURCE_WAYS(struct gcra);
	case METER_FIXED_WINDOW:
		return SOURCE_WAYS(struct fixed_window);
	case METER_HYBRID:
		return SOURCE_WAYS(struct hybrid);
	default:
		return 0;
	}
}

static size_t state_size_of(enum meter_kind kind)
{
	switch (kind) {
	case METER_GCRA:
		return sizeof(struct gcra);
	case METER_FIXED_WINDOW:
		return sizeof(struct fixed_window);
	default:
		return sizeof(struct hybrid);
	}
}

/* One way in each line is slack, so that a table is not full before it holds what was asked for. */
static uint32_t lines_of(enum meter_kind kind, unsigned sources)
{
	unsigned ways = ways_of(kind);

	return ways == 0 || sources == 0 ? 0 : (sources - 1) / (ways - 1) + 1;
}

size_t source_table_bytes(enum meter_kind kind, unsigned sources)
{
	size_t lines = lines_of(kind, sources);

	if (lines == 0)
		return 0;
	return sizeof(struct source_table) + lines * sizeof(union source_line) + SOURCE_LINE - 1;
}

struct source_table *source_table_init(
	void *memory, enum meter_kind kind, unsigned sources, uint64_t secret)
{
	uint32_t n_lines = lines_of(kind, sources);
	size_t gap = -(uintptr_t)memory % SOURCE_LINE;
	struct source_table *table;

	if (n_lines == 0)
		return NULL;
	table = (struct source_table *)((uint8_t *)memory + gap);
	memset(table, 0, sizeof(*table) + n_lines * sizeof(union source_line));
	source_key_init(&table->key, secret);
	table->lines = (union source_line *)(table + 1);
	table->n_lines = n_lines;
	table->kind = (uint8_t)kind;
	table->ways = (uint8_t)ways_of(kind);
	table->all_ways = (uint8_t)((1u << table->ways) - 1);
	table->state_size = (uint8_t)state_size_of(kind);
	table->stats.capacity = (uint64_t)n_lines * (table->ways - 1u);
	return table;
}

static bool idle(const struct visit *visit, const void *state)
{
	switch (visit->table->kind) {
	case METER_GCRA:
		return gcra_idle(state, &visit->profile->gcra, visit->now);
	case METER_FIXED_WINDOW:
		return fixed_window_idle(state, &visit->profile->quota, visit->now);
	default:
		return hybrid_idle(state, &visit->profile->quota, visit->now);
	}
}

static void start(const struct visit *visit, void *state)
{
	switch (visit->table->kind) {
	case METER_GCRA:
		gcra_init(state, &visit->profile->gcra, visit->now);
		break;
	case METER_FIXED_WINDOW:
		fixed_window_init(state, visit->now);
		break;
	default:
		hybrid_init(state, visit->now);
	}
}

/*
 * The other line that a source with this tag may live in. Its own inverse, since both lines' numbers
 * add up to one that the tag says; now and then it is the same line.
 */
static union source_line *other_line(
	const struct source_table *table, const union source_line *line, uint32_t tag)
{
	uint32_t n = (uint32_t)(line - table->lines);
	uint32_t sum = (uint32_t)(source_scale(table, (uint32_t)(tag * 0x9e3779b1u)) -
				  table->lines);

	return &table->lines[sum >= n ? sum - n : sum + table->n_lines - n];
}

/* A count that has reached its top no longer says how many, and stays: that costs a second look. */
static void count_away(union source_line *home, int change)
{
	if (home->head.away != UINT16_MAX)
		home->head.away = (uint16_t)(home->head.away + change);
}

static void take(
	struct source_table *table, union source_line *line, unsigned way, uint32_t tag, bool guest)
{
	line->tag[way] = tag;
	if (guest) {
		line->head.guests |= (uint8_t)(1u << way);
		count_away(other_line(table, line, tag), 1);
	}
}

static void leave(struct source_table *table, union source_line *line, unsigned way)
{
	uint8_t bit = (uint8_t)(1u << way);

	if (line->head.guests & bit) {
		line->head.guests &= (uint8_t)~bit;
		count_away(other_line(table, line, line->tag[way]), -1);
	}
	line->tag[way] = 0;
}

/* From one of a source's lines to the other, where the way is free. */
static void move(struct source_table *table, union source_line *from, unsigned from_way,
	union source_line *to, unsigned to_way)
{
	bool at_home = !(from->head.guests >> from_way & 1);
	uint32_t tag = from->tag[from_way];

	memcpy(source_state(table->kind, to, to_way), source_state(table->kind, from, from_way),
		table->state_size);
	leave(table, from, from_way);
	take(table, to, to_way, tag, at_home);
}

/*
 * A free way of the line for a source with this tag, or one made so by forgetting an idle source; -1
 * if all are busy. The free come first, since the idle may return, and of the idle any, so that some
 * that do return in turn do not each displace the next.
 */
static int vacancy(const struct visit *visit, union source_line *line, uint32_t tag)
{
	struct source_table *table = visit->table;
	unsigned way = (unsigned)((uint64_t)tag * table->ways >> 32);

	for (unsigned i = 0; i < table->ways; i++)
		if (line->tag[i] == 0)
			return (int)i;
	for (unsigned i = 0; i < table->ways; i++) {
		if (idle(visit, source_state(table->kind, line, way))) {
			leave(table, line, way);
			return (int)way;
		}
		way = way + 1 < table->ways ? way + 1 : 0;
	}
	return -1;
}

/* Moves one of a line of busy sources to its other line. Returns the way that is free then, or -1. */
static int make_room(const struct visit *visit, union source_line *line, unsigned moves)
{
	struct source_table *table = visit->table;

	for (unsigned depth = 1; depth <= moves; depth++) {
		for (unsigned way = 0; way < table->ways; way++) {
			uint32_t tag = line->tag[way];
			union source_line *other = other_line(table, line, tag);
			int free_way;

			if (other == line)
				continue;
			free_way = depth == 1 ? vacancy(visit, other, tag)
					      : make_room(visit, other, depth - 1);
			if (free_way < 0)
				continue;
			move(table, line, way, other, (unsigned)free_way);
			return (int)way;
		}
	}
	return -1;
}

/*
 * A failed search has looked at up to 60 lines. One a tick, which is one a burst, is what a flood of
 * newcomers in a full table may cost.
 */
static int search_room(const struct visit *visit, union source_line *home, union source_line *other,
	union source_line **line)
{
	int way;

	if (visit->table->full_at == visit->now)
		return -1;
	*line = home;
	way = make_room(visit, home, MOVES);
	if (way < 0) {
		*line = other;
		way = make_room(visit, other, MOVES);
	}
	if (way < 0)
		visit->table->full_at = visit->now;
	return way;
}

/* The meter of those without a place. */
static void *overflow_state(const struct visit *visit, uint32_t tag)
{
	struct source_table *table = visit->table;
	unsigned i = tag % SOURCE_OVERFLOWS;
	void *state = &table->overflow[i];

	if (!(table->overflow_live >> i & 1)) {
		start(visit, state);
		table->overflow_live |= UINT64_C(1) << i;
	}
	counter_set(&table->stats.overflows, table->stats.overflows + 1);
	return state;
}

/* A fresh meter for a source that has none, or else one of the shared. */
static void *admit(
	const struct visit *visit, union source_line *home, union source_line *other, uint32_t tag)
{
	struct source_table *table = visit->table;
	union source_line *line = home;
	int way = vacancy(visit, home, tag);
	void *state;

	if (way < 0) {
		line = other;
		way = vacancy(visit, other, tag);
	}
	if (way < 0)
		way = search_room(visit, home, other, &line);
	if (way < 0)
		return overflow_state(visit, tag);
	take(table, line, (unsigned)way, tag, line != home);
	state = source_state(table->kind, line, (unsigned)way);
	start(visit, state);
	counter_set(&table->stats.new_sources, table->stats.new_sources + 1);
	return state;
}

/* The meter of a source in its other line, brought home if there is room again; NULL if it is not
 * there. */
static void *find_guest(
	const struct visit *visit, union source_line *home, union source_line *other, uint32_t tag)
{
	struct source_table *table = visit->table;
	unsigned found = source_find(table, other, tag) & other->head.guests;
	unsigned way = found ? (unsigned)__builtin_ctz(found) : 0;
	int home_way;

	if (found == 0)
		return NULL;
	home_way = vacancy(visit, home, tag);
	if (home_way < 0)
		return source_state(table->kind, other, way);
	move(table, other, way, home, (unsigned)home_way);
	return source_state(table->kind, home, (unsigned)home_way);
}

bool source_table_conforms_away(struct source_table *table, const union meter_profile *profile,
	uint64_t hash, uint64_t now, uint32_t cost)
{
	const struct visit visit = {table, profile, now};
	union source_line *home = source_home(table, hash);
	uint32_t tag = source_tag(hash);
	union source_line *other = other_line(table, home, tag);
	void *state = home->head.away ? find_guest(&visit, home, other, tag) : NULL;

	if (state == NULL)
		state = admit(&visit, home, other, tag);
	return source_state_conforms(table->kind, state, profile, now, cost);
}

static void sweep_line(const struct visit *visit, union source_line *line)
{
	struct source_table *table = visit->table;

	for (unsigned way = 0; way < table->ways; way++) {
		if (line->tag[way] == 0)
			continue;
		if (idle(visit, source_state(table->kind, line, way)))
			leave(table, line, way);
		else
			table->swept_busy++;
	}
}

static void complete_sweep(const struct visit *visit)
{
	struct source_table *table = visit->table;

	for (unsigned i = 0; i < SOURCE_OVERFLOWS; i++)
		if (table->overflow_live >> i & 1 && idle(visit, &table->overflow[i]))
			table->overflow_live &= ~(UINT64_C(1) << i);
	counter_set(&table->stats.sources, table->swept_busy);
	table->swept_busy = 0;
	table->swept = 0;
}

bool source_table_age(struct source_table *table, const union meter_profile *profile, uint64_t now,
	unsigned lines)
{
	const struct visit visit = {table, profile, now};
	bool completed = false;

	for (; lines > 0; lines--) {
		sweep_line(&visit, &table->lines[table->swept]);
		if (++table->swept == table->n_lines) {
			complete_sweep(&visit);
			completed = true;
		}
	}
	return completed;
}

void source_table_read_stats(const struct source_table *table, struct source_table_stats *stats)
{
	const struct source_table_stats *from = &table->stats;

	stats->sources = __atomic_load_n(&from->sources, __ATOMIC_RELAXED);
	stats->capacity = from->capacity;
	stats->overflows = __atomic_load_n(&from->overflows, __ATOMIC_RELAXED);
	stats->new_sources = __atomic_load_n(&from->new_sources, __ATOMIC_RELAXED);
}
