/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check.h"

#define TESTS_MAX 128

static struct CMUnitTest tests[TESTS_MAX];
static unsigned lines[TESTS_MAX];
static size_t n_tests;
static CMFixtureFunction group_before, group_after;

/* Inserts by line. Constructors run before main(), and their order is the compiler's. */
void add_test(const struct CMUnitTest *test, unsigned line)
{
	size_t at = n_tests++;

	if (at == TESTS_MAX)
		abort();
	for (; at > 0 && lines[at - 1] > line; at--) {
		tests[at] = tests[at - 1];
		lines[at] = lines[at - 1];
	}
	tests[at] = *test;
	lines[at] = line;
}

void set_test_fixtures(CMFixtureFunction before, CMFixtureFunction after)
{
	group_before = before;
	group_after = after;
}

int run_all_tests(void)
{
	if (n_tests == 0)
		abort();
	return _cmocka_run_group_tests("tests", tests, n_tests, group_before, group_after);
}
