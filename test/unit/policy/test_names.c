/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every policy is found by its name, and a missing name finds none.
 */
#include "check.h"
#include "scope.h"

#include "base/hash.h"
#include "policy/names.h"

END_POINTER(policy_names_destroy, struct policy_names *)

#define MANY 100000

static struct policy *name_policies(unsigned n, const char *format)
{
	struct policy *policies = calloc(n + 1, sizeof(*policies));

	assert_non_null(policies);
	for (unsigned i = 0; i < n; i++)
		snprintf(policies[i].name, sizeof(policies[i].name), format, i);
	return policies;
}

static void check_all_found(unsigned n, const char *format)
{
	ENDED_BY(free_at) struct policy *policies = name_policies(n, format);
	ENDED_BY(policy_names_destroy_at) struct policy_names *names;
	char name[CONFIG_NAME_MAX];

	assert_int_equal(policy_names_create(policies, n, &names), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(policy_names_find(names, policies[i].name), i);
	snprintf(name, sizeof(name), format, n);
	assert_int_equal(policy_names_find(names, name), n);
	assert_int_equal(policy_names_find(names, ""), n);
	assert_int_equal(policy_names_find(names, NULL), n);
}

TEST(test_numbers)
{
	for (unsigned n = 0; n < 70; n++)
		check_all_found(n, "p%u");
	check_all_found(MANY, "customer-%u");
}

/* Names that all hash to the last of the eight places: the search continues at the first. */
TEST(test_one_place)
{
	struct policy policies[4] = {0};
	ENDED_BY(policy_names_destroy_at) struct policy_names *names;
	char name[CONFIG_NAME_MAX];
	unsigned n = 0;

	for (unsigned i = 0; n < 4; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		if ((name_hash(name) & 7) == 7)
			strcpy(policies[n++].name, name);
	}
	assert_int_equal(policy_names_create(policies, 3, &names), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(policy_names_find(names, policies[i].name), i);
	assert_int_equal(policy_names_find(names, policies[3].name), 3);
}
