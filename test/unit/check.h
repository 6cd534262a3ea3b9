/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * cmocka wants its own includes first, in this order.
 */
#ifndef WEIR_TEST_CHECK_H
#define WEIR_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <math.h>

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

/* Within a tolerance, saying both numbers when not. */
#define assert_near(got, want, tolerance)                                                      \
	do {                                                                                   \
		double got_ = (got), want_ = (want);                                           \
		if (!(fabs(got_ - want_) <= (tolerance)))                                      \
			fail_msg("%s: got %.9g, expected %.9g within %.3g", #got, got_, want_, \
				(double)(tolerance));                                          \
	} while (0)

#endif
