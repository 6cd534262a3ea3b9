/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The clock of control, control_now(), which the test sets. With clock_dep.
 */
#ifndef WEIR_TEST_CONTROL_CLOCK_H
#define WEIR_TEST_CONTROL_CLOCK_H

#include <stdint.h>

extern uint64_t clock_ns;       /* the time: 100 s until the test changes it; 0: the real clock */
extern uint64_t clock_step_ns;  /* time that each reading takes */
extern uint64_t clock_later_ns; /* is added to the real clock */

/* Returns the real time. */
uint64_t clock_real(void);

/*
 * The setup of a test: the real clock, 1000 s later than in the previous test. So the rate limit of
 * events affects no test.
 */
int wait_long(void **state);

#endif
