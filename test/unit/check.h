/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Includes, constants and macros of all tests. cmocka needs its own includes first, in this order.
 */
#ifndef WEIR_TEST_CHECK_H
#define WEIR_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Test cases and stubs do not use all of their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Elements of an array. */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Times in ns, and ticks of a clock of 1 GHz. */
#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define GHZ    SECOND

/*
 * Seeds or rounds of a property test: an eighth where a sanitizer makes each take several times as
 * long. All are run where there is none.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ROUNDS(n) (((n) + 7) / 8)
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS(n) (((n) + 7) / 8)
#endif
#ifndef ROUNDS
#define ROUNDS(n) (n)
#endif

/*
 * A test of this program, which runs its tests in the order of their lines. `before` and `after`
 * have cmocka's type CMFixtureFunction or are NULL.
 */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, before, after)                                                      \
	static void name(void **state);                                                     \
	__attribute__((constructor)) static void name##_add(void)                           \
	{                                                                                   \
		add_test(&(struct CMUnitTest){#name, name, before, after, NULL}, __LINE__); \
	}                                                                                   \
	static void name(void **state)

/* Sets the functions that are called before the first test and after the last one. */
#define TEST_GROUP(before, after)                                     \
	__attribute__((constructor)) static void set_test_group(void) \
	{                                                             \
		set_test_fixtures(before, after);                     \
	}

void add_test(const struct CMUnitTest *test, unsigned line);
void set_test_fixtures(CMFixtureFunction before, CMFixtureFunction after);
/* Runs all tests; returns the number of failed tests. Called by main(). */
int run_all_tests(void);

/* Compares within a tolerance; prints both numbers on failure. */
#define assert_near(got, want, tolerance)                                                      \
	do {                                                                                   \
		double got_ = (got), want_ = (want);                                           \
		if (!(fabs(got_ - want_) <= (tolerance)))                                      \
			fail_msg("%s: got %.9g, expected %.9g within %.3g", #got, got_, want_, \
				(double)(tolerance));                                          \
	} while (0)

#endif
