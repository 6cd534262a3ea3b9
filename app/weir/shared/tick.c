/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The unit of time of meters, queues and clocks: ticks of the TSC.
 */
#include "tick.h"

#ifdef RTE_ARCH_ARM64
#include <rte_common.h>

unsigned tick_shift;

/* Before main(): reading the CPU's frequency does not need EAL. */
RTE_INIT(tick_begin)
{
	tick_shift = tick_shift_of(__rte_arm64_cntfrq());
}
#endif
