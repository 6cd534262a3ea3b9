/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PLACES_LEAST 8
#define PLACE_FREE   UINT32_MAX

/* Half of the places are free at least, so that a search ends soon, and ends at all. */
struct policy_names {
	const struct policy *policies;
	unsigned n;
	uint32_t mask;     /* of places, a power of two */
	uint32_t places[]; /* indices of policies, each at the first free place from its hash on */
};

static uint32_t place_of(const struct policy_names *names, const char *name)
{
	uint32_t at = name_hash(name) & names->mask;

	while (names->places[at] != PLACE_FREE &&
		strcmp(names->policies[names->places[at]].name, name) != 0)
		at = (at + 1) & names->mask;
	return at;
}

int policy_names_create(const struct policy *policies, unsigned n, struct policy_names **out)
{
	struct policy_names *names;
	size_t places = PLACES_LEAST;

	while (places < 2 * (size_t)n)
		places *= 2;
	names = malloc(sizeof(*names) + places * sizeof(names->places[0]));
	*out = names;
	if (!names)
		return -ENOMEM;
	*names = (struct policy_names){policies, n, (uint32_t)places - 1};
	memset(names->places, 0xff, places * sizeof(names->places[0]));
	for (unsigned i = 0; i < n; i++)
		names->places[place_of(names, policies[i].name)] = i;
	return 0;
}

void policy_names_destroy(struct policy_names *names)
{
	free(names);
}

unsigned policy_names_find(const struct policy_names *names, const char *name)
{
	uint32_t index = name ? names->places[place_of(names, name)] : PLACE_FREE;

	return index == PLACE_FREE ? names->n : index;
}
