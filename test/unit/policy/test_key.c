/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Ids of policies: a million generated names have different ids. The linker can substitute ids of
 * few bits. Then a configuration with two names of one id is refused, and the message has both
 * names.
 */
#include "check.h"

#include "config_cases.h"

#include "allocate/allocate.h"
#include "policy/names.h"

#define MILLION 1000000

struct policy_key __real_policy_key(const struct policy *policy);
struct policy_key __wrap_policy_key(const struct policy *policy);

static uint64_t mask = UINT64_MAX;

struct policy_key __wrap_policy_key(const struct policy *policy)
{
	struct policy_key key = __real_policy_key(policy);

	key.id &= mask;
	return key;
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static unsigned count_equal(uint64_t *words)
{
	unsigned n = 0;

	qsort(words, MILLION, sizeof(*words), compare_words);
	for (unsigned i = 1; i < MILLION; i++)
		n += words[i] == words[i - 1];
	return n;
}

TEST(test_million)
{
	uint64_t *ids = test_calloc(MILLION, sizeof(*ids));
	uint64_t *checks = test_calloc(MILLION, sizeof(*checks));

	for (unsigned i = 0; i < MILLION; i++) {
		struct policy policy = {.allocator = &allocator_fps};
		struct policy_key key;

		snprintf(policy.name, sizeof(policy.name), i % 2 ? "sub-%08x" : "customer-%u", i);
		key = policy_key(&policy);
		ids[i] = key.id;
		checks[i] = key.check;
	}
	assert_int_equal(count_equal(ids), 0);
	assert_int_equal(count_equal(checks), 0);
	test_free(ids);
	test_free(checks);
}

/* Two names whose 32-bit FNV-1a hashes are equal. */
TEST(test_known_pair)
{
	struct policy a = {.name = "sub-bc124dc7", .allocator = &allocator_fps}, b = a;

	snprintf(b.name, sizeof(b.name), "sub-43061219");
	assert_true(policy_key(&a).id != policy_key(&b).id);
	assert_true(policy_key(&a).check != policy_key(&b).check);
}

TEST(test_one_file)
{
	static const struct config_case cases[] = {
		{POLICIES("{'name': 'a', 'limit': '1Mbit/s', 'match': {'vlan': 1}}, "
			  "{'name': 'b', 'limit': '1Mbit/s', 'match': {'vlan': 2}}"),
			"p1.name: not_unique: 64-bit hash of the name, *policies[0] 'a' (w.json:1)"},
		{0},
	};

	mask = 0;
	run_cases(cases);
	mask = UINT64_MAX;
}
