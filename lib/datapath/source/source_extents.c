/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lists the parts of a table that one source's next packet can access.
 */
#include "source/source_extents.h"

#include "source/visit.h"

/* Adds a line, and the lines to which its sources can be moved, up to `moves` moves. */
static void add_lines(const struct source_table *table, const union source_line *line,
	unsigned moves, struct extents *extents)
{
	extents_add(extents, line, sizeof(*line));
	if (moves == 0)
		return;
	for (unsigned way = 0; way < table->ways; way++) {
		const union source_line *other = source_other(table, line, line->tag[way]);

		if (line->tag[way] != 0 && other != line)
			add_lines(table, other, moves - 1, extents);
	}
}

static void add_shared(const struct source_table *table, const union source_line *home,
	uint32_t tag, struct extents *extents)
{
	const unsigned bytes = source_table_state(table->kind);
	uint64_t i = source_table_shared(table, home, tag);

	extents_add(extents, (const uint8_t *)table->shared + i * bytes, bytes);
	extents_add(extents, &table->seen[i], sizeof(table->seen[i]));
}

/* Adds the shared meters of the sources of a full line: one of them can lose its place. */
static void add_displaced(
	const struct source_table *table, const union source_line *line, struct extents *extents)
{
	for (unsigned way = 0; way < table->ways; way++) {
		uint32_t tag = line->tag[way];
		bool guest = line->head.guests >> way & 1;

		if (tag != 0)
			add_shared(
				table, guest ? source_other(table, line, tag) : line, tag, extents);
	}
}

void source_table_extents(const struct source_table *table, uint64_t hash, struct extents *extents)
{
	const union source_line *home = source_home(table, hash), *other;
	const uint32_t tag = source_tag(hash);
	unsigned moves = source_table_moves(table->kind);

	extents_add(extents, table, sizeof(*table));
	if (source_find(home, tag) & table->all_ways) {
		extents_add(extents, home, sizeof(*home));
		return;
	}
	other = source_other(table, home, tag);
	if (source_find(other, tag) & other->head.guests)
		moves = 0;
	add_lines(table, home, moves, extents);
	if (other != home)
		add_lines(table, other, moves, extents);
	if (moves == 0)
		return;
	add_shared(table, home, tag, extents);
	add_displaced(table, home, extents);
	if (other != home)
		add_displaced(table, other, extents);
}
