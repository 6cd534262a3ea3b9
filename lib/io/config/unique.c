/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds equal elements of an array with a hash table (check.h), for names that must be unique.
 */
#include "config/check.h"

#include "config/config_messages.h"
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

bool name_is_valid(const void *element)
{
	return *(const char *)element != '\0';
}

int name_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

uint32_t name_first_hash(const void *element)
{
	return name_hash(element);
}

int hash_compare(const void *a, const void *b)
{
	uint32_t left = name_hash(a), right = name_hash(b);

	return left < right ? -1 : left > right;
}

static struct json_path element_path(const struct unique *unique, const char *base, unsigned i)
{
	return (struct json_path){
		.parent = unique->array,
		.key = unique->by_name ? base + i * unique->size : NULL,
		.index = i,
	};
}

static void report_clash(struct reader *reader, const struct unique *unique, const char *base,
	unsigned first, unsigned again)
{
	struct json_path other = element_path(unique, base, first);
	struct json_path at = element_path(unique, base, again);
	struct json_path field = {.parent = &at, .key = unique->key};
	char *place;

	if (reader_skips(reader, false))
		return;
	place = reader_place(reader, &other);
	if (place == NULL) {
		reader->no_memory = true;
		return;
	}
	reader_report(reader, &field, MESSAGE(NOT_UNIQUE), unique->what, unique->what, place);
	free(place);
}

/* A hash table of the indices of the first element of each kind, with linear probing. */
struct firsts {
	const struct unique *unique;
	const char *base;
	uint32_t *places; /* index + 1; 0: free. At least half are free */
	uint32_t mask;
};

static const char *element_at(const struct firsts *firsts, unsigned i)
{
	return firsts->base + i * firsts->unique->size;
}

/* Returns the first element equal to this one: itself if no earlier one is. */
static unsigned find_first(struct firsts *firsts, unsigned i)
{
	const char *element = element_at(firsts, i);
	const uint32_t hash = firsts->unique->hash != NULL ? firsts->unique->hash(element) : 0;
	uint32_t at = hash & firsts->mask;

	for (; firsts->places[at] != 0; at = (at + 1) & firsts->mask) {
		unsigned first = firsts->places[at] - 1;

		if (firsts->unique->compare(element_at(firsts, first), element) == 0)
			return first;
	}
	firsts->places[at] = i + 1;
	return i;
}

static void report_clashes(struct reader *reader, struct firsts *firsts, unsigned n)
{
	const struct unique *unique = firsts->unique;
	/* A hash of the name must be unique. Equal names have another message. */
	const bool is_hash = strcmp(unique->key, "name") == 0 && unique->compare != name_compare;

	for (unsigned i = 0; i < n; i++) {
		const char *element = element_at(firsts, i);
		unsigned first = unique->is_valid(element) ? find_first(firsts, i) : i;

		if (first != i && !(is_hash && strcmp(element_at(firsts, first), element) == 0))
			report_clash(reader, unique, firsts->base, first, i);
	}
}

void check_unique(struct reader *reader, const struct unique *unique, const void *base, unsigned n)
{
	struct firsts firsts = {.unique = unique, .base = base};
	uint32_t places = 2;

	while (places < 2 * n)
		places *= 2;
	firsts.mask = places - 1;
	firsts.places = calloc(places, sizeof(*firsts.places));
	if (firsts.places == NULL)
		reader->no_memory = true;
	else
		report_clashes(reader, &firsts, n);
	free(firsts.places);
}
