/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Expiry of timers in Linux. Its timer wheel turns 250 times a second and never fires early. It is
 * coarser for longer timers: 4 ms below a quarter of a second, 32 ms below two seconds, 256 ms
 * below sixteen. All timers of a machine share the grid, so its flows wait together.
 */
#ifndef WEIR_SIM_TICKS_H
#define WEIR_SIM_TICKS_H

#include <stdint.h>

#define TICK_NS   UINT64_C(4000000) /* CONFIG_HZ=250 */
#define TICK_SLOT 63                /* ticks that the finest level of the wheel covers */

/* clock_ns: time of the machine's clock at time 0. */
static inline uint64_t ticks_deadline(uint64_t now_ns, uint64_t wait_ns, uint64_t clock_ns)
{
	uint64_t wait = (wait_ns + TICK_NS - 1) / TICK_NS;
	uint64_t at = (now_ns + clock_ns) / TICK_NS + wait;
	unsigned coarse = 0;

	while (wait >> coarse >= TICK_SLOT)
		coarse += 3; /* each level is eight times coarser */
	return (((at >> coarse) + 1) << coarse) * TICK_NS - clock_ns;
}

#endif
