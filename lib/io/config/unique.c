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

static int compare_elements(const void *a, const void *b, void *context)
{
	const char *left = *(const char *const *)a, *right = *(const char *const *)b;
	int order = ((const struct unique *)context)->compare(left, right);

	return order != 0 ? order : (left < right ? -1 : left > right);
}

static unsigned sort_known(
	const struct unique *unique, const char *base, unsigned n, const char **sorted)
{
	unsigned n_known = 0;

	for (unsigned i = 0; i < n; i++) {
		if (unique->known(base + i * unique->size))
			sorted[n_known++] = base + i * unique->size;
	}
	qsort_r(sorted, n_known, sizeof(*sorted), compare_elements, (void *)unique);
	return n_known;
}

/* What is not the name but made from it: of the same names there is a complaint already. */
static bool is_hash(const struct unique *unique)
{
	return strcmp(unique->key, "name") == 0 && unique->compare != name_compare;
}

/* Sorted, those that clash are neighbours; first_of[i] becomes the first that i clashes with. */
static void find_clashes(const struct unique *unique, const char *base, const char **sorted,
	unsigned n_known, unsigned *first_of)
{
	const char *first = n_known > 0 ? sorted[0] : NULL;

	for (unsigned i = 1; i < n_known; i++) {
		if (unique->compare(first, sorted[i]) != 0)
			first = sorted[i];
		else if (!is_hash(unique) || strcmp(first, sorted[i]) != 0)
			first_of[(size_t)(sorted[i] - base) / unique->size] =
				(unsigned)((size_t)(first - base) / unique->size);
	}
}

void check_unique(struct reader *reader, const struct unique *unique, const void *base, unsigned n)
{
	const char **sorted = calloc(n + 1, sizeof(*sorted));
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
