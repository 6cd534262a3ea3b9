/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/unique.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

bool name_known(const void *element)
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
	char *place = reader_place(reader, &other);

	if (place == NULL) {
		reader->no_memory = true;
		return;
	}
	reader_expected(reader, &field, "%s of its own, %s has the same", unique->what, place);
	free(place);
}

/* What is sorted: by the hash, of which there is one of each, and by compare() where it is one. */
struct sorted {
	const char *element;
	uint32_t hash;
};

static int compare_elements(const void *a, const void *b, void *context)
{
	const struct sorted *left = a, *right = b;
	int order;

	if (left->hash != right->hash)
		return left->hash < right->hash ? -1 : 1;
	order = ((const struct unique *)context)->compare(left->element, right->element);
	if (order != 0)
		return order;
	return left->element < right->element ? -1 : left->element > right->element;
}

static unsigned sort_known(
	const struct unique *unique, const char *base, unsigned n, struct sorted *sorted)
{
	unsigned n_known = 0;

	for (unsigned i = 0; i < n; i++) {
		const char *element = base + i * unique->size;

		if (unique->known(element))
			sorted[n_known++] = (struct sorted){
				element, unique->hash != NULL ? unique->hash(element) : 0};
	}
	qsort_r(sorted, n_known, sizeof(*sorted), compare_elements, (void *)unique);
	return n_known;
}

/* What is not the name but made from it: of the same names there is a complaint already. */
static bool is_hash(const struct unique *unique)
{
	return strcmp(unique->key, "name") == 0 && unique->compare != name_compare;
}

static bool elements_clash(
	const struct unique *unique, const struct sorted *a, const struct sorted *b)
{
	return a->hash == b->hash && unique->compare(a->element, b->element) == 0;
}

/* Sorted, those that clash are neighbours; first_of[i] becomes the first that i clashes with. */
static void find_clashes(const struct unique *unique, const char *base, const struct sorted *sorted,
	unsigned n_known, unsigned *first_of)
{
	const struct sorted *first = sorted;

	for (unsigned i = 1; i < n_known; i++) {
		const char *element = sorted[i].element;

		if (!elements_clash(unique, first, &sorted[i]))
			first = &sorted[i];
		else if (!is_hash(unique) || strcmp(first->element, element) != 0)
			first_of[(size_t)(element - base) / unique->size] =
				(unsigned)((size_t)(first->element - base) / unique->size);
	}
}

void check_unique(struct reader *reader, const struct unique *unique, const void *base, unsigned n)
{
	struct sorted *sorted = calloc(n + 1, sizeof(*sorted));
	unsigned *first_of = calloc(n + 1, sizeof(*first_of));

	if (sorted == NULL || first_of == NULL) {
		reader->no_memory = true;
	} else {
		for (unsigned i = 0; i < n; i++)
			first_of[i] = i;
		find_clashes(unique, base, sorted, sort_known(unique, base, n, sorted), first_of);
		for (unsigned i = 0; i < n; i++) {
			if (first_of[i] != i)
				report_clash(reader, unique, base, first_of[i], i);
		}
	}
	free(sorted);
	free(first_of);
}
