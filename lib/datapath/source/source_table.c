/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Newcomers, sources outside their home line, displaced sources and the sweep of a table.
 */
#include "source/source_table.h"

#include "source/visit.h"

#define SEARCH_GAP 1023

/* Sizes of a kind of meter. 0 ways: the kind has no meter per source. */
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
 * Properties that follow from the ways of a line. `moves` is the number of moves that one newcomer
 * can cause, each of another source to its other line. It is chosen so that a search that fails
 * reads about a hundred lines. With fewer ways, it takes more moves to fill them. `capacity` is the
 * part of all ways offered to busy sources, with some to spare. With 5 million of them, the first
 * newcomer without a place came at 88, 82 and 73 % of all ways or later.
 */
static const struct geometry {
	uint8_t moves;
	uint8_t shared; /* meters per line: about one per source of the capacity */
	struct {
		uint8_t ways, of;
	} capacity;
} geometries[SOURCE_WAYS_MAX + 1] = {
	[5] = {2, 4, {4, 5}}, [3] = {3, 2, {2, 3}}, [2] = {4, 1, {2, 3}}};

#define MEASURED(constant, member, prefix, meter, ...)                                    \
	static_assert(SOURCE_WAYS(struct meter) == 5 || SOURCE_WAYS(struct meter) == 3 || \
			      SOURCE_WAYS(struct meter) == 2,                             \
		"struct " #meter ": measure how a table of it fills, see geometries[]");
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
	size_t lines = lines_of(kind, sources), shared;

	if (lines == 0)
		return 0;
	shared = lines * geometry_of(kind)->shared;
	return sizeof(struct source_table) + lines * sizeof(union source_line) +
	       shared * (kind_sizes[kind].state + sizeof(uint16_t)) + SOURCE_LINE - 1;
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
	memset(table, 0, source_table_bytes(kind, sources) - (SOURCE_LINE - 1));
	source_key_init(&table->key, secret);
	table->lines = (union source_line *)(table + 1);
	table->n_lines = n_lines;
	table->n_shared = (uint64_t)n_lines * geometry->shared;
	table->shared = table->lines + n_lines;
	table->seen = (uint16_t *)((uint8_t *)table->shared +
				   table->n_shared * kind_sizes[kind].state);
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
 * Counts a source that enters or leaves its other line. A count at its maximum is no longer exact
 * and stays, which costs an extra lookup. `crowded`: a prefetch of both lines costs every packet
 * another line, but saves packets of guests the wait for one. Both are equal with a guest in every
 * fourth line.
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

/* Moves a source from one of its lines to the other, where the way is free. */
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

/* The ways of a line whose meters are idle, a bit each. Bits of free ways are undefined. */
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
 * Returns a way of the line for a source with this tag: a free one, or that of an idle source,
 * which is removed. -1 if all are busy. Free ways come first, because an idle source can return.
 * Among idle ones the tag selects, so that several returning sources do not keep displacing each
 * other.
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
 * Moves one of the busy sources of a line to its other line. A source there can have to move first,
 * and so on. Returns the way that is then free, or -1. Searches with fewer moves come first. So a
 * line that occurs twice in a search has no room, and no source is moved twice.
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
 * Searches room for a newcomer by moving other sources. A search that fails reads some sixty lines
 * that were not prefetched. While searches fail, they become rare, down to one in SEARCH_GAP
 * newcomers. A scan of a full table then costs two lines per packet. After a search that succeeds,
 * every newcomer gets one again.
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

/* Use of a source, compared with that of others to decide which one loses its place. */
struct usage {
	uint64_t used; /* part of the burst in virtual time, or units of this window's quota */
	uint64_t start;
};

static struct usage usage_of(const struct visit *visit, union source_line *line, unsigned way)
{
	const void *state = source_state(visit->table->kind, line, way);
	const struct fixed_window *window = state;
	const struct hybrid *hybrid = state;
	int64_t tokens;

	switch (visit->table->kind) {
	case METER_GCRA:
		tokens = gcra_tokens(state, &visit->gcra);
		return (struct usage){visit->gcra.burst - (uint64_t)tokens, visit->now};
	case METER_FIXED_WINDOW:
		return (struct usage){window->used, window->start};
	default:
		return (struct usage){hybrid->smooth ? UINT64_MAX : hybrid->low, hybrid->time};
	}
}

/* The most that a source can use, in units of usage_of(). */
static uint64_t most_used(const struct visit *visit)
{
	switch (visit->table->kind) {
	case METER_GCRA:
		return visit->gcra.burst;
	case METER_FIXED_WINDOW:
		return visit->profile->window.units;
	default:
		return visit->profile->hybrid.units;
	}
}

/*
 * Finds the way of a line whose source has used less than *least, or as much and longer ago.
 * Updates *least. Returns -1 if there is none.
 */
static int find_least_used(const struct visit *visit, union source_line *line, struct usage *least)
{
	int found = -1;

	for (unsigned way = 0; way < visit->table->ways; way++) {
		const struct usage usage = usage_of(visit, line, way);

		if (usage.used > least->used ||
			(usage.used == least->used && (int64_t)(usage.start - least->start) >= 0))
			continue;
		*least = usage;
		found = (int)way;
	}
	return found;
}

/* Uses no secret, because the home and the tag are keyed. */
uint64_t source_table_shared(
	const struct source_table *table, const union source_line *home, uint32_t tag)
{
	uint64_t word = (uint64_t)(home - table->lines) << 32 | tag;

	return (word * UINT64_C(0x9e3779b97f4a7c15) >> 32) * table->n_shared >> 32;
}

unsigned source_table_state(enum meter_kind kind)
{
	return kind_sizes[kind].state;
}

static void *shared_state(const struct source_table *table, uint64_t i)
{
	return (uint8_t *)table->shared + i * kind_sizes[table->kind].state;
}

/* Never 0. */
static uint16_t seen_of(uint32_t tag)
{
	return (uint16_t)(tag | 1);
}

/* Begins to use a shared meter that is not in use. */
static void *use_shared(const struct visit *visit, uint64_t i, uint32_t tag)
{
	struct source_table *table = visit->table;
	void *state = shared_state(table, i);

	if (table->seen[i] == 0) {
		start_meter(visit, state);
		table->seen[i] = seen_of(tag);
		table->shared_used++;
	}
	return state;
}

/* Frees a source's place. Its state moves to its shared meter. */
static void take_place(const struct visit *visit, union source_line *line, unsigned way)
{
	struct source_table *table = visit->table;
	uint32_t tag = line->tag[way];
	union source_line *home = line->head.guests >> way & 1 ? source_other(table, line, tag)
							       : line;
	void *state = use_shared(visit, source_table_shared(table, home, tag), tag);

#define JOIN(constant, member, prefix, ...)                                                    \
	case METER_##constant:                                                                 \
		prefix##_join(                                                                 \
			state, &line->member.state[way], &visit->profile->member, visit->now); \
		break;
	switch (table->kind) {
		METERS(METER_SKIP, JOIN)
	}
#undef JOIN
	leave_way(table, line, way);
	visit_count(&table->stats.displaced, table->stats.displaced + 1);
}

/*
 * Frees the place of the source that has used least, in one of two full lines. Returns its way and
 * *line, or -1 if all have used more than half.
 */
static int displace_source(const struct visit *visit, union source_line *home,
	union source_line *other, union source_line **line)
{
	struct usage least = {most_used(visit) / 2, visit->now + 1};
	int way, other_way;

	*line = home;
	way = find_least_used(visit, home, &least);
	other_way = find_least_used(visit, other, &least);
	if (other_way >= 0) {
		*line = other;
		way = other_way;
	}
	if (way >= 0)
		take_place(visit, *line, (unsigned)way);
	return way;
}

/*
 * Returns the shared meter of a packet without a place. It records the source of about every second
 * packet. If it recorded every one, two sources that send alternately would never be recognized.
 */
static void *share_meter(const struct visit *visit, uint64_t shared, uint32_t tag)
{
	struct source_table *table = visit->table;
	uint32_t lot = (uint32_t)table->stats.overflows * UINT32_C(0x9e3779b1);
	void *state = use_shared(visit, shared, tag);

	if (lot >> 31)
		table->seen[shared] = seen_of(tag);
	visit_count(&table->stats.overflows, table->stats.overflows + 1);
	return state;
}

/*
 * Restarts the window of a shared meter: it began with another source, and begins now for this one.
 */
static void prolong_window(const struct visit *visit, void *state)
{
#define PROLONG(constant, member, prefix, ...)       \
	case METER_##constant:                       \
		prefix##_prolong(state, visit->now); \
		break;
	switch (visit->table->kind) {
		METERS(METER_SKIP, PROLONG)
	}
#undef PROLONG
}

/* Starts the meter of a place with the state of the source's shared meter, or a fresh one. */
static void *start_place(
	const struct visit *visit, union source_line *line, unsigned way, uint64_t shared)
{
	struct source_table *table = visit->table;
	void *state = source_state(table->kind, line, way);

	start_meter(visit, state);
	if (table->seen[shared] && !meter_is_idle(visit, shared_state(table, shared))) {
		memcpy(state, shared_state(table, shared), kind_sizes[table->kind].state);
		prolong_window(visit, state);
	}
	visit_count(&table->stats.new_sources, table->stats.new_sources + 1);
	return state;
}

/* Finds or makes a place for a newcomer, in *line. Returns its way or -1. */
static int find_place(const struct visit *visit, union source_line *home, union source_line *other,
	uint32_t tag, union source_line **line)
{
	int way = find_vacancy(visit, *line = home, tag);

	if (way < 0)
		way = find_vacancy(visit, *line = other, tag);
	if (way < 0)
		way = search_room(visit, home, other, line);
	if (way < 0)
		visit_count(&visit->table->stats.full, 1);
	return way;
}

/* Returns the meter of a new place, or the shared one. */
static void *admit_source(
	const struct visit *visit, union source_line *home, union source_line *other, uint32_t tag)
{
	struct source_table *table = visit->table;
	uint64_t shared = source_table_shared(table, home, tag);
	bool known = table->seen[shared] == seen_of(tag);
	union source_line *line = home;
	int way = -1;

	if (known || !table->stats.full)
		way = find_place(visit, home, other, tag, &line);
	if (way < 0 && known)
		way = displace_source(visit, home, other, &line);
	if (way < 0)
		return share_meter(visit, shared, tag);
	take_way(table, line, (unsigned)way, tag, line != home);
	return start_place(visit, line, (unsigned)way, shared);
}

/*
 * Returns the meter of a source in its other line, or NULL. Moves it to its home line if a way is
 * free there. It does not look for idle ways, because that would take too long for every packet of
 * a crowd.
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

/* Returns the meter of a source that is not in its home line. */
static void *state_away(const struct visit *visit, union source_line *home, uint32_t tag)
{
	union source_line *other = source_other(visit->table, home, tag);
	void *state = home->head.away ? find_guest(visit->table, home, other, tag) : NULL;

	return state ? state : admit_source(visit, home, other, tag);
}

bool visit_away(const struct visit *visit, union source_line *home, uint32_t tag, uint32_t cost)
{
	void *state = state_away(visit, home, tag);
	bool conforms = state_conforms(visit, state, cost);

	if (conforms && cost > 0 && state >= visit->table->shared)
		prolong_window(visit, state);
	return conforms;
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
		if (!meter_is_idle(visit, source_state(table->kind, line, way)))
			table->swept_busy++;
		else if (!table->stats.full)
			leave_way(table, line, way);
	}
}

/* Sweeps the shared meters that belong to a line. */
static void sweep_shared(const struct visit *visit, uint32_t line)
{
	struct source_table *table = visit->table;
	const unsigned n = geometry_of(table->kind)->shared;

	for (uint64_t i = (uint64_t)line * n; i < (uint64_t)(line + 1) * n; i++)
		if (table->seen[i] && meter_is_idle(visit, shared_state(table, i))) {
			table->seen[i] = 0;
			table->shared_used--;
		}
}

static void complete_sweep(struct source_table *table)
{
	visit_count(&table->stats.sources, table->swept_busy);
	if (table->swept_busy <= table->stats.capacity / 8 * 7 &&
		table->shared_used <= table->n_shared / 8)
		visit_count(&table->stats.full, 0);
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
		if (table->shared_used)
			sweep_shared(&visit, table->swept);
		if (++table->swept == table->n_lines) {
			complete_sweep(table);
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
	stats->full = __atomic_load_n(&from->full, __ATOMIC_RELAXED);
	stats->displaced = __atomic_load_n(&from->displaced, __ATOMIC_RELAXED);
	stats->overflows = __atomic_load_n(&from->overflows, __ATOMIC_RELAXED);
	stats->new_sources = __atomic_load_n(&from->new_sources, __ATOMIC_RELAXED);
}
