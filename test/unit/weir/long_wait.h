/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Lets control's clock jump before each test, so that the rate limit of events affects no test.
 * clock_dep allows this. For one file of a test program.
 */
#ifndef WEIR_TEST_LONG_WAIT_H
#define WEIR_TEST_LONG_WAIT_H

#include <stdint.h>

#include "base/time.h"

static uint64_t later_ns;

uint64_t __real_control_now(void);
uint64_t __wrap_control_now(void);

uint64_t __wrap_control_now(void)
{
	return __real_control_now() + later_ns;
}

/* The setup of each test. */
static int wait_long(void **state)
{
	later_ns += 1000 * SECOND_NS;
	return 0;
}

#endif
