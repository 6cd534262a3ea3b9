/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "control_clock.h"

#include "base/time.h"

uint64_t clock_ns = 100 * SECOND_NS, clock_step_ns, clock_later_ns;

uint64_t __real_control_now(void);
uint64_t __wrap_control_now(void);

/* The linker puts this in the place of the real one. Threads of the test can read it. */
uint64_t __wrap_control_now(void)
{
	if (__atomic_load_n(&clock_ns, __ATOMIC_RELAXED) == 0)
		return __real_control_now() + clock_later_ns;
	return __atomic_add_fetch(
		&clock_ns, __atomic_load_n(&clock_step_ns, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

uint64_t clock_real(void)
{
	return __real_control_now();
}

int wait_long(void **state)
{
	(void)state;
	clock_ns = 0;
	clock_later_ns += 1000 * SECOND_NS;
	return 0;
}
