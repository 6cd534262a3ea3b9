/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a table does for newcomers, for sources away from home, and in its sweep.
 */
#include "source/source_table.h"

#include "source/visit.h"

#define SEARCH_GAP 1023

/* What follows from the size of a kind's state; no ways: none is kept per source. */
struct kind_size {
	uint8_t ways;
	uint8_t state;
};

#define NO_SIZE(constant, ...) [METER_##constant] = {0, 0},
#define SIZE_OF(constant, member, prefix, meter, ...) \
	[METER_##constant] = {SOURCE_WAYS(struct meter), sizeof(struct meter)},
static const struct kind_size kind_sizes[METER_KINDS] = {METERS(NO_SIZE, SIZE_OF)};
#undef NO_SIZE
#undef SIZE_OF

/*
 * What follows from how many ways a line has. Moves are those that one newcomer may cause, each of
 * another source to its other line: so many that a search in vain looks at a hundred lines or so;
 * the fewer ways, the more it takes to fill them. Capacity is the part of all ways that is promised
 * to busy sources, with some to spare: with 5 million of them the first newcomer without a place
 * came at no less than 88, 82 and 73 % of all ways.
 */
static const struct geometry {
	uint8_t moves;
	struct {
		uint8_t ways, of;
	} capacity;
} geometries[SOURCE_WAYS_MAX + 1] = {[5] = {2, {4, 5}}, [3] = {3, {2, 3}}, [2] = {4, {2, 3}}};

#define MEASURED(constant, member, prefix, meter, ...)                                    \
	static_assert(SOURCE_WAYS(struct meter) == 5 || SOURCE_WAYS(struct meter) == 3 || \
			      SOURCE_WAYS(struct meter) == 2,                             \
		"of struct " #meter " nobody has measured how a table fills: see geometries[]");
METERS(METER_SKIP, MEASURED)
#undef MEASURED

static const struct geometry *geometry_of(enum meter_kind kind)
{
	return &geometries[kind_sizes[kind].ways];
}

unsigned source_table_moves(enum meter_kind kind)
{
	return geometry_of(kind)->moves;
}

static uint32_t lines_of(enum meter_kind kind, unsigned sources)
{
	const struct geometry *geometry = geometry_of(kind);
	uint64_t per_line = (uint64_t)kind_sizes[kind].ways * geometry->capacity.ways;

	if (per_line == 0)
		return 0;
	return (uint32_t)(((uint64_t)sources * geometry->capacity.of + per_line - 1) / per_line);
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
	const struct geometry *geometry = geometry_of(kind);
	uint32_t n_lines = lines_of(kind, sources);
	unsigned ways = kind_sizes[kind].ways;
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
	table->ways = (uint8_t)ways;
	table->avx2 = burst_has_avx2();
	table->all_ways = (uint8_t)((1u << ways) - 1);
	table->stats.capacity = (uint64_t)n_lines * ways * geometry->capacity.ways /
				geometry->capacity.of;
	return table;
}

static bool meter_is_idle(const struct visit *visit, const void *state)
{
#define IDLE(constant, member, prefix, ...) \
	case METER_##constant:              \
		return prefix##_idle(state, &visit->profile->member, visit->now);
	if (visit->table->kind == METER_GCRA)
		return gcra_idle_now(state, &visit->gcra);
	switch (visit->table->kind) {
		METERS(METER_SKIP, IDLE)
	default:
		return true;
	}
#undef IDLE
}

static void start_meter(const struct visit *visit, void *state)
{
#define START(constant, member, prefix, ...)                                   \
	case METER_##constant:                                                 \
		prefix##_begin(state, &visit->profile->member, visit->now, 0); \
		break;
	if (visit->table->kind == METER_GCRA) {
		gcra_init_now(state, &visit->gcra);
		return;
	}
	switch (visit->table->kind) {
		METERS(METER_SKIP, START)
	}
#undef START
}

/*
 * One more or less of a home's own lives away. A count that has reached its top no longer says how
 * many, and stays: that costs a second look. A prefetch of both lines costs every packet another
 * line, and spares those of guests the wait for one: both are even with a guest in four lines.
 */
static void count_away(struct source_table *table, union source_line *home, int change)
{
	if (home->head.away != UINT16_MAX)
		home->head.away = (uint16_t)(home->head.away + change);
	table->guests += (uint64_t)(int64_t)change;
	table->crowded = table->guests > table->n_lines / 4;
}

static void take_way(
	struct source_table *table, union source_line *line, unsigned way, uint32_t tag, bool guest)
{
	line->tag[way] = tag;
	if (guest) {
		line->head.guests |= (uint8_t)(1u << way);
		count_away(table, source_other(table, line, tag), 1);
	}
}

static void leave_way(struct source_table *table, union source_line *line, unsigned way)
{
	uint8_t bit = (uint8_t)(1u << way);

	if (line->head.guests & bit) {
		line->head.guests &= (uint8_t)~bit;
		count_away(table, source_other(table, line, line->tag[way]), -1);
	}
	line->tag[way] = 0;
}

/* From one of a source's lines to the other, where the way is free. */
static void move_source(struct source_table *table, union source_line *from, unsigned from_way,
	union source_line *to, unsigned to_way)
{
	bool at_home = !(from->head.guests >> from_way & 1);
	uint32_t tag = from->tag[from_way];

	memcpy(source_state(table->kind, to, to_way), source_state(table->kind, from, from_way),
		kind_sizes[table->kind].state);
	leave_way(table, from, from_way);
	take_way(table, to, to_way, tag, at_home);
}

/* The ways of a line whose meters are idle, a bit each; of free ones it may be any. */
static unsigned idle_ways(const struct visit *visit, union source_line *line)
{
	unsigned ways = 0;

	if (visit->table->kind == METER_GCRA)
		return visit_idle_ways(visit, line);
	for (unsigned way = 0; way < visit->table->ways; way++)
		ways |= (unsigned)meter_is_idle(visit, source_state(visit->table->kind, line, way))
			<< way;
	return ways;
}

static unsigned free_ways(const struct source_table *table, const union source_line *line)
{
	return source_find(line, 0) & table->all_ways;
}

/*
 * A free way of the line for a source with this tag, or one made so by forgetting an idle source;
 * -1 if all are busy. The free come first, since the idle may return, and of the idle any, so that
 * some that do return in turn do not each displace the next.
 */
static int find_vacancy(const struct visit *visit, union source_line *line, uint32_t tag)
{
	struct source_table *table = visit->table;
	unsigned ways = free_ways(table, line), way;

	if (ways)
		return __builtin_ctz(ways);
	ways = idle_ways(visit, line);
	if (ways == 0)
		return -1;
	way = visit_pick(ways, table->ways, tag);
	leave_way(table, line, way);
	return (int)way;
}

/*
 * Moves one of a line of busy sources to its other line, for which one there may have to move
 * first, and so on. Returns the way that is free then, or -1. The nearest room is looked for first;
 * so who comes by a line again finds nothing there, and none is moved twice.
 */
static int make_room_in_line(const struct visit *visit, union source_line *line, unsigned moves)
{
	struct source_table *table = visit->table;

	for (unsigned depth = 1; depth <= moves; depth++) {
		for (unsigned way = 0; way < table->ways; way++) {
			uint32_t tag = line->tag[way];
			union source_line *other = source_other(table, line, tag);
			int there;

			if (other == line)
				continue;
			there = depth == 1 ? find_vacancy(visit, other, tag)
					   : make_room_in_line(visit, other, depth - 1);
			if (there < 0)
				continue;
			move_source(table, line, way, other, (unsigned)there);
			return (int)way;
		}
	}
	return -1;
}

/*
 * A search in vain reads some sixty lines that nobody has asked for in time. So while searches find
 * nothing they become rare, down to one in SEARCH_GAP newcomers, and a scan of a full table costs
 * two lines a packet; with the first that finds something all newcomers have one again.
 */
static int search_room(const struct visit *visit, union source_line *home, union source_line *other,
	union source_line **line)
{
	struct source_table *table = visit->table;
	unsigned moves = geometry_of(table->kind)->moves;
	int way;

	if (table->search_in > 0) {
		table->search_in--;
		return -1;
	}
	*line = home;
	way = make_room_in_line(visit, home, moves);
	if (way < 0) {
		*line = other;
		way = make_room_in_line(visit, other, moves);
	}
	table->search_gap = way < 0 ? 2 * table->search_gap + 1 : 0;
	if (table->search_gap > SEARCH_GAP)
		table->search_gap = SEARCH_GAP;
	table->search_in = table->search_gap;
	return way;
}

/* How much a source matters to whoever wants its place: what it has used, and since when. */
struct usage {
	uint64_t used; /* units of its quota in this window */
	uint64_t start;
};

static struct usage usage_of(
	const struct source_table *table, union source_line *line, unsigned way)
{
	const struct fixed_window *window = &line->window.state[way];
	const struct hybrid *hybrid = &line->hybrid.state[way];

	if (table->kind == METER_FIXED_WINDOW)
		return (struct usage){window->used, window->start};
	return (struct usage){hybrid->smooth ? UINT64_MAX : hybrid->low, hybrid->time};
}

/* The quota, in a table of a kind that has one. */
static const struct quota *quota_of(const struct visit *visit)
{
	return visit->table->kind == METER_FIXED_WINDOW ? &visit->profile->window
							: &visit->profile->hybrid;
}

/* The way in a line whose source has used less than *least, or as much and longer ago; or -1. */
static int find_least_used(
	const struct source_table *table, union source_line *line, struct usage *least)
{
	int found = -1;

	for (unsigned way = 0; way < table->ways; way++) {
		const struct usage usage = usage_of(table, line, way);

		if (usage.used > least->used ||
			(usage.used == least->used && (int64_t)(usage.start - least->start) >= 0))
			continue;
		*least = usage;
		found = (int)way;
	}
	return found;
}

/* Where a source with little used gives way, in one of two lines that are full; or -1. */
static int displace_source(const struct visit *visit, union source_line *home,
	union source_line *other, union source_line **line)
{
	struct source_table *table = visit->table;
	struct usage least = {quota_of(visit)->units / 2, visit->now + 1};
	int way, other_way;

	if (table->kind != METER_FIXED_WINDOW && table->kind != METER_HYBRID)
		return -1;
	*line = home;
	way = find_least_used(table, home, &least);
	other_way = find_least_used(table, other, &least);
	if (other_way >= 0) {
		*line = other;
		way = other_way;
	}
	if (way < 0)
		return -1;
	leave_way(table, *line, (unsigned)way);
	visit_count(&table->stats.displaced, table->stats.displaced + 1);
	return way;
}

/* The meter of those without a place. */
static void *overflow_state(const struct visit *visit, uint32_t tag)
{
	struct source_table *table = visit->table;
	unsigned i = tag % SOURCE_OVERFLOWS;
	void *state = &table->overflow[i];

	if (!(table->overflow_live >> i & 1)) {
		start_meter(visit, state);
		table->overflow_live |= UINT64_C(1) << i;
	}
	visit_count(&table->stats.overflows, table->stats.overflows + 1);
	return state;
}

/* A fresh meter for a source that has none, or else one of the shared. */
static void *admit_source(
	const struct visit *visit, union source_line *home, union source_line *other, uint32_t tag)
{
	struct source_table *table = visit->table;
	union source_line *line = home;
	int way = find_vacancy(visit, home, tag);
	void *state;

	if (way < 0) {
		line = other;
		way = find_vacancy(visit, other, tag);
	}
	if (way < 0)
		way = search_room(visit, home, other, &line);
	if (way < 0)
		way = displace_source(visit, home, other, &line);
	if (way < 0)
		return overflow_state(visit, tag);
	take_way(table, line, (unsigned)way, tag, line != home);
	state = source_state(table->kind, line, (unsigned)way);
	start_meter(visit, state);
	visit_count(&table->stats.new_sources, table->stats.new_sources + 1);
	return state;
}

/*
 * The meter of a source in its other line, NULL if it is not there. It is brought home if a way is
 * free there; that none is idle either would take too long to find out for every packet of a crowd.
 */
static void *find_guest(
	struct source_table *table, union source_line *home, union source_line *other, uint32_t tag)
{
	unsigned found = source_find(other, tag) & other->head.guests;
	unsigned room = free_ways(table, home), way, home_way;

	if (found == 0)
		return NULL;
	way = (unsigned)__builtin_ctz(found);
	if (room == 0)
		return source_state(table->kind, other, way);
	home_way = (unsigned)__builtin_ctz(room);
	move_source(table, other, way, home, home_way);
	return source_state(table->kind, home, home_way);
}

static bool state_conforms(const struct visit *visit, void *state, uint32_t cost)
{
	const struct source_table *table = visit->table;

	if (table->kind == METER_GCRA)
		return gcra_conforms_now(state, &visit->gcra, cost);
	return source_state_conforms(table->kind, state, visit->profile, visit->now, cost);
}

/* The meter of a source that is not at home. */
static void *state_away(const struct visit *visit, union source_line *home, uint32_t tag)
{
	union source_line *other = source_other(visit->table, home, tag);
	void *state = home->head.away ? find_guest(visit->table, home, other, tag) : NULL;

	return state ? state : admit_source(visit, home, other, tag);
}

bool visit_away(const struct visit *visit, union source_line *home, uint32_t tag, uint32_t cost)
{
	return state_conforms(visit, state_away(visit, home, tag), cost);
}

struct gcra *source_table_meter(
	struct source_table *table, const union meter_profile *profile, uint64_t hash, uint64_t now)
{
	union source_line *home = source_home(table, hash);
	unsigned found = source_find(home, source_tag(hash)) & table->all_ways;
	const struct visit visit = visit_begin(table, profile, now);

	if (found)
		return &home->gcra.state[__builtin_ctz(found)];
	return state_away(&visit, home, source_tag(hash));
}

bool source_table_conforms_away(struct source_table *table, const union meter_profile *profile,
	union source_line *home, uint32_t tag, uint64_t now, uint32_t cost)
{
	const struct visit visit = visit_begin(table, profile, now);

	return visit_away(&visit, home, tag, cost);
}

static void sweep_line(const struct visit *visit, union source_line *line)
{
	struct source_table *table = visit->table;

	for (unsigned way = 0; way < table->ways; way++) {
		if (line->tag[way] == 0)
			continue;
		if (meter_is_idle(visit, source_state(table->kind, line, way)))
			leave_way(table, line, way);
		else
			table->swept_busy++;
	}
}

static void complete_sweep(const struct visit *visit)
{
	struct source_table *table = visit->table;

	for (unsigned i = 0; i < SOURCE_OVERFLOWS; i++)
		if (table->overflow_live >> i & 1 && meter_is_idle(visit, &table->overflow[i]))
			table->overflow_live &= ~(UINT64_C(1) << i);
	visit_count(&table->stats.sources, table->swept_busy);
	table->swept_busy = 0;
	table->swept = 0;
}

bool source_table_age(struct source_table *table, const union meter_profile *profile, uint64_t now,
	unsigned lines)
{
	const struct visit visit = visit_begin(table, profile, now);
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
	stats->displaced = __atomic_load_n(&from->displaced, __ATOMIC_RELAXED);
	stats->overflows = __atomic_load_n(&from->overflows, __ATOMIC_RELAXED);
	stats->new_sources = __atomic_load_n(&from->new_sources, __ATOMIC_RELAXED);
}
