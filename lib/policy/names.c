/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/name_table.h"

struct policy_names {
	unsigned n;
	struct name_table *table;
};

static int name_all(struct policy_names *names, const struct policy *policies)
{
	int ret = name_table_create(names->n, &names->table);

	for (unsigned i = 0; ret == 0 && i < names->n; i++)
		ret = name_table_set(names->table, policies[i].name, i);
	return ret;
}

int policy_names_create(const struct policy *policies, unsigned n, struct policy_names **out)
{
	struct policy_names *names = calloc(1, sizeof(*names));

	*out = NULL;
	if (!names)
		return -ENOMEM;
	names->n = n;
	if (name_all(names, policies)) {
		policy_names_destroy(names);
		return -ENOMEM;
	}
	*out = names;
	return 0;
}

void policy_names_destroy(struct policy_names *names)
{
	if (names)
		name_table_destroy(names->table);
	free(names);
}

unsigned policy_names_find(const struct policy_names *names, const char *name)
{
	uint32_t index = name ? name_table_find(names->table, name) : NAME_NONE;

	return index == NAME_NONE ? names->n : index;
}
