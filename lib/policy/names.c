/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Finds policies by name, and derives their identities in messages from it.
 */
#include "policy/names.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name_table.h"
#include "base/wire.h"
#include "policy/kind.h"
#include "policy/period.h"

struct policy_names {
	unsigned n;
	struct name_table *table;
};

int policy_names_create(const struct policy *policies, unsigned n, struct policy_names **out)
{
	struct policy_names *names = calloc(1, sizeof(*names));
	int ret;

	*out = NULL;
	if (!names)
		return -ENOMEM;
	names->n = n;
	ret = name_table_create(n, &names->table);
	for (unsigned i = 0; ret == 0 && i < n; i++)
		ret = name_table_set(names->table, policies[i].name, i);
	if (ret) {
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

struct policy_key policy_key(const struct policy *policy)
{
	uint8_t hash[2 * sizeof(uint64_t)];
	uint32_t seconds = policy_limit_s(policy);
	char text[BUDGET_NAME_MAX];

	_Static_assert(sizeof(hash) >= crypto_generichash_BYTES_MIN, "a whole hash");
	/* No name has a slash or a colon. */
	if (policy_is_hard(policy) && seconds > 1)
		snprintf(text, sizeof(text), "%s/%" PRIu32 "s", policy->name, seconds);
	else if (policy_is_quota(policy))
		budget_name(policy, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", policy->name);
	crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, strlen(text), NULL, 0);
	return (struct policy_key){read_be64(hash), read_be64(hash + sizeof(uint64_t))};
}
