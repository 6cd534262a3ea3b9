/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A map from names to numbers, with constant expected time per operation (amortized).
 */
#include "base/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PLACES_LEAST 8

struct name_place {
	const char *name; /* NULL: free */
	uint32_t hash, number;
};

/*
 * An open-addressing hash table. At least half of the places are free, so searches are short and
 * end.
 */
struct name_table {
	uint32_t n, mask; /* names, including removed ones; places - 1, for a power of two */
	struct name_place *places; /* each name is in the first free place from its hash on */
};

static struct name_place *place_of(const struct name_table *table, const char *name, uint32_t hash)
{
	uint32_t at = hash & table->mask;

	while (table->places[at].name &&
		(table->places[at].hash != hash || strcmp(table->places[at].name, name) != 0))
		at = (at + 1) & table->mask;
	return &table->places[at];
}

static int make_places(struct name_table *table, uint32_t room)
{
	size_t places = PLACES_LEAST;

	while (places < 2 * (size_t)room)
		places *= 2;
	table->mask = (uint32_t)(places - 1);
	table->places = calloc(places, sizeof(*table->places));
	return table->places ? 0 : -ENOMEM;
}

int name_table_create(uint32_t room, struct name_table **out)
{
	struct name_table *table = calloc(1, sizeof(*table));

	*out = NULL;
	if (!table || make_places(table, room)) {
		free(table);
		return -ENOMEM;
	}
	*out = table;
	return 0;
}

void name_table_destroy(struct name_table *table)
{
	if (table)
		free(table->places);
	free(table);
}

uint32_t name_table_find(const struct name_table *table, const char *name)
{
	const struct name_place *place = place_of(table, name, name_hash(name));

	return place->name ? place->number : NAME_NONE;
}

/* Doubles the places, and drops names without a number. */
static int grow_table(struct name_table *table)
{
	struct name_table previous = *table;

	if (make_places(table, 2 * previous.n)) {
		*table = previous;
		return -ENOMEM;
	}
	table->n = 0;
	for (uint32_t i = 0; i <= previous.mask; i++) {
		const struct name_place *place = &previous.places[i];

		if (!place->name || place->number == NAME_NONE)
			continue;
		*place_of(table, place->name, place->hash) = *place;
		table->n++;
	}
	free(previous.places);
	return 0;
}

int name_table_set(struct name_table *table, const char *name, uint32_t number)
{
	uint32_t hash = name_hash(name);
	struct name_place *place = place_of(table, name, hash);

	if (!place->name && number == NAME_NONE)
		return 0;
	if (!place->name && 2 * (table->n + 1) > table->mask + 1) {
		if (grow_table(table))
			return -ENOMEM;
		place = place_of(table, name, hash);
	}
	if (!place->name)
		table->n++;
	*place = (struct name_place){name, hash, number};
	return 0;
}
